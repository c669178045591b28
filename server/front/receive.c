/* The body of a request that is taken while it comes: what its connection does with it. */
#include "server/front/receive.h"

#include <string.h>
#include <strings.h>

#include "server/request/connection.h"
#include "server/request/dispatch.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define REST_BYTES_MAX                                                                             \
    (64U << 10) /* that are read and dropped, so that the connection lives on                      \
                 */

/* ---- the head ---- */

enum zd_next zd_receive_step_too_long(struct zd_request *req)
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

bool zd_receive_begin(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_upload *upload = &req->upload;
    read_framing(req);
    if (zd_dispatch_route(req) && req->route->streams_body) {
        upload->state = ZD_UPLOAD_HEAD;
        return true;
    }
    if (upload->has_length && upload->length > req->server->config->settings.limits_body_bytes) {
        upload->state = ZD_UPLOAD_HEAD;
        req->step = zd_receive_step_too_long;
        return true;
    }
    return false;
}

void zd_receive_refuse(struct zd_exchange *exchange, zd_step *step, uint64_t came_bytes)
{
    struct zd_request *req = &exchange->request;
    req->upload.state = ZD_UPLOAD_OPEN;
    req->upload.came_bytes = came_bytes;
    req->step = step;
}

static bool has_body(const struct zd_upload *upload)
{
    return !upload->has_length || upload->length > 0;
}

enum zd_receive zd_receive_leave_head(struct zd_exchange *exchange)
{
    struct zd_upload *upload = &exchange->request.upload;
    const bool has_answer = exchange->now.response != NULL;
    if (has_answer && upload->expects_continue && has_body(upload)) {
        return ZD_RECEIVE_ANSWER; /* to read on would ask for the body (RFC 9110, 10.1.1) */
    }
    if (!has_answer && !upload->is_asked) {
        return ZD_RECEIVE_SLEEP;
    }
    upload->state = ZD_UPLOAD_OPEN;
    zd_receive_answered(exchange);
    return ZD_RECEIVE_READ;
}

/* ---- the body ---- */

/* More is still to come than is worth reading. */
static bool is_rest_long(const struct zd_upload *upload)
{
    return upload->has_length ? upload->length - upload->came_bytes > REST_BYTES_MAX
                              : upload->dropped_bytes > REST_BYTES_MAX;
}

static void send_last(struct zd_exchange *exchange)
{
    if (!exchange->now.is_answered) {
        exchange->now.is_answered = true;
        zd_connection_send_last(&exchange->request);
    }
}

void zd_receive_answered(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    if (req->upload.state != ZD_UPLOAD_OPEN || exchange->now.response == NULL ||
        req->machine.is_running) {
        return;
    }
    zd_upload_drop(&req->upload);
    if (is_rest_long(&req->upload)) {
        send_last(exchange);
    }
}

static enum zd_receive drop(struct zd_exchange *exchange, size_t *len)
{
    struct zd_upload *upload = &exchange->request.upload;
    upload->came_bytes += *len;
    upload->dropped_bytes += *len;
    *len = 0;
    if (is_rest_long(upload)) {
        send_last(exchange);
    }
    return ZD_RECEIVE_READ;
}

static void go_on(struct zd_request *req)
{
    req->upload.wanted_bytes = 0;
    zd_machine_go_on(&req->machine);
}

enum zd_receive zd_receive_bytes(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    struct zd_request *req = &exchange->request;
    struct zd_upload *upload = &req->upload;
    size_t n_put = 1;
    size_t at = 0;
    while (upload->state == ZD_UPLOAD_OPEN && *len > 0 && n_put > 0) {
        n_put = zd_upload_put(upload, bytes + at, *len);
        at += n_put;
        *len -= n_put;
        upload->came_bytes += n_put;
        if (upload->wanted_bytes > 0 && upload->held_bytes >= upload->wanted_bytes) {
            go_on(req);
        }
    }
    if (upload->state == ZD_UPLOAD_DROPPED) {
        return drop(exchange, len);
    }
    return *len == 0 ? ZD_RECEIVE_READ : ZD_RECEIVE_SLEEP;
}

enum zd_receive zd_receive_end(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_upload *upload = &req->upload;
    if (exchange->now.is_answered) {
        return ZD_RECEIVE_CLOSE;
    }
    if (upload->state == ZD_UPLOAD_OPEN) {
        upload->state = ZD_UPLOAD_ENDED;
        if (upload->wanted_bytes > 0) {
            go_on(req);
        }
    }
    return exchange->now.response == NULL ? ZD_RECEIVE_SLEEP : ZD_RECEIVE_ANSWER;
}
