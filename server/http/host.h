/* Hosts that requests are meant for (RFC 9110, 7.2). Thread: any. */
#ifndef ZD_HTTP_HOST_H
#define ZD_HTTP_HOST_H

#include "core/base/buf.h"

/** The authority of a request target that is absolute; empty: it is a path. Borrowed. */
struct zd_span zd_host_of_target(const char *target);

/**
 * Whether a host, with or without a port, is an address, `localhost` or a name of a list. No
 * stranger's name service gives these another meaning.
 *
 * @param names in lower case, separated by spaces; "*" stands for all
 */
bool zd_host_is_own(struct zd_span host, const char *names);

#endif
