/* /zarr/{d}/{key}: the stored keys, verbatim, and directories as HTML indexes.
 *
 * An index that is longer than WHOLE_INDEX_BYTES is streamed, without a tag: a directory of any
 * size takes no more memory. */
#include "server/handler/handler_keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/key_list.h"
#include "server/data/range_read.h"
#include "server/http/escape.h"
#include "server/http/html.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/data/object_cache.h"
#include "server/runtime/server.h"

#define KEPT_BYTES_MAX  (256U << 10) /* larger objects are not kept as prepared answers */
#define WHOLE_BYTES_MAX (64U << 10)  /* of larger objects only the range asked for is read */
#define INDEX_PAGE      250          /* entries added in one turn of the loop */
#define INDEX_BYTES                                                                                \
    (INDEX_PAGE * UINT64_C(2048)) /* of a page: names of 255 bytes, as text and in links */

#define WHOLE_INDEX_BYTES (256U << 10)
#define DOCUMENT_TYPE     "application/json"
#define INDEX_END         "</pre></body></html>\n"
#define LOCATION_MAX      1024 /* a name of 255 bytes, each of them encoded */

struct keys {
    struct zd_object_want object;
    struct zd_object_want directory;
    struct zd_range_want range;
    struct zd_key_list list;
    bool is_range;    /* asked for, of the object */
    bool is_streamed; /* the index */
    uint32_t n_restarts;
    struct zd_text page; /* the index */
    struct zd_hash hash; /* of the pieces so far */
    size_t n_hashed;     /* bytes */
};

static struct keys *keys_of(const struct zd_request *req)
{
    return req->state;
}

static void state_free(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    zd_objects_release(&keys->object);
    zd_objects_release(&keys->directory);
    zd_range_read_release(&keys->range);
    zd_key_list_release(&keys->list);
    zd_text_done(&keys->page);
    zd_free(keys);
}

static const char *last_segment(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Judged by the name alone. */
static const char *media_type_of(const char *key)
{
    static const char *const documents[] = {
        "zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"};
    for (size_t i = 0; i < ZD_COUNT_OF(documents); i++) {
        if (strcmp(last_segment(key), documents[i]) == 0) {
            return DOCUMENT_TYPE;
        }
    }
    return "application/octet-stream";
}

static bool is_remote_document(const struct zd_request *req)
{
    return req->dataset->store->endpoint != 0 &&
           strcmp(media_type_of(req->path), DOCUMENT_TYPE) == 0;
}

static struct zd_representation represent(const struct zd_request *req, const struct zd_stat *stat)
{
    struct zd_representation representation = {
        .media_type = media_type_of(req->path),
        .length_is_known = true,
        .length = stat->size,
        .mtime_ms = stat->mtime_ms,
        .accepts_ranges = true,
    };
    zd_tag_object(representation.etag, stat);
    return representation;
}

/* ---- a directory ---- */

static void add_title(const struct zd_request *req, struct zd_text *page)
{
    zd_text_add(page, "Index of /zarr/");
    zd_text_add(page, req->dataset->config.name);
    zd_text_add(page, "/");
    if (req->path[0] != '\0') {
        zd_escape_html(page, req->path);
        zd_text_add(page, "/");
    }
}

/* The form of index that fsspec, GDAL, neuroglancer and N5 all read. */
static void begin_page(const struct zd_request *req, struct zd_text *page)
{
    zd_text_add(page, "<!doctype html><html><head><title>");
    add_title(req, page);
    zd_text_add(page, "</title></head><body>\n<h1>");
    add_title(req, page);
    zd_text_add(page, "</h1><pre><a href=\"../\">../</a>\n");
}

static void add_entry(struct zd_text *page, const struct zd_store_entry *entry)
{
    const char *slash = entry->is_prefix ? "/" : "";
    zd_text_add(page, "<a href=\"");
    (void)zd_escape_percent_encode(zd_span_of(entry->name), page);
    zd_text_add(page, slash);
    zd_text_add(page, "\">");
    zd_escape_html(page, entry->name);
    zd_text_add(page, slash);
    zd_text_add(page, "</a>\n");
}

/* Takes the lines that were added to the index since the last time. */
static void hash_page(struct keys *keys)
{
    const struct zd_span page = zd_text_span(&keys->page);
    zd_hash_add(&keys->hash,
        (struct zd_span){.ptr = page.ptr + keys->n_hashed, .len = page.len - keys->n_hashed});
    keys->n_hashed = page.len;
}

static enum zd_next respond_page(struct zd_request *req)
{
    struct zd_text *page = &keys_of(req)->page;
    zd_text_add(page, INDEX_END);
    ZD_AUTO(zd_buf) body = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_text_buf(page, &body);
    if (status != ZD_OK) {
        err.status = zd_fail(&err, status, "the index has more than %zu bytes", page->len_max);
        zd_fact_limit(&err, page->len_max, page->len);
        return zd_respond_error(req, NULL, &err);
    }
    hash_page(keys_of(req));
    struct zd_representation representation = {
        .media_type = ZD_HTML_TYPE,
        .body = body,
    };
    zd_tag_format(representation.etag, keys_of(req)->hash.value, "index");
    return zd_respond(req, &representation);
}

static enum zd_next respond_missing(struct zd_request *req, uint64_t checked_ms)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_NOT_FOUND, "dataset '%s' has no key '%.256s'",
        req->dataset->config.name, req->path);
    const struct zd_problem problem = {
        .code = "key_not_found",
        .err = &err,
        .keep_until_ms = checked_ms == 0 ? 0 : zd_dataset_trusts_until(req->dataset, checked_ms),
    };
    return zd_respond_problem(req, &problem);
}

/* ---- a long index ---- */

static zd_step step_listed;

static enum zd_next list_on(struct zd_request *req)
{
    req->step = step_listed;
    zd_key_list_next(&keys_of(req)->list);
    return ZD_WAIT;
}

/* Sends the lines of the index that are there. The head leaves with the first piece. */
static enum zd_next step_give(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    const struct zd_representation answer = {.media_type = ZD_HTML_TYPE};
    struct zd_buf *piece = NULL;
    req->step = step_give;
    if (zd_request_want_room(req, keys->page.len) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (!zd_stream_is_open(&req->stream) && zd_respond_stream(req, &answer) == ZD_DONE) {
        return ZD_DONE;
    }
    if (zd_text_buf(&keys->page, &piece) != ZD_OK) {
        return zd_respond_no_memory(req, "an index");
    }
    zd_text_clear(&keys->page);
    zd_request_give(req, piece, 0, piece->len);
    return keys->list.list == NULL ? zd_request_end_stream(req) : list_on(req);
}

/* Judges the conditions of an answer without a tag. */
static enum zd_next step_stream(struct zd_request *req)
{
    struct zd_representation answer = {.media_type = ZD_HTML_TYPE};
    switch (zd_respond_condition(req, &answer)) {
    case ZD_NOT_MODIFIED:
        return zd_respond_not_modified(req, &answer);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, answer.etag);
    default:
        break;
    }
    if (req->is_head) {
        return zd_respond(req, &answer);
    }
    keys_of(req)->is_streamed = true;
    zd_stream_init(&req->stream, 2 * INDEX_BYTES);
    return step_give(req);
}

static enum zd_next give_index(struct zd_request *req)
{
    const uint64_t bytes = zd_admit_stream_bytes(req, 4 * INDEX_BYTES);
    return keys_of(req)->is_streamed ? step_give(req)
                                     : zd_admit_want_locked(req, bytes, step_stream, step_stream);
}

static enum zd_next end_page(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    zd_key_list_release(&keys->list);
    if (!keys->is_streamed) {
        return respond_page(req);
    }
    zd_text_add(&keys->page, INDEX_END);
    return step_give(req);
}

static enum zd_next step_listed(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    const enum zd_status status = keys->list.wait.status;
    const bool is_root = req->path[0] == '\0';
    if (status == ZD_NOT_FOUND && !is_root) {
        return respond_missing(req, 0);
    }
    if (status == ZD_NOT_FOUND) {
        return respond_page(req); /* nothing is stored yet */
    }
    if (status != ZD_OK) {
        return zd_respond_error(req, NULL, &keys->list.wait.err);
    }
    const struct zd_store_list *list = keys->list.list;
    for (size_t i = 0; i < list->n_entries; i++) {
        add_entry(&keys->page, &list->entry[i]);
    }
    if (keys->page.status != ZD_OK || !list->has_more || list->n_entries == 0) {
        return end_page(req);
    }
    if (keys->is_streamed || keys->page.len > WHOLE_INDEX_BYTES) {
        return give_index(req);
    }
    hash_page(keys);
    return list_on(req);
}

static enum zd_next step_list(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    char prefix[ZD_KEY_BYTES_MAX + 2];
    const bool is_root = req->path[0] == '\0';
    (void)snprintf(prefix, sizeof prefix, "%s%s", req->path, is_root ? "" : "/");
    keys->list.wait = zd_machine_wait(&req->machine);
    req->step = step_listed;
    return zd_key_list_want(req->dataset, prefix, INDEX_PAGE, &keys->list);
}

static enum zd_next step_index(struct zd_request *req)
{
    if (req->path[0] != '\0' && !zd_key_is_valid(req->path)) {
        return respond_missing(req, 0);
    }
    return zd_admit_want(req, INDEX_BYTES + WHOLE_INDEX_BYTES, step_list);
}

/* Redirect to the same name with a slash; relative, so that it works behind any proxy. */
static enum zd_next redirect_to_directory(struct zd_request *req)
{
    const bool is_root = req->path[0] == '\0';
    const char *name = is_root ? req->dataset->config.name : last_segment(req->path);
    ZD_SCOPED_TEXT(location, LOCATION_MAX);
    (void)zd_escape_percent_encode(zd_span_of(name), &location);
    if (zd_text_add(&location, "/") != ZD_OK) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, location.status, "no room for where '%.100s' is", name);
        return zd_respond_error(req, NULL, &err);
    }
    return zd_respond_redirect(req, 301, location.at);
}

/* ---- a key ---- */

static enum zd_next step_directory_known(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    const struct zd_object_want *directory = &keys->directory;
    if (directory->wait.status == ZD_OK) {
        return redirect_to_directory(req);
    }
    if (directory->wait.status != ZD_NOT_FOUND) {
        return zd_respond_error(req, NULL, &directory->wait.err);
    }
    return respond_missing(req, zd_min_u64(keys->object.checked_ms, directory->checked_ms));
}

/* A remote store is asked once about a missing document: clients look for the documents of every
 * dialect, and no directory has such a name. */
static enum zd_next look_for_directory(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    if (is_remote_document(req)) {
        return respond_missing(req, keys->object.checked_ms);
    }
    keys->directory.wait = zd_machine_wait(&req->machine);
    req->step = step_directory_known;
    return zd_objects_want(req->dataset, req->path, ZD_OBJECT_DIRECTORY, &keys->directory);
}

static enum zd_next step_status(struct zd_request *req);

/* The object is of another generation than its status was. */
static enum zd_next restart(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    if (keys->n_restarts == ZD_ANSWER_RESTARTS_MAX) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_STORE,
            "%s: the object was replaced while it was read, %d times in a row", req->path,
            ZD_ANSWER_RESTARTS_MAX + 1);
        return zd_respond_error(req, NULL, &err);
    }
    keys->n_restarts++;
    zd_objects_forget(req->dataset, req->path);
    req->step = step_status;
    return ZD_NEXT;
}

static uint64_t keep_until(const struct zd_request *req)
{
    return zd_dataset_trusts_until(req->dataset, keys_of(req)->object.checked_ms);
}

static enum zd_next step_range_read(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    struct zd_range_want *range = &keys->range;
    if (range->wait.status == ZD_PRECONDITION || range->wait.status == ZD_NOT_FOUND) {
        return restart(req);
    }
    if (range->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &range->wait.err);
    }
    struct zd_representation representation = represent(req, &range->stat);
    representation.body = range->bytes;
    if (range->bytes != NULL && range->bytes->len <= KEPT_BYTES_MAX) {
        representation.keep_until_ms = keep_until(req);
    }
    representation.body_is_range = keys->is_range;
    representation.range_first = range->range.first;
    struct zd_file_part file = {
        .fd = range->fd,
        .first = range->fd_first + range->range.first,
        .len = range->range.len,
    };
    representation.file = range->has_file ? &file : NULL;
    const enum zd_next next = zd_respond(req, &representation);
    range->has_file = range->has_file && file.fd >= 0;
    return next;
}

static enum zd_next step_read_range(struct zd_request *req)
{
    req->step = step_range_read;
    keys_of(req)->range.traceparent = req->traceparent;
    return zd_range_read_want(req->dataset, req->path, &keys_of(req)->range);
}

/* Whether so many bytes are not read but sent from their file. Shorter ones go out faster from
 * memory: libmicrohttpd takes 128 KiB a call of sendfile(2), and four calls more besides. */
static bool sends_file(const struct zd_request *req, uint64_t len)
{
    return len > req->server->config->settings.http_stream_bytes &&
           zd_store_has_file(req->dataset->store, req->path);
}

/* @param len within the object */
static enum zd_next read_range(struct zd_request *req, uint64_t first, uint64_t len)
{
    struct keys *keys = keys_of(req);
    keys->range = (struct zd_range_want){
        .wait = zd_machine_wait(&req->machine),
        .range = {.kind = ZD_RANGE_FROM_TO, .first = first, .len = len},
        .only_generation = keys->object.stat.generation,
        .wants_file = sends_file(req, len),
    };
    if (keys->range.wants_file) {
        return step_read_range(req); /* holds nothing */
    }
    return zd_admit_want(req, len, step_read_range);
}

static enum zd_next step_whole_read(struct zd_request *req)
{
    const struct zd_object_want *object = &keys_of(req)->object;
    if (object->wait.status == ZD_NOT_FOUND) {
        return look_for_directory(req);
    }
    if (object->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &object->wait.err);
    }
    struct zd_representation representation = represent(req, &object->stat);
    representation.body = object->bytes;
    if (object->bytes->len <= KEPT_BYTES_MAX) {
        representation.keep_until_ms = keep_until(req);
    }
    return zd_respond(req, &representation);
}

static enum zd_next step_read_whole(struct zd_request *req)
{
    req->step = step_whole_read;
    return zd_objects_want(req->dataset, req->path, ZD_OBJECT_BYTES, &keys_of(req)->object);
}

static enum zd_next read_whole(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    const uint64_t size = keys->object.stat.size;
    const uint64_t bytes_max = req->server->config->settings.limits_object_bytes;
    if (size > bytes_max) {
        struct zd_error err = {0};
        err.status = zd_fail_limit(&err, bytes_max, size,
            "'%.256s' has %llu bytes, at most %llu are read whole: ask for ranges", req->path,
            (unsigned long long)size, (unsigned long long)bytes_max);
        return zd_respond_error(req, NULL, &err);
    }
    /* Objects that fit the cache are read once for all requests. */
    if (size > req->server->objects.entry_bytes_max && sends_file(req, size)) {
        return read_range(req, 0, size);
    }
    return zd_admit_want(req, size, step_read_whole);
}

/* The object is there: conditions and ranges come before any byte of it is read. */
static enum zd_next step_status_known(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    const struct zd_object_want *object = &keys->object;
    if (object->wait.status == ZD_NOT_FOUND) {
        return look_for_directory(req);
    }
    if (object->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &object->wait.err);
    }
    struct zd_representation representation = represent(req, &object->stat);
    const char *etag = representation.etag;
    representation.keep_until_ms = keep_until(req);
    if (zd_respond_renewed(req, &representation)) {
        return ZD_NEXT;
    }
    if (req->is_head || zd_request_condition(req, etag, representation.mtime_ms) != ZD_OK) {
        return zd_respond(req, &representation);
    }
    uint64_t first = 0;
    uint64_t len = 0;
    const uint64_t size = object->stat.size;
    switch (zd_request_range(req, size, etag, &first, &len)) {
    case ZD_RANGE_OUTSIDE:
        return zd_respond_range_outside(req, size);
    case ZD_RANGE_PART:
        keys->is_range = true;
        break;
    case ZD_RANGE_NONE:
        keys->is_range = false;
        break;
    }
    if (object->bytes != NULL) {
        return step_whole_read(req);
    }
    return keys->is_range && size > WHOLE_BYTES_MAX ? read_range(req, first, len) : read_whole(req);
}

static enum zd_next step_status(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    keys->object.wait = zd_machine_wait(&req->machine);
    req->step = step_status_known;
    return zd_objects_want(req->dataset, req->path, ZD_OBJECT_STATUS, &keys->object);
}

static enum zd_next step_document_read(struct zd_request *req)
{
    if (keys_of(req)->object.wait.status != ZD_TOO_LARGE) {
        return step_status_known(req);
    }
    keys_of(req)->object.bytes_max = 0;
    zd_admit_release(req);
    return step_status(req);
}

static enum zd_next step_read_document(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    keys->object.wait = zd_machine_wait(&req->machine);
    keys->object.bytes_max = KEPT_BYTES_MAX;
    req->step = step_document_read;
    return zd_objects_want(req->dataset, req->path, ZD_OBJECT_BYTES, &keys->object);
}

/* A short document of a remote store is read at once: asking for its length would be another
 * request. */
static enum zd_next read_object(struct zd_request *req)
{
    if (is_remote_document(req) && !req->is_head) {
        return zd_admit_want(req, KEPT_BYTES_MAX, step_read_document);
    }
    return step_status(req);
}

bool zd_handler_keys_are_forbidden(struct zd_request *req)
{
    if (req->dataset->config.allow_keys) {
        return false;
    }
    const struct zd_problem problem = {
        .code = "forbidden",
        .detail = "this dataset does not serve its stored keys",
    };
    (void)zd_respond_problem(req, &problem);
    return true;
}

/* NULL: the request is answered. */
static struct keys *new_keys(struct zd_request *req)
{
    struct keys *keys = zd_request_new_state(req, sizeof *keys, state_free);
    if (keys != NULL) {
        zd_text_init(&keys->page, req->server->config->settings.limits_tree_bytes);
    }
    return keys;
}

enum zd_next zd_handler_keys_object(struct zd_request *req)
{
    return new_keys(req) == NULL ? ZD_DONE : read_object(req);
}

static enum zd_next step_begin(struct zd_request *req)
{
    if (zd_handler_keys_are_forbidden(req)) {
        return ZD_DONE;
    }
    struct keys *keys = new_keys(req);
    if (keys == NULL) {
        return ZD_DONE;
    }
    if (req->path_ends_in_slash) {
        begin_page(req, &keys->page);
        req->step = step_index;
        return ZD_NEXT;
    }
    if (req->path[0] == '\0') {
        return redirect_to_directory(req);
    }
    return read_object(req);
}

static const struct zd_route routes[] = {
    {
        .method = "GET",
        .path = "/zarr/{d}/{key}",
        .first = step_begin,
        .scope = ZD_SCOPE_READ,
        .params = NULL, /* unknown ones are ignored: clients add their own */
        .collapse_slashes = true,
    },
};

const struct zd_handler zd_handler_keys = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
