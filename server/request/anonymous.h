/* Rights of clients without a credential. Thread: loop. */
#ifndef ZD_REQUEST_ANONYMOUS_H
#define ZD_REQUEST_ANONYMOUS_H

#include "server/request/request.h"

/** Whether access.anonymous is that word. */
bool zd_anonymous_is(const struct zd_request *req, const char *word);

/** Whether the client may change what is stored in a writable dataset. */
bool zd_anonymous_may_write(const struct zd_request *req);

/** The step of a request that may ask nothing: 401. */
zd_step zd_anonymous_refuse;

/** The step of one that asks for a dataset which is private, or is not there: 401. */
zd_step zd_anonymous_refuse_dataset;

/** The step of one that asks for what access.protect_service protects: 401. */
zd_step zd_anonymous_refuse_service;

/** The step of one that may not write: 401, or 403 where its web page alone may not. */
zd_step zd_anonymous_refuse_write;

#endif
