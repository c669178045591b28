/* The front as a whole: libmicrohttpd's daemons on libuv's loop, one for each address. Thread:
 * loop. */
#ifndef ZD_FRONT_DAEMON_H
#define ZD_FRONT_DAEMON_H

#include "server/front/front.h"

/**
 * Bind the configured addresses and begin to serve.
 *
 * @param ret_front owned
 * @retval ZD_INVALID an address is malformed, or cannot be bound
 */
ZD_RESULT zd_daemon_new(
    struct zd_server *server, struct zd_front **ret_front, struct zd_error *err);

/** Refuse new connections; requests under way go on. */
void zd_daemon_drain(struct zd_front *front);

/** End every connection and request; the loop must turn once more before zd_daemon_free. */
void zd_daemon_close(struct zd_front *front);
void zd_daemon_free(struct zd_front *front); /* accepts NULL */

#endif
