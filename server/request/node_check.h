/* Nodes whose elements nobody may have. Thread: loop. */
#ifndef ZD_REQUEST_NODE_CHECK_H
#define ZD_REQUEST_NODE_CHECK_H

#include "server/request/request.h"

/**
 * Answers a request whose node is not an array (400 not_an_array) or must not be interpreted (422
 * with its faults).
 * @return true when the request is answered: the step returns ZD_DONE
 */
bool zd_node_check(struct zd_request *req);

#endif
