/* /zarr/{d}/{key}: the stored keys, verbatim; key_index.c answers for directories. */
#include "server/handler/handler_keys.h"

#include <string.h>

#include "core/base/num.h"
#include "server/data/object_cache.h"
#include "server/data/range_read.h"
#include "server/handler/key_index.h"
#include "server/http/escape.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define KEPT_BYTES_MAX  (256U << 10) /* larger objects are not kept as prepared answers */
#define WHOLE_BYTES_MAX (64U << 10)  /* of larger objects only the range asked for is read */
#define DOCUMENT_TYPE   "application/json"
#define LOCATION_MAX    1024 /* a name of 255 bytes, each of them encoded */

struct keys {
    struct zd_object_want object;
    struct zd_object_want directory;
    struct zd_range_want range;
    bool is_range; /* the client asked for a range */
    uint32_t n_restarts;
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

/* Redirect to the same name with a slash; relative, so that it works behind any proxy. */
static enum zd_next redirect_to_directory(struct zd_request *req)
{
    const bool is_root = req->path[0] == '\0';
    const char *name = is_root ? req->dataset->config.name : last_segment(req->path);
    ZD_SCOPED_TEXT(location, LOCATION_MAX);
    (void)zd_escape_percent_encode(zd_span_of(name), &location);
    if (zd_text_add(&location, "/") != ZD_OK) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, location.status, "no memory for the location of '%.100s'", name);
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
    return zd_key_index_missing(req, zd_min_u64(keys->object.checked_ms, directory->checked_ms));
}

/* A remote store is asked once about a missing document: clients look for the documents of every
 * dialect, and no directory has such a name. */
static enum zd_next look_for_directory(struct zd_request *req)
{
    struct keys *keys = keys_of(req);
    if (is_remote_document(req)) {
        return zd_key_index_missing(req, keys->object.checked_ms);
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
            "%s: gave up after %d attempts, because writers replaced the object during each",
            req->path, ZD_ANSWER_RESTARTS_MAX + 1);
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
            "'%.256s' has %llu bytes; the limit without Range is %llu: request ranges", req->path,
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

enum zd_next zd_handler_keys_object(struct zd_request *req)
{
    const struct keys *keys = zd_request_new_state(req, sizeof *keys, state_free);
    return keys == NULL ? ZD_DONE : read_object(req);
}

static enum zd_next step_begin(struct zd_request *req)
{
    if (zd_handler_keys_are_forbidden(req)) {
        return ZD_DONE;
    }
    if (req->path_ends_in_slash) {
        return zd_key_index_show(req);
    }
    return req->path[0] == '\0' ? redirect_to_directory(req) : zd_handler_keys_object(req);
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
