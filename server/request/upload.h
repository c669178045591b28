/* Request bodies that are taken while they come: a window of bytes between a connection and the
 * steps of its request. Thread: loop.
 *
 *     socket --> zd_upload_put --> [ window ] --> zd_upload_take --> steps
 *                 sleeps while it is full          wait while it is empty
 *
 * The first step of such a route (streams_body) runs when the head is there: what can be judged by
 * the head is answered before a byte is asked for, and a client that waits for 100 (Continue) does
 * not send its body in vain. An answer that is given while the body still comes ends the
 * connection, unless little is left to be read. */
#ifndef ZD_REQUEST_UPLOAD_H
#define ZD_REQUEST_UPLOAD_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "server/runtime/wait.h"

struct zd_request;

typedef enum zd_next zd_upload_step(
    struct zd_request *req); /* a zd_step of server/request/request.h */

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
    bool is_asked;         /* by the steps: the body may come */
    bool has_length;       /* Content-Length is known, else the body is chunked */
    bool is_awaited;       /* by the client: it asked for 100 (Continue) */
    bool is_told;          /* the wire has given the answer */
    uint64_t length;       /* Content-Length; 0: there is no body */
    uint64_t came_bytes;   /* of the body so far, dropped ones included */
    uint64_t wanted_bytes; /* that the steps wait for; 0 = they do not */
    struct zd_buf *window; /* a ring: held_bytes from `first` on; NULL: nothing is held; owned */
    size_t first;
    size_t held_bytes;
    struct zd_buf *document; /* of the answer, when it is a problem; owned */
};

static inline bool zd_upload_is_open(const struct zd_upload *upload)
{
    return upload->state != ZD_UPLOAD_NONE;
}

void zd_upload_done(struct zd_upload *upload); /* accepts a zeroed one */

/* ---- for steps of routes with streams_body ---- */

/**
 * Ask for the body: from now on it comes, and so does 100 (Continue). Memory for the window is
 * admitted before.
 *
 * @param window_bytes >= 1: what may be held of it
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_upload_ask(struct zd_request *req, size_t window_bytes, struct zd_error *err);

/**
 * Wait until so many bytes are held, or the body has ended.
 * @param n_least >= 1, at most the window
 * @return what the step returns: with ZD_WAIT req->step runs again when they are
 */
enum zd_next zd_upload_want(struct zd_request *req, size_t n_least);

/** The next bytes of the body. @return how many; 0: none are held */
size_t zd_upload_take(struct zd_request *req, void *to, size_t len_max);

/** Whether no byte is left to be taken. */
bool zd_upload_is_over(const struct zd_request *req);

/* ---- for the front ---- */

/** What the connection is to do. */
enum zd_upload_verdict {
    ZD_UPLOAD_READ,   /* go on reading */
    ZD_UPLOAD_SLEEP,  /* until zd_connection_wake */
    ZD_UPLOAD_ANSWER, /* the answer goes out now */
    ZD_UPLOAD_CLOSE,  /* nobody waits for anything */
};

/**
 * The head of a request is there, and it is neither GET nor HEAD: whether its steps run now.
 * False: the body is to come whole.
 */
bool zd_upload_begin(struct zd_request *req);

/**
 * A body that was to come whole is not to come: the steps run now, and answer that.
 * @param step       answers
 * @param came_bytes of the body so far
 */
void zd_upload_refuse(struct zd_request *req, zd_upload_step *step, uint64_t came_bytes);

/** The step of a body that is longer than limits.body_bytes. */
zd_upload_step zd_upload_step_too_long;

/** The steps have run, or the connection was woken, and nothing of the body was read yet. */
enum zd_upload_verdict zd_upload_leave_head(struct zd_request *req);

/** Bytes of the body. @param len how many; then how many were left because the window is full */
enum zd_upload_verdict zd_upload_come(struct zd_request *req, const char *bytes, size_t *len);

/** All of the body has come. */
enum zd_upload_verdict zd_upload_end(struct zd_request *req);

/** An answer is there while the body comes: whoever has much left to send is answered now, past the
 * library, which gives answers only to requests that it has read. */
void zd_upload_answered(struct zd_request *req);

/** Add bytes to the window. @return how many found room */
size_t zd_upload_put(struct zd_upload *upload, const void *bytes, size_t len);

#endif
