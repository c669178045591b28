/* The lock of a node's path, and the node as it is under that lock: what was seen before the lock
 * was granted may have changed. Thread: loop. */
#ifndef ZD_WRITE_NODE_LOCK_H
#define ZD_WRITE_NODE_LOCK_H

#include "server/data/catalog.h"
#include "server/runtime/machine.h"
#include "server/write/lock.h"

struct zd_node_lock {
    struct zd_wait wait;
    struct zd_node
        *node; /* out, with ZD_OK: read from the store under the lock; released with it */
    /* its own */
    struct zd_machine machine; /* locked -> read -> done */
    enum zd_next (*step)(struct zd_node_lock *lock);
    struct zd_dataset *dataset;
    const char *path;
    struct zd_lock_want lock;
    struct zd_node_want found;
};

/**
 * Lock a path, then read its node.
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: the path is locked, but there is no node; ZD_NO_MEMORY;
 * ZD_STORE and the like: the store could not be read.
 * @param path borrowed until the wait has ended
 * @param want zeroed but for wait.done and wait.context; may be used again after its release
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_node_lock_want(struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path,
    struct zd_node_lock *want);

/** Stop waiting, give the lock back, and release the node. Accepts a zeroed want. */
void zd_node_lock_release(struct zd_node_lock *want);

#endif
