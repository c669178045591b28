/* /zarr/, /v1, /v1/datasets and /v1/datasets/{d}: links for programs, the datasets, and a page that
 * lists them for people. The dialect of a dataset is the dialect of its root node. */
#include "core/base/aside.h"
#include "server/data/catalog.h"
#include "server/data/dataset.h"
#include "server/describe/links.h"
#include "server/http/accept.h"
#include "server/http/escape.h"
#include "server/http/html.h"
#include "server/request/client.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (64U << 20)
#define PAGE_BYTES_MAX     (16U << 20)
#define LINK_BYTES_MAX     1024

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

static bool has_node(const struct root *root)
{
    return root->want.node != NULL && root->want.wait.status == ZD_OK;
}

static void emit_links(
    const struct zd_request *req, struct zd_emit *emit, const struct zd_dataset_config *config)
{
    static const struct {
        const char *name;
        const char *before; /* the dataset's name */
        const char *behind;
    } links[] = {
        {"self", "/v1/datasets/", ""}, {"nodes", "/v1/datasets/", "/nodes/"},
        {"tree", "/v1/datasets/", "/tree/"}, {"events", "/v1/datasets/", "/events"},
        {"keys", "/zarr/", "/"}, /* last */
    };
    zd_emit_member_object(emit, "links");
    for (size_t i = 0; i < ZD_COUNT_OF(links) - (config->allow_keys ? 0 : 1); i++) {
        ZD_SCOPED_TEXT(target, LINK_BYTES_MAX);
        zd_text_addf(&target, "%s%s%s%s", zd_client_prefix(req), links[i].before, config->name,
            links[i].behind);
        zd_emit_member_text(emit, links[i].name, &target);
    }
    zd_emit_object_end(emit);
}

/* Names the format of a dataset without a root node; NULL: there is a root, or the format is
 * unknown. */
static const char *other_of(const struct root *root)
{
    const bool is_missing = root->want.node == NULL && root->want.wait.status == ZD_NOT_FOUND;
    return is_missing ? zd_dataset_other(root->dataset) : NULL;
}

static void emit_dataset(
    const struct zd_request *req, struct zd_emit *emit, const struct root *root)
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
    zd_emit_member_string(
        emit, "dialect", has_node(root) ? root->want.node->meta->dialect->name : NULL);
    if (reason != NULL) {
        zd_emit_member_string(emit, "state", "unavailable");
        zd_emit_member_string(emit, "reason", reason);
    } else if (other_of(root) != NULL) {
        zd_emit_member_string(emit, "reason", other_of(root));
    }
    zd_emit_member_bool(emit, "writable", config->writable && failure[0] == '\0');
    if (failure[0] != '\0') {
        zd_emit_member_string(emit, "failure", failure);
    }
    zd_emit_member_bool(emit, "immutable", config->immutable);
    emit_links(req, emit, config);
    zd_emit_object_end(emit);
}

static enum zd_next step_answer(struct zd_request *req)
{
    const struct listing *listing = req->state;
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    if (req->dataset != NULL) {
        emit_dataset(req, &emit, &listing->root[0]);
    } else {
        zd_emit_object(&emit);
        zd_emit_member_array(&emit, "datasets");
        for (size_t i = 0; i < listing->n_roots; i++) {
            emit_dataset(req, &emit, &listing->root[i]);
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

/* ---- the page ---- */

/* Why nothing of a dataset can be had; NULL: it can. */
static const char *trouble_of(const struct root *root)
{
    const struct zd_wait *wait = &root->want.wait;
    const char *reason = zd_dataset_reason(root->dataset);
    const bool is_silent = wait->status == ZD_STORE || wait->status == ZD_GONE ||
                           wait->status == ZD_TIMEOUT || wait->status == ZD_PAUSED;
    return reason == NULL && is_silent ? wait->err.text : reason;
}

/* Links only to things that exist. */
static void add_row(const struct zd_request *req, struct zd_text *text, const struct root *root)
{
    const struct zd_dataset_config *config = &root->dataset->config;
    const char *trouble = trouble_of(root);
    const char *kind = has_node(root) ? root->want.node->meta->dialect->name : other_of(root);
    const char *prefix = zd_client_prefix(req); /* the characters of both need no escape */
    const char *name = config->name;
    zd_text_addf(text, "<tr><th>%s</th><td>", name);
    zd_escape_html(text, config->title == NULL ? "" : config->title);
    zd_text_add(text, "</td><td>");
    if (trouble == NULL && has_node(root)) {
        zd_text_addf(text,
            "<a href=\"%s/v1/datasets/%s/tree/?pretty=1\">tree</a> "
            "<a href=\"%s/v1/datasets/%s/nodes/?pretty=1\">root</a> ",
            prefix, name, prefix, name);
    }
    if (trouble == NULL && config->allow_keys) {
        zd_text_addf(text, "<a href=\"%s/zarr/%s/\">keys</a>", prefix, name);
    }
    zd_text_addf(text, "</td><td>%s</td><td>", kind == NULL ? "" : kind);
    ZD_AUTO_TEXT shown = trouble == NULL ? NULL : zd_strdup(trouble);
    if (shown != NULL) {
        zd_aside_drop(shown);
    }
    const char *state = trouble != NULL    ? "unavailable"
                        : config->writable ? "writable"
                                           : "read-only";
    zd_escape_html(text, shown != NULL ? shown : state);
    zd_text_add(text, "</td></tr>\n");
}

static enum zd_next step_page(struct zd_request *req)
{
    const struct listing *listing = req->state;
    ZD_SCOPED_TEXT(text, PAGE_BYTES_MAX);
    zd_text_add(&text,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>zarrd</title>\n"
        "<style>" ZD_HTML_STYLE "</style></head>\n<body><h1>zarrd</h1>\n<table>\n");
    for (size_t i = 0; i < listing->n_roots; i++) {
        add_row(req, &text, &listing->root[i]);
    }
    const char *prefix = zd_client_prefix(req);
    zd_text_addf(&text,
        "</table>\n<p><a href=\"%s/v1\">API</a> <a href=\"%s/openapi.json\">OpenAPI</a> "
        "<a href=\"%s/metrics\">metrics</a></p>\n</body></html>\n",
        prefix, prefix, prefix);
    struct zd_representation representation = {
        .media_type = ZD_HTML_TYPE,
    };
    return zd_respond_text(req, &text, &representation);
}

/* ---- waiting for the roots ---- */

static enum zd_next want_roots(
    struct zd_request *req, struct zd_dataset *const *dataset, size_t n, zd_step *next)
{
    struct listing *listing =
        zd_request_new_state(req, sizeof *listing + n * sizeof listing->root[0], listing_free);
    if (listing == NULL) {
        return ZD_DONE;
    }
    req->step = next;
    zd_gather_begin(&req->gather);
    for (size_t i = 0; i < n; i++) {
        struct root *root = &listing->root[listing->n_roots];
        if (!zd_permission_sees(req, dataset[i])) {
            continue;
        }
        listing->n_roots++;
        root->dataset = zd_dataset_ref(dataset[i]);
        if (root->dataset->store == NULL || !zd_permission_reads_root(req, root->dataset)) {
            continue; /* it may be of any dialect, or not there */
        }
        root->want.wait = zd_gather_wait(&req->gather);
        zd_gather_add(&req->gather, zd_catalog_want(root->dataset, "", &root->want));
    }
    return zd_gather_end(&req->gather);
}

static enum zd_next step_seen(struct zd_request *req)
{
    return want_roots(req, req->server->dataset, req->server->n_datasets, step_answer);
}

static enum zd_next step_all(struct zd_request *req)
{
    return zd_request_want_datasets(req, step_seen);
}

static enum zd_next step_one(struct zd_request *req)
{
    return want_roots(req, &req->dataset, 1, step_answer);
}

/* ---- steps ---- */

static enum zd_next step_page_seen(struct zd_request *req)
{
    return want_roots(req, req->server->dataset, req->server->n_datasets, step_page);
}

static enum zd_next step_start(struct zd_request *req)
{
    return zd_accept_is_for_people(zd_dependence_accept(req))
               ? zd_request_want_datasets(req, step_page_seen)
               : zd_links_respond_start(req);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/zarr/",
        .first = step_start,
        .scope = ZD_SCOPE_READ}, /* above the indexes of keys */
    {.method = "GET",
        .path = "/v1",
        .first = zd_links_respond_api,
        .scope = ZD_SCOPE_READ,
        .params = zd_params_none},
    {.method = "GET",
        .path = "/v1/datasets",
        .first = step_all,
        .scope = ZD_SCOPE_READ,
        .params = zd_params_none},
    {.method = "GET",
        .path = "/v1/datasets/{d}",
        .first = step_one,
        .scope = ZD_SCOPE_READ,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_datasets = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
