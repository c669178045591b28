/* A store over a store: it counts reads, and hands everything on. */
#ifndef ZD_TESTS_SUPPORT_STORE_TALLY_H
#define ZD_TESTS_SUPPORT_STORE_TALLY_H

#include "core/store/contract/store.h"

/** Option "prefix": only reads of keys that begin with it are counted. */
extern const struct zd_store_ops zd_store_tally_ops;

/** Reads that were counted since the store was opened, those answered at once included. */
uint64_t zd_store_tally_count(const struct zd_store *store);

#endif
