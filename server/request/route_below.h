/* The routes below a path: all routes that a prefix of paths leads to. Pure. Thread: any. */
#ifndef ZD_REQUEST_ROUTE_BELOW_H
#define ZD_REQUEST_ROUTE_BELOW_H

#include "server/request/route.h"

/** Where a template meets a prefix. Borrowed from the prefix. */
struct zd_route_below {
    struct zd_span dataset; /* {d}, or empty: the prefix does not reach it */
    struct zd_span path;    /* what the prefix has of {path} or {key}; may be empty */
};

/**
 * Whether paths that are the prefix, or go on behind it with a slash, are of a template.
 *
 * @param prefix decoded, "/a/b", without a slash at its end
 * @param ret_below set when some are
 */
bool zd_route_below(const char *template, struct zd_span prefix, struct zd_route_below *ret_below);

#endif
