/* Running the steps of a request, its waits, and what handlers ask of it. */
#include "server/request/request.h"

#include <assert.h>
#include <string.h>

#include "server/http/origin.h"
#include "server/request/connection.h"
#include "server/request/identity.h"
#include "server/runtime/server.h"

/* The share of the loop's time for a turn. Steps whose data are in memory never wait: without this
 * limit a slice of many small chunks would block all other requests for most of a second. */
#define TURN_NS 500000

/* The request has waited until now. */
static void note_wait(struct zd_request *req, uint64_t now_ns)
{
    const struct zd_times *times = &req->times;
    if (times->since_ns != 0 && times->waits_for != ZD_TIME_NONE) {
        const bool is_queue = times->waits_for == ZD_TIME_QUEUE;
        zd_trace_add(req->trace, is_queue ? "admission" : zd_times_name(times->waits_for),
            times->since_ns, now_ns);
    }
    zd_times_go_on(&req->times, now_ns);
}

static enum zd_next run_step(struct zd_machine *machine)
{
    struct zd_request *req = ZD_CONTAINER(machine, struct zd_request, machine);
    assert(!req->is_answered || zd_stream_is_open(&req->stream));
    struct zd_request_own *own = &req->own;
    if (own->turn_ns == 0) {
        own->turn_ns = uv_hrtime();
        note_wait(req, own->turn_ns);
    }
    const bool is_over = req->stream.state == ZD_STREAM_OPEN && zd_identity_is_over(req->identity);
    enum zd_next next = is_over ? zd_request_end_over(req) : req->step(req);
    assert(zd_stream_is_open(&req->stream) || (next == ZD_DONE) == req->is_answered);
    if (next == ZD_NEXT && uv_hrtime() - own->turn_ns > TURN_NS) {
        zd_connection_queue_turn(req);
        req->times.waits_for = ZD_TIME_NONE;
        next = ZD_WAIT;
    }
    if (next == ZD_WAIT) {
        zd_times_wait(&req->times, uv_hrtime());
    }
    own->turn_ns = next == ZD_NEXT ? own->turn_ns : 0;
    return next;
}

static void end(struct zd_machine *machine)
{
    zd_connection_answered(ZD_CONTAINER(machine, struct zd_request, machine));
}

void zd_request_init(struct zd_request *req, struct zd_server *server, struct zd_text *path_text)
{
    memset(req, 0, offsetof(struct zd_request, params));
    req->server = server;
    req->machine = (struct zd_machine){.step = run_step, .end = end};
    req->gather.machine = &req->machine;
    req->path_text = path_text;
}

bool zd_request_may_write(const struct zd_request *req)
{
    const struct zd_settings *settings = &req->server->config->settings;
    const char *reader = settings->http_cors_origin;
    const char *origin = zd_connection_header(req, "Origin");
    if (origin == NULL) {
        /* No browser leaves it out of such a request, but what stands between may. */
        const char *site = zd_connection_header(req, "Sec-Fetch-Site");
        return site == NULL || (strcmp(site, "cross-site") != 0 && strcmp(site, "same-site") != 0);
    }
    return zd_origin_is_listed(origin, settings->http_cors_origins) ||
           (strcmp(reader, "*") != 0 && zd_origin_is_listed(origin, reader));
}

bool zd_request_is_reading(const struct zd_request *req)
{
    return req->is_head || strcmp(req->method, "GET") == 0;
}

enum zd_status zd_request_condition(
    const struct zd_request *req, const char *etag, int64_t mtime_ms)
{
    return zd_conditions_judge(&req->conditions, zd_request_is_reading(req), etag, mtime_ms);
}

enum zd_range_answer zd_request_range(const struct zd_request *req, uint64_t length,
    const char *etag, uint64_t *ret_first, uint64_t *ret_len)
{
    /* Range is for GET (RFC 9110, 14.2). */
    if (req->is_head || !zd_request_is_reading(req)) {
        return ZD_RANGE_NONE;
    }
    return zd_conditions_range(&req->conditions, length, etag, ret_first, ret_len);
}

bool zd_request_is_pretty(const struct zd_request *req)
{
    bool is_pretty = false;
    return zd_params_flag(&req->params, "pretty", false, &is_pretty, NULL) == ZD_OK && is_pretty;
}
