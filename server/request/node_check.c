/* Answer requests for a node that is missing, whose elements cannot be read, or that cannot be
 * written. */
#include "server/request/node_check.h"
#include "server/request/respond.h"

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

bool zd_node_check_writable(struct zd_request *req)
{
    if (zd_node_check(req)) {
        return true;
    }
    const struct zd_dialect *dialect = zd_request_node(req)->meta->dialect;
    if (zd_dialect_is_writable(dialect)) {
        return false;
    }
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_READ_ONLY, "dialect %s is read-only", dialect->name);
    zd_respond_error(req, NULL, &err);
    return true;
}

bool zd_node_check_found(struct zd_request *req, const struct zd_wait *wait)
{
    struct zd_error err = {0};
    if (wait->status == ZD_NOT_FOUND) {
        err.status = zd_fail(&err, ZD_NOT_FOUND, "dataset '%s' has no node at '%.256s'",
            req->dataset->config.name, req->path);
        zd_respond_error(req, "node_not_found", &err);
    } else if (wait->status != ZD_OK) {
        zd_respond_error(req, NULL, &wait->err);
    }
    return wait->status != ZD_OK;
}

bool zd_node_check_locked(struct zd_request *req, const struct zd_node_lock *lock)
{
    if (zd_node_check_found(req, &lock->wait)) {
        return true;
    }
    zd_request_set_node(req, lock->node);
    return zd_node_check_writable(req);
}
