/* Chunks for other resources. */
#ifndef ZD_HANDLER_HANDLER_CHUNKS_H
#define ZD_HANDLER_HANDLER_CHUNKS_H

#include "server/describe/chunk_params.h"

/** A step: answers with a chunk of the request's node, an array; 404 when it is not stored. The
 * request has no state of its own yet. */
enum zd_next zd_handler_chunks_stored(struct zd_request *req, const struct zd_chunk_params *ask);

#endif
