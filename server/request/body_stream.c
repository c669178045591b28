/* The request's body for steps that take it while it comes. */
#include "server/request/body_stream.h"

#include <assert.h>

#include "server/request/admit.h"
#include "server/request/connection.h"

#define WAKE_PART 2 /* of the window must be free before more is read */

enum zd_status zd_body_stream_ask(struct zd_request *req, size_t window_bytes, struct zd_error *err)
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

enum zd_next zd_body_stream_want(struct zd_request *req, size_t n_least)
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

size_t zd_body_stream_take(struct zd_request *req, void *to, size_t len_max)
{
    struct zd_upload *upload = &req->upload;
    const size_t n = zd_upload_take(upload, to, len_max);
    if (upload->state == ZD_UPLOAD_OPEN && upload->held_bytes <= upload->window->cap / WAKE_PART) {
        zd_connection_wake(req);
    }
    return n;
}

bool zd_body_stream_is_over(const struct zd_request *req)
{
    return zd_upload_is_over(&req->upload);
}
