/* The end of a request, whatever it was waiting for. Thread: loop. */
#ifndef ZD_REQUEST_REQUEST_END_H
#define ZD_REQUEST_REQUEST_END_H

#include "server/request/request.h"

/** End the request's waits and free its state; it may still be answered. */
void zd_request_end_waits(struct zd_request *req);

/** Release all that the request holds; zd_request_init then begins the next one. */
void zd_request_end(struct zd_request *req);

#endif
