/* Reading objects of a store of HTTP, and asking what they are. Thread: loop. */
#ifndef ZD_CORE_STORE_HTTP_HTTP_BYTES_H
#define ZD_CORE_STORE_HTTP_HTTP_BYTES_H

#include "core/store/contract/store.h"

/** The operations read and status of the store. */
void zd_http_bytes_read(struct zd_store *store, struct zd_store_read *read);
void zd_http_bytes_status(struct zd_store *store, struct zd_store_status *status);

#endif
