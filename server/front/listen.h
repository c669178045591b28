/* Sockets that listen. Thread: loop. */
#ifndef ZD_FRONT_LISTEN_H
#define ZD_FRONT_LISTEN_H

#include "server/front/front.h"

/**
 * Listen on an address of the configuration; sets the listener's host, port and is_loopback.
 *
 * @param ret_fd non-blocking; the caller's to close
 * @retval ZD_INVALID it is no address, or the system refuses it
 */
ZD_RESULT zd_listen_bind(
    struct zd_listener *listener, const char *address, int *ret_fd, struct zd_error *err);

/** Accept the connections that wait, and no more. The daemon of the listener need not run. */
void zd_listen_end(struct zd_listener *listener);

#endif
