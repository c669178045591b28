/* Which handler answers a path: templates against decoded paths; a request's way to its
 * first step. Thread: loop for that, else any. */
#ifndef ZD_REQUEST_ROUTE_H
#define ZD_REQUEST_ROUTE_H

#include "core/base/text.h"
#include "server/request/handler.h"

/** The result of looking for a route. */
enum zd_route_answer {
    ZD_ROUTE_FOUND,
    ZD_ROUTE_UNKNOWN,    /* no template matches */
    ZD_ROUTE_METHOD,     /* one matches, but not with that method */
    ZD_ROUTE_BAD_SLASHES /* a run of slashes where runs mean nothing */
};

struct zd_match {
    const struct zd_route *route;
    uint32_t number;        /* of the route among all, from 1: for metrics */
    struct zd_span dataset; /* {d}, or empty; borrowed from the path */
    char *path; /* {path} or {key} without slashes at its ends; borrowed from the path */
    bool ends_in_slash;
};

/** The path of a request target: without scheme, host and query; ret_query is what follows '?'. */
struct zd_span zd_route_path(const char *target, struct zd_span *ret_query);

/**
 * Decode a path once and refuse what no path may hold.
 *
 * @param to cleared first
 * @retval ZD_INVALID bad encoding, "." or "..", no slash at the front; the error says which
 */
ZD_RESULT zd_route_decode(struct zd_span raw, struct zd_text *to, struct zd_error *err);

/**
 * Find the route.
 *
 * @param handlers ended by NULL
 * @param path     decoded; changed: its last part loses runs of slashes where they collapse
 * @param ret_match set with ZD_ROUTE_FOUND; with ZD_ROUTE_METHOD route is some route of that path
 */
enum zd_route_answer zd_route_find(const struct zd_handler *const *handlers, const char *method,
    char *path, struct zd_match *ret_match);

/** Header Allow for the path of a route: the methods of all routes with its template. */
void zd_route_allow(const struct zd_handler *const *handlers, const struct zd_route *route,
    bool with_writes, struct zd_text *text);

/** How many routes there are: their numbers are 1 to that. */
uint32_t zd_route_count(const struct zd_handler *const *handlers);

/** The route of that number, or NULL. */
const struct zd_route *zd_route_of(const struct zd_handler *const *handlers, uint32_t number);

/** The first step of a request whose route is not known: finds it, or answers that there is none.
 */
zd_step zd_route_dispatch;

/** Find the route by the head of a request, whose first step begins with it.
 * @return false: there is none, and zd_route_dispatch answers that */
bool zd_route_begin(struct zd_request *req);

#endif
