/* Makes responses of libmicrohttpd from the answers of handlers: it implements
 * server/request/respond.h. */
#include "server/request/respond.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/num.h"
#include "server/front/caching.h"
#include "server/front/reply_cache.h"
#include "server/front/response.h"
#include "server/front/response_headers.h"
#include "server/front/exchange.h"
#include "server/front/expiry.h"
#include "server/front/sending.h"
#include "server/front/wire.h"
#include "server/http/accept.h"
#include "server/http/html.h"
#include "server/http/problem_page.h"
#include "server/request/admit.h"
#include "server/request/client.h"
#include "server/request/connection.h"
#include "server/request/dependence.h"
#include "server/request/permission.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define ALLOW_BYTES_MAX  256
#define ECHOED_BYTES_MAX 512          /* of Access-Control-Request-Headers */
#define BLOCK_BYTES      (128U << 10) /* that a streamed body is sent in */
#define NUMBERS_BYTES    80           /* of a header that holds three of 64 bits */

/* ---- problems ---- */

/* When the response is the request's own. */
static void add_to_answer(struct zd_request *req, const char *name, const char *value)
{
    const struct zd_exchange_now *now = &zd_front_exchange(req)->now;
    if (!now->response_is_shared) {
        zd_response_add(now->response, name, value);
    }
}

/* Cuts the answer off: its head has been sent, so the client can only see that the body is not
 * whole. */
static enum zd_next cut(struct zd_request *req, const struct zd_problem *problem)
{
    const bool is_streamed = zd_stream_is_open(&req->stream);
    struct zd_exchange_now *now = &zd_front_exchange(req)->now;
    struct zd_access *access = &now->access;
    const uint64_t n_sent =
        is_streamed ? req->stream.taken_bytes : zd_wire_body_bytes(zd_wire_of(now->connection));
    access->problem_code = zd_problem_kind(problem->code)->code;
    zd_log(&req->server->log, ZD_LOG_WARNING,
        "%s %.200s: the answer was cut after %llu bytes: %s: %s", req->method, req->shown,
        (unsigned long long)n_sent, access->problem_code,
        access->reason == NULL ? "" : access->reason);
    if (is_streamed) {
        zd_stream_cut(&req->stream);
    }
    return ZD_DONE;
}

/* Adds the methods that the route allows, or the credential that it asks for. A step may find out
 * late that nothing can be written (RFC 9110, 15.5.6). */
static void add_allowed(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_problem_kind *kind)
{
    ZD_SCOPED_TEXT(allow, ALLOW_BYTES_MAX);
    if (problem->allow != NULL) {
        add_to_answer(req, "Allow", problem->allow);
    } else if (kind->http_status == MHD_HTTP_METHOD_NOT_ALLOWED && req->route != NULL) {
        zd_route_allow(zd_handlers, req->route, false, &allow);
        add_to_answer(req, "Allow", allow.at);
    } else if (kind->http_status == MHD_HTTP_UNAUTHORIZED) {
        add_to_answer(req, "WWW-Authenticate",
            req->has_credential ? "Bearer realm=\"zarrd\", error=\"invalid_token\""
                                : "Bearer realm=\"zarrd\"");
    }
}

/* Without memory for the document the answer has another status. */
static void count_problem(const struct zd_request *req, const struct zd_problem *problem)
{
    struct zd_metrics *metrics = &req->server->metrics;
    metrics->n_problems++;
    if (zd_front_exchange(req)->now.access.http_status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        metrics->n_unavailable[zd_problem_unavailable(problem)]++;
    }
}

static enum zd_next answer_problem(struct zd_request *req, const struct zd_problem *problem)
{
    if (zd_stream_is_open(&req->stream) || zd_front_exchange(req)->now.is_given) {
        return cut(req, problem);
    }
    struct zd_text *document = &req->server->front->scratch;
    zd_text_clear(document);
    const bool is_page = zd_accept_is_for_people(zd_dependence_accept(req));
    if (is_page) {
        zd_problem_page_add(problem, req->id, zd_client_prefix(req), document);
    } else {
        zd_problem_add(problem, req->id, document);
    }
    const struct zd_problem_kind *kind = zd_problem_kind_of(problem);
    const enum zd_next next =
        zd_response_give_document(req, kind, is_page ? ZD_HTML_TYPE : ZD_PROBLEM_TYPE, document);
    count_problem(req, problem);
    add_allowed(req, problem, kind);
    if (problem->retry_after_s > 0) {
        char seconds[NUMBERS_BYTES];
        (void)snprintf(seconds, sizeof seconds, "%llu", (unsigned long long)problem->retry_after_s);
        add_to_answer(req, "Retry-After", seconds);
    }
    if (problem->rate_limit != NULL) {
        add_to_answer(req, "RateLimit", problem->rate_limit);
        add_to_answer(req, "RateLimit-Policy", problem->rate_limit_policy);
    }
    if (document->status == ZD_OK && !is_page) {
        zd_reply_cache_put_problem(req, problem, document);
    }
    return next;
}

enum zd_next zd_respond_problem(struct zd_request *req, const struct zd_problem *problem)
{
    zd_response_keep_reason(req, zd_problem_detail(problem));
    if (!zd_permission_hides_facts(req)) {
        return answer_problem(req, problem);
    }
    const struct zd_problem bare = zd_problem_without_facts(problem);
    return answer_problem(req, &bare);
}

enum zd_next zd_respond_range_outside(struct zd_request *req, uint64_t length)
{
    char range[NUMBERS_BYTES];
    (void)snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)length);
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_OUT_OF_BOUNDS,
        "range '%.100s' is not satisfiable: the object has %llu bytes", req->conditions.range,
        (unsigned long long)length);
    zd_fact_size(&err, length);
    const struct zd_problem problem = {.code = "range_not_satisfiable", .err = &err};
    const enum zd_next next = zd_respond_problem(req, &problem);
    add_to_answer(req, "Content-Range", range);
    add_to_answer(req, "Accept-Ranges", "bytes");
    return next;
}

enum zd_next zd_respond_precondition(struct zd_request *req, const char *etag)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION, "a precondition failed: the current tag is %s",
        etag[0] == '\0' ? "none" : etag);
    const struct zd_problem problem = {.code = "precondition_failed", .err = &err};
    const enum zd_next next = zd_respond_problem(req, &problem);
    if (etag[0] != '\0' && !zd_permission_hides_facts(req)) {
        add_to_answer(req, "ETag", etag);
    }
    return next;
}

/* ---- representations ---- */

/* The file is closed with the response. */
static struct MHD_Response *response_of_file(struct zd_file_part *file)
{
    struct MHD_Response *response =
        MHD_create_response_from_fd_at_offset64(file->len, file->fd, file->first);
    if (response != NULL) {
        file->fd = -1;
    }
    return response;
}

enum zd_next zd_respond_not_modified(struct zd_request *req, const struct zd_representation *rep)
{
    struct MHD_Response *response = zd_response_of_length(0);
    if (response != NULL) {
        zd_response_add_representation(req, rep, req->id, response);
    }
    return zd_response_give(req, MHD_HTTP_NOT_MODIFIED, response, 0);
}

/* A part of the body. */
static enum zd_next answer_part(
    struct zd_request *req, const struct zd_representation *rep, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = zd_response_of_window(rep->body, first, len);
    if (response != NULL) {
        zd_response_add_representation(req, rep, req->id, response);
        zd_response_add_body(rep, 0, response);
        zd_response_add_range(response, first, len, rep->body->len);
    }
    return zd_response_give(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

static unsigned status_of(const struct zd_representation *rep)
{
    const unsigned whole = rep->http_status == 0 ? MHD_HTTP_OK : rep->http_status;
    return rep->body_is_range ? MHD_HTTP_PARTIAL_CONTENT : whole;
}

static enum zd_next answer_whole(struct zd_request *req, const struct zd_representation *rep)
{
    struct MHD_Response *response = NULL;
    uint64_t body_bytes = 0;
    if (rep->body != NULL) {
        response = zd_response_of_window(rep->body, 0, rep->body->len);
        body_bytes = rep->body->len;
    } else if (rep->file != NULL) {
        body_bytes = rep->file->len;
        response = response_of_file(rep->file);
    } else if (req->is_head && status_of(rep) == MHD_HTTP_OK) {
        /* Not chunked: libmicrohttpd 0.9.75 would send the last chunk although there is no body. */
        zd_front_exchange(req)->now.length_is_unknown = !rep->length_is_known;
        response = zd_response_of_length(rep->length_is_known ? rep->length : 0);
    } else {
        response = zd_response_of_text((struct zd_span){.ptr = (const uint8_t *)"", .len = 0});
    }
    if (response != NULL) {
        zd_response_add_representation(req, rep, req->id, response);
        zd_response_add_body(rep, body_bytes, response);
    }
    return zd_response_give(req, status_of(rep), response, body_bytes);
}

enum zd_status zd_respond_condition(const struct zd_request *req, struct zd_representation *rep)
{
    const enum zd_status plain = zd_request_condition(req, rep->etag, rep->mtime_ms);
    const enum zd_coding coding = zd_response_coding(req, rep, UINT64_MAX);
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

/* Answer HEAD, 304 or 412 without making the body. */
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
    uint64_t first = 0;
    uint64_t len = 0;
    if (rep->accepts_ranges && rep->body != NULL && !rep->body_is_range) {
        switch (zd_request_range(req, rep->body->len, rep->etag, &first, &len)) {
        case ZD_RANGE_PART:
            return answer_part(req, rep, first, len);
        case ZD_RANGE_OUTSIDE:
            return zd_respond_range_outside(req, rep->body->len);
        case ZD_RANGE_NONE:
            break;
        }
    }
    return answer_whole(req, rep);
}

/* ---- streams ---- */

/* libmicrohttpd would end it in good order. */
static void reset_connection(const struct zd_request *req)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        zd_front_exchange(req)->now.connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!zd_sending_reset(info->connect_fd)) {
        zd_log(&req->server->log, ZD_LOG_DEBUG,
            "cannot reset the connection: the client may mistake a truncated answer for a complete "
            "one");
    }
}

/* Gives the next bytes of a streamed body. When there are none, the connection sleeps. */
static ssize_t read_stream(void *cls, uint64_t position, char *to, size_t len_max)
{
    (void)position;
    struct zd_request *req = cls;
    struct zd_stream *stream = &req->stream;
    zd_expiry_check(zd_front_exchange(req));
    const size_t n = zd_stream_take(stream, to, len_max);
    if (n > 0) {
        return (ssize_t)n;
    }
    if (stream->state == ZD_STREAM_ENDED) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (stream->state == ZD_STREAM_CUT || !zd_exchange_suspend(zd_front_exchange(req))) {
        reset_connection(req);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    return 0;
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
        return zd_response_give(req, MHD_HTTP_OK, NULL, 0);
    }
    zd_response_add_representation(req, rep, req->id, response);
    zd_response_add_body(rep, rep->range_len, response);
    req->stream.state = ZD_STREAM_OPEN;
    (void)zd_response_give(req, status_of(rep), response, 0);
    zd_admit_answered(req);
    zd_connection_wake(req);
    return ZD_NEXT;
}

/* ---- other answers ---- */

enum zd_next zd_respond_options(struct zd_request *req, const char *allow, const char *methods)
{
    struct MHD_Response *response =
        zd_response_of_text((struct zd_span){.ptr = (const uint8_t *)"", .len = 0});
    if (response != NULL) {
        const char *wanted = zd_connection_header(req, "Access-Control-Request-Headers");
        const char *local = zd_connection_header(req, "Access-Control-Request-Private-Network");
        zd_response_add_common(req, req->id, response);
        const bool is_echoed = wanted != NULL && strlen(wanted) <= ECHOED_BYTES_MAX;
        zd_response_add(response, "Allow", allow);
        zd_response_add(response, "Access-Control-Allow-Methods", methods);
        /* Old browsers take "*" for a name, so that the list is echoed if the answer's head has
         * room for it; "*" does not cover Authorization (Fetch, CORS protocol). */
        zd_response_add(
            response, "Access-Control-Allow-Headers", is_echoed ? wanted : "*, Authorization");
        zd_response_add(response, "Access-Control-Max-Age", "7200");
        if (local != NULL && strcmp(local, "true") == 0 && zd_request_may_write(req)) {
            zd_response_add(response, "Access-Control-Allow-Private-Network", "true");
        }
        zd_dependence_note(req,
            ZD_DEPENDENCE_WANTED_HEADERS | ZD_DEPENDENCE_WANTED_NETWORK | ZD_DEPENDENCE_ORIGIN);
        zd_caching_add(req, "no-cache", response);
    }
    return zd_response_give(req, MHD_HTTP_NO_CONTENT, response, 0);
}
