/* Changes of stored objects that hold chunks: read, change, write, so that nobody's change is lost.
 * Thread: loop. */
#ifndef ZD_WRITE_EDIT_H
#define ZD_WRITE_EDIT_H

#include "core/array/rewrite.h"
#include "core/store/store.h"
#include "server/data/catalog.h"
#include "server/runtime/workers.h"

/*
 * What all forms have in common:
 *
 * - The caller holds ZD_LOCK_CHUNKS (or _APPEND) of the array's path, and has looked at the node
 *   under it; it keeps the lock until it was told, or has released (zd_edit_give_up).
 * - The object's lock is taken here. Edits that wait for an object are made together, in the order
 *   of their arrival: one read, one rewrite, one write, and each is told its own outcome.
 * - Every write has the store's precondition. When another process was faster, all is done again
 *   with what that has written, at most ZD_EDIT_TRIES_MAX times; but an edit with a condition of
 *   its own fails with ZD_PRECONDITION.
 * - What is whole is written without reading (zd_rewrite_edit_is_whole), when nothing else waits.
 * - Chunks of nothing but the fill value are stored or not as the dataset and the array say.
 * - Events are told when the store has acknowledged (server/data/events.h): but of the staged form
 * by the caller, for all objects at once; by this one where the caller has left.
 * - Memory is admitted by the caller before (zd_rewrite_cost_bytes for each that is under way).
 *
 * wait.status: ZD_OK; those of zd_rewrite, of an edit and of the whole; ZD_PRECONDITION;
 * ZD_NO_SPACE, ZD_READ_ONLY, ZD_STORE ... of the store; ZD_CANCELLED: the work was dropped.
 */

#define ZD_EDIT_TRIES_MAX 16

struct zd_server;

void zd_edit_init(struct zd_server *server);
void zd_edit_done(struct zd_server *server); /* nothing is under way */

struct zd_edit_load;

/** One edit of one stored object. */
struct zd_edit_want {
    struct zd_wait wait;
    /* in */
    struct zd_edit
        *edit; /* owned, of zd_rewrite_edit_new; lent until the end is told, with its outcome:
                * it stays where it is, even when the request leaves meanwhile */
    enum zd_condition condition;     /* on the stored object, as the client saw it */
    struct zd_generation generation; /* of ZD_CONDITION_GENERATION */
    bool is_dry;                     /* do everything but the write */
    bool is_once; /* of the staged form: its elements are gone once it is staged, so that it fails
                   * with ZD_PRECONDITION when another process has written in between */
    struct zd_job_owner owner; /* for whom a worker works */
    /* out, with ZD_OK */
    struct zd_stat stat; /* of the stored object from now on; zero: it is absent. As it was, when it
                          * is dry */
    struct zd_edit_load *load; /* its own: NULL when nothing is under way */
};

/**
 * Make one edit. Many who edit one object cost fewer writes than they are.
 * @return ZD_NEXT or ZD_WAIT; told when the store has acknowledged it
 */
enum zd_next zd_edit_want(struct zd_node *node, struct zd_edit_want *want);

/** Stop waiting, and free the edit, now or when it is over: one that has not begun is dropped, one
 * that has is made all the same. Accepts a zeroed want, and one that was answered. */
void zd_edit_release(struct zd_edit_want *want);

/**
 * The caller's client has left: an edit that has not begun is dropped, as by zd_edit_release. One
 * that has is told as ever, so that the caller keeps the lock of the path until then.
 * @return whether nothing is under way (any more)
 */
bool zd_edit_give_up(struct zd_edit_want *want);

/*
 * The staged form, of a change of many objects that is made as a whole or not at all: lock them
 * all, stage them all, commit them all, and then settle or undo them all. One zd_edit_want an
 * object; each of the calls ends by telling want->wait, and returns as zd_edit_want does. After a
 * failure only zd_edit_undo, where another one was committed, and zd_edit_release may follow: that
 * gives the lock back, and discards what is staged or kept.
 *
 * No deadlock: whoever locks several objects locks them in the order of their grid indices (C
 * order), and locks the next when it was told of the one before. Staging and committing may go on
 * side by side.
 */

/** Wait for the object's lock. */
enum zd_next zd_edit_lock(struct zd_node *node, struct zd_edit_want *want);

/** Whether that was told, and the object neither settled nor given up since. */
bool zd_edit_is_locked(const struct zd_edit_want *want);

/** Read what is stored, judge the condition, make the new object, and stage its bytes: everything
 * but the rename. The outcome of the edit is known then. */
enum zd_next zd_edit_stage(struct zd_edit_want *want);

/**
 * Publish what was staged: what was there before is kept. Without a condition this repeats the edit
 * when another process has written in between; with one it fails with ZD_PRECONDITION. Once begun
 * it is made to its end, whether somebody waits for it or not.
 */
enum zd_next zd_edit_commit(struct zd_edit_want *want);

/** All are committed: what was there before goes, and the lock is given back. Always ZD_OK. */
enum zd_next zd_edit_settle(struct zd_edit_want *want);

/**
 * Another one could not be committed: the object is as it was, and stays locked until the want is
 * released. Of one whose commit has changed nothing there is nothing to do.
 *
 * wait.status: ZD_OK; ZD_PRECONDITION: another process has written it since, and that stays; those
 * of the store: it is as it was committed, also by a commit that has failed itself, since it could
 * not be synced
 */
enum zd_next zd_edit_undo(struct zd_edit_want *want);

/** The key of the object; borrowed until the want is released. The want is locked. */
const char *zd_edit_key(const struct zd_edit_want *want);

#endif
