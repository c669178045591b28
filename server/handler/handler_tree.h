/* Listings for other resources. */
#ifndef ZD_HANDLER_HANDLER_TREE_H
#define ZD_HANDLER_HANDLER_TREE_H

#include "core/array/rendition.h"
#include "server/request/request.h"

/**
 * A step: answers with the document of the group at the request's path, and the documents of all
 * nodes below it as its consolidated metadata, as that view shows them. The request has no state of
 * its own yet.
 */
enum zd_next zd_handler_tree_view(struct zd_request *req, enum zd_view_kind view);

#endif
