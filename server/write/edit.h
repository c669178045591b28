/* A change of a stored object that holds chunks: read, change, write, so that no writer's change is
 * lost. Thread: loop.
 *
 * - The caller holds ZD_LOCK_CHUNKS (or _APPEND) of the array's path, has read the node under it,
 *   and keeps the lock until the edit has ended or is released (zd_edit_give_up).
 * - The edit locks the object. Every write has the store's precondition: when another process was
 *   faster, the edit is made again on what that process wrote, at most ZD_TRIES_MAX times; but
 *   an edit with a condition of its own fails with ZD_PRECONDITION.
 * - An edit that covers the object (zd_rewrite_edit_is_whole) writes it without reading.
 * - The dataset and the array decide whether chunks of nothing but the fill value are stored.
 * - The caller has admitted the memory (zd_rewrite_cost_bytes for each edit under way).
 *
 * wait.status: ZD_OK; as zd_rewrite, for the edit or all edits of the object; ZD_PRECONDITION;
 * ZD_NO_SPACE, ZD_READ_ONLY, ZD_STORE ... of the store; ZD_CANCELLED: the work was dropped. */
#ifndef ZD_WRITE_EDIT_H
#define ZD_WRITE_EDIT_H

#include "core/array/rewrite.h"
#include "core/store/contract/store.h"
#include "server/data/catalog.h"
#include "server/data/seen_objects.h"
#include "server/runtime/gather.h"
#include "server/runtime/workers.h"

struct zd_edit_load;

/** An edit of a stored object. */
struct zd_edit_want {
    struct zd_wait wait;
    /* in */
    struct zd_edit *edit; /* owned, of zd_rewrite_edit_new; lent until the end, which sets its
                           * outcome: it must not move, even when the want is released */
    enum zd_condition condition;     /* on the stored object, as the client saw it */
    struct zd_generation generation; /* of ZD_CONDITION_GENERATION */
    bool is_dry;                     /* do everything but the write */
    bool drops_elements; /* of a staged edit: its elements are freed once it is staged, so that it
                          * fails with ZD_PRECONDITION when another process writes later */
    struct zd_job_owner owner; /* for whom a worker works */
    /* out, with ZD_OK */
    struct zd_stat stat; /* of the stored object from now on; zero: it is absent. Of a dry edit: as
                          * it was */
    struct zd_edit_load *load; /* its own: NULL when nothing is under way */
};

/**
 * Make one edit. Edits that wait for the same object are made together, in the order of arrival:
 * they share one read, one rewrite and one write. Each ends with its own status, and its event is
 * sent, when the store has acknowledged the write.
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_edit_want(struct zd_node *node, struct zd_edit_want *want);

/** The phase of each of many objects that change as a whole or not at all. */
enum zd_edit_phase {
    ZD_EDIT_STAGE,  /* read what is stored, judge the condition, make the new object and stage its
                       bytes: everything but the rename; others may still write the object */
    ZD_EDIT_LOCK,   /* wait for the object's lock */
    ZD_EDIT_COMMIT, /* publish what was staged, and keep what was stored before; once begun it is
                       completed, even if the want is released */
    ZD_EDIT_SETTLE, /* all are committed: drop what was stored before, and release the lock; always
                       ZD_OK */
    ZD_EDIT_UNDO,   /* another object could not be committed: put back what was stored before. The
                       object stays locked. Nothing happens when its commit has changed nothing */
    ZD_EDIT_PHASES,
};

/**
 * Begin a phase of a staged edit: stage all objects, lock all, commit all, and then settle or undo
 * all. Each call ends with want->wait. After a failure only ZD_EDIT_UNDO, where another object was
 * committed, and zd_edit_release may follow. The caller sends the events, for all objects at once,
 * unless it has released the want.
 *
 * No deadlock: a writer locks its objects in the order of their grid indices (C order), each when
 * it holds the one before. Staging and committing may go on side by side.
 *
 * @param node of ZD_EDIT_STAGE: the array; not used by the other phases
 *
 * wait.status of ZD_EDIT_UNDO: ZD_OK; ZD_PRECONDITION: another process has written the object
 * since, and its bytes stay; a failure of the store: the object is as it was committed, also by a
 * commit that has failed because it could not be synced
 */
enum zd_next zd_edit_staged(
    struct zd_node *node, struct zd_edit_want *want, enum zd_edit_phase phase);

/** The key of a locked object; borrowed until the want is released. */
const char *zd_edit_key(const struct zd_edit_want *want);

/** Stop waiting, and free the edit, now or when it is over; of a staged edit release the lock, and
 * discard what is staged or kept. An edit that is being stored is completed, any other is dropped.
 * Accepts a zeroed want, and one that has ended. */
void zd_edit_release(struct zd_edit_want *want);

/**
 * The edit is withdrawn: one that has not begun is released. One that has still ends
 * with want->wait, so that the caller keeps the lock of the path until then: with ZD_CANCELLED,
 * unless it is being stored already. Edits of others that are made with it go on.
 * @return whether nothing is under way (any more)
 */
bool zd_edit_give_up(struct zd_edit_want *want);

/** Whether the edit is being stored; not of a staged one. */
bool zd_edit_is_storing(const struct zd_edit_want *want);

/* ---- many stored objects of one array: phase after phase, some objects at a time ----
 *
 *     STAGE all -> LOCK all -> COMMIT all -> SETTLE all
 *                                  |
 *                                  +-> UNDO whatever has begun
 *
 * One object alone is only committed: its edit may be merged with edits of other writers. */

/** A phase of n objects: n_begun have begun it, and the gather counts those under way. */
struct zd_edit_pass {
    uint64_t n;
    uint64_t n_begun;
    struct zd_gather gather;
};

struct zd_edit_set;

/** A stored object of the set. */
struct zd_edit_object {
    struct zd_edit_want want;
    struct zd_edit_set *set;
    bool frees_elements; /* in: the edit's elements are released once it is staged */
};

/** Zeroed, it may be released. */
struct zd_edit_set {
    /* in */
    struct zd_node *node;         /* borrowed */
    struct zd_seen_objects *seen; /* the same objects in the same order; borrowed */
    bool is_staged;               /* there are several objects, or they are held meanwhile */
    bool is_dry;                  /* do everything but the writes */
    uint64_t n_ready;             /* the first so many may be staged: they have their elements */
    /* its own */
    struct zd_edit_object *object; /* n of them, in the order of `seen`; owned */
    uint64_t n;
    struct zd_edit_pass pass[ZD_EDIT_PHASES];
    struct zd_wait turn;   /* a later turn of the loop: a phase of many objects is long */
    enum zd_status status; /* of what failed first */
    struct zd_error err;
};

/** The most memory that so many objects take, but for their elements and bytes. */
uint64_t zd_edit_set_bytes(uint64_t n_objects);

/**
 * An edit for each object, to be filled in by the caller: node, seen, is_staged and is_dry are set.
 *
 * @param machine   goes on when an object has ended
 * @param n_at_once >= 1: objects under way at the same time
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_edit_set_init(
    struct zd_edit_set *set, struct zd_machine *machine, uint32_t n_at_once, struct zd_error *err);

/** Release the locks, and discard what is staged. Accepts a zeroed set. No object is being
 * committed, settled or undone. */
void zd_edit_set_release(struct zd_edit_set *set);

/**
 * Begin a phase of as many objects as there is room for. A machine's step calls this until it
 * returns ZD_NEXT: then all have ended, and set->status is that of the first failure, after which
 * no more were begun. SETTLE and UNDO begin all.
 *
 * Objects are locked in the order of the grid, whatever the order of the set, so that no two
 * writers wait for each other. The last one that was committed is undone first.
 */
enum zd_next zd_edit_set_go_on(struct zd_edit_set *set, enum zd_edit_phase phase);

/** Count the changed chunks after all commits; `seen` then holds the objects as they are. */
struct zd_edit_counts zd_edit_set_count(struct zd_edit_set *set);

/** Send the events of all objects that have changed. An edit that is not staged sends its own. */
void zd_edit_set_report(const struct zd_edit_set *set);

/**
 * After the undo: the objects that still hold what was written.
 * @param ret_keys some of their keys
 * @param ret_why  the error of the first; set when there is one
 * @return how many
 */
uint64_t zd_edit_set_remains(
    const struct zd_edit_set *set, struct zd_text *ret_keys, const struct zd_error **ret_why);

#endif
