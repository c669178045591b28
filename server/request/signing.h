/* Requests whose URL is signed (server/http/signed_url.h). Thread: loop. */
#ifndef ZD_REQUEST_SIGNING_H
#define ZD_REQUEST_SIGNING_H

#include "server/request/request.h"

/**
 * Who asks with the request's signature, which is not empty: one who may do this request, and
 * nothing else.
 * @return a reference; NULL: it is not what was signed, or its time is over
 */
struct zd_identity *zd_signing_identify(struct zd_request *req);

#endif
