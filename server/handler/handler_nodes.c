/* One node: its normalised metadata, and what can be done with it (api.md 3.2). */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/accept.h"
#include "server/handler/handler.h"
#include "server/node_json.h"
#include "server/server.h"
#include "server/walk.h"

#define MEDIA_TYPE     "application/json"
#define LINK_BYTES_MAX 8192

/** A node on its way to be shown. */
struct showing {
    struct zd_request *req;
    struct zd_fields fields;
    struct zd_walk *walk;    /* over the children of a group; or NULL */
    struct zd_text children; /* JSON: the members of the list */
    struct zd_emit emit;     /* into children */
    struct zd_hash hash;     /* of all that the answer depends on */
    uint64_t checked_ms;     /* the oldest knowledge in the answer, loop time */
    bool is_partial;         /* the store could not tell of a child: not to be kept */
};

static zd_step step_children;
static zd_step step_respond;

static struct showing *showing_of(const struct zd_request *req)
{
    return req->state;
}

static void leave(struct zd_request *req)
{
    struct showing *showing = showing_of(req);
    zd_walk_free(showing->walk);
    zd_text_done(&showing->children);
    zd_fields_done(&showing->fields);
    zd_free(showing);
    req->state = NULL;
}

static bool wants(const struct showing *showing, const char *path)
{
    return zd_fields_match(&showing->fields, path) != ZD_FIELD_OUT;
}

static enum zd_next step_begin(struct zd_request *req)
{
    static const char *const allowed[] = {MEDIA_TYPE, NULL};
    struct zd_error err = {0};
    if (zd_accept_quality(zd_request_header(req, "Accept"), MEDIA_TYPE) == 0) {
        const struct zd_problem problem = {.code = "not_acceptable",
            .detail = "a node is described in JSON only",
            .allowed = allowed};
        return zd_respond_problem(req, &problem);
    }
    struct showing *showing = zd_alloc_zero(1, sizeof *showing);
    if (showing == NULL) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "cannot allocate an answer");
        return zd_respond_error(req, NULL, &err);
    }
    showing->req = req;
    zd_text_init(&showing->children, req->server->config->settings.limits_tree_bytes);
    zd_emit_init(&showing->emit, &showing->children, false);
    req->state = showing;
    req->state_free = leave;
    struct zd_span fields;
    if (zd_params_find(&req->params, "fields", &fields) &&
        zd_fields_parse(fields, zd_node_fields, &showing->fields, &err) != ZD_OK) {
        return zd_respond_error(req, err.status == ZD_INVALID ? "bad_parameter" : NULL, &err);
    }
    return zd_request_want_node(req, step_children);
}

/* One child of a group: name and type. */
static bool visit(void *context, const struct zd_walk_node *found)
{
    struct showing *showing = context;
    const char *slash = strrchr(found->path, '/');
    if (found->depth == 0) {
        return true;
    }
    const enum zd_node_type type = found->node == NULL ? ZD_NODE_UNKNOWN : found->node->meta->type;
    zd_emit_object(&showing->emit);
    zd_emit_member_string(&showing->emit, "name", slash == NULL ? found->path : slash + 1);
    zd_emit_key(&showing->emit, "node_type");
    if (type == ZD_NODE_UNKNOWN) {
        zd_emit_null(&showing->emit);
    } else {
        zd_emit_string(&showing->emit, type == ZD_NODE_ARRAY ? "array" : "group");
    }
    zd_emit_object_end(&showing->emit);
    if (found->node == NULL) {
        showing->is_partial = true;
    } else {
        showing->checked_ms = zd_min_u64(showing->checked_ms, found->node->checked_ms);
    }
    return true;
}

static void walked(void *context)
{
    struct showing *showing = context;
    zd_request_go_on(showing->req);
}

static bool has_children(const struct zd_node *node)
{
    return node->meta->type == ZD_NODE_GROUP && !zd_meta_is_refused(node->meta);
}

static enum zd_next step_children(struct zd_request *req)
{
    struct showing *showing = showing_of(req);
    struct zd_node *node = zd_request_node(req);
    req->step = step_respond;
    showing->checked_ms = zd_min_u64(uv_now(req->server->loop), node->checked_ms);
    zd_hash_add(&showing->hash, zd_span_of(req->target));
    zd_hash_add_u64(&showing->hash, node->tag);
    if (!has_children(node) || !wants(showing, "children")) {
        return ZD_NEXT;
    }
    const struct zd_walk_config config = {
        .start = node,
        .depth_max = 1,
        .visit = visit,
        .done = walked,
        .context = showing,
    };
    struct zd_error err = {0};
    zd_emit_array(&showing->emit);
    if (zd_walk_new(&config, &showing->walk, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_walk_run(showing->walk);
}

/* The URL of this node in another resource, or of its parent in this one. */
static void emit_link(const struct showing *showing, const char *name, const char *root,
    const char *resource, const char *path, struct zd_emit *emit)
{
    ZD_SCOPED_TEXT(member, sizeof "links." + strlen(name));
    if (zd_text_addf(&member, "links.%s", name) != ZD_OK) {
        emit->text->status = member.status;
        return;
    }
    if (!wants(showing, member.at)) {
        return;
    }
    ZD_SCOPED_TEXT(link, LINK_BYTES_MAX);
    zd_text_addf(&link, "%s%s%s/", root, showing->req->dataset->config.name, resource);
    zd_percent_encode(zd_span_of(path), &link);
    zd_emit_member_text(emit, name, &link);
}

static void emit_parent(const struct showing *showing, const char *path, struct zd_emit *emit)
{
    const char *slash = strrchr(path, '/');
    ZD_SCOPED_TEXT(parent, ZD_KEY_BYTES_MAX);
    if (zd_text_add_bytes(&parent, path, slash == NULL ? 0 : (size_t)(slash - path)) != ZD_OK) {
        emit->text->status = parent.status;
        return;
    }
    emit_link(showing, "parent", "/v1/datasets/", "/nodes", parent.at, emit);
}

static void emit_links(
    const struct showing *showing, const struct zd_node *node, struct zd_emit *emit)
{
    static const char root[] = "/v1/datasets/";
    if (!wants(showing, "links")) {
        return;
    }
    zd_emit_key(emit, "links");
    zd_emit_object(emit);
    emit_link(showing, "self", root, "/nodes", node->path, emit);
    emit_link(showing, "tree", root, "/tree", node->path, emit);
    if (zd_meta_is_array(node->meta)) {
        emit_link(showing, "slices", root, "/slices", node->path, emit);
        emit_link(showing, "chunks", root, "/chunks", node->path, emit);
    }
    if (showing->req->dataset->config.allow_keys) {
        emit_link(showing, "keys", "/zarr/", "", node->path, emit);
    }
    if (node->path[0] != '\0') {
        emit_parent(showing, node->path, emit);
    }
    zd_emit_object_end(emit);
}

static void emit_node(struct showing *showing, const struct zd_node *node, struct zd_emit *emit)
{
    const struct zd_node_view view = {
        .path = node->path,
        .meta = node->meta,
        .fields = &showing->fields,
        .can_slice = node->layout != NULL,
    };
    zd_emit_object(emit);
    zd_node_json_emit(&view, emit);
    if (showing->walk != NULL) {
        zd_emit_key(emit, "children");
        zd_emit_raw(emit, zd_text_span(&showing->children));
    }
    zd_node_json_emit_warnings(&view, emit);
    emit_links(showing, node, emit);
    zd_emit_object_end(emit);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct showing *showing = showing_of(req);
    const struct zd_node *node = zd_request_node(req);
    struct zd_error err = {0};
    struct zd_representation answer = {.media_type = MEDIA_TYPE};
    if (showing->walk != NULL) {
        if (zd_walk_status(showing->walk, &err) != ZD_OK) {
            return zd_respond_error(req, NULL, &err);
        }
        zd_emit_array_end(&showing->emit);
        if (showing->children.status != ZD_OK) {
            return zd_respond_json(req, &showing->children, &answer);
        }
        /* The children are part of the answer, and not of the group's own generation. */
        zd_hash_add(&showing->hash, zd_text_span(&showing->children));
    } else {
        answer.mtime_ms = node->mtime_ms;
    }
    ZD_SCOPED_TEXT(text, req->server->config->settings.limits_tree_bytes);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    emit_node(showing, node, &emit);
    zd_tag_format(answer.etag, showing->hash.value, "node");
    answer.keep_until_ms =
        showing->is_partial ? 0 : zd_dataset_trusts_until(req->dataset, showing->checked_ms);
    return zd_respond_json(req, &text, &answer);
}

static const char *const params[] = {"fields", NULL};

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/nodes/{path}",
        .first = step_begin,
        .params = params},
};

const struct zd_handler zd_handler_nodes = {
    .name = "nodes",
    .route = routes,
    .n_routes = sizeof routes / sizeof *routes,
};
