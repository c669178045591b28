/* Addresses to listen on. Thread: before the loop. */
#ifndef ZD_FRONT_LISTEN_H
#define ZD_FRONT_LISTEN_H

#include "core/base/status.h"

/**
 * A listening socket for "127.0.0.1:8080", "[::1]:0" or "localhost:80".
 *
 * @param ret_host the host without brackets; owned
 * @param ret_port the real one, also when port 0 was asked
 * @param ret_fd   non-blocking; owned
 * @retval ZD_INVALID it is malformed, or cannot be listened on
 */
ZD_RESULT zd_listen_bind(
    const char *address, char **ret_host, uint16_t *ret_port, int *ret_fd, struct zd_error *err);

#endif
