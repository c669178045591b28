/* /v1/datasets and /v1/datasets/{d}: the datasets; the dialect of each is that of its root node. */
#include "server/data/catalog.h"
#include "server/data/dataset.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (64U << 20)

/* The root nodes that a listing waits for. */
struct listing {
    size_t n_roots;
    struct root {
        struct zd_node_want want;
        struct zd_dataset *dataset; /* a reference */
    } root[];
};

static void listing_free(struct zd_request *req)
{
    struct listing *listing = req->state;
    for (size_t i = 0; i < listing->n_roots; i++) {
        zd_catalog_release(&listing->root[i].want);
        zd_dataset_unref(listing->root[i].dataset);
    }
    zd_free(listing);
}

static void emit_link(struct zd_emit *emit, const char *name, const char *before,
    const char *dataset, const char *after)
{
    ZD_SCOPED_TEXT(target, 256);
    zd_text_addf(&target, "%s%s%s", before, dataset, after);
    zd_emit_member_text(emit, name, &target);
}

static void emit_links(struct zd_emit *emit, const struct zd_dataset_config *config)
{
    zd_emit_member_object(emit, "links");
    emit_link(emit, "self", "/v1/datasets/", config->name, "");
    emit_link(emit, "nodes", "/v1/datasets/", config->name, "/nodes/");
    emit_link(emit, "tree", "/v1/datasets/", config->name, "/tree/");
    emit_link(emit, "events", "/v1/datasets/", config->name, "/events");
    if (config->allow_keys) {
        emit_link(emit, "keys", "/zarr/", config->name, "/");
    }
    zd_emit_object_end(emit);
}

static void emit_dataset(struct zd_emit *emit, const struct root *root)
{
    const struct zd_dataset_config *config = &root->dataset->config;
    const char *reason = zd_dataset_reason(root->dataset); /* NULL: it is available */
    const char *failure = reason == NULL ? zd_store_failure(root->dataset->store) : "";
    zd_emit_object(emit);
    zd_emit_member_string(emit, "name", config->name);
    zd_emit_member_string(emit, "title", config->title);
    if (root->dataset->server->config->settings.http_show_locations) {
        zd_emit_member_string(emit, "location", config->location);
    }
    const bool is_known = root->want.node != NULL && root->want.wait.status == ZD_OK;
    zd_emit_member_string(emit, "dialect", is_known ? root->want.node->meta->dialect->name : NULL);
    if (reason != NULL) {
        zd_emit_member_string(emit, "state", "unavailable");
        zd_emit_member_string(emit, "reason", reason);
    }
    zd_emit_member_bool(emit, "writable", config->writable && failure[0] == '\0');
    if (failure[0] != '\0') {
        zd_emit_member_string(emit, "failure", failure);
    }
    zd_emit_member_bool(emit, "immutable", config->immutable);
    emit_links(emit, config);
    zd_emit_object_end(emit);
}

static enum zd_next step_answer(struct zd_request *req)
{
    const struct listing *listing = req->state;
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    if (req->dataset != NULL) {
        emit_dataset(&emit, &listing->root[0]);
    } else {
        zd_emit_object(&emit);
        zd_emit_member_array(&emit, "datasets");
        for (size_t i = 0; i < listing->n_roots; i++) {
            emit_dataset(&emit, &listing->root[i]);
        }
        zd_emit_array_end(&emit);
        zd_emit_object_end(&emit);
    }
    struct zd_representation representation = {
        .header = {{"Cache-Control", "no-cache"}},
        .n_headers = 1,
    };
    return zd_respond_text(req, &text, &representation);
}

static enum zd_next want_roots(struct zd_request *req, struct zd_dataset *const *dataset, size_t n)
{
    struct listing *listing =
        zd_request_new_state(req, sizeof *listing + n * sizeof listing->root[0], listing_free);
    if (listing == NULL) {
        return ZD_DONE;
    }
    listing->n_roots = n;
    req->step = step_answer;
    zd_gather_begin(&req->gather);
    for (size_t i = 0; i < n; i++) {
        struct root *root = &listing->root[i];
        root->dataset = zd_dataset_ref(dataset[i]);
        if (root->dataset->store == NULL) {
            continue;
        }
        root->want.wait = zd_gather_wait(&req->gather);
        zd_gather_add(&req->gather, zd_catalog_want(root->dataset, "", &root->want));
    }
    return zd_gather_end(&req->gather);
}

static enum zd_next step_seen(struct zd_request *req)
{
    return want_roots(req, req->server->dataset, req->server->n_datasets);
}

static enum zd_next step_all(struct zd_request *req)
{
    return zd_request_want_datasets(req, step_seen);
}

static enum zd_next step_one(struct zd_request *req)
{
    return want_roots(req, &req->dataset, 1);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/v1/datasets", .first = step_all, .params = zd_params_none},
    {.method = "GET", .path = "/v1/datasets/{d}", .first = step_one, .params = zd_params_none},
};

const struct zd_handler zd_handler_datasets = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
