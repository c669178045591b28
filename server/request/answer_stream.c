/* The answer's body for steps that make it piece by piece. */
#include "server/request/answer_stream.h"

#include <assert.h>

#include "server/request/admit.h"
#include "server/request/connection.h"

/* Not at once: this runs while the connection takes bytes. */
static void has_room(struct zd_wait *wait)
{
    zd_connection_queue_turn(wait->context);
}

enum zd_next zd_answer_stream_want_room(struct zd_request *req, uint64_t bytes)
{
    req->wait.done = has_room;
    req->wait.context = req;
    const enum zd_next next = zd_stream_want_room(&req->stream, bytes, &req->wait);
    if (next == ZD_WAIT) {
        zd_admit_answered(req); /* a slow reader keeps its bytes, not its place */
    }
    return next;
}

void zd_answer_stream_give(struct zd_request *req, struct zd_buf *buf, size_t from, size_t len)
{
    assert(req->stream.state == ZD_STREAM_OPEN);
    zd_stream_push(&req->stream, buf, from, len);
    zd_connection_wake(req);
}

enum zd_next zd_answer_stream_end(struct zd_request *req)
{
    assert(req->stream.state == ZD_STREAM_OPEN);
    req->stream.state = ZD_STREAM_ENDED;
    return ZD_DONE;
}
