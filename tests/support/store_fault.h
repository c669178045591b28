/* A store whose n-th operation fails. */
#ifndef ZD_TESTS_SUPPORT_STORE_FAULT_H
#define ZD_TESTS_SUPPORT_STORE_FAULT_H

#include "core/store/contract/store.h"

/** How a store behaves from now on; all stores that were broken share it. Zeroed: as ever. */
struct zd_store_fault {
    uint64_t n;            /* the n-th operation from now fails (1 = the next), and only that one;
                              what discards is not counted and does not fail */
    const char *refused;   /* no commit of this key succeeds; or NULL */
    enum zd_status status; /* with this */
    const char *overtaken; /* as soon as this key is committed, another process writes there, */
    struct zd_buf *bytes;  /* these; borrowed */
    bool is_slow;          /* nothing is answered at once, everything in a later turn */
};

/** Put the wrapper over a store; it stays until the store is closed. */
void zd_store_break(struct zd_store *store);

/** Say what happens from now on, and count the operations from 0. */
void zd_store_fault_set(struct zd_store_fault fault);

/** Operations since then. */
uint64_t zd_store_fault_count(void);

#endif
