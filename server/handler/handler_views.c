/*
 * /v3/{d}/{key}, /v3-unsharded/{d}/{key}: any hierarchy as readers of final v3 see it.
 *
 *     x/zarr.json -> node -> its document; of a group with the documents of all nodes below it
 *     x/c/0/1     -> the array above the key -> its chunk: the stored object, an inner chunk of
 *                    one, or its elements
 */
#include <string.h>

#include "server/data/object_cache.h"
#include "server/handler/handler_chunks.h"
#include "server/handler/handler_keys.h"
#include "server/handler/handler_tree.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define DOCUMENT        "zarr.json"
#define SEGMENTS_MAX    (ZD_RANK_MAX + 1U) /* of the key of a chunk, below its array */
#define DOCUMENT_SUFFIX "v3"

static enum zd_view_kind kind_of(const struct zd_request *req)
{
    return strncmp(req->route->path, "/v3-unsharded/", strlen("/v3-unsharded/")) == 0
               ? ZD_VIEW_UNSHARDED
               : ZD_VIEW_V3;
}

static enum zd_next respond_missing(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *name = req->dataset->config.name;
    err.status =
        req->path[0] == '\0'
            ? zd_fail(&err, ZD_NOT_FOUND,
                  "the view of dataset '%s' has no index; begin with the key " DOCUMENT, name)
            : zd_fail(&err, ZD_NOT_FOUND, "the view of dataset '%s' has no key '%.256s'", name,
                  req->path);
    return zd_respond_error(req, "key_not_found", &err);
}

/* The node cannot be shown in the view; its faults say why. */
static enum zd_next respond_inexpressible(struct zd_request *req, const char *why)
{
    struct zd_error err = {0};
    err.status = zd_fail(
        &err, ZD_NOT_FOUND, "'%.256s' cannot be shown as final v3: %s", req->node->path, why);
    return zd_respond_error(req, "key_not_found", &err);
}

static bool is_refused(const struct zd_request *req)
{
    const struct zd_meta *meta = req->node->meta;
    return zd_meta_is_refused(meta) || zd_rendition_refusal(meta) != NULL;
}

static enum zd_next refuse_node(struct zd_request *req)
{
    const struct zd_faults *faults = &req->node->meta->faults;
    const char *why = zd_rendition_refusal(req->node->meta);
    for (size_t i = 0; i < faults->n_items; i++) {
        if (faults->item[i].severity != ZD_FAULT_WARNING) {
            return respond_inexpressible(req, faults->item[i].detail);
        }
    }
    return respond_inexpressible(req, why != NULL ? why : "its documents are at fault");
}

/* ---- documents ---- */

static enum zd_next respond_array(struct zd_request *req)
{
    ZD_AUTO(zd_json) document = NULL;
    struct zd_error err = {0};
    const struct zd_node *node = req->node;
    struct zd_representation answer = {
        .media_type = "application/json",
        .mtime_ms = node->mtime_ms,
        .keep_until_ms = zd_dataset_trusts_until(req->dataset, node->checked_ms),
    };
    if (zd_rendition_document(node->meta, kind_of(req), &document, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    zd_tag_format(answer.etag, node->tag,
        kind_of(req) == ZD_VIEW_UNSHARDED ? DOCUMENT_SUFFIX "-unsharded" : DOCUMENT_SUFFIX);
    ZD_SCOPED_TEXT(text, req->server->config->settings.limits_tree_bytes);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_json(&emit, document);
    return zd_respond_text(req, &text, &answer);
}

static enum zd_next step_document(struct zd_request *req)
{
    const struct zd_meta *meta = req->node->meta;
    if (is_refused(req)) {
        return refuse_node(req);
    }
    return meta->type == ZD_NODE_GROUP ? zd_handler_tree_view(req, kind_of(req))
                                       : respond_array(req);
}

/* ---- chunks ---- */

/* The array above a key is looked for. */
struct search {
    struct zd_node_want want;
    size_t n_segments; /* of the key, that are left to the chunk now */
    size_t n_numbers;  /* the same, at the end of the key: all digits */
    bool has_c;        /* the numbers follow a "c" */
    char path[ZD_KEY_BYTES_MAX + 1];
};

static void leave(struct zd_request *req)
{
    struct search *search = req->state;
    zd_catalog_release(&search->want);
    zd_free(search);
}

/* The length of a key without its last n segments, and the slash before them; false: it has fewer.
 */
static bool cut_segments(const char *key, size_t n, size_t *ret_len)
{
    size_t len = strlen(key);
    for (; n > 0; n--) {
        if (len == 0) {
            return false;
        }
        while (len > 0 && key[len - 1] != '/') {
            len--;
        }
        len -= len > 0 ? 1 : 0;
    }
    *ret_len = len;
    return true;
}

/* The segment that ends there. */
static struct zd_span segment_before(const char *key, size_t end)
{
    size_t first = end;
    while (first > 0 && key[first - 1] != '/') {
        first--;
    }
    return (struct zd_span){.ptr = (const uint8_t *)key + first, .len = end - first};
}

static bool is_number(struct zd_span segment)
{
    for (size_t i = 0; i < segment.len; i++) {
        if (segment.ptr[i] < '0' || segment.ptr[i] > '9') {
            return false;
        }
    }
    return segment.len > 0;
}

/* How a key of a chunk ends: in numbers, perhaps after "c". */
static void count_numbers(const char *key, struct search *search)
{
    size_t len = strlen(key);
    struct zd_span segment = segment_before(key, len);
    while (search->n_numbers < ZD_RANK_MAX && is_number(segment)) {
        search->n_numbers++;
        if (!cut_segments(key, search->n_numbers, &len)) {
            return;
        }
        segment = segment_before(key, len);
    }
    search->has_c = segment.len == 1 && segment.ptr[0] == 'c';
}

static zd_step step_array;

static zd_step look_on;

/* Look at the node above the last n_segments of the key. To a client that may not read it, it is
 * not there. */
static enum zd_next look(struct zd_request *req)
{
    struct search *search = req->state;
    size_t len = 0;
    if (!cut_segments(req->path, search->n_segments, &len) || len > ZD_KEY_BYTES_MAX) {
        return respond_missing(req);
    }
    memcpy(search->path, req->path, len);
    search->path[len] = '\0';
    if (!zd_permission_reads(req, search->path)) {
        req->step = look_on;
        return ZD_NEXT;
    }
    search->want = (struct zd_node_want){.wait = zd_machine_wait(&req->machine)};
    req->step = step_array;
    return zd_catalog_want(req->dataset, search->path, &search->want);
}

/* Looks for the next array that the key may belong to: after "c", with all numbers, then with ever
 * fewer of them. */
static enum zd_next look_on(struct zd_request *req)
{
    struct search *search = req->state;
    zd_catalog_release(&search->want);
    if (search->has_c) {
        search->has_c = false;
        search->n_segments = search->n_numbers > 0 ? search->n_numbers : 1;
    } else if (search->n_segments > 1) {
        search->n_segments--;
    } else {
        return respond_missing(req);
    }
    return look(req);
}

static enum zd_next serve_object(struct zd_request *req, const uint64_t *index)
{
    const struct zd_node *node = req->node;
    struct zd_error err = {0};
    char key[ZD_KEY_BYTES_MAX + 1];
    if (zd_object_key_of(node, 0, index, key, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    zd_text_clear(req->path_text);
    if (zd_text_add(req->path_text, key) != ZD_OK) {
        return zd_respond_no_memory(req, "a key");
    }
    req->path = req->path_text->at;
    return zd_handler_keys_object(req);
}

/* The request's node is an array, and rest is the path below it. */
static enum zd_next serve_chunk(struct zd_request *req, const char *rest)
{
    const struct zd_layout *layout = req->node->layout;
    const struct zd_rendition rendition = zd_rendition_of(layout, kind_of(req));
    struct zd_chunk_params ask = {.level = rendition.level, .is_decoded = rendition.is_decoded};
    if (zd_rendition_chunk(layout, &rendition, rest, ask.index) != ZD_OK) {
        return respond_missing(req);
    }
    zd_request_drop_state(req);
    return ask.level == 0 && !ask.is_decoded ? serve_object(req, ask.index)
                                             : zd_handler_chunks_stored(req, &ask);
}

static enum zd_next step_array(struct zd_request *req)
{
    struct search *search = req->state;
    const struct zd_wait *wait = &search->want.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return zd_respond_error(req, NULL, &wait->err);
    }
    if (wait->status == ZD_NOT_FOUND || search->want.node->meta->type != ZD_NODE_ARRAY) {
        return look_on(req);
    }
    const size_t len = strlen(search->path);
    zd_request_set_node(req, search->want.node);
    if (is_refused(req)) {
        return refuse_node(req);
    }
    if (zd_request_check_array(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    return serve_chunk(req, req->path + len + (len == 0 ? 0 : 1));
}

static enum zd_next find_array(struct zd_request *req)
{
    struct search *search = zd_request_new_state(req, sizeof *search, leave);
    if (search == NULL) {
        return ZD_DONE;
    }
    count_numbers(req->path, search);
    search->n_segments = search->n_numbers + (search->has_c ? 1 : 0);
    search->n_segments = search->n_segments > 0 ? search->n_segments : 1;
    return look(req);
}

/* ---- requests ---- */

static enum zd_next step_begin(struct zd_request *req)
{
    size_t len = 0;
    if (zd_handler_keys_are_forbidden(req)) {
        return ZD_DONE;
    }
    if (req->path[0] == '\0' || req->path_ends_in_slash) {
        return respond_missing(req);
    }
    (void)cut_segments(req->path, 1, &len);
    if (strcmp(req->path + len + (len == 0 ? 0 : 1), DOCUMENT) != 0) {
        return find_array(req);
    }
    req->path_text->at[req->path - req->path_text->at + (ptrdiff_t)len] = '\0';
    return zd_request_want_node(req, step_document);
}

/* Unknown parameters are ignored: clients add their own. */
static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v3/{d}/{key}",
        .first = step_begin,
        .scope = ZD_SCOPE_READ,
        .collapse_slashes = true},
    {.method = "GET",
        .path = "/v3-unsharded/{d}/{key}",
        .first = step_begin,
        .scope = ZD_SCOPE_READ,
        .collapse_slashes = true},
};

const struct zd_handler zd_handler_views = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
