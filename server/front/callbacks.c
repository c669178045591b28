/* What libmicrohttpd calls for each request. */
#include "server/front/callbacks.h"

#include <string.h>
#include <strings.h>

#include "server/front/exchange.h"
#include "server/front/reply_cache.h"
#include "server/front/wire.h"
#include "server/request/connection.h"
#include "server/request/dispatch.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

void *zd_callbacks_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    const struct zd_listener *listener = cls;
    return zd_exchange_begin(listener->front, target, connection);
}

static enum MHD_Result queue(struct zd_exchange *exchange)
{
    struct zd_exchange_now *now = &exchange->now;
    if (now->response_id != NULL) {
        memcpy(now->response_id, now->id, ZD_FRONT_MADE_ID_LEN);
    }
    const enum MHD_Result result =
        MHD_queue_response(now->connection, now->access.http_status, now->response);
    zd_exchange_drop_response(exchange);
    return result;
}

static enum MHD_Result sleep_or_end(struct zd_exchange *exchange)
{
    return zd_exchange_suspend(exchange) ? MHD_YES : MHD_NO;
}

/* ---- a body that is taken while it comes ----
 *
 *     head --> begin_upload --> leave_head --> take_upload ... end_upload
 *
 * An answer that is given while the body still comes ends the connection, unless little is left to
 * be read. */

static enum zd_next step_refuse_long(struct zd_request *req)
{
    const struct zd_settings *settings = &req->server->config->settings;
    const struct zd_upload *upload = &req->upload;
    const uint64_t least = settings->limits_body_bytes + 1;
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_TOO_LARGE, "the body exceeds limits.body_bytes (%llu)",
        (unsigned long long)settings->limits_body_bytes);
    zd_fact_limit(&err, settings->limits_body_bytes, upload->has_length ? upload->length : least);
    return zd_respond_error(req, "too_large", &err);
}

/* The guard let the value pass: digits, perhaps zeros in front, and no more than 64 bits. */
static uint64_t number_in(const char *value)
{
    uint64_t number = 0;
    for (const char *at = value + strspn(value, " \t"); *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

static void read_framing(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    const char *length = zd_connection_header(req, "Content-Length");
    const char *expect = zd_connection_header(req, "Expect");
    upload->length = length == NULL ? 0 : number_in(length);
    upload->has_length = length != NULL || zd_connection_header(req, "Transfer-Encoding") == NULL;
    upload->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

/* Whether the steps run now; else the body is to come whole. */
static bool begin_upload(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    read_framing(req);
    if (!(zd_dispatch_route(req) && req->route->streams_body)) {
        if (upload->length <= req->server->config->settings.limits_body_bytes) {
            return false;
        }
        req->step = step_refuse_long;
    }
    upload->state = ZD_UPLOAD_HEAD;
    return true;
}

/* The steps have run, or the connection was woken, and nothing of the body was read yet. */
static enum MHD_Result leave_head(struct zd_exchange *exchange)
{
    struct zd_upload *upload = &exchange->request.upload;
    const bool has_answer = exchange->now.response != NULL;
    const bool has_body = !upload->has_length || upload->length > 0;
    if (has_answer && upload->expects_continue && has_body) {
        return queue(exchange); /* to read on would ask for the body (RFC 9110, 10.1.1) */
    }
    if (!has_answer && !upload->is_asked) {
        return sleep_or_end(exchange);
    }
    upload->state = ZD_UPLOAD_OPEN;
    zd_exchange_answered(exchange);
    return MHD_YES;
}

/* @param len how many bytes; then how many were left because the window is full */
static enum MHD_Result take_upload(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    struct zd_upload *upload = &exchange->request.upload;
    size_t n_put = 1;
    size_t at = 0;
    while (upload->state == ZD_UPLOAD_OPEN && *len > 0 && n_put > 0) {
        n_put = zd_upload_put(upload, bytes + at, *len);
        at += n_put;
        *len -= n_put;
    }
    if (upload->state == ZD_UPLOAD_DROPPED) {
        upload->came_bytes += *len;
        upload->dropped_bytes += *len;
        *len = 0;
        zd_exchange_send_last(exchange);
    }
    return *len == 0 ? MHD_YES : sleep_or_end(exchange);
}

/* All of the body has come. */
static enum MHD_Result end_upload(struct zd_exchange *exchange)
{
    struct zd_upload *upload = &exchange->request.upload;
    if (exchange->now.is_answered) {
        return MHD_NO; /* past libmicrohttpd */
    }
    if (upload->state == ZD_UPLOAD_OPEN) {
        zd_upload_end(upload);
    }
    return exchange->now.response == NULL ? sleep_or_end(exchange) : queue(exchange);
}

static enum MHD_Result on_upload(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    if (exchange->now.has_left) {
        return MHD_NO;
    }
    if (*len > 0) {
        return take_upload(exchange, bytes, len);
    }
    return exchange->request.upload.state == ZD_UPLOAD_HEAD ? leave_head(exchange)
                                                            : end_upload(exchange);
}

/* ---- all requests ---- */

/* The first call for a request: its head is there. An answer given now would end the connection;
 * the call that follows has the whole request, or a part of its body. */
static enum MHD_Result begin(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    if (!zd_wire_is_judged(zd_exchange_wire(exchange->now.connection))) {
        zd_log(&req->server->log, ZD_LOG_ERROR,
            "the guard has not seen a request: libmicrohttpd does not read with our recv(), or "
            "memory is exhausted");
        return MHD_NO;
    }
    exchange->now.has_begun = true;
    if (zd_exchange_read_head(exchange, method) != ZD_OK) {
        return MHD_NO; /* a condition is lost */
    }
    zd_request_identify(req);
    if (zd_request_is_reading(req) || !begin_upload(req)) {
        return MHD_YES;
    }
    zd_exchange_start(exchange);
    return leave_head(exchange);
}

/* The whole request is there: it has a prepared answer, or its steps run. */
static enum MHD_Result finish(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_text *body = &exchange->memory.body;
    if (zd_request_is_reading(req) && zd_reply_cache_answer(req)) {
        return queue(exchange);
    }
    if (body->len > 0 && zd_text_buf(body, &req->body) != ZD_OK) {
        return MHD_NO;
    }
    zd_exchange_start(exchange);
    return exchange->now.response != NULL ? queue(exchange) : sleep_or_end(exchange);
}

static enum zd_next step_refuse_body(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "overloaded",
        .detail = "memory for request bodies is exhausted; retry later",
        .unavailable = ZD_UNAVAILABLE_BODIES,
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

/* The answer does not wait for the rest of the body. */
static enum MHD_Result refuse_body(
    struct zd_exchange *exchange, zd_step *step, const char *bytes, size_t *len)
{
    struct zd_request *req = &exchange->request;
    req->upload.state = ZD_UPLOAD_OPEN;
    req->upload.came_bytes = exchange->memory.body.len;
    req->step = step;
    zd_exchange_drop_body(exchange);
    zd_exchange_start(exchange);
    return take_upload(exchange, bytes, len);
}

static enum MHD_Result take_body(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    struct zd_front *front = exchange->front;
    const uint64_t n_free = front->server->memory.body_bytes - front->body_bytes;
    if (*len > n_free) {
        return refuse_body(exchange, step_refuse_body, bytes, len);
    }
    switch (zd_text_add_bytes(&exchange->memory.body, bytes, *len)) {
    case ZD_OK:
        front->body_bytes += *len;
        *len = 0;
        return MHD_YES;
    case ZD_TOO_LARGE:
        return refuse_body(exchange, step_refuse_long, bytes, len);
    default:
        return MHD_NO;
    }
}

enum MHD_Result zd_callbacks_request(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload, size_t *upload_len, void **con_cls)
{
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    struct zd_exchange *exchange = *con_cls;
    if (exchange == NULL) {
        return MHD_NO; /* no memory for it */
    }
    if (!exchange->now.has_begun) {
        return begin(exchange, method);
    }
    if (zd_upload_is_open(&exchange->request.upload)) {
        return on_upload(exchange, upload, upload_len);
    }
    if (*upload_len > 0) {
        return take_body(exchange, upload, upload_len);
    }
    if (exchange->now.has_left) {
        return MHD_NO;
    }
    if (exchange->now.response != NULL) {
        return queue(exchange);
    }
    return exchange->now.has_started ? MHD_YES : finish(exchange);
}

void zd_callbacks_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
    enum MHD_RequestTerminationCode code)
{
    (void)cls;
    struct zd_exchange *exchange = *con_cls;
    *con_cls = NULL;
    zd_wire_answered(zd_exchange_wire(connection));
    if (exchange != NULL) {
        zd_exchange_end(exchange, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    }
}

void zd_callbacks_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    struct zd_listener *listener = cls;
    struct zd_front *front = listener->front;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = info == NULL ? NULL : zd_wire_open(front->wires, info->connect_fd);
        front->server->metrics.n_connections++;
    } else {
        zd_wire_close(*socket_context);
        *socket_context = NULL;
        listener->has_closed = true;
        front->server->metrics.n_connections--;
    }
}
