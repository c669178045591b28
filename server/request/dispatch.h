/* Find the route of a request and its first step, or answer with a problem. Thread: loop. */
#ifndef ZD_REQUEST_DISPATCH_H
#define ZD_REQUEST_DISPATCH_H

#include "server/request/handler.h"

/** The first step of a request whose route is not known: finds it, or answers that there is none.
 */
zd_step zd_dispatch;

/** Find the route by the head of a request, whose first step begins with it.
 * @return false: there is none, and zd_dispatch answers that */
bool zd_dispatch_route(struct zd_request *req);

#endif
