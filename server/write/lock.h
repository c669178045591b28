/* Locks between the writers of one server, who take turns. Thread: loop. */
#ifndef ZD_WRITE_LOCK_H
#define ZD_WRITE_LOCK_H

#include "core/base/map.h"
#include "server/data/catalog.h"
#include "server/runtime/deadlines.h"
#include "server/runtime/deferred.h"
#include "server/runtime/machine.h"

/**
 * The extent of a lock, and the locks it excludes. The first four modes lock a path ("" is the
 * root), the last a stored key. A writer takes locks in this order, so that no two wait for each
 * other:
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
    struct zd_list at_place;     /* with all claims of that place, in the order of turns */
    struct zd_list in_queue; /* the same with all claims of paths, or of the dataset's metadata */
    struct zd_list among_trees;  /* the same with all of TREE */
    struct zd_deadline deadline; /* in zd_locks.waiting, while it waits */
    uint64_t number;             /* the order of turns */
    uint64_t flow; /* whose turns they are: of a client and a path; of the metadata, of
                      a client */
    bool is_held;
};

struct zd_lock_want {
    uint64_t client;     /* in: who asks, for fairness (zd_request_client); 0: nobody known */
    struct zd_wait wait; /* ZD_OK: it is held; ZD_AGAIN: others had it for limits.lock_ms;
                            ZD_NO_MEMORY */
    struct zd_lock_claim claim; /* its own */
};

/** The locks of a server; server->locks points to it. */
struct zd_locks {
    struct zd_map places;
    struct zd_list paths; /* struct zd_lock_claim, as its members say */
    struct zd_list trees;
    uint32_t n_waiting;          /* of paths */
    struct zd_deferred *later;   /* borrowed: where waits that were granted end */
    struct zd_deadlines waiting; /* of struct zd_lock_claim; METADATA waits as long as it must */
    uint64_t last_number;
    uint64_t last_round;
};

void zd_lock_init(struct zd_server *server);

/** No lock may be held. Closes handles: the loop must turn once more. */
void zd_lock_close(struct zd_server *server);

/**
 * Lock a path or key. Those who wait for a conflicting path, or for the metadata, take turns: one
 * of each client and path, or of each client, in the order of arrival, then again one of each. So
 * many who want the same keep nobody waiting who wants something else. An object goes to who came
 * first. `done` runs in a turn of the loop of its own, never inside the release of another lock.
 *
 * @param path borrowed during the call
 * @param want zeroed but for client and wait.done; stays where it is until it is released
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
    uint64_t client;      /* in: as of zd_lock_want */
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
 * @param want zeroed but for client, wait.done and wait.context; may be used again after its
 * release
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_lock_want_node(struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path,
    struct zd_node_lock *want);

/** Stop waiting, release the lock and the node. Accepts a zeroed want. */
void zd_lock_release_node(struct zd_node_lock *want);

/** The meaning of a stored key. */
enum zd_key_meaning {
    ZD_KEY_PLAIN,    /* none: it is stored as it is */
    ZD_KEY_DOCUMENT, /* a document of a node; no path is locked for it */
    ZD_KEY_CHUNK,    /* the chunk `index` of the array `node` */
    ZD_KEY_OUTSIDE,  /* a chunk outside the grid of the array `node` */
    ZD_KEY_UNKNOWN,  /* it lies below the array `node`, which cannot be interpreted */
};

/** The meaning of a stored key, and the lock of its path. Zeroed, it may be released. */
struct zd_key_lock {
    struct zd_wait wait;
    struct zd_dataset *dataset; /* in: borrowed */
    const char *key;            /* in: borrowed */
    uint64_t client;            /* in: as of zd_lock_want */
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
 * @param lock zeroed, but for wait.done, wait.context, dataset, key and client
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
