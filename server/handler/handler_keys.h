/* Stored keys for other resources. */
#ifndef ZD_HANDLER_HANDLER_KEYS_H
#define ZD_HANDLER_HANDLER_KEYS_H

#include "server/request/request.h"

/** Whether the dataset does not serve its stored keys: then the request is answered, whatever it
 * asks for. */
bool zd_handler_keys_are_forbidden(struct zd_request *req);

/** A step: answers with the stored object whose key is the request's path. The request has no state
 * of its own yet. */
enum zd_next zd_handler_keys_object(struct zd_request *req);

#endif
