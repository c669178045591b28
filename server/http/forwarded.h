/* Proxies' statements about the client behind them: Forwarded (RFC 7239) and the fields
 * X-Forwarded-For, -Proto, -Host and -Prefix. Thread: any.
 *
 * A list is read from its right end, where the nearest proxy wrote, as far as those who wrote are
 * trusted: nothing that stands further to the left is even looked at, since it may be anybody's. */
#ifndef ZD_HTTP_FORWARDED_H
#define ZD_HTTP_FORWARDED_H

#include "core/base/buf.h"
#include "server/config/networks.h"

#define ZD_FORWARDED_HOPS_MAX     32  /* trusted proxies, one behind the other */
#define ZD_FORWARDED_HOST_BYTES   262 /* of a host, with its port */
#define ZD_FORWARDED_PREFIX_BYTES 256

/** The fields of a head, each with all its lines as one list; without ptr: not sent. A field that
 * was sent without a value is an empty list. */
struct zd_forwarded_fields {
    struct zd_span forwarded;
    struct zd_span x_for;
    struct zd_span x_proto;
    struct zd_span x_host;
    struct zd_span x_prefix;
};

/** The statements of the proxies; borrowed from the fields. */
struct zd_forwarded {
    struct zd_networks_ip client; /* the right-most that is not trusted, or of trusted ones the
                                     left-most; none: unknown */
    struct zd_span proto;         /* "http" or "https", in any case; empty: not said */
    struct zd_span host;          /* of Forwarded: with or without a port: letters, digits, ".-_",
                                     or an address in brackets; empty: not said */
    struct zd_span x_host;        /* the same, of X-Forwarded-Host */
    struct zd_span prefix;        /* a path without a slash at its end: "/data"; empty: none */
};

/**
 * Read the fields of a request that came over a trusted proxy.
 *
 * A client is known only where every proxy on the way to it is trusted and wrote an address. One
 * element that is empty, malformed, `unknown` or obfuscated makes it unknown, and so do more than
 * ZD_FORWARDED_HOPS_MAX proxies, or Forwarded and X-Forwarded-For that name different clients: a
 * proxy wrote one of both at most, and the client the other. X-Forwarded-Proto, -Host and -Prefix
 * are the right-most of their lists; one that is malformed does not count.
 *
 * @param trusted whose word counts
 */
struct zd_forwarded zd_forwarded_read(
    const struct zd_forwarded_fields *fields, const struct zd_networks *trusted);

/** Whether proxies add a field of that name to what they pass on; no program sends it for itself.
 */
bool zd_forwarded_is_field(const char *name, size_t len);

#endif
