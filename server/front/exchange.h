/* The life of an exchange: from the target of a request to its end, with its turns and its sleep.
 * exchange_head.h reads the head, exchange_watch.h ends waits that take too long, and
 * exchange_record.h writes the line in the log. Thread: loop. */
#ifndef ZD_FRONT_EXCHANGE_H
#define ZD_FRONT_EXCHANGE_H

#include "server/front/front.h"

/** Begin with a target. @return NULL: no memory */
struct zd_exchange *zd_exchange_begin(
    struct zd_front *front, const char *target, struct MHD_Connection *connection);

/** The connection is done with it: count and log the request, and keep the memory for another.
 * @param was_sent the answer was sent whole */
void zd_exchange_end(struct zd_exchange *exchange, bool was_sent);

/** End the waits of the request and release its locks, but keep its answer. */
void zd_exchange_release(struct zd_exchange *exchange);

/** Whether a change is being stored that is not answered yet: it cannot be withdrawn. */
bool zd_exchange_is_storing(const struct zd_exchange *exchange);

/** Run the request's steps for the first time. */
void zd_exchange_start(struct zd_exchange *exchange);

/** Forget the response: the connection has a reference of its own. */
void zd_exchange_drop_response(struct zd_exchange *exchange);

/** Forget the part of a body that has come, where all of the body was to come first. */
void zd_exchange_drop_body(struct zd_exchange *exchange);

/** Set up the lists and the idle handle of a front. */
void zd_exchange_init_front(struct zd_front *front);

/** Close the idle handle; the loop must turn once more before the front is freed. */
void zd_exchange_close_front(struct zd_front *front);

/**
 * Put the connection to sleep until zd_connection_wake, at most http.request_ms.
 *
 * @return false: not now, the front closes
 */
bool zd_exchange_suspend(struct zd_exchange *exchange);

/** The answer may be there while the body still comes: then drop the body from here on, and call
 * zd_exchange_send_last. */
void zd_exchange_answered(struct zd_exchange *exchange);

/** Answer a client that has much left to send now. libmicrohttpd answers only requests that it has
 * read, so the answer goes past it, and the connection ends. */
void zd_exchange_send_last(struct zd_exchange *exchange);

/** Answer all sleeping exchanges with 503 draining: libmicrohttpd must not be stopped while one
 * sleeps. */
void zd_exchange_wake_all(struct zd_front *front);

/** Free the spare exchanges. */
void zd_exchange_done_front(struct zd_front *front);

#endif
