/* Which chunks of an array are stored: `present=1` of chunks. Thread: loop. */
#ifndef ZD_DESCRIBE_PRESENCE_H
#define ZD_DESCRIBE_PRESENCE_H

#include "server/request/request.h"

/**
 * The first step of such an answer, once the node is known to be an array: takes the state of the
 * request. The query's `slice` is a slice of the chunk grid.
 */
enum zd_next zd_presence_step(struct zd_request *req);

#endif
