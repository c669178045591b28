/* Bodies of requests that are taken while they come: a window of bytes between a connection and the
 * steps of its request. Thread: loop.
 *
 *     socket --> zd_upload_put --> [ window ] --> zd_upload_take --> steps
 *         sleeps while it is full      wait while it is empty
 */
#ifndef ZD_REQUEST_UPLOAD_H
#define ZD_REQUEST_UPLOAD_H

#include "core/base/buf.h"
#include "server/runtime/wait.h"

enum zd_upload_state {
    ZD_UPLOAD_NONE,    /* the body comes whole, before the first step */
    ZD_UPLOAD_HEAD,    /* the steps run, and have not asked for the body */
    ZD_UPLOAD_OPEN,    /* it comes */
    ZD_UPLOAD_ENDED,   /* all of it has come */
    ZD_UPLOAD_DROPPED, /* the request is answered: what still comes of it is dropped */
};

/** Embedded in the request; zeroed: nothing is taken as a stream. */
struct zd_upload {
    enum zd_upload_state state;
    bool is_asked;          /* by the steps: the body may come */
    bool has_length;        /* Content-Length is known, else the body is chunked */
    bool expects_continue;  /* the client waits for 100 (Continue) before it sends the body */
    uint64_t length;        /* Content-Length; 0: there is no body */
    uint64_t came_bytes;    /* of the body so far, dropped ones included */
    struct zd_wait *wait;   /* of the steps; NULL: they do not wait */
    uint64_t wanted_bytes;  /* that it waits for */
    uint64_t dropped_bytes; /* that came after the answer */
    struct zd_buf *window;  /* a ring: held_bytes from `first` on; NULL: nothing is held; owned */
    size_t first;
    size_t held_bytes;
};

static inline bool zd_upload_is_open(const struct zd_upload *upload)
{
    return upload->state != ZD_UPLOAD_NONE;
}

/** Whether all of the body has come and was taken. */
static inline bool zd_upload_is_over(const struct zd_upload *upload)
{
    return upload->state == ZD_UPLOAD_ENDED && upload->held_bytes == 0;
}

/** Make room for so many bytes in the window, at least as many as it has; what is held stays.
 * @return false: no memory */
bool zd_upload_widen(struct zd_upload *upload, size_t window_bytes);

/** Wait until so many bytes are held, or the body has ended. @param wait its done runs in
 * zd_upload_put or zd_upload_end */
enum zd_next zd_upload_want(struct zd_upload *upload, size_t n_least, struct zd_wait *wait);

/** Add bytes of the body to the window. @return how many found room */
size_t zd_upload_put(struct zd_upload *upload, const void *bytes, size_t len);

/** All of the body has come. */
void zd_upload_end(struct zd_upload *upload);

/** Take the next bytes out. @return how many; 0: none are held */
size_t zd_upload_take(struct zd_upload *upload, void *to, size_t len_max);

/** The request is answered: nothing more is held. */
void zd_upload_drop(struct zd_upload *upload);

void zd_upload_done(struct zd_upload *upload); /* accepts a zeroed one */

#endif
