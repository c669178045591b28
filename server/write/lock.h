/* Locks between the writers of one server: first come, first served. Thread: loop. */
#ifndef ZD_WRITE_LOCK_H
#define ZD_WRITE_LOCK_H

#include "core/base/map.h"
#include "server/data/catalog.h"
#include "server/runtime/machine.h"

/**
 * What a lock covers, and what it excludes. The first four modes lock a path ("" is the root), the
 * last a stored key. A writer takes locks in this order, so that no two wait for each other:
 *
 *     one of CHUNKS, APPEND, NODE, TREE
 *     then OBJECT, several in the order that server/write/edit.h says
 *     then METADATA, and after it nothing but writes
 *
 * A writer that holds keys against other processes (zd_store_hold) has locked all its objects
 * before, and locks no more of them meanwhile: METADATA is the only lock that may follow.
 *
 * Memory is admitted before any lock (server/request/admit.h): a request that waited for memory
 * with a lock could wait for one that waits for that lock. A request that learns under a lock that
 * it needs memory releases the lock first.
 *
 * After a path lock is granted its holder reads the node again: see zd_lock_want_node.
 */
enum zd_lock_mode {
    ZD_LOCK_CHUNKS,   /* write chunks of an array; compatible with CHUNKS and APPEND */
    ZD_LOCK_APPEND,   /* write and extend an array; compatible with CHUNKS */
    ZD_LOCK_NODE,     /* change the documents of the node: exclusive at that path */
    ZD_LOCK_TREE,     /* erase or replace: exclusive at that path and everywhere below it */
    ZD_LOCK_METADATA, /* around storing documents, those of parents and consolidated metadata
                         included: exclusive in a dataset, whatever the path */
    ZD_LOCK_OBJECT,   /* exclusive for one stored object: the path is its key */
};

struct zd_lock_place;

/** A lock that is held or waited for. Zeroed, it is neither. */
struct zd_lock_claim {
    struct zd_wait *wait; /* of its want, while that waits */
    enum zd_lock_mode mode;
    struct zd_lock_place *place; /* NULL: neither held nor waited for */
    struct zd_list at_place;     /* with all claims of that place, in order of arrival */
    struct zd_list among_paths;  /* with all claims of paths, in order of arrival */
    struct zd_list among_trees;
    struct zd_list among_waiting;
    uint64_t number;   /* the order of arrival */
    uint64_t until_ms; /* loop time: how long it waits */
    bool is_held;
};

struct zd_lock_want {
    struct zd_wait wait;        /* ZD_OK: it is held; ZD_AGAIN: others had it for limits.lock_ms;
                                   ZD_NO_MEMORY */
    struct zd_lock_claim claim; /* its own */
};

/** What server->locks points to. */
struct zd_locks {
    struct zd_map places;
    struct zd_list paths; /* struct zd_lock_claim, as its members say */
    struct zd_list trees;
    struct zd_list granted; /* struct zd_wait: their `done` runs in the next turns of the loop */
    uv_idle_t next_turn;
    struct zd_list waiting; /* in order of arrival; METADATA waits as long as it must */
    uv_timer_t patience;    /* of the first of them */
    uint64_t wait_ms;
    uint64_t last_number;
    uint64_t last_round;
};

void zd_lock_init(struct zd_server *server);

/** No lock may be held. Closes handles: the loop must turn once more. */
void zd_lock_close(struct zd_server *server);

/**
 * Lock a path or key. Earlier wants that conflict with it go first, whether held or waiting. `done`
 * runs in a turn of the loop of its own, never inside the release of another lock.
 *
 * @param path borrowed during the call
 * @param want zeroed but for wait.done; stays where it is until it is released
 * @return ZD_NEXT: it is held, or wait.status says why it cannot be; ZD_WAIT
 */
enum zd_next zd_lock_want(struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path,
    struct zd_lock_want *want);

/** Release a lock, or stop waiting for it. Accepts a zeroed want; it may be used again. */
void zd_lock_release(struct zd_lock_want *want);

/** Keep the lock of an object that a want holds where it takes less memory: the want is free again.
 * @param to zeroed */
void zd_lock_keep(struct zd_lock_want *want, struct zd_lock_claim *to);

/** Release what zd_lock_keep has kept. Accepts a zeroed claim; it may be used again. */
void zd_lock_release_kept(struct zd_lock_claim *claim);

/** The lock of a node's path, and the node under that lock. */
struct zd_node_lock {
    struct zd_wait wait;
    struct zd_node *node; /* out, with ZD_OK: read from the store; released with the lock */
    /* its own */
    struct zd_machine machine; /* locked -> read -> done */
    enum zd_next (*step)(struct zd_node_lock *lock);
    struct zd_dataset *dataset;
    const char *path;
    struct zd_lock_want lock;
    struct zd_node_want found;
};

/**
 * Lock a path, then read its node: what was seen before may have changed.
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: the path is locked, but there is no node; ZD_NO_MEMORY;
 * ZD_STORE and the like: the store could not be read.
 * @param path borrowed until the wait has ended
 * @param want zeroed but for wait.done and wait.context; may be used again after its release
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_lock_want_node(struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path,
    struct zd_node_lock *want);

/** Stop waiting, release the lock and the node. Accepts a zeroed want. */
void zd_lock_release_node(struct zd_node_lock *want);

/** What a stored key means. */
enum zd_key_meaning {
    ZD_KEY_PLAIN,    /* none: it is stored as it is */
    ZD_KEY_DOCUMENT, /* a document of a node; no path is locked for it */
    ZD_KEY_CHUNK,    /* the chunk `index` of the array `node` */
    ZD_KEY_OUTSIDE,  /* a chunk outside the grid of the array `node` */
    ZD_KEY_UNKNOWN,  /* it lies below the array `node`, which cannot be interpreted */
};

/** What a stored key means, and the lock of the path it belongs to. Zeroed, it may be released. */
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
    bool wants_lock;              /* once the meaning is known */
    struct zd_node_want ancestor; /* of the first at_bytes of the key */
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
enum zd_next zd_lock_find_key(struct zd_key_lock *lock);

/**
 * Lock (CHUNKS) the path that the key belongs to: the array of a chunk, or the directory of another
 * key. Then find out again what it means, as long as that changes the path: with ZD_OK it means
 * what it says until the lock is released.
 *
 * wait.status: also ZD_STORE: the array above it changed again and again
 * @param lock has found the meaning, which is no document
 */
enum zd_next zd_lock_want_key(struct zd_key_lock *lock);

/** Stop waiting, release the lock and the node. Accepts a zeroed lock. */
void zd_lock_release_key(struct zd_key_lock *lock);

#endif
