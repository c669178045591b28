/* Listings of a store of HTTP: the index that its server gives of a directory. Thread: loop. */
#ifndef ZD_CORE_STORE_HTTP_HTTP_LISTING_H
#define ZD_CORE_STORE_HTTP_HTTP_LISTING_H

#include "core/store/contract/store.h"

/** The operation list of the store. Where the server has no index of its root, and so none of
 * anything, it ends with ZD_NOT_FOUND and is_incomplete. */
void zd_http_listing_start(struct zd_store *store, struct zd_store_list *list);

#endif
