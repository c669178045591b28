/* Edits of many stored objects of one array, made all or not at all.
 *
 *     STAGE              zd_commit_stage, again and again while the elements arrive
 *
 *     LOCK               zd_commit_want: all objects, then
 *      v
 *     HOLD -> LOOK -> CHECK -> WIDEN -> OBJECTS -> SHAPE <-> GROW
 *              |                ^                    |        |
 *              +----------------+                    +--------+-> REFRESH -> REPORT -> SETTLE
 *                                                                                        |
 *     OBJECTS, SHAPE or GROW fails -> UNDO -> RELEASE <----------------------------------+
 *     any other state fails ------------------> RELEASE
 *
 * A state of many objects is repeated until all are done.
 * HOLD keeps other processes from the keys, LOOK reads the array's document again, and CHECK the
 * state of each object. WIDEN makes the document right for the new elements before the first object
 * is stored; SHAPE and GROW set the new shape of an append after the last one. Once OBJECTS has
 * begun to store, the commit goes to its end whether its client waits or not; before that it is
 * withdrawn when its client has left. Thread: loop. */
#ifndef ZD_WRITE_COMMIT_H
#define ZD_WRITE_COMMIT_H

#include "server/data/catalog.h"
#include "server/write/bounds.h"
#include "server/write/edit.h"

/** Zeroed, it may be released. */
struct zd_commit {
    struct zd_wait wait; /* of the call under way: ZD_OK, or what failed first */
    const char *code;    /* of the problem, where that status says too little; or NULL */
    /* in: borrowed until the last call has ended */
    struct zd_edit_set set;               /* node, seen and is_dry; the array as it will be */
    struct zd_node *before;               /* of an append: the array as it is; else NULL */
    const struct zd_selection *selection; /* the elements, in the stored array */
    const struct zd_written *written;     /* complete before zd_commit_want */
    bool is_conditional;                  /* every object has a condition */
    bool may_be_stale; /* the caller or this has waited since the node was read */
    /* out, of zd_commit_want with ZD_OK */
    struct zd_node *now; /* the array, if its document has changed; released with the commit */
    struct zd_edit_counts counts;
    /* its own */
    struct zd_machine machine;
    struct zd_machine_place place;
    bool is_withdrawn;
    struct zd_store_hold hold;
    bool holds_keys;
    struct zd_store_status check; /* of the object n_checked */
    uint64_t n_checked;
    struct zd_wait turn; /* a later turn of the loop */
    struct zd_node_want found;
    struct zd_bounds_want widen;
    struct zd_metadata_want change;
    uint32_t n_tries;          /* to set the shape */
    bool document_has_changed; /* since the caller read it */
};

/**
 * Make an edit for each object, which the caller fills in.
 * @param n_at_once >= 1: objects staged or committed at the same time
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_commit_init(struct zd_commit *commit, uint32_t n_at_once, struct zd_error *err);

/** Give the objects' locks back, and discard what is staged. Accepts a zeroed commit. Not while
 * zd_commit_is_under_way. */
void zd_commit_release(struct zd_commit *commit);

/** Whether zd_commit_want has begun and not ended: the caller keeps all it has lent, and the lock
 * of the array's path. */
bool zd_commit_is_under_way(const struct zd_commit *commit);

/** The commit is withdrawn: it ends with ZD_CANCELLED, perhaps at once, unless the first
 * object is being stored. */
void zd_commit_withdraw(struct zd_commit *commit);

/** Whether it is under way, and too late to withdraw it. */
bool zd_commit_is_storing(const struct zd_commit *commit);

/* Each of these calls ends by answering commit->wait, and returns ZD_NEXT or ZD_WAIT. The next call
 * follows when the one before has ended with ZD_OK. */

/** Stage the first n_objects, which have their elements. Neither they nor the array's path are
 * locked: others may write them until zd_commit_want. One object alone is not staged. */
enum zd_next zd_commit_stage(struct zd_commit *commit, uint64_t n_objects);

/**
 * Commit all objects; of a dry one, find out what would become of them. The caller holds
 * ZD_LOCK_CHUNKS of the array's path, or ZD_LOCK_APPEND of an append. A failure has changed no
 * object; where the store fails to undo what was committed, the error says how many objects hold
 * what was written, and which.
 */
enum zd_next zd_commit_want(struct zd_commit *commit);

#endif
