/* Writing slices: the body is stored while it arrives. */
#include "core/base/emit.h"
#include "server/describe/node_json.h"
#include "server/request/body.h"
#include "server/request/handler.h"
#include "server/request/respond.h"
#include "server/slice/slice_write.h"

#define SELECTION_BYTES_MAX 4096
#define ANSWER_BYTES_MAX    (16U << 10)

/* ---- the answer ---- */

/* Where the elements went, and what the array is now. */
static void emit_append(const struct zd_slice_write *write, struct zd_emit *emit)
{
    uint64_t shape[ZD_RANK_MAX];
    ZD_SCOPED_TEXT(selection, SELECTION_BYTES_MAX);
    zd_meta_shape(write->node->meta, shape);
    zd_emit_key(emit, "shape");
    zd_node_json_emit_lengths(emit, shape, write->node->meta->grid.rank);
    if (zd_selection_add(&write->asked, &selection) == ZD_OK) {
        zd_emit_member_string(emit, "selection", selection.at);
    }
}

static enum zd_next step_respond(struct zd_request *req)
{
    const struct zd_slice_write *write = req->state;
    struct zd_representation answer = {0};
    ZD_SCOPED_TEXT(text, ANSWER_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_node_json_emit_counts(&write->counts, &emit);
    if (write->ask.has_append) {
        emit_append(write, &emit);
    }
    zd_emit_object_end(&emit);
    zd_slice_write_tag(write, answer.etag);
    return zd_respond_text(req, &text, &answer);
}

/* ---- the request ---- */

static enum zd_status read_query(const struct zd_params *params, struct zd_slice_params *ask,
    const char **ret_code, struct zd_error *err)
{
    ZD_TRY(zd_slice_params_query(ask, params, ret_code, err));
    const char *rival = ask->is_broadcast ? "broadcast" : ask->has_slice ? "slice" : NULL;
    if (ask->has_append && rival != NULL) {
        return zd_fail_name(err, rival, "append and %s cannot be combined", rival);
    }
    return ZD_OK;
}

/* All checks that do not depend on the array. */
static enum zd_next step_put(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code = NULL;
    const struct zd_format *format = zd_slice_body_format(req);
    if (format == NULL || !zd_body_is_plain(req)) {
        return ZD_DONE;
    }
    struct zd_slice_write *write = zd_slice_write_new(req, format, step_respond);
    if (write == NULL) {
        return ZD_DONE;
    }
    if (read_query(&req->params, &write->ask, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    req->step = zd_slice_write_step;
    return ZD_NEXT;
}

static const struct zd_route routes[] = {
    {.method = "PUT",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_put,
        .params = zd_slice_params_of_writes,
        .needs_writable = true,
        .streams_body = true},
};

const struct zd_handler zd_handler_slice_write = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
