/* Answer requests for a node that is missing, whose elements cannot be read, or that cannot be
 * written. Thread: loop. */
#ifndef ZD_REQUEST_NODE_CHECK_H
#define ZD_REQUEST_NODE_CHECK_H

#include "server/request/request.h"
#include "server/write/lock.h"

/**
 * Answers a request whose node is not an array (400 not_an_array) or must not be interpreted (422
 * with its faults).
 * @return true when the request is answered: the step returns ZD_DONE
 */
bool zd_node_check(struct zd_request *req);

/** The same for a request that writes chunks: also when the node's dialect is read-only (405). */
bool zd_node_check_writable(struct zd_request *req);

/** Answers a request whose node was not found (404 node_not_found), or could not be looked for.
 * @param wait that of the look-up @return as zd_node_check */
bool zd_node_check_found(struct zd_request *req, const struct zd_wait *wait);

/** Writers of chunks that hold the lock of an array: all of the above. Then the node under the lock
 * is the request's own. @return as zd_node_check */
bool zd_node_check_locked(struct zd_request *req, const struct zd_node_lock *lock);

#endif
