/* The end of a request, whatever it was waiting for. Thread: loop. */
#ifndef ZD_REQUEST_REQUEST_END_H
#define ZD_REQUEST_REQUEST_END_H

#include "server/request/request.h"

/** The request waits for nothing any more, and has no state: it may still be answered. */
void zd_request_end_waits(struct zd_request *req);

/** Give back all that it holds; zd_request_init makes it another one. */
void zd_request_end(struct zd_request *req);

#endif
