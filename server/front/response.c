/* Responses of libmicrohttpd, and answers that it never sees. */
#include "server/front/response.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/aside.h"
#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/front/caching.h"
#include "server/front/cors.h"
#include "server/http/accept.h"
#include "server/http/conditions.h"
#include "server/http/guard.h"
#include "server/http/html.h"
#include "server/http/redact.h"
#include "server/request/connection.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define PROBLEM_BYTES_MAX (1U << 20)
#define EXPOSED_BYTES_MAX 1024
#define REASON_LEN_MAX    (ZD_FRONT_REASON_BYTES - 1)
#define NUMBERS_BYTES     80 /* of a header that holds three of 64 bits */
#define TIMING_BYTES      256

static const char emergency[] =
    "{\"type\":\"urn:zarrd:problem:internal\",\"title\":\"Internal server error\",\"status\":500,"
    "\"detail\":\"no memory for the answer\",\"code\":\"internal\"}\n";

/* ---- bodies ---- */

static void release_buf(void *buf)
{
    zd_buf_unref(buf);
}

struct MHD_Response *zd_response_of_window(struct zd_buf *body, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        (size_t)len, body->data + first, release_buf, body);
    if (response != NULL) {
        (void)zd_buf_ref(body); /* taken back by release_buf */
    }
    return response;
}

struct MHD_Response *zd_response_of_text(struct zd_span text)
{
    return MHD_create_response_from_buffer(
        text.len, (void *)(uintptr_t)text.ptr, MHD_RESPMEM_MUST_COPY);
}

static ssize_t no_bytes(void *cls, uint64_t position, char *to, size_t len_max)
{
    (void)cls;
    (void)position;
    (void)to;
    (void)len_max;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

struct MHD_Response *zd_response_of_length(uint64_t length)
{
    return MHD_create_response_from_callback(length, 1, no_bytes, NULL, NULL);
}

/* ---- headers ---- */

void zd_response_make_id(struct zd_front *front, char *to)
{
    const uint64_t n = front->n_ids++;
    const uint64_t id =
        zd_hash_of((struct zd_span){.ptr = (const uint8_t *)&n, .len = sizeof n}, front->id_seed);
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ZD_FRONT_MADE_ID_LEN; i++) {
        to[i] = digits[id >> (4 * i) & 15];
    }
    to[ZD_FRONT_MADE_ID_LEN] = '\0';
}

/* Scripts of other origins may read these. */
static const char *const exposed[] = {"ETag", "Content-Range", "Content-Length", "Content-Encoding",
    "Accept-Ranges", "Last-Modified", "Date", "Retry-After", "RateLimit", "RateLimit-Policy",
    "Server-Timing", "X-Request-Id", "Zarr-Shape", "Zarr-Dtype", "Zarr-Data-Type",
    "Zarr-Dimensions", "Zarr-Selection", "Zarr-Fill-Value", "Zarr-Chunks", "Zarr-Chunk",
    "Zarr-Codecs", "Zarr-Origin", "Zarr-Level", "Zarr-Range", "Zarr-Units", "Zarr-Warning"};

/* Scripts may read some of these anyway (Cache-Control, Content-Type), and need none. */
static const char *const others[] = {"Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin", "Access-Control-Allow-Private-Network",
    "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Allow", "Cache-Control",
    "Connection", "Content-Disposition", "Content-Security-Policy", "Content-Type",
    "Cross-Origin-Opener-Policy", "Location", "Referrer-Policy", "Timing-Allow-Origin", "Vary",
    "X-Accel-Buffering", "X-Content-Type-Options", "WWW-Authenticate"};

static bool names_have(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool zd_response_has_row(const char *name)
{
    return names_have(exposed, ZD_COUNT_OF(exposed), name) ||
           names_have(others, ZD_COUNT_OF(others), name);
}

void zd_response_add_exposed(struct zd_text *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(exposed); i++) {
        zd_text_add(text, i == 0 ? "" : ", ");
        zd_text_add(text, exposed[i]);
    }
}

void zd_response_add(struct MHD_Response *response, const char *name, const char *value)
{
    assert(zd_response_has_row(name));
    (void)MHD_add_response_header(response, name, value);
}

/* @param origin whose pages may read the answer, or NULL */
static void give_common(const struct zd_server *server, const char *id, const char *origin,
    void (*give)(void *to, const char *name, const char *value), void *to)
{
    give(to, "X-Request-Id", id);
    if (origin != NULL) {
        give(to, "Access-Control-Allow-Origin", origin);
    }
    give(to, "Access-Control-Expose-Headers", server->front->exposed.at);
    give(to, "X-Content-Type-Options", "nosniff");
}

static void give_response(void *to, const char *name, const char *value)
{
    zd_response_add(to, name, value);
}

void zd_response_add_common(
    const struct zd_request *req, const char *id, struct MHD_Response *response)
{
    give_common(req->server, id, zd_cors_origin(req), give_response, response);
    if (req->server->is_draining) {
        zd_response_add(response, "Connection", "close");
    }
}

static bool is_page(const char *media_type)
{
    return media_type != NULL && strcmp(media_type, ZD_HTML_TYPE) == 0;
}

/* What every page says: no request from it tells its URL, which may have a token.
 * @param has_policy one of its own */
static void add_page_headers(bool has_policy, struct MHD_Response *response)
{
    zd_response_add(response, "Referrer-Policy", "no-referrer");
    if (!has_policy) {
        zd_response_add(response, "Content-Security-Policy", ZD_HTML_POLICY);
    }
}

static void add_problem(
    const struct zd_request *req, const char *id, const char *type, struct MHD_Response *response)
{
    zd_response_add_common(req, id, response);
    zd_response_add(response, "Content-Type", type);
    if (is_page(type)) {
        add_page_headers(false, response);
    }
    zd_dependence_note(req, ZD_DEPENDENCE_ACCEPT); /* people get its page */
    zd_caching_add(req, "no-cache", response);
}

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
        zd_response_add(response, "ETag", etag);
    }
    if (mtime_ms != 0) {
        char date[ZD_DATE_BYTES];
        /* RFC 9110, 8.8.2.1: never later than Date, whatever the clock of the store says. Not by
           time(), which is milliseconds behind the times of files. */
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        const int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        zd_conditions_format_date(date, mtime_ms < now_ms ? mtime_ms : now_ms);
        zd_response_add(response, "Last-Modified", date);
    }
}

bool zd_response_may_code(const struct zd_request *req, const struct zd_representation *rep)
{
    const bool is_document =
        rep->media_type != NULL && strcmp(rep->media_type, "application/json") == 0 &&
        req->route != NULL && strncmp(req->route->path, "/v1", strlen("/v1")) == 0;
    return (rep->may_code || is_document) && !rep->accepts_ranges && !rep->body_is_range;
}

enum zd_coding zd_response_coding(
    const struct zd_request *req, const struct zd_representation *rep, uint64_t len)
{
    return zd_response_may_code(req, rep)
               ? zd_accept_coding(zd_dependence_accept_encoding(req), len)
               : ZD_PLAIN;
}

static void add_own(const struct zd_representation *rep, struct MHD_Response *response)
{
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        const struct zd_header *header = &rep->header[i];
        if (strcasecmp(header->name, "Cache-Control") != 0) { /* of server/front/caching.c */
            zd_response_add(response, header->name, header->value);
        }
    }
}

/* What the answer took so far; a stream goes on. Not of an answer that is kept: others get it
 * later. Browsers show it to scripts of other origins that are named. */
static void add_times(const struct zd_request *req, const struct zd_representation *rep,
    struct MHD_Response *response)
{
    if (req->route == NULL || !req->route->shows_times || rep->keep_until_ms != 0 ||
        zd_permission_is_blind(req) || !req->server->config->settings.http_server_timing) {
        return;
    }
    const uint64_t *ns = req->times.ns;
    const uint64_t total_ns = uv_hrtime() - zd_front_exchange(req)->now.began_ns;
    char timing[TIMING_BYTES];
    const char *trace = req->trace == NULL ? NULL : req->traceparent;
    (void)snprintf(timing, sizeof timing,
        "queue;dur=%.3f, store;dur=%.3f, decode;dur=%.3f, total;dur=%.3f%s%s%s",
        (double)ns[ZD_TIME_QUEUE] / 1e6, (double)ns[ZD_TIME_STORE] / 1e6,
        (double)ns[ZD_TIME_DECODE] / 1e6, (double)total_ns / 1e6,
        trace == NULL ? "" : ", traceparent;desc=\"", trace == NULL ? "" : trace,
        trace == NULL ? "" : "\"");
    zd_response_add(response, "Server-Timing", timing);
    const char *origin = zd_cors_origin(req);
    if (origin != NULL) {
        zd_response_add(response, "Timing-Allow-Origin", origin);
    }
}

void zd_response_add_representation(const struct zd_request *req,
    const struct zd_representation *rep, const char *id, struct MHD_Response *response)
{
    zd_response_add_common(req, id, response);
    add_times(req, rep, response);
    add_validators(response, rep->etag, rep->mtime_ms);
    if (is_page(rep->media_type)) {
        add_page_headers(has_own(rep, "Content-Security-Policy"), response);
    }
    add_own(rep, response);
    if (zd_response_may_code(req, rep)) {
        /* The plain form says so, too (RFC 9110, 12.5.5). */
        zd_dependence_note(req, ZD_DEPENDENCE_ACCEPT_ENCODING);
    }
    zd_caching_add_of(req, rep, response);
}

void zd_response_add_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length)
{
    char range[NUMBERS_BYTES];
    (void)snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)first,
        (unsigned long long)(first + len - 1), (unsigned long long)length);
    zd_response_add(response, "Content-Range", range);
}

void zd_response_add_body(
    const struct zd_representation *rep, uint64_t len, struct MHD_Response *response)
{
    if (rep->media_type != NULL) {
        zd_response_add(response, "Content-Type", rep->media_type);
    }
    if (rep->accepts_ranges) {
        zd_response_add(response, "Accept-Ranges", "bytes");
    }
    if (rep->body_is_range && len > 0) {
        zd_response_add_range(response, rep->range_first, len, rep->length);
    }
}

/* ---- answers ---- */

struct MHD_Response *zd_response_prepare(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct MHD_Response *response = rep->body == NULL
                                        ? zd_response_of_length(rep->length)
                                        : zd_response_of_window(rep->body, 0, rep->body->len);
    if (response != NULL) {
        zd_response_add_representation(req, rep, ZD_RESPONSE_ANY_ID, response);
        zd_response_add_body(rep, rep->body == NULL ? 0 : rep->body->len, response);
    }
    return response;
}

struct MHD_Response *zd_response_prepare_problem(
    const struct zd_request *req, struct zd_buf *document)
{
    struct MHD_Response *response = zd_response_of_window(document, 0, document->len);
    if (response != NULL) {
        add_problem(req, ZD_RESPONSE_ANY_ID, ZD_PROBLEM_TYPE, response);
    }
    return response;
}

enum zd_next zd_response_give(struct zd_request *req, unsigned http_status,
    struct MHD_Response *response, uint64_t body_bytes)
{
    struct zd_exchange_now *now = &zd_front_exchange(req)->now;
    req->is_answered = true;
    now->response_is_shared = response == NULL;
    if (response == NULL) {
        now->response = req->server->front->emergency;
        now->access.http_status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        now->access.problem_code = "internal";
        now->access.reason = "no memory for the answer";
        now->access.body_bytes = req->is_head ? 0 : strlen(emergency);
        return ZD_DONE;
    }
    now->response = response;
    now->access.http_status = http_status;
    now->access.body_bytes = req->is_head || http_status == MHD_HTTP_NOT_MODIFIED ? 0 : body_bytes;
    return ZD_DONE;
}

enum zd_next zd_response_give_document(struct zd_request *req, const struct zd_problem_kind *kind,
    const char *type, const struct zd_text *document)
{
    struct zd_exchange_now *now = &zd_front_exchange(req)->now;
    struct MHD_Response *response =
        document->status == ZD_OK ? zd_response_of_text(zd_text_span(document)) : NULL;
    if (response != NULL) {
        add_problem(req, req->id, type, response);
    }
    if (zd_upload_is_open(&req->upload) && document->status == ZD_OK) {
        zd_buf_unref(now->document);
        now->document = zd_buf_copy(zd_text_span(document)); /* zd_response_add_last sends it */
    }
    now->access.problem_code = kind->code;
    return zd_response_give(req, kind->http_status, response, document->len);
}

void zd_response_keep_reason(struct zd_request *req, const char *reason)
{
    struct zd_exchange *exchange = zd_front_exchange(req);
    struct zd_text *text = &exchange->memory.reason;
    if (!zd_redact_text(reason, &exchange->memory.secrets, text)) {
        zd_text_add_bytes(text, reason, strnlen(reason, REASON_LEN_MAX));
    }
    if (text->len > 0) {
        zd_aside_tell(text->at);
        zd_text_cut(text, strlen(text->at));
    }
    exchange->now.access.reason = text->status == ZD_OK && text->len > 0 ? text->at : NULL;
}

/* ---- responses that requests share ---- */

/* Headers copied from one response to another. */
struct copying {
    struct MHD_Response *to;
    const char *etag; /* NULL: as it is */
};

static enum MHD_Result copy_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    const struct copying *copying = cls;
    if (strcmp(name, "X-Request-Id") == 0) {
        return MHD_YES;
    }
    const bool is_tag = copying->etag != NULL && strcmp(name, "ETag") == 0;
    zd_response_add(copying->to, name, is_tag ? copying->etag : value);
    return MHD_YES;
}

/* @param etag NULL: as it is */
static void copy_headers(
    struct MHD_Response *from, const char *id, const char *etag, struct MHD_Response *to)
{
    struct copying copying = {.to = to, .etag = etag};
    zd_response_add(to, "X-Request-Id", id);
    (void)MHD_get_response_headers(from, copy_header, &copying);
}

enum zd_status zd_response_begin_form(
    struct zd_form *form, struct zd_buf *body, struct MHD_Response *response)
{
    const char *id = response == NULL ? NULL : MHD_get_response_header(response, "X-Request-Id");
    if (id == NULL) {
        if (response != NULL) {
            MHD_destroy_response(response);
        }
        return ZD_NO_MEMORY;
    }
    form->id = (char *)(uintptr_t)id;
    form->response = response;
    form->body = body == NULL ? NULL : zd_buf_ref(body);
    return ZD_OK;
}

enum zd_status zd_response_code_form(
    const struct zd_form *plain, enum zd_coding coding, struct zd_buf *body, struct zd_form *form)
{
    struct MHD_Response *response = zd_response_of_window(body, 0, body->len);
    zd_tag_code(form->etag, plain->etag, coding);
    if (response != NULL) {
        copy_headers(plain->response, ZD_RESPONSE_ANY_ID, form->etag, response);
        zd_response_add(response, "Content-Encoding", zd_compress_name(coding));
    }
    return zd_response_begin_form(form, body, response);
}

/* A response of the request's own. */
static struct MHD_Response *copy_form(
    const struct zd_request *req, const struct zd_form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = zd_response_of_window(form->body, first, len);
    if (response != NULL) {
        copy_headers(form->response, req->id, NULL, response);
    }
    return response;
}

enum zd_next zd_response_give_part(
    struct zd_request *req, const struct zd_form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = copy_form(req, form, first, len);
    if (response != NULL) {
        zd_response_add_range(response, first, len, form->body->len);
    }
    return zd_response_give(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

enum zd_next zd_response_give_form(
    struct zd_request *req, const struct zd_form *form, unsigned http_status)
{
    const uint64_t len = form->body == NULL ? 0 : form->body->len;
    if (form->body != NULL && strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        return zd_response_give(req, http_status, copy_form(req, form, 0, len), len);
    }
    (void)zd_response_give(req, http_status, form->response, len);
    zd_front_exchange(req)->now.response_is_shared = true;
    zd_front_exchange(req)->now.response_id = form->id;
    return ZD_DONE;
}

/* ---- answers that libmicrohttpd never sees ---- */

static void give_line(void *to, const char *name, const char *value)
{
    zd_text_addf(to, "%s: %s\r\n", name, value);
}

static void add_status_line(unsigned http_status, struct zd_text *to)
{
    char date[ZD_DATE_BYTES];
    zd_conditions_format_date(date, (int64_t)time(NULL) * 1000);
    zd_text_addf(to, "HTTP/1.1 %u %s\r\nConnection: close\r\nDate: %s\r\n", http_status,
        MHD_get_reason_phrase_for(http_status), date);
}

static enum MHD_Result give_own(
    void *to, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcasecmp(name, "Connection") != 0) {
        give_line(to, name, value);
    }
    return MHD_YES;
}

void zd_response_add_last(const struct zd_exchange *exchange, struct zd_text *to)
{
    const struct zd_buf *document = exchange->now.document;
    const struct zd_span body = document == NULL ? zd_span_of(emergency) : zd_buf_span(document);
    add_status_line(exchange->now.access.http_status, to);
    (void)MHD_get_response_headers(exchange->now.response, give_own, to);
    zd_text_addf(to, "Content-Length: %zu\r\n\r\n", body.len);
    zd_text_add_bytes(to, body.ptr, body.len);
}

void zd_response_refuse(struct zd_server *server, const struct zd_guard *guard,
    const struct zd_access *request, struct zd_text *to)
{
    struct zd_text *document = &server->front->scratch;
    struct zd_error err = {.status = ZD_INVALID};
    if (strcmp(guard->code, "too_large") == 0) {
        err.facts.limit = zd_guard_body_max(guard);
        err.facts.set = err.facts.limit > 0 ? ZD_FACT_LIMIT : 0;
    }
    const struct zd_problem problem = {.code = guard->code,
        .detail = guard->detail,
        .err = &err,
        .unavailable = ZD_UNAVAILABLE_CONNECTIONS};
    char id[ZD_FRONT_MADE_ID_LEN + 1];
    zd_response_make_id(server->front, id);
    zd_text_clear(document);
    zd_problem_add(&problem, id, document);
    struct zd_access access = *request;
    access.id = id;
    access.problem_code = guard->code;
    access.reason = guard->detail;
    access.http_status = zd_problem_kind(guard->code)->http_status;
    access.body_bytes = guard->is_head ? 0 : document->len;
    add_status_line(access.http_status, to);
    give_common(server, id, zd_cors_origin_of_all(server), give_line, to);
    if (access.http_status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        server->metrics.n_unavailable[ZD_UNAVAILABLE_CONNECTIONS]++;
    }
    if (access.http_status == MHD_HTTP_SERVICE_UNAVAILABLE ||
        access.http_status == MHD_HTTP_TOO_MANY_REQUESTS) {
        give_line(to, "Retry-After", "1");
    }
    zd_text_addf(to,
        "Content-Type: application/problem+json\r\nCache-Control: no-cache\r\n"
        "Content-Length: %zu\r\n\r\n",
        document->len);
    zd_text_add_bytes(to, document->at, access.body_bytes);
    server->metrics.n_problems++;
    server->metrics.n_refused++;
    zd_metrics_access(&server->metrics, &access);
    zd_log_access(&server->log, &access);
}

/* ---- all of a front's ---- */

enum zd_status zd_response_init(struct zd_front *front, struct zd_error *err)
{
    zd_text_init(&front->scratch, PROBLEM_BYTES_MAX);
    zd_text_init(&front->exposed, EXPOSED_BYTES_MAX);
    zd_response_add_exposed(&front->exposed);
    front->emergency = MHD_create_response_from_buffer(
        strlen(emergency), (char *)(uintptr_t)emergency, MHD_RESPMEM_PERSISTENT);
    if (front->emergency == NULL || front->exposed.status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for prepared answers");
    }
    zd_response_add(front->emergency, "Content-Type", "application/problem+json");
    zd_response_add(front->emergency, "Cache-Control", "no-store");
    const char *origin = zd_cors_origin_of_all(front->server);
    if (origin != NULL) {
        zd_response_add(front->emergency, "Access-Control-Allow-Origin", origin);
    }
    return ZD_OK;
}

void zd_response_done(struct zd_front *front)
{
    zd_text_done(&front->scratch);
    zd_text_done(&front->exposed);
    if (front->emergency != NULL) {
        MHD_destroy_response(front->emergency);
        front->emergency = NULL;
    }
}
