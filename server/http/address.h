/* Literal socket addresses. No name is resolved, since that may block. Thread: any. */
#ifndef ZD_HTTP_ADDRESS_H
#define ZD_HTTP_ADDRESS_H

#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/status.h"

struct zd_address {
    struct sockaddr_storage socket;
    socklen_t len;       /* of socket, in bytes */
    struct zd_span host; /* without brackets; borrowed from the text */
};

/**
 * "127.0.0.1:8080", "[::1]:0" or "localhost:80" (which is 127.0.0.1).
 *
 * @param text borrowed, also by the result
 * @retval ZD_INVALID
 */
ZD_RESULT zd_address_parse(
    struct zd_span text, struct zd_address *ret_address, struct zd_error *err);

/** The port in host byte order; 0 for an address that is neither IPv4 nor IPv6. */
uint16_t zd_address_port(const struct zd_address *address);

#endif
