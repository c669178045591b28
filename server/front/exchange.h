/* The life of an exchange: from the target of a request to its end; its turns and its sleep.
 * exchange_head.h reads the head, exchange_watch.h ends what takes too long, and exchange_record.h
 * writes the line in the log. Thread: loop. */
#ifndef ZD_FRONT_EXCHANGE_H
#define ZD_FRONT_EXCHANGE_H

#include "server/front/front.h"

/** Begin with a target. @return NULL: no memory */
struct zd_exchange *zd_exchange_begin(
    struct zd_front *front, const char *target, struct MHD_Connection *connection);

/** The connection is done with it: count and log the request, and keep the memory for another.
 * @param was_sent the answer was sent whole */
void zd_exchange_end(struct zd_exchange *exchange, bool was_sent);

/** End what the request waits for and holds, all but its answer. */
void zd_exchange_release(struct zd_exchange *exchange);

/** Whether a change is being stored that is not answered yet: it cannot be withdrawn. */
bool zd_exchange_is_storing(const struct zd_exchange *exchange);

/** Run the request's steps for the first time. */
void zd_exchange_start(struct zd_exchange *exchange);

/** Forget the response: the connection has a reference of its own. */
void zd_exchange_drop_response(struct zd_exchange *exchange);

/** Forget what has come of a body that was to come whole. */
void zd_exchange_drop_body(struct zd_exchange *exchange);

/** Set up the lists and the idle handle of a front. */
void zd_exchange_init_front(struct zd_front *front);

/** Close the idle handle; the loop must turn once more before the front is freed. */
void zd_exchange_close_front(struct zd_front *front);

/**
 * The connection sleeps until zd_connection_wake, at most http.request_ms.
 * @return false: not now, the front closes
 */
bool zd_exchange_suspend(struct zd_exchange *exchange);

/** An answer may be there while the body comes: it is dropped from here on, and
 * zd_exchange_send_last. */
void zd_exchange_answered(struct zd_exchange *exchange);

/** A client that has much left to send is answered now, past libmicrohttpd, which answers only
 * requests that it has read; the connection ends with it. */
void zd_exchange_send_last(struct zd_exchange *exchange);

/** Answer all that sleep with 503 draining: libmicrohttpd must not be stopped while one does. */
void zd_exchange_wake_all(struct zd_front *front);

/** Free the spare exchanges. */
void zd_exchange_done_front(struct zd_front *front);

#endif
