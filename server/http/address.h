/* Literal socket addresses. No name is resolved, since that may block. Thread: any. */
#ifndef ZD_HTTP_ADDRESS_H
#define ZD_HTTP_ADDRESS_H

#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/status.h"

struct zd_address {
    struct sockaddr_storage socket;
    socklen_t len;       /* of socket, in bytes */
    struct zd_span host; /* without brackets; borrowed from the text, or constant */
    bool is_all;         /* all addresses, of IPv4 too: socket is the IPv6 one */
};

/**
 * "127.0.0.1:8080", "[::1]:0", "localhost:80" (which is 127.0.0.1), "80" (localhost:80), ":80" or
 * "*:80" (all addresses).
 *
 * @param text borrowed, also by the result
 * @retval ZD_INVALID
 */
ZD_RESULT zd_address_parse(
    struct zd_span text, struct zd_address *ret_address, struct zd_error *err);

/** The address for all interfaces where there is no IPv6. */
struct zd_address zd_address_all_v4(uint16_t port);

/** Whether only this machine reaches it. */
bool zd_address_is_loopback(const struct zd_address *address);

/** The port in host byte order; 0 for an address that is neither IPv4 nor IPv6. */
uint16_t zd_address_port(const struct zd_address *address);

#endif
