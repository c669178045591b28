/* Answers as libmicrohttpd wants them, and those that are kept prepared. */
#include "server/reply.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/accept.h"
#include "server/handler/handler.h"
#include "server/server.h"

#define PROBLEM_BYTES_MAX (1U << 20)
#define KEPT_COST_BYTES   2048 /* of a kept answer besides its body: headers, structures */

/** An answer that is kept: a representation (response, body) or a problem (document). */
struct zd_kept {
    struct zd_cache_entry entry; /* first; key: target */
    char *target;
    uint64_t keep_until_ms;
    const struct zd_handler *handler;
    const struct zd_route *route;
    uint32_t route_number;
    /* a representation */
    struct MHD_Response *response; /* shared by all who ask; NULL: a problem */
    char *id;                      /* its X-Request-Id, ZD_MADE_ID_LEN bytes in its memory */
    struct zd_buf *body;
    bool accepts_ranges;
    char etag[ZD_TAG_BYTES];
    int64_t mtime_ms;
    /* a problem */
    const char *problem_code;
    char *document;
    size_t document_len;
    size_t instance_at; /* where the id stands in the document */
};

static const char expose_headers[] =
    "ETag, Content-Range, Content-Length, Content-Encoding, Accept-Ranges, Last-Modified, Date, "
    "Retry-After, Server-Timing, X-Request-Id, Zarr-Shape, Zarr-Dtype, Zarr-Data-Type, "
    "Zarr-Dimensions, Zarr-Selection, Zarr-Fill-Value, Zarr-Chunks, Zarr-Chunk, Zarr-Codecs, "
    "Zarr-Origin, Zarr-Warning";

static struct zd_http *http_of(const struct zd_request *req)
{
    return req->server->http;
}

/* A header that cannot be added (no memory, a line break in its value) is left out. */
static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

/* What every answer carries (api.md 2). */
static void add_common(const struct zd_request *req, struct MHD_Response *response)
{
    add_header(response, "X-Request-Id", req->id);
    add_header(
        response, "Access-Control-Allow-Origin", req->server->config->settings.http_cors_origin);
    add_header(response, "Access-Control-Expose-Headers", expose_headers);
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (req->server->is_draining) {
        add_header(response, "Connection", "close");
    }
}

/* Hand a new response over to the request. */
static enum zd_next answer(struct zd_request *req, unsigned http_status,
    struct MHD_Response *response, uint64_t body_bytes)
{
    req->answer_is_borrowed = response == NULL;
    if (response == NULL) {
        req->answer = http_of(req)->emergency;
        req->http_status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        req->problem_code = "internal";
        req->body_bytes = 0;
        return ZD_DONE;
    }
    req->answer = response;
    req->http_status = http_status;
    req->body_bytes = req->is_head || http_status == MHD_HTTP_NOT_MODIFIED ? 0 : body_bytes;
    return ZD_DONE;
}

/* A header more for an answer that is this request's own. */
static void add_to_answer(struct zd_request *req, const char *name, const char *value)
{
    if (!req->answer_is_borrowed) {
        add_header(req->answer, name, value);
    }
}

static void release_buf(void *buf)
{
    zd_buf_unref(buf);
}

/* A window of a shared buffer as a body; no copy. */
static struct MHD_Response *response_of(struct zd_buf *body, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        (size_t)len, body->data + first, release_buf, body);
    if (response != NULL) {
        (void)zd_buf_ref(body); /* taken back by release_buf */
    }
    return response;
}

static ssize_t no_bytes(void *cls, uint64_t position, char *to, size_t len_max)
{
    (void)cls;
    (void)position;
    (void)to;
    (void)len_max;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* A response without a body that tells the length of one: for HEAD and 304. */
static struct MHD_Response *response_of_length(uint64_t length)
{
    return MHD_create_response_from_callback(length, 1, no_bytes, NULL, NULL);
}

/* Headers without a body whose length is not known. Not chunked: libmicrohttpd 0.9.75 would send
 * the last chunk although there is no body, and some clients wait for one (a 304 with
 * Transfer-Encoding). With neither header the end of the connection says where the answer ends. */
static struct MHD_Response *response_of_unknown_length(void)
{
    struct MHD_Response *response = response_of_length(MHD_SIZE_UNKNOWN);
    if (response != NULL) {
        (void)MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
    }
    return response;
}

static struct MHD_Response *response_of_text(struct zd_span text)
{
    return MHD_create_response_from_buffer(
        text.len, (void *)(uintptr_t)text.ptr, MHD_RESPMEM_MUST_COPY);
}

/* ---- problems ---- */

static size_t find_instance(const struct zd_text *document, const char *id)
{
    ZD_SCOPED_TEXT(member, ZD_REQUEST_ID_MAX + 16);
    zd_text_addf(&member, "\"instance\":\"%s\"", id);
    const char *at = strstr(document->at, member.at);
    return at == NULL ? 0 : (size_t)(at - document->at) + strlen("\"instance\":\"");
}

static void kept_free(struct zd_cache_entry *entry)
{
    struct zd_kept *kept = ZD_CONTAINER(entry, struct zd_kept, entry);
    if (kept->response != NULL) {
        MHD_destroy_response(kept->response);
    }
    zd_buf_unref(kept->body);
    zd_free(kept->document);
    zd_free(kept->target);
    zd_free(kept);
}

static bool is_reading(const struct zd_request *req)
{
    return req->is_head || strcmp(req->method, "GET") == 0;
}

static bool may_keep(const struct zd_request *req, uint64_t keep_until_ms)
{
    return keep_until_ms > uv_now(req->server->loop) && !req->server->is_draining &&
           is_reading(req) && (req->dataset == NULL || !req->dataset->is_retired);
}

/* Put an answer into the table in place of an older one; takes it over, whatever happens. */
static void keep(struct zd_request *req, struct zd_kept *kept, size_t bytes)
{
    struct zd_cache *cache = &http_of(req)->kept;
    kept->entry.owner = req->dataset;
    kept->handler = req->handler;
    kept->route = req->route;
    kept->route_number = req->route_number;
    kept->target = zd_strdup(req->target);
    if (kept->target == NULL) {
        kept_free(&kept->entry);
        return;
    }
    kept->entry.map.key = zd_span_of(kept->target);
    struct zd_map_entry *older = zd_map_find(&cache->map, kept->entry.map.key);
    if (older != NULL) {
        zd_cache_drop(cache, ZD_CONTAINER(older, struct zd_cache_entry, map));
    }
    if (zd_cache_put(cache, &kept->entry) != ZD_OK) {
        kept_free(&kept->entry);
        return;
    }
    zd_cache_charge(cache, &kept->entry, bytes + KEPT_COST_BYTES + kept->entry.map.key.len);
    zd_cache_unref(cache, &kept->entry);
}

static void keep_problem(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_text *document)
{
    struct zd_kept *kept = zd_alloc_zero(1, sizeof *kept);
    if (kept == NULL) {
        return;
    }
    kept->keep_until_ms = problem->keep_until_ms;
    kept->problem_code = zd_problem_kind(problem->code)->code;
    kept->instance_at = find_instance(document, req->id);
    const size_t id_len = strlen(req->id);
    kept->document_len = document->len - id_len;
    kept->document = zd_alloc(kept->document_len + 1);
    if (kept->document == NULL || kept->instance_at == 0) {
        kept_free(&kept->entry);
        return;
    }
    memcpy(kept->document, document->at, kept->instance_at);
    memcpy(kept->document + kept->instance_at, document->at + kept->instance_at + id_len,
        kept->document_len - kept->instance_at + 1);
    keep(req, kept, kept->document_len);
}

static enum zd_next answer_document(
    struct zd_request *req, const char *code, const struct zd_text *document)
{
    struct MHD_Response *response =
        document->status == ZD_OK ? response_of_text(zd_text_span(document)) : NULL;
    if (response != NULL) {
        add_common(req, response);
        add_header(response, "Content-Type", "application/problem+json");
        add_header(response, "Cache-Control", "no-cache");
    }
    req->problem_code = code;
    return answer(req, zd_problem_kind(code)->http_status, response, document->len);
}

enum zd_next zd_respond_problem(struct zd_request *req, const struct zd_problem *problem)
{
    struct zd_text *document = &http_of(req)->scratch;
    zd_text_clear(document);
    zd_problem_add(problem, req->id, document);
    const enum zd_next next = answer_document(req, zd_problem_kind(problem->code)->code, document);
    req->server->metrics.n_problems++;
    if (problem->allow != NULL) {
        add_to_answer(req, "Allow", problem->allow);
    }
    if (problem->retry_after_s > 0) {
        ZD_SCOPED_TEXT(seconds, 16);
        zd_text_add_u64(&seconds, problem->retry_after_s);
        add_to_answer(req, "Retry-After", seconds.at);
    }
    if (document->status == ZD_OK && may_keep(req, problem->keep_until_ms)) {
        keep_problem(req, problem, document);
    }
    return next;
}

enum zd_next zd_respond_error(struct zd_request *req, const char *code, const struct zd_error *err)
{
    const char *known = code != NULL ? code : zd_problem_code_of(err->status);
    const struct zd_problem problem = {
        .code = known,
        .err = err,
        .retry_after_s = zd_problem_kind(known)->http_status == 503 ? 1 : 0,
    };
    if (zd_problem_kind(known)->http_status >= 500) {
        zd_log(&req->server->log, ZD_LOG_WARNING, "%s %s: %s: %s", req->method, req->target, known,
            err->text);
    }
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_respond_range_outside(struct zd_request *req, uint64_t length)
{
    ZD_SCOPED_TEXT(range, 64);
    zd_text_addf(&range, "bytes */%llu", (unsigned long long)length);
    struct zd_error err = {0};
    err.status =
        zd_fail(&err, ZD_OUT_OF_BOUNDS, "range '%.100s' is not satisfiable: there are %llu bytes",
            req->conditions.range, (unsigned long long)length);
    zd_fact_size(&err, length);
    const struct zd_problem problem = {.code = "range_not_satisfiable", .err = &err};
    const enum zd_next next = zd_respond_problem(req, &problem);
    add_to_answer(req, "Content-Range", range.at);
    add_to_answer(req, "Accept-Ranges", "bytes");
    return next;
}

/* ---- representations ---- */

static bool has_own(const struct zd_representation *rep, const char *name)
{
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        if (strcasecmp(rep->header[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_validators(struct MHD_Response *response, const char *etag, int64_t mtime_ms)
{
    if (etag[0] != '\0') {
        add_header(response, "ETag", etag);
    }
    if (mtime_ms != 0) {
        char date[ZD_DATE_BYTES];
        zd_date_format(date, mtime_ms);
        add_header(response, "Last-Modified", date);
    }
}

static void add_headers(const struct zd_request *req, const struct zd_representation *rep,
    struct MHD_Response *response)
{
    add_common(req, response);
    add_validators(response, rep->etag, rep->mtime_ms);
    if (!has_own(rep, "Cache-Control")) {
        add_header(response, "Cache-Control", zd_request_cache_control(req));
    }
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        add_header(response, rep->header[i].name, rep->header[i].value);
    }
}

/* What describes the body; a 304 carries none of it. */
static void add_body_headers(const struct zd_representation *rep, struct MHD_Response *response)
{
    if (rep->media_type != NULL) {
        add_header(response, "Content-Type", rep->media_type);
    }
    if (rep->accepts_ranges) {
        add_header(response, "Accept-Ranges", "bytes");
    }
}

static void add_content_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length)
{
    ZD_SCOPED_TEXT(range, 80);
    zd_text_addf(&range, "bytes %llu-%llu/%llu", (unsigned long long)first,
        (unsigned long long)(first + len - 1), (unsigned long long)length);
    add_header(response, "Content-Range", range.at);
}

enum zd_next zd_respond_not_modified(struct zd_request *req, const struct zd_representation *rep)
{
    /* Content-Length of a 304 is that of the 200 (RFC 9110, 8.6). */
    const bool has_whole = rep->body != NULL && !rep->body_is_range;
    struct MHD_Response *response =
        has_whole || rep->length_is_known
            ? response_of_length(has_whole ? rep->body->len : rep->length)
            : response_of_unknown_length();
    if (response != NULL) {
        add_headers(req, rep, response);
    }
    return answer(req, MHD_HTTP_NOT_MODIFIED, response, 0);
}

static enum zd_next answer_part(struct zd_request *req, const struct zd_representation *rep,
    uint64_t first, uint64_t len, uint64_t at_body)
{
    struct MHD_Response *response = response_of(rep->body, at_body, len);
    if (response != NULL) {
        add_headers(req, rep, response);
        add_body_headers(rep, response);
        add_content_range(response, first, len, rep->body_is_range ? rep->length : rep->body->len);
    }
    return answer(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

static void keep_representation(
    struct zd_request *req, const struct zd_representation *rep, struct MHD_Response *response)
{
    const char *id = MHD_get_response_header(response, "X-Request-Id");
    struct zd_kept *kept = NULL;
    if (id == NULL || strlen(id) != ZD_MADE_ID_LEN ||
        (kept = zd_alloc_zero(1, sizeof *kept)) == NULL) {
        MHD_destroy_response(response);
        return;
    }
    kept->keep_until_ms = rep->keep_until_ms;
    kept->response = response;
    kept->id = (char *)(uintptr_t)id;
    kept->body = zd_buf_ref(rep->body);
    kept->accepts_ranges = rep->accepts_ranges;
    memcpy(kept->etag, rep->etag, sizeof kept->etag);
    kept->mtime_ms = rep->mtime_ms;
    keep(req, kept, rep->body->len);
}

static enum zd_next answer_whole(struct zd_request *req, const struct zd_representation *rep)
{
    const unsigned http_status = rep->http_status == 0 ? MHD_HTTP_OK : rep->http_status;
    struct MHD_Response *response = NULL;
    uint64_t body_bytes = 0;
    if (rep->body != NULL) {
        response = response_of(rep->body, 0, rep->body->len);
        body_bytes = rep->body->len;
    } else if (req->is_head) {
        response =
            rep->length_is_known ? response_of_length(rep->length) : response_of_unknown_length();
    } else {
        response = response_of_text((struct zd_span){.ptr = (const uint8_t *)"", .len = 0});
    }
    if (response == NULL) {
        return answer(req, http_status, NULL, 0);
    }
    add_headers(req, rep, response);
    add_body_headers(rep, response);
    const bool keeps = http_status == MHD_HTTP_OK && rep->body != NULL &&
                       may_keep(req, rep->keep_until_ms) && strlen(req->id) == ZD_MADE_ID_LEN;
    if (keeps) {
        struct MHD_Response *shared = response_of(rep->body, 0, rep->body->len);
        if (shared != NULL) {
            add_headers(req, rep, shared);
            add_body_headers(rep, shared);
            keep_representation(req, rep, shared);
        }
    }
    return answer(req, http_status, response, body_bytes);
}

static enum zd_next answer_precondition(struct zd_request *req, const char *etag)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION,
        "a precondition does not hold: the current tag is %s", etag[0] == '\0' ? "none" : etag);
    const struct zd_problem problem = {.code = "precondition_failed", .err = &err};
    const enum zd_next next = zd_respond_problem(req, &problem);
    if (etag[0] != '\0') {
        add_to_answer(req, "ETag", etag);
    }
    return next;
}

enum zd_next zd_respond(struct zd_request *req, const struct zd_representation *rep)
{
    if ((rep->http_status != 0 && rep->http_status != MHD_HTTP_OK) || !is_reading(req)) {
        return answer_whole(req, rep);
    }
    switch (zd_request_condition(req, rep->etag, rep->mtime_ms)) {
    case ZD_NOT_MODIFIED:
        return zd_respond_not_modified(req, rep);
    case ZD_PRECONDITION:
        return answer_precondition(req, rep->etag);
    default:
        break;
    }
    if (rep->body_is_range) {
        return answer_part(req, rep, rep->range_first, rep->body->len, 0);
    }
    uint64_t first = 0;
    uint64_t len = 0;
    if (rep->accepts_ranges && rep->body != NULL) {
        switch (zd_request_range(req, rep->body->len, rep->etag, rep->mtime_ms, &first, &len)) {
        case ZD_RANGE_PART:
            return answer_part(req, rep, first, len, first);
        case ZD_RANGE_OUTSIDE:
            return zd_respond_range_outside(req, rep->body->len);
        case ZD_RANGE_NONE:
            break;
        }
    }
    return answer_whole(req, rep);
}

enum zd_next zd_respond_json(
    struct zd_request *req, const struct zd_text *json, struct zd_representation *rep)
{
    ZD_AUTO(zd_buf) body = NULL;
    const enum zd_status status = zd_text_buf(json, &body);
    if (status != ZD_OK) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, status, "the answer does not fit %zu bytes", json->len_max);
        zd_fact_limit(&err, json->len_max, json->len);
        return zd_respond_error(req, NULL, &err);
    }
    if (rep->media_type == NULL) {
        rep->media_type = "application/json";
    }
    rep->body = body;
    if (rep->etag[0] == '\0' && is_reading(req)) {
        zd_tag_format(rep->etag, zd_hash64(zd_buf_span(body), 0), "doc");
    }
    const enum zd_next next = zd_respond(req, rep);
    rep->body = NULL;
    return next;
}

enum zd_next zd_respond_redirect(struct zd_request *req, unsigned http_status, const char *location)
{
    const struct zd_representation rep = {
        .http_status = http_status,
        .header = {{"Location", location}},
        .n_headers = 1,
    };
    return zd_respond(req, &rep);
}

enum zd_next zd_reply_options(struct zd_request *req)
{
    static const char methods[] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    struct MHD_Response *response =
        response_of_text((struct zd_span){.ptr = (const uint8_t *)"", .len = 0});
    if (response != NULL) {
        const char *wanted = zd_request_header(req, "Access-Control-Request-Headers");
        const char *local = zd_request_header(req, "Access-Control-Request-Private-Network");
        add_common(req, response);
        add_header(response, "Allow", methods);
        add_header(response, "Access-Control-Allow-Methods", methods);
        /* "*" does not cover Authorization: the list is echoed (R29). */
        add_header(response, "Access-Control-Allow-Headers", wanted == NULL ? "*" : wanted);
        add_header(response, "Access-Control-Max-Age", "7200");
        add_header(response, "Cache-Control", "no-cache");
        add_header(response, "Vary",
            "Access-Control-Request-Headers, Access-Control-Request-Private-Network");
        if (local != NULL && strcmp(local, "true") == 0) {
            add_header(response, "Access-Control-Allow-Private-Network", "true");
        }
    }
    return answer(req, MHD_HTTP_NO_CONTENT, response, 0);
}

void zd_reply_close_connection(struct zd_request *req)
{
    add_to_answer(req, "Connection", "close");
}

/* ---- from what was kept ---- */

static void answer_kept_problem(struct zd_request *req, const struct zd_kept *kept)
{
    struct zd_text *document = &http_of(req)->scratch;
    zd_text_clear(document);
    zd_text_add_bytes(document, kept->document, kept->instance_at);
    zd_text_add(document, req->id);
    zd_text_add_bytes(
        document, kept->document + kept->instance_at, kept->document_len - kept->instance_at);
    (void)answer_document(req, kept->problem_code, document);
    req->server->metrics.n_problems++;
}

static enum MHD_Result copy_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcmp(name, "X-Request-Id") != 0) {
        add_header(cls, name, value);
    }
    return MHD_YES;
}

/* A response of its own with the kept one's headers: a part, or another length of id. */
static void answer_kept_copy(struct zd_request *req, const struct zd_kept *kept, uint64_t first,
    uint64_t len, unsigned http_status)
{
    struct MHD_Response *response = response_of(kept->body, first, len);
    if (response != NULL) {
        add_header(response, "X-Request-Id", req->id);
        (void)MHD_get_response_headers(kept->response, copy_header, response);
        if (http_status == MHD_HTTP_PARTIAL_CONTENT) {
            add_content_range(response, first, len, kept->body->len);
        }
    }
    (void)answer(req, http_status, response, len);
}

/* The shared response. libmicrohttpd renders the head when the response is queued, within the same
 * call of the access handler and on this thread: the id that it stores can be overwritten for each
 * request, so that a hot answer builds nothing. */
static void answer_kept_shared(
    struct zd_request *req, const struct zd_kept *kept, unsigned http_status)
{
    memcpy(kept->id, req->id, ZD_MADE_ID_LEN);
    (void)answer(req, http_status, kept->response, kept->body->len);
    req->answer_is_borrowed = true;
}

static bool answer_kept_representation(struct zd_request *req, const struct zd_kept *kept)
{
    const enum zd_status condition = zd_request_condition(req, kept->etag, kept->mtime_ms);
    if (condition == ZD_PRECONDITION) {
        return false;
    }
    uint64_t first = 0;
    uint64_t len = kept->body->len;
    enum zd_range_answer range = ZD_RANGE_NONE;
    if (condition == ZD_OK && kept->accepts_ranges && req->conditions.range != NULL) {
        range = zd_request_range(req, len, kept->etag, kept->mtime_ms, &first, &len);
    }
    if (range == ZD_RANGE_OUTSIDE) {
        return false;
    }
    const bool fits = strlen(req->id) == ZD_MADE_ID_LEN;
    if (range == ZD_RANGE_NONE && fits) {
        answer_kept_shared(
            req, kept, condition == ZD_NOT_MODIFIED ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK);
        return true;
    }
    if (condition == ZD_NOT_MODIFIED) {
        return false;
    }
    answer_kept_copy(
        req, kept, first, len, range == ZD_RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK);
    return true;
}

/* A client that refuses the kept type is answered by the handler, which knows what it may be. */
static bool accepts_kept(const struct zd_request *req, const struct zd_kept *kept)
{
    const char *accept = zd_request_header(req, "Accept");
    const char *type =
        kept->response == NULL ? NULL : MHD_get_response_header(kept->response, "Content-Type");
    return accept == NULL || type == NULL || zd_accept_quality(accept, type) > 0;
}

bool zd_reply_from_kept(struct zd_request *req)
{
    struct zd_cache *cache = &http_of(req)->kept;
    const struct zd_span key = {(const uint8_t *)req->target, req->target_text.len};
    struct zd_cache_entry *entry = zd_cache_find(cache, key);
    if (entry == NULL) {
        return false;
    }
    const struct zd_kept *kept = ZD_CONTAINER(entry, struct zd_kept, entry);
    if (kept->keep_until_ms <= uv_now(req->server->loop) || req->server->is_draining) {
        zd_cache_drop(cache, entry);
        return false;
    }
    if (!accepts_kept(req, kept)) {
        return false;
    }
    req->handler = kept->handler;
    req->route = kept->route;
    req->route_number = kept->route_number;
    if (kept->response == NULL) {
        answer_kept_problem(req, kept);
        return true;
    }
    return answer_kept_representation(req, kept);
}

enum zd_status zd_replies_init(struct zd_http *http, size_t bytes_max, struct zd_error *err)
{
    zd_cache_init(&http->kept, "replies", bytes_max, kept_free);
    zd_text_init(&http->scratch, PROBLEM_BYTES_MAX);
    http->emergency = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (http->emergency == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for prepared answers");
    }
    add_header(http->emergency, "Access-Control-Allow-Origin",
        http->server->config->settings.http_cors_origin);
    return ZD_OK;
}

void zd_replies_done(struct zd_http *http)
{
    zd_cache_done(&http->kept);
    zd_text_done(&http->scratch);
    if (http->emergency != NULL) {
        MHD_destroy_response(http->emergency);
        http->emergency = NULL;
    }
}
