/* Recent permissions of clients to read resources. Judging finds the route and matches
 * the patterns of grants; a prepared answer is sent in little more time. Thread: loop.
 *
 * Only permissions are kept. One holds for an identity, which never changes, and until the server's
 * datasets change. */
#ifndef ZD_REQUEST_ACCESS_PERMISSION_CACHE_H
#define ZD_REQUEST_ACCESS_PERMISSION_CACHE_H

#include "core/base/own.h"
#include "server/request/request.h"

struct zd_permission_cache; /* of a server */

/**
 * Whether the request was judged before, for its identity (or none) and path, and may be answered:
 * then it is private and limited as it was.
 *
 * @param verdicts NULL: nothing was judged
 */
bool zd_permission_cache_find(const struct zd_permission_cache *verdicts, struct zd_request *req);

/** Keep that a request that reads may be answered; another verdict may go. Without memory nothing
 * is kept. @param place NULL at first; becomes owned */
void zd_permission_cache_put(struct zd_permission_cache **place, const struct zd_request *req);

void zd_permission_cache_free(struct zd_permission_cache *verdicts); /* accepts NULL */

#endif
