/* Locks of one server's writers among each other: first come, first served. Thread: loop. */
#ifndef ZD_WRITE_LOCK_H
#define ZD_WRITE_LOCK_H

#include "core/base/map.h"
#include "server/data/catalog.h"

/**
 * What is locked, and beside whom. The first four lock a path ("" is the root), the last a stored
 * key. So that no two wait for each other:
 *
 *     one of CHUNKS, APPEND, NODE, TREE   then   OBJECT, several in the order of
 * server/write/edit.h or     METADATA: after it nothing but writes
 *
 * Who holds keys against other processes (zd_store_hold) has locked all its objects before, and
 * asks for no more of them while it holds: METADATA is the only lock that may follow.
 *
 * Memory comes before all of them: nobody waits for it (server/request/admit.h) with a lock, since
 * those who have it may wait for that lock. Who learns of its need under a lock gives the lock
 * back.
 *
 * Who got a path lock looks at the node again: what it saw before may have changed.
 */
enum zd_lock_mode {
    ZD_LOCK_CHUNKS,   /* an array: who write its chunks, side by side */
    ZD_LOCK_APPEND,   /* the same beside those, but one at a time */
    ZD_LOCK_NODE,     /* who change the documents of the node: alone at that path */
    ZD_LOCK_TREE,     /* who erase or replace: alone at that path and at all below it */
    ZD_LOCK_METADATA, /* around storing documents, those of parents and consolidated metadata
                         included: one at a time in a dataset, whatever the path */
    ZD_LOCK_OBJECT,   /* alone with one stored object: the path is its key */
};

struct zd_lock_place;

struct zd_lock_want {
    struct zd_wait wait; /* ZD_OK: it is held; ZD_NO_MEMORY */
    /* its own */
    enum zd_lock_mode mode;
    struct zd_lock_place *place; /* NULL: neither held nor waited for */
    struct zd_list at_place;     /* with all who came to that place, in their order */
    struct zd_list among_paths;  /* with all who lock paths, in their order */
    struct zd_list among_trees;
    uint64_t number; /* the order of arrival */
    bool is_held;
};

/** What server->locks points to. */
struct zd_locks {
    struct zd_map places;
    struct zd_list paths; /* struct zd_lock_want, as its members say */
    struct zd_list trees;
    struct zd_list told; /* held, and to be told when the loop has turned */
    uv_idle_t next_turn;
    uint64_t last_number;
    uint64_t last_round;
};

void zd_locks_init(struct zd_server *server);

/** Nothing is locked any more. Closes a handle: the loop has to turn once more. */
void zd_locks_close(struct zd_server *server);

/**
 * Lock a path or key. Those who came before and would be disturbed go first, whether they hold the
 * lock or wait for it. `done` runs in a turn of the loop of its own, never while another releases.
 *
 * @param path borrowed during the call
 * @param want zeroed but for wait.done; stays where it is until it is released
 * @return ZD_NEXT: it is held, or wait.status says why it cannot be; ZD_WAIT
 */
enum zd_next zd_lock_want(struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path,
    struct zd_lock_want *want);

/** Let others go on. Accepts one that is held, that waits, or zeroed; it may be used again. */
void zd_lock_release(struct zd_lock_want *want);

#endif
