/* The request's body for steps that take it while it comes. Thread: loop.
 *
 * The first step of such a route (streams_body) runs when the head is there: what can be judged by
 * the head is answered before a byte is asked for, and a client that waits for 100 (Continue) does
 * not send its body for nothing. */
#ifndef ZD_REQUEST_BODY_STREAM_H
#define ZD_REQUEST_BODY_STREAM_H

#include "server/request/request.h"

/**
 * Ask for the body: from now on it comes, and so does 100 (Continue). Memory for the window is
 * admitted before.
 *
 * @param window_bytes >= 1: what may be held of it
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_body_stream_ask(struct zd_request *req, size_t window_bytes, struct zd_error *err);

/**
 * Wait until so many bytes are held, or the body has ended.
 * @param n_least >= 1, at most the window
 * @return what the step returns: with ZD_WAIT req->step runs again when they are
 */
enum zd_next zd_body_stream_want(struct zd_request *req, size_t n_least);

/** The next bytes of the body. @return how many; 0: none are held */
size_t zd_body_stream_take(struct zd_request *req, void *to, size_t len_max);

/** Whether no byte is left to be taken. */
bool zd_body_stream_is_over(const struct zd_request *req);

#endif
