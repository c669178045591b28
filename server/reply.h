/* Answers as libmicrohttpd wants them, and those that are kept prepared. Thread: loop. */
#ifndef ZD_SERVER_REPLY_H
#define ZD_SERVER_REPLY_H

#include "server/http.h"

#define ZD_MADE_ID_LEN 16 /* of an X-Request-Id that we make */

/** Sets http->kept, scratch and emergency up. @retval ZD_NO_MEMORY */
ZD_RESULT zd_replies_init(struct zd_http *http, size_t bytes_max, struct zd_error *err);
void zd_replies_done(struct zd_http *http);

/**
 * Answer a GET or HEAD from what was kept under its target: sets req->answer and http_status.
 * @return false: nothing fit is kept, the steps must run
 */
bool zd_reply_from_kept(struct zd_request *req);

/** The answer to OPTIONS, whatever its path (R29, R31). */
enum zd_next zd_reply_options(struct zd_request *req);

/** Asks that the connection ends with this answer. */
void zd_reply_close_connection(struct zd_request *req);

#endif
