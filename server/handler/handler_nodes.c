/* One node: its normalised metadata, and what can be done with it. */
#include "server/describe/node_show.h"
#include "server/http/accept.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define MEDIA_TYPE "application/json"

static zd_step step_children;
static zd_step step_respond;

static void leave(struct zd_request *req)
{
    zd_node_show_done(req->state);
    zd_free(req->state);
}

static enum zd_next step_begin(struct zd_request *req)
{
    static const char *const allowed[] = {MEDIA_TYPE, NULL};
    struct zd_error err = {0};
    if (zd_accept_quality(req->accept, MEDIA_TYPE) == 0) {
        const struct zd_problem problem = {.code = "not_acceptable",
            .detail = "node descriptions are available as JSON only",
            .allowed = allowed};
        return zd_respond_problem(req, &problem);
    }
    struct zd_node_show *show = zd_request_new_state(req, sizeof *show, leave);
    if (show == NULL) {
        return ZD_DONE;
    }
    zd_node_show_init(show, req);
    struct zd_span fields;
    if (zd_params_find(&req->params, "fields", &fields)) {
        if (zd_fields_parse(fields, zd_node_fields, &show->fields, &err) != ZD_OK) {
            return zd_respond_error(req, err.status == ZD_INVALID ? "bad_parameter" : NULL, &err);
        }
        zd_hash_add(&show->hash, fields);
    }
    return zd_request_want_node(req, step_children);
}

static enum zd_next step_children(struct zd_request *req)
{
    req->step = step_respond;
    return zd_node_show_gather(req->state, req->node);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct zd_node_show *show = req->state;
    const struct zd_node *node = req->node;
    struct zd_error err = {0};
    struct zd_representation answer = {
        .media_type = MEDIA_TYPE,
        .mtime_ms = zd_node_show_mtime(show, node),
    };
    if (zd_node_show_tag(show, answer.etag, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    const struct zd_node_shown shown = {
        .path = node->path, .meta = node->meta, .can_slice = node->layout != NULL};
    ZD_SCOPED_TEXT(text, req->server->config->settings.limits_tree_bytes);
    zd_node_show_emit(show, &shown, &text);
    answer.keep_until_ms =
        show->is_partial ? 0 : zd_dataset_trusts_until(req->dataset, show->checked_ms);
    return zd_respond_text(req, &text, &answer);
}

static const char *const params[] = {"fields", NULL};

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/nodes/{path}",
        .first = step_begin,
        .params = params},
};

const struct zd_handler zd_handler_nodes = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
