/* The answer's body for steps that make it piece by piece. Thread: loop. */
#ifndef ZD_REQUEST_ANSWER_STREAM_H
#define ZD_REQUEST_ANSWER_STREAM_H

#include "server/request/request.h"

/**
 * Wait until a buffer of that size may be given.
 * @return what the step returns: with ZD_WAIT req->step runs again when there is room
 */
enum zd_next zd_answer_stream_want_room(struct zd_request *req, uint64_t bytes);

/** Add len bytes to the end of the body; there is room. @param buf as in zd_stream_push */
void zd_answer_stream_give(struct zd_request *req, struct zd_buf *buf, size_t from, size_t len);

/** The body is whole. @return ZD_DONE, for the step to return */
enum zd_next zd_answer_stream_end(struct zd_request *req);

#endif
