/* When an exchange goes on: turns, sleep, deadlines and hang-ups. Thread: loop. */
#ifndef ZD_FRONT_SUSPEND_H
#define ZD_FRONT_SUSPEND_H

#include "server/front/front.h"

/** Set the lists and timers of a front up. */
void zd_suspend_init(struct zd_front *front);

/** Close the timers; the loop must turn once more before the front is freed. */
void zd_suspend_close(struct zd_front *front);

/** The wire of a connection, or NULL. */
struct zd_wire *zd_suspend_wire(struct MHD_Connection *connection);

/**
 * The connection sleeps until zd_connection_wake, at most http.request_ms.
 * @return false: not now, the front closes
 */
bool zd_suspend_exchange(struct zd_exchange *exchange);

/** An answer may be there while the body comes: it is dropped from here on, and
 * zd_suspend_send_last. */
void zd_suspend_answered(struct zd_exchange *exchange);

/** A client that has much left to send is answered now, past libmicrohttpd, which answers only
 * requests that it has read; the connection ends with it. */
void zd_suspend_send_last(struct zd_exchange *exchange);

/** Answer all that sleep with 503 draining: libmicrohttpd must not be stopped while one does. */
void zd_suspend_wake_all(struct zd_front *front);

#endif
