/* From the target of a request to its route's first step, or to the problem that it is. Thread:
 * loop. */
#ifndef ZD_REQUEST_DISPATCH_H
#define ZD_REQUEST_DISPATCH_H

#include "server/request/handler.h"

/** The first step of every request: finds the route, the dataset and the parameters. */
zd_step zd_dispatch;

/** Whether the request's route takes its body as a stream (struct zd_route). */
bool zd_dispatch_streams_body(struct zd_request *req);

#endif
