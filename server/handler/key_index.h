/* Directories of stored keys, as HTML indexes. */
#ifndef ZD_HANDLER_KEY_INDEX_H
#define ZD_HANDLER_KEY_INDEX_H

#include "server/request/request.h"

/** A step: answers with the index of the directory at the request's path. The request has no state
 * of its own yet. */
enum zd_next zd_key_index_show(struct zd_request *req);

/** Answer that the dataset has no such key. @param checked_ms when the store was asked; 0: the
 * answer is not kept */
enum zd_next zd_key_index_missing(struct zd_request *req, uint64_t checked_ms);

#endif
