/* Answers as libmicrohttpd wants them. */
#include "server/front/reply.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/front/reply_cache.h"
#include "server/http/accept.h"
#include "server/http/date.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/request/route.h"
#include "server/runtime/access.h"
#include "server/runtime/server.h"

#define PROBLEM_BYTES_MAX (1U << 20)
#define VARY_BYTES_MAX    128
#define ALLOW_BYTES_MAX   256
#define BLOCK_BYTES       (128U << 10) /* that a streamed body is sent in */
#define NUMBERS_BYTES     80           /* of a header that holds three of 64 bits */

/* When there is no memory for any other answer. */
static const char emergency_document[] =
    "{\"type\":\"urn:zarrd:problem:internal\",\"title\":\"Internal server error\",\"status\":500,"
    "\"detail\":\"no memory for the answer\",\"code\":\"internal\"}\n";

static const char expose_headers[] =
    "ETag, Content-Range, Content-Length, Content-Encoding, Accept-Ranges, Last-Modified, Date, "
    "Retry-After, Server-Timing, X-Request-Id, Zarr-Shape, Zarr-Dtype, Zarr-Data-Type, "
    "Zarr-Dimensions, Zarr-Selection, Zarr-Fill-Value, Zarr-Chunks, Zarr-Chunk, Zarr-Codecs, "
    "Zarr-Origin, Zarr-Level, Zarr-Warning";

static struct zd_front *http_of(const struct zd_request *req)
{
    return req->server->front;
}

void zd_reply_add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

/* What every answer carries. */
static void give_common(const struct zd_server *server, const char *id,
    void (*give)(void *to, const char *name, const char *value), void *to)
{
    give(to, "X-Request-Id", id);
    give(to, "Access-Control-Allow-Origin", server->config->settings.http_cors_origin);
    give(to, "Access-Control-Expose-Headers", expose_headers);
    give(to, "X-Content-Type-Options", "nosniff");
}

static void give_response(void *to, const char *name, const char *value)
{
    zd_reply_add_header(to, name, value);
}

static void add_common(const struct zd_request *req, const char *id, struct MHD_Response *response)
{
    give_common(req->server, id, give_response, response);
    if (req->server->is_draining) {
        zd_reply_add_header(response, "Connection", "close");
    }
}

enum zd_next zd_reply_give(struct zd_request *req, unsigned http_status,
    struct MHD_Response *response, uint64_t body_bytes)
{
    req->answer_is_borrowed = response == NULL;
    if (response == NULL) {
        req->answer = http_of(req)->emergency;
        req->http_status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        req->problem_code = "internal";
        req->body_bytes = req->is_head ? 0 : strlen(emergency_document);
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
        zd_reply_add_header(req->answer, name, value);
    }
}

static void release_buf(void *buf)
{
    zd_buf_unref(buf);
}

struct MHD_Response *zd_reply_window(struct zd_buf *body, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        (size_t)len, body->data + first, release_buf, body);
    if (response != NULL) {
        (void)zd_buf_ref(body); /* taken back by release_buf */
    }
    return response;
}

/* The file is closed with the response. It may have become shorter since: then libmicrohttpd sends
 * what there is, waits for more, and breaks the connection off after http.idle_ms. */
static struct MHD_Response *response_of_file(struct zd_file_part *file)
{
    struct MHD_Response *response =
        MHD_create_response_from_fd_at_offset64(file->len, file->fd, file->first);
    if (response != NULL) {
        file->fd = -1;
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

/* To a client that reads until the connection ends, an end is the body's: only a reset says that
 * more was to come (RFC 9112, 8). libmicrohttpd would end it in good order. */
static void reset_connection(const struct zd_request *req)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (connect(info->connect_fd, &nowhere, sizeof nowhere) != 0) {
        zd_log(&req->server->log, ZD_LOG_DEBUG,
            "a connection cannot be reset: its client may miss it");
    }
}

/* The next bytes of a streamed body; none at present: the connection sleeps. */
static ssize_t read_stream(void *cls, uint64_t position, char *to, size_t len_max)
{
    (void)position;
    struct zd_request *req = cls;
    struct zd_stream *stream = &req->stream;
    const size_t n = zd_stream_take(stream, to, len_max);
    if (n > 0) {
        if (stream->wanted_bytes > 0 && zd_stream_has_room(stream, stream->wanted_bytes)) {
            stream->wanted_bytes = 0;
            zd_connection_queue_turn(req);
        }
        return (ssize_t)n;
    }
    if (stream->state == ZD_STREAM_ENDED) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (stream->state == ZD_STREAM_CUT || !zd_connection_sleep(req)) {
        reset_connection(req);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    return 0;
}

static struct MHD_Response *response_of_text(struct zd_span text)
{
    return MHD_create_response_from_buffer(
        text.len, (void *)(uintptr_t)text.ptr, MHD_RESPMEM_MUST_COPY);
}

/* ---- problems ---- */

static void add_problem_headers(
    const struct zd_request *req, const char *id, struct MHD_Response *response)
{
    add_common(req, id, response);
    zd_reply_add_header(response, "Content-Type", "application/problem+json");
    zd_reply_add_header(response, "Cache-Control", "no-cache");
}

struct MHD_Response *zd_reply_prepare_problem(const struct zd_request *req, struct zd_buf *document)
{
    struct MHD_Response *response = zd_reply_window(document, 0, document->len);
    if (response != NULL) {
        add_problem_headers(req, ZD_REPLY_ANY_ID, response);
    }
    return response;
}

enum zd_next zd_reply_document(
    struct zd_request *req, const struct zd_problem_kind *kind, const struct zd_text *document)
{
    struct MHD_Response *response =
        document->status == ZD_OK ? response_of_text(zd_text_span(document)) : NULL;
    if (response != NULL) {
        add_problem_headers(req, req->id, response);
    }
    if (zd_upload_is_open(&req->upload) && document->status == ZD_OK) {
        zd_buf_unref(req->upload.document);
        req->upload.document = zd_buf_copy(zd_text_span(document)); /* zd_reply_last needs it */
    }
    req->problem_code = kind->code;
    return zd_reply_give(req, kind->http_status, response, document->len);
}

/* The head has gone out: what can still be told is that the body is not whole. */
static enum zd_next cut(struct zd_request *req, const struct zd_problem *problem)
{
    req->problem_code = zd_problem_kind(problem->code)->code;
    zd_log(&req->server->log, ZD_LOG_WARNING, "%s %s: cut after %llu bytes: %s: %s", req->method,
        req->target, (unsigned long long)req->stream.taken_bytes, req->problem_code,
        problem->err == NULL ? problem->detail : problem->err->text);
    zd_stream_cut(&req->stream);
    return ZD_DONE;
}

/* Also where a step finds out that nothing can be written (RFC 9110, 15.5.6). */
static void add_allow(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_problem_kind *kind)
{
    ZD_SCOPED_TEXT(allow, ALLOW_BYTES_MAX);
    if (problem->allow != NULL) {
        add_to_answer(req, "Allow", problem->allow);
    } else if (kind->http_status == MHD_HTTP_METHOD_NOT_ALLOWED && req->route != NULL) {
        zd_route_allow(zd_handlers, req->route, false, &allow);
        add_to_answer(req, "Allow", allow.at);
    }
}

enum zd_next zd_respond_problem(struct zd_request *req, const struct zd_problem *problem)
{
    if (zd_stream_is_open(&req->stream)) {
        return cut(req, problem);
    }
    struct zd_text *document = &http_of(req)->scratch;
    zd_text_clear(document);
    zd_problem_add(problem, req->id, document);
    const struct zd_problem_kind *kind = zd_problem_kind_of(problem);
    const enum zd_next next = zd_reply_document(req, kind, document);
    req->server->metrics.n_problems++;
    add_allow(req, problem, kind);
    if (problem->retry_after_s > 0) {
        char seconds[NUMBERS_BYTES];
        (void)snprintf(seconds, sizeof seconds, "%llu", (unsigned long long)problem->retry_after_s);
        add_to_answer(req, "Retry-After", seconds);
    }
    if (document->status == ZD_OK) {
        zd_reply_cache_put_problem(req, problem, document);
    }
    return next;
}

/* Whether a status blames the server, whatever the request was found to be. */
static bool is_of_server(enum zd_status status)
{
    return status == ZD_NO_MEMORY || status == ZD_STORE || status == ZD_TIMEOUT ||
           status == ZD_CANCELLED || status == ZD_INTERNAL;
}

enum zd_next zd_respond_error(struct zd_request *req, const char *code, const struct zd_error *err)
{
    const char *known =
        code != NULL && !is_of_server(err->status) ? code : zd_problem_code_of(err->status);
    const struct zd_problem problem = {
        .code = known,
        .err = err,
        .retry_after_s = zd_problem_kind(known)->http_status == 503 ? 1 : 0,
    };
    if (zd_problem_kind(known)->http_status >= 500 && !zd_stream_is_open(&req->stream)) {
        zd_log(&req->server->log, ZD_LOG_WARNING, "%s %s: %s: %s", req->method, req->target, known,
            err->text);
    }
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_respond_range_outside(struct zd_request *req, uint64_t length)
{
    char range[NUMBERS_BYTES];
    (void)snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)length);
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_OUT_OF_BOUNDS,
        "range '%.100s' is not satisfiable: the length is %llu bytes", req->conditions.range,
        (unsigned long long)length);
    zd_fact_size(&err, length);
    const struct zd_problem problem = {.code = "range_not_satisfiable", .err = &err};
    const enum zd_next next = zd_respond_problem(req, &problem);
    add_to_answer(req, "Content-Range", range);
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
        zd_reply_add_header(response, "ETag", etag);
    }
    if (mtime_ms != 0) {
        char date[ZD_DATE_BYTES];
        zd_date_format(date, mtime_ms);
        zd_reply_add_header(response, "Last-Modified", date);
    }
}

bool zd_reply_may_code(const struct zd_request *req, const struct zd_representation *rep)
{
    return rep->media_type != NULL && strcmp(rep->media_type, "application/json") == 0 &&
           !rep->accepts_ranges && !rep->body_is_range && req->route != NULL &&
           strncmp(req->route->path, "/v1", strlen("/v1")) == 0;
}

enum zd_coding zd_reply_coding(
    const struct zd_request *req, const struct zd_representation *rep, uint64_t len)
{
    return zd_reply_may_code(req, rep) ? zd_accept_coding(req->accept_encoding, len) : ZD_PLAIN;
}

/* An answer that may be coded says so whatever it is coded in (RFC 9110, 12.5.5). */
static void add_own(const struct zd_request *req, const struct zd_representation *rep,
    struct MHD_Response *response)
{
    const bool varies = zd_reply_may_code(req, rep);
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        const struct zd_header *header = &rep->header[i];
        if (varies && strcmp(header->name, "Vary") == 0) {
            ZD_SCOPED_TEXT(vary, VARY_BYTES_MAX);
            zd_text_addf(&vary, "%s, Accept-Encoding", header->value);
            zd_reply_add_header(response, "Vary", vary.at);
        } else {
            zd_reply_add_header(response, header->name, header->value);
        }
    }
    if (varies && !has_own(rep, "Vary")) {
        zd_reply_add_header(response, "Vary", "Accept-Encoding");
    }
}

static void add_headers(const struct zd_request *req, const struct zd_representation *rep,
    const char *id, struct MHD_Response *response)
{
    add_common(req, id, response);
    add_validators(response, rep->etag, rep->mtime_ms);
    if (!has_own(rep, "Cache-Control")) {
        zd_reply_add_header(response, "Cache-Control", zd_request_cache_control(req));
    }
    add_own(req, rep, response);
}

/* What describes the body; a 304 carries none of it. */
static void add_body_headers(const struct zd_representation *rep, struct MHD_Response *response)
{
    if (rep->media_type != NULL) {
        zd_reply_add_header(response, "Content-Type", rep->media_type);
    }
    if (rep->accepts_ranges) {
        zd_reply_add_header(response, "Accept-Ranges", "bytes");
    }
}

void zd_reply_add_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length)
{
    char range[NUMBERS_BYTES];
    (void)snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)first,
        (unsigned long long)(first + len - 1), (unsigned long long)length);
    zd_reply_add_header(response, "Content-Range", range);
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
        add_headers(req, rep, req->id, response);
    }
    return zd_reply_give(req, MHD_HTTP_NOT_MODIFIED, response, 0);
}

static enum zd_next answer_part(struct zd_request *req, const struct zd_representation *rep,
    uint64_t first, uint64_t len, uint64_t at_body)
{
    struct MHD_Response *response =
        rep->file != NULL ? response_of_file(rep->file) : zd_reply_window(rep->body, at_body, len);
    if (response != NULL) {
        add_headers(req, rep, req->id, response);
        add_body_headers(rep, response);
        zd_reply_add_range(response, first, len, rep->body_is_range ? rep->length : rep->body->len);
    }
    return zd_reply_give(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

struct MHD_Response *zd_reply_prepare(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct MHD_Response *response = rep->body == NULL
                                        ? response_of_length(rep->length)
                                        : zd_reply_window(rep->body, 0, rep->body->len);
    if (response != NULL) {
        add_headers(req, rep, ZD_REPLY_ANY_ID, response);
        add_body_headers(rep, response);
        if (rep->body_is_range) {
            zd_reply_add_range(response, rep->range_first, rep->body->len, rep->length);
        }
    }
    return response;
}

static enum zd_next answer_whole(struct zd_request *req, const struct zd_representation *rep)
{
    const unsigned http_status = rep->http_status == 0 ? MHD_HTTP_OK : rep->http_status;
    struct MHD_Response *response = NULL;
    uint64_t body_bytes = 0;
    if (rep->body != NULL) {
        response = zd_reply_window(rep->body, 0, rep->body->len);
        body_bytes = rep->body->len;
    } else if (rep->file != NULL) {
        response = response_of_file(rep->file);
        body_bytes = rep->length;
    } else if (req->is_head) {
        response =
            rep->length_is_known ? response_of_length(rep->length) : response_of_unknown_length();
    } else {
        response = response_of_text((struct zd_span){.ptr = (const uint8_t *)"", .len = 0});
    }
    if (response == NULL) {
        return zd_reply_give(req, http_status, NULL, 0);
    }
    add_headers(req, rep, req->id, response);
    add_body_headers(rep, response);
    return zd_reply_give(req, http_status, response, body_bytes);
}

enum zd_next zd_respond_precondition(struct zd_request *req, const char *etag)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION, "a precondition failed: the current tag is %s",
        etag[0] == '\0' ? "none" : etag);
    const struct zd_problem problem = {.code = "precondition_failed", .err = &err};
    const enum zd_next next = zd_respond_problem(req, &problem);
    if (etag[0] != '\0') {
        add_to_answer(req, "ETag", etag);
    }
    return next;
}

enum zd_status zd_respond_condition(const struct zd_request *req, struct zd_representation *rep)
{
    const enum zd_status plain = zd_request_condition(req, rep->etag, rep->mtime_ms);
    const enum zd_coding coding = zd_reply_coding(req, rep, UINT64_MAX);
    if (plain == ZD_NOT_MODIFIED || coding == ZD_PLAIN) {
        return plain;
    }
    char etag[ZD_TAG_BYTES];
    zd_tag_code(etag, rep->etag, coding);
    const enum zd_status coded = zd_request_condition(req, etag, rep->mtime_ms);
    if (coded == ZD_NOT_MODIFIED) {
        memcpy(rep->etag, etag, sizeof etag);
    }
    return coded == ZD_PRECONDITION ? plain : coded;
}

/* HEAD, 304 and 412 of what is not made. */
static enum zd_next respond_unmade(struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_representation unmade = *rep;
    switch (zd_respond_condition(req, &unmade)) {
    case ZD_NOT_MODIFIED:
        return zd_reply_cache_take_head(req, &unmade) ? ZD_NEXT
                                                      : zd_respond_not_modified(req, &unmade);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, unmade.etag);
    default:
        return answer_whole(req, &unmade);
    }
}

enum zd_next zd_respond(struct zd_request *req, const struct zd_representation *rep)
{
    const bool is_ok = rep->http_status == 0 || rep->http_status == MHD_HTTP_OK;
    if (is_ok && rep->body != NULL && zd_reply_cache_take(req, rep)) {
        return ZD_NEXT;
    }
    if (!is_ok || !zd_request_is_reading(req)) {
        return answer_whole(req, rep);
    }
    if (rep->body == NULL && rep->file == NULL) {
        return respond_unmade(req, rep);
    }
    switch (zd_request_condition(req, rep->etag, rep->mtime_ms)) {
    case ZD_NOT_MODIFIED:
        return zd_respond_not_modified(req, rep);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, rep->etag);
    default:
        break;
    }
    if (rep->body_is_range) {
        const uint64_t len = rep->file != NULL ? rep->file->len : rep->body->len;
        return answer_part(req, rep, rep->range_first, len, 0);
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

enum zd_next zd_respond_stream(struct zd_request *req, const struct zd_representation *rep)
{
    uint64_t length = rep->length_is_known ? rep->length : MHD_SIZE_UNKNOWN;
    if (rep->body_is_range) {
        length = rep->range_len;
    }
    const size_t block = zd_min_u64(req->server->config->settings.http_stream_bytes, BLOCK_BYTES);
    struct MHD_Response *response =
        MHD_create_response_from_callback(length, block, read_stream, req, NULL);
    if (response == NULL) {
        return zd_reply_give(req, MHD_HTTP_OK, NULL, 0);
    }
    add_headers(req, rep, req->id, response);
    add_body_headers(rep, response);
    if (rep->body_is_range) {
        zd_reply_add_range(response, rep->range_first, rep->range_len, rep->length);
    }
    req->stream.state = ZD_STREAM_OPEN;
    (void)zd_reply_give(
        req, rep->body_is_range ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response, 0);
    zd_admit_answered(req);
    zd_connection_wake(req);
    return ZD_NEXT;
}

enum zd_next zd_respond_text(
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
    if (rep->etag[0] == '\0' && zd_request_is_reading(req)) {
        zd_tag_format(rep->etag, zd_hash_of(zd_buf_span(body), 0), "doc");
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

enum zd_next zd_respond_options(struct zd_request *req, const char *methods)
{
    struct MHD_Response *response =
        response_of_text((struct zd_span){.ptr = (const uint8_t *)"", .len = 0});
    if (response != NULL) {
        const char *wanted = zd_connection_header(req, "Access-Control-Request-Headers");
        const char *local = zd_connection_header(req, "Access-Control-Request-Private-Network");
        add_common(req, req->id, response);
        zd_reply_add_header(response, "Allow", methods);
        zd_reply_add_header(response, "Access-Control-Allow-Methods", methods);
        /* "*" does not cover Authorization: the list is echoed (Fetch, CORS protocol). */
        zd_reply_add_header(
            response, "Access-Control-Allow-Headers", wanted == NULL ? "*" : wanted);
        zd_reply_add_header(response, "Access-Control-Max-Age", "7200");
        zd_reply_add_header(response, "Cache-Control", "no-cache");
        zd_reply_add_header(response, "Vary",
            "Access-Control-Request-Headers, Access-Control-Request-Private-Network");
        if (local != NULL && strcmp(local, "true") == 0) {
            zd_reply_add_header(response, "Access-Control-Allow-Private-Network", "true");
        }
    }
    return zd_reply_give(req, MHD_HTTP_NO_CONTENT, response, 0);
}

/* ---- refusals ---- */

static void give_line(void *to, const char *name, const char *value)
{
    zd_text_addf(to, "%s: %s\r\n", name, value);
}

static void add_status_line(unsigned http_status, struct zd_text *to)
{
    char date[ZD_DATE_BYTES];
    zd_date_format(date, (int64_t)time(NULL) * 1000);
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

void zd_reply_last(const struct zd_request *req, struct zd_text *to)
{
    const struct zd_buf *document = req->upload.document;
    const struct zd_span body =
        document == NULL ? zd_span_of(emergency_document) : zd_buf_span(document);
    add_status_line(req->http_status, to);
    (void)MHD_get_response_headers(req->answer, give_own, to);
    zd_text_addf(to, "Content-Length: %zu\r\n\r\n", body.len);
    zd_text_add_bytes(to, body.ptr, body.len);
}

static void count_refusal(struct zd_server *server, const struct zd_refusal *refusal,
    const char *id, const struct zd_text *document)
{
    const struct zd_access access = {
        .method = refusal->method,
        .target = refusal->target,
        .id = id,
        .client = refusal->client,
        .http_status = zd_problem_kind(refusal->code)->http_status,
        .body_bytes = refusal->is_head ? 0 : document->len,
        .problem_code = refusal->code,
        .reason = refusal->detail,
    };
    server->metrics.n_problems++;
    server->metrics.n_refused++;
    zd_metrics_access(&server->metrics, &access);
    zd_log_access(&server->log, &access);
}

void zd_reply_refusal(
    struct zd_server *server, const struct zd_refusal *refusal, struct zd_text *to)
{
    struct zd_text *document = &server->front->scratch;
    const unsigned http_status = zd_problem_kind(refusal->code)->http_status;
    struct zd_error err = {.status = ZD_INVALID};
    err.facts.limit = refusal->limit;
    err.facts.set = refusal->limit > 0 ? ZD_FACT_LIMIT : 0;
    const struct zd_problem problem = {
        .code = refusal->code, .detail = refusal->detail, .err = &err};
    char id[ZD_MADE_ID_LEN + 1];
    zd_front_make_id(server->front, id);
    zd_text_clear(document);
    zd_problem_add(&problem, id, document);
    add_status_line(http_status, to);
    give_common(server, id, give_line, to);
    zd_text_addf(to,
        "Content-Type: application/problem+json\r\nCache-Control: no-cache\r\n"
        "Content-Length: %zu\r\n\r\n",
        document->len);
    if (!refusal->is_head) {
        zd_text_add_bytes(to, document->at, document->len);
    }
    count_refusal(server, refusal, id, document);
}

enum zd_status zd_replies_init(struct zd_front *http, struct zd_error *err)
{
    zd_text_init(&http->scratch, PROBLEM_BYTES_MAX);
    http->emergency = MHD_create_response_from_buffer(
        strlen(emergency_document), (char *)(uintptr_t)emergency_document, MHD_RESPMEM_PERSISTENT);
    if (http->emergency == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for prepared answers");
    }
    zd_reply_add_header(http->emergency, "Content-Type", "application/problem+json");
    zd_reply_add_header(http->emergency, "Access-Control-Allow-Origin",
        http->server->config->settings.http_cors_origin);
    return ZD_OK;
}

void zd_replies_done(struct zd_front *http)
{
    zd_text_done(&http->scratch);
    if (http->emergency != NULL) {
        MHD_destroy_response(http->emergency);
        http->emergency = NULL;
    }
}
