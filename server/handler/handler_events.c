/* /v1/datasets/{d}/events: changes, as server-sent events (HTML, 9.2). */
#include <string.h>

#include "core/base/hash.h"
#include "server/data/events.h"
#include "server/request/admission.h"
#include "server/request/client.h"
#include "server/request/connection.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define PIECE_BYTES  (16U << 10) /* given to the connection at once, or one event */
#define WINDOW_BYTES (64U << 10) /* held of one stream */
#define TEXT_BYTES   (UINT64_C(4) << 20)

struct feed {
    struct zd_events_reader reader;
    struct zd_text text;
    struct zd_request *req; /* borrowed */
};

static void state_free(struct zd_request *req)
{
    struct feed *feed = req->state;
    zd_events_close(&feed->reader);
    zd_text_done(&feed->text);
    zd_free(feed);
}

/* Deferred: the event is raised while another request is changing state. */
static void events_came(struct zd_wait *wait)
{
    zd_connection_queue_turn(ZD_CONTAINER(wait, struct feed, reader.wait)->req);
}

static enum zd_next refuse_reader(struct zd_request *req, const struct zd_error *err)
{
    const struct zd_problem problem = {
        .code = "overloaded",
        .err = err,
        .unavailable = ZD_UNAVAILABLE_READERS,
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

static enum zd_next step_read(struct zd_request *req);

/* The text becomes a piece of the body. */
static enum zd_next give(struct zd_request *req)
{
    struct feed *feed = req->state;
    struct zd_buf *piece = NULL;
    if (zd_text_buf(&feed->text, &piece) != ZD_OK) {
        return zd_respond_no_memory(req, "events");
    }
    zd_text_clear(&feed->text);
    zd_request_give(req, piece, 0, piece->len);
    req->step = step_read;
    return ZD_NEXT;
}

static enum zd_next step_read(struct zd_request *req)
{
    struct feed *feed = req->state;
    if (zd_request_want_room(req, PIECE_BYTES) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (zd_events_read(&feed->reader, PIECE_BYTES, &feed->text) == ZD_WAIT) {
        req->times.waits_for = ZD_TIME_NONE;
        return ZD_WAIT;
    }
    switch (feed->reader.wait.status) {
    case ZD_OK:
        return give(req);
    case ZD_CANCELLED:
        return zd_request_end_stream(req);
    default:
        return zd_respond_error(req, NULL, &feed->reader.wait.err);
    }
}

static enum zd_next begin_stream(struct zd_request *req, const struct zd_representation *rep)
{
    struct feed *feed = req->state;
    struct zd_error err = {0};
    struct zd_span path = {0};
    zd_params_find(&req->params, "path", &path);
    ZD_SCOPED_TEXT(own_path, ZD_KEY_BYTES_MAX);
    if (zd_text_add_bytes(&own_path, path.ptr, path.len) != ZD_OK ||
        (path.len > 0 && !zd_key_is_valid(own_path.at))) {
        err.status = zd_fail(&err, ZD_INVALID, "path: the path of a node is expected");
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (!zd_permission_reaches(req, own_path.at)) {
        return zd_permission_refuse_scope(req);
    }
    const struct zd_peer peer = zd_client_peer(req);
    feed->reader.client =
        zd_hash_of((struct zd_span){.ptr = (const uint8_t *)&peer, .len = sizeof peer}, 0);
    const char *last_id = zd_connection_header(req, "Last-Event-ID");
    const enum zd_status status = zd_events_open(
        req->dataset->events, own_path.at, last_id, &feed->text, &feed->reader, &err);
    if (status != ZD_OK) {
        return status == ZD_AGAIN ? refuse_reader(req, &err) : zd_respond_error(req, NULL, &err);
    }
    zd_stream_init(&req->stream, WINDOW_BYTES);
    req->stream.may_end = true;
    const enum zd_next next = zd_respond_stream(req, rep);
    return next == ZD_DONE ? ZD_DONE : give(req);
}

static enum zd_next step_begin(struct zd_request *req)
{
    const struct zd_representation rep = {
        .media_type = "text/event-stream",
        .header = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}},
        .n_headers = 2,
    };
    if (req->is_head) {
        return zd_respond(req, &rep);
    }
    struct feed *feed = zd_request_new_state(req, sizeof *feed, state_free);
    if (feed == NULL) {
        return ZD_DONE;
    }
    feed->req = req;
    feed->reader.wait.done = events_came;
    zd_text_init(&feed->text, TEXT_BYTES);
    return begin_stream(req, &rep);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/events",
        .first = step_begin,
        .scope = ZD_SCOPE_READ,
        .params = ZD_PARAMS("path")},
};

const struct zd_handler zd_handler_events = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
