/* What a stored key means, and the lock of the path it belongs to. Thread: loop. */
#ifndef ZD_WRITE_KEY_LOCK_H
#define ZD_WRITE_KEY_LOCK_H

#include "server/data/catalog.h"
#include "server/runtime/machine.h"
#include "server/write/lock.h"

enum zd_key_meaning {
    ZD_KEY_PLAIN,    /* none: it is stored as it is */
    ZD_KEY_DOCUMENT, /* a document of a node; no path is locked for it */
    ZD_KEY_CHUNK,    /* the chunk `index` of the array `node` */
    ZD_KEY_OUTSIDE,  /* a chunk outside the grid of the array `node` */
    ZD_KEY_UNKNOWN,  /* it lies below the array `node`, which cannot be interpreted */
};

/** Zeroed, it may be released. */
struct zd_key_lock {
    struct zd_wait wait;
    struct zd_dataset *dataset; /* in: borrowed */
    const char *key;            /* in: borrowed */
    /* out, with ZD_OK */
    enum zd_key_meaning meaning;
    struct zd_node *node; /* owned, or NULL */
    const char *rest;     /* of the key, below that array; in key */
    uint64_t index[ZD_RANK_MAX];
    /* its own */
    struct zd_machine machine;
    enum zd_next (*step)(struct zd_key_lock *lock);
    enum zd_next (*found)(struct zd_key_lock *lock); /* what follows when the meaning is known */
    struct zd_node_want ancestor;                    /* of the first at_bytes of the key */
    size_t at_bytes;
    struct zd_lock_want lock;
    char *locked; /* its path; owned, or NULL */
    uint32_t n_tries;
};

/**
 * Find out what the key means, as far as the caches know.
 *
 * wait.status: ZD_OK; as zd_catalog_want; ZD_NO_MEMORY
 * @param lock zeroed, but for wait.done, wait.context, dataset and key
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_key_lock_find(struct zd_key_lock *lock);

/**
 * Lock (CHUNKS) the path that the key belongs to: the array of a chunk, or the directory of another
 * key. Then find out again what it means, as long as that changes the path: with ZD_OK it means
 * what it says until the lock is released.
 *
 * wait.status: also ZD_STORE: the array above it changed again and again
 * @param lock has found the meaning, which is no document
 */
enum zd_next zd_key_lock_want(struct zd_key_lock *lock);

/** Stop waiting, and give the lock and the node back. */
void zd_key_lock_release(struct zd_key_lock *lock);

#endif
