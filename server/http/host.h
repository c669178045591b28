/* Hosts that requests are meant for (RFC 9110, 7.2). Thread: any. */
#ifndef ZD_HTTP_HOST_H
#define ZD_HTTP_HOST_H

#include "core/base/buf.h"

/** The authority of a request target that is absolute; empty: it is a path. Borrowed. */
struct zd_span zd_host_of_target(const char *target);

/** Whether a host without port is this machine, whoever looks the name up: `localhost` and all
 * names below it (RFC 6761, 6.3), 127.0.0.0/8, or [::1]. */
bool zd_host_is_loopback(struct zd_span host);

/**
 * Whether a host, with or without a port, is an address, `localhost`, a name below it, or a name of
 * a list. No stranger's name service gives these another meaning.
 *
 * @param names in lower case, separated by spaces; "*" stands for all
 */
bool zd_host_is_own(struct zd_span host, const char *names);

#endif
