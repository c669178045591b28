/* Nodes whose elements nobody may have. */
#include "server/request/node_check.h"

static void respond_refused(struct zd_request *req, const struct zd_faults *faults)
{
    struct zd_error err = {0};
    const enum zd_status status = zd_faults_status(faults, &err);
    const struct zd_problem problem = {
        .code = zd_problem_code_of_faults(faults),
        .err = status == ZD_OK ? NULL : &err,
        .faults = faults,
    };
    zd_respond_problem(req, &problem);
}

bool zd_node_check(struct zd_request *req)
{
    const struct zd_meta *meta = zd_request_node(req)->meta;
    if (zd_meta_is_refused(meta)) {
        respond_refused(req, &meta->faults);
        return true;
    }
    if (!zd_meta_is_array(meta)) {
        const struct zd_error err = {.status = ZD_INVALID,
            .text = "the node is a group: only arrays have slices and chunks"};
        zd_respond_error(req, "not_an_array", &err);
        return true;
    }
    const struct zd_error *fault = zd_request_node(req)->fault;
    if (fault != NULL) {
        zd_respond_error(req, "unsupported_grid", fault);
        return true;
    }
    return false;
}
