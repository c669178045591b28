/* Request bodies that are taken while they come. */
#include "server/request/upload.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/request/admit.h"
#include "server/request/connection.h"
#include "server/request/dispatch.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define REST_BYTES_MAX (64U << 10) /* that are read in vain, so that the connection lives on */
#define WAKE_PART      2           /* of the window is to be free before more is read */

/* ---- the window ---- */

static void drop_window(struct zd_upload *upload)
{
    zd_buf_unref(upload->window);
    upload->window = NULL;
    upload->first = 0;
    upload->held_bytes = 0;
}

void zd_upload_done(struct zd_upload *upload)
{
    drop_window(upload);
    zd_buf_unref(upload->document);
    *upload = (struct zd_upload){0};
}

size_t zd_upload_put(struct zd_upload *upload, const void *bytes, size_t len)
{
    const struct zd_buf *window = upload->window;
    const size_t n = zd_min_u64(len, window->cap - upload->held_bytes);
    const size_t at = (upload->first + upload->held_bytes) % window->cap;
    const size_t n_straight = zd_min_u64(n, window->cap - at);
    memcpy(window->data + at, bytes, n_straight);
    memcpy(window->data, (const uint8_t *)bytes + n_straight, n - n_straight);
    upload->held_bytes += n;
    return n;
}

static size_t take(struct zd_upload *upload, void *to, size_t len_max)
{
    const struct zd_buf *window = upload->window;
    const size_t n = zd_min_u64(len_max, upload->held_bytes);
    const size_t n_straight = zd_min_u64(n, window->cap - upload->first);
    memcpy(to, window->data + upload->first, n_straight);
    memcpy((uint8_t *)to + n_straight, window->data, n - n_straight);
    upload->first = (upload->first + n) % window->cap;
    upload->held_bytes -= n;
    return n;
}

/* ---- for steps ---- */

enum zd_status zd_upload_ask(struct zd_request *req, size_t window_bytes, struct zd_error *err)
{
    struct zd_upload *upload = &req->upload;
    assert(upload->state == ZD_UPLOAD_HEAD && !upload->is_asked);
    upload->window = zd_buf_new(window_bytes);
    if (upload->window == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory for a body's window of %zu bytes", window_bytes);
    }
    upload->is_asked = true;
    zd_connection_wake(req);
    return ZD_OK;
}

enum zd_next zd_upload_want(struct zd_request *req, size_t n_least)
{
    struct zd_upload *upload = &req->upload;
    assert(n_least >= 1 && n_least <= upload->window->cap);
    const bool is_there = upload->held_bytes >= n_least || upload->state == ZD_UPLOAD_ENDED;
    upload->wanted_bytes = is_there ? 0 : n_least;
    if (is_there) {
        return ZD_NEXT;
    }
    zd_admit_answered(req);  /* a slow writer keeps its bytes, not its place */
    zd_connection_wake(req); /* the window may have been full until now */
    return ZD_WAIT;
}

size_t zd_upload_take(struct zd_request *req, void *to, size_t len_max)
{
    struct zd_upload *upload = &req->upload;
    const size_t n = take(upload, to, len_max);
    if (upload->state == ZD_UPLOAD_OPEN && req->is_suspended &&
        upload->held_bytes <= upload->window->cap / WAKE_PART) {
        zd_connection_wake(req);
    }
    return n;
}

bool zd_upload_is_over(const struct zd_request *req)
{
    return req->upload.state == ZD_UPLOAD_ENDED && req->upload.held_bytes == 0;
}

/* ---- for the front: the head ---- */

enum zd_next zd_upload_step_too_long(struct zd_request *req)
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

/* The guard let the value pass: digits, perhaps zeros in front, and no more than 64 bits say. */
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
    upload->is_awaited = expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

bool zd_upload_begin(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    read_framing(req);
    if (zd_dispatch_streams_body(req)) {
        upload->state = ZD_UPLOAD_HEAD;
        return true;
    }
    if (upload->has_length && upload->length > req->server->config->settings.limits_body_bytes) {
        upload->state = ZD_UPLOAD_HEAD;
        req->step = zd_upload_step_too_long;
        return true;
    }
    return false;
}

void zd_upload_refuse(struct zd_request *req, zd_upload_step *step, uint64_t came_bytes)
{
    req->upload.state = ZD_UPLOAD_OPEN;
    req->upload.came_bytes = came_bytes;
    req->step = step;
}

static bool has_body(const struct zd_upload *upload)
{
    return !upload->has_length || upload->length > 0;
}

enum zd_upload_verdict zd_upload_leave_head(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    if (req->answer != NULL && upload->is_awaited && has_body(upload)) {
        return ZD_UPLOAD_ANSWER; /* to read on would be to ask for the body (RFC 9110, 10.1.1) */
    }
    if (req->answer == NULL && !upload->is_asked) {
        return ZD_UPLOAD_SLEEP;
    }
    upload->state = ZD_UPLOAD_OPEN;
    zd_upload_answered(req);
    return ZD_UPLOAD_READ;
}

/* ---- for the front: the body ---- */

/* More is still to come than is worth reading. */
static bool is_rest_long(const struct zd_upload *upload, uint64_t n_dropped)
{
    return upload->has_length ? upload->length - upload->came_bytes > REST_BYTES_MAX
                              : n_dropped > REST_BYTES_MAX;
}

static void tell(struct zd_request *req)
{
    if (!req->upload.is_told) {
        req->upload.is_told = true;
        zd_connection_send_last(req);
    }
}

void zd_upload_answered(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    if (upload->state != ZD_UPLOAD_OPEN || req->answer == NULL || req->machine.is_running) {
        return;
    }
    upload->state = ZD_UPLOAD_DROPPED;
    drop_window(upload);
    if (is_rest_long(upload, 0)) {
        tell(req);
    }
    upload->wanted_bytes = 0;
}

static enum zd_upload_verdict drop(struct zd_request *req, size_t *len)
{
    struct zd_upload *upload = &req->upload;
    upload->wanted_bytes += *len; /* nobody waits: those that were dropped */
    *len = 0;
    if (is_rest_long(upload, upload->wanted_bytes)) {
        tell(req);
    }
    return ZD_UPLOAD_READ;
}

static void go_on(struct zd_request *req)
{
    req->upload.wanted_bytes = 0;
    zd_request_go_on(req);
}

enum zd_upload_verdict zd_upload_come(struct zd_request *req, const char *bytes, size_t *len)
{
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
        upload->came_bytes += *len;
        return drop(req, len);
    }
    return *len == 0 ? ZD_UPLOAD_READ : ZD_UPLOAD_SLEEP;
}

enum zd_upload_verdict zd_upload_end(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    if (upload->is_told) {
        return ZD_UPLOAD_CLOSE;
    }
    if (upload->state == ZD_UPLOAD_OPEN) {
        upload->state = ZD_UPLOAD_ENDED;
        if (upload->wanted_bytes > 0) {
            go_on(req);
        }
    }
    return req->answer == NULL ? ZD_UPLOAD_SLEEP : ZD_UPLOAD_ANSWER;
}
