/* Counts connections, of all clients and of each client address. A connection beyond a limit is
 * accepted too, a few at a time, and refused with an answer. Thread: loop. */
#ifndef ZD_FRONT_CONNECTION_LIMITS_H
#define ZD_FRONT_CONNECTION_LIMITS_H

#include <sys/socket.h>

#include "core/base/map.h"
#include "server/config/networks.h"
#include "server/request/admission.h"

#define ZD_CONNECTION_LIMITS_SURPLUS_MAX                                                           \
    64 /* connections beyond a limit that are refused at a time */

struct zd_connection_limits {
    struct zd_map by_peer;             /* struct zd_connection_limit */
    uint64_t n_max;                    /* connections */
    uint64_t n_each_max;               /* of one address; 0: no limit */
    const struct zd_networks *trusted; /* proxies, which have no limit of their own; or NULL */
    uint64_t n;                        /* within the limits */
    uint64_t n_surplus;
};

/** A connection, embedded in its owner. */
struct zd_visit {
    struct zd_connection_limit *visitor; /* NULL: not counted, for want of memory */
    bool is_surplus;
};

/** Which client an address belongs to. @param address NULL: a Unix socket */
void zd_connection_limits_peer(const struct sockaddr *address, struct zd_peer *ret_peer);

/** Read the address of a connection's client; AF_UNSPEC if it cannot be known. */
void zd_connection_limits_read(int fd, struct sockaddr_storage *ret_client);

/** Whether an address belongs to a trusted proxy, which has clients of its own. */
bool zd_connection_limits_is_trusted(
    const struct zd_connection_limits *visitors, const struct sockaddr *address);

/** Whether one more connection may be accepted, be it to be refused with an answer. */
bool zd_connection_limits_may_come(
    const struct zd_connection_limits *visitors, const struct sockaddr *address);

/** Count a connection that was accepted. @return the code of its problem (overloaded,
 * rate_limited); NULL: none */
const char *zd_connection_limits_enter(
    struct zd_connection_limits *visitors, const struct sockaddr *address, struct zd_visit *visit);
void zd_connection_limits_leave(
    struct zd_connection_limits *visitors, const struct zd_visit *visit);

#endif
