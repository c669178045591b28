/* What libmicrohttpd calls for each request. */
#include "server/front/callbacks.h"

#include <string.h>

#include "server/front/exchange.h"
#include "server/front/head.h"
#include "server/front/receive.h"
#include "server/front/reply_cache.h"
#include "server/front/suspend.h"
#include "server/front/wire.h"
#include "server/request/identity.h"
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
    return zd_suspend_exchange(exchange) ? MHD_YES : MHD_NO;
}

static enum MHD_Result obey(struct zd_exchange *exchange, enum zd_receive verdict)
{
    switch (verdict) {
    case ZD_RECEIVE_READ:
        return MHD_YES;
    case ZD_RECEIVE_SLEEP:
        return sleep_or_end(exchange);
    case ZD_RECEIVE_ANSWER:
        return queue(exchange);
    case ZD_RECEIVE_CLOSE:
        break;
    }
    return MHD_NO;
}

/* The first call for a request: its head is there. An answer given now would end the connection;
 * the call that follows has the whole request, or a part of its body. */
static enum MHD_Result begin(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    if (!zd_wire_is_judged(zd_suspend_wire(exchange->now.connection))) {
        zd_log(&req->server->log, ZD_LOG_ERROR,
            "the guard has not seen a request: libmicrohttpd does not read with our recv(), or "
            "memory is exhausted");
        return MHD_NO;
    }
    exchange->now.has_begun = true;
    if (zd_head_read(exchange, method) != ZD_OK) {
        return MHD_NO; /* a condition is lost */
    }
    zd_identity_judge(req, &req->identity);
    if (zd_request_is_reading(req) || !zd_receive_begin(exchange)) {
        return MHD_YES;
    }
    zd_exchange_start(exchange);
    return obey(exchange, zd_receive_leave_head(exchange));
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
    zd_receive_refuse(exchange, step, exchange->memory.body.len);
    zd_exchange_drop_body(exchange);
    zd_exchange_start(exchange);
    return obey(exchange, zd_receive_bytes(exchange, bytes, len));
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
        return refuse_body(exchange, zd_receive_step_too_long, bytes, len);
    default:
        return MHD_NO;
    }
}

/* Of a request whose steps run before its body is there. */
static enum MHD_Result on_upload(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    if (exchange->now.has_left) {
        return MHD_NO;
    }
    if (*len > 0) {
        return obey(exchange, zd_receive_bytes(exchange, bytes, len));
    }
    return obey(exchange, exchange->request.upload.state == ZD_UPLOAD_HEAD
                              ? zd_receive_leave_head(exchange)
                              : zd_receive_end(exchange));
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
    zd_wire_answered(zd_suspend_wire(connection));
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
