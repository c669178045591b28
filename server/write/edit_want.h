/* One change of a stored object that holds chunks: read, change, write, so that no writer's change
 * is lost. Thread: loop. */
#ifndef ZD_WRITE_EDIT_WANT_H
#define ZD_WRITE_EDIT_WANT_H

#include "core/array/rewrite.h"
#include "core/store/store.h"
#include "server/data/catalog.h"
#include "server/runtime/workers.h"

/*
 * What the merged form (server/write/edit.h) and the staged form (server/write/edit_staged.h) have
 * in common:
 *
 * - The caller holds ZD_LOCK_CHUNKS (or _APPEND) of the array's path, has looked up the node under
 *   it, and keeps the lock until the edit has ended or is released (zd_edit_give_up).
 * - The edit locks the object. Every write has the store's precondition: when another process was
 *   faster, the edit is made again on what that has written, at most ZD_EDIT_TRIES_MAX times; but
 *   an edit with a condition of its own fails with ZD_PRECONDITION.
 * - An edit that covers the object (zd_rewrite_edit_is_whole) writes it without reading.
 * - The dataset and the array decide whether chunks of nothing but the fill value are stored.
 * - Events follow when the store has acknowledged; of the staged form the caller reports them, for
 *   all objects at once, unless it has released the want.
 * - The caller has admitted the memory (zd_rewrite_cost_bytes for each edit under way).
 *
 * wait.status: ZD_OK; those of zd_rewrite, of an edit and of the whole; ZD_PRECONDITION;
 * ZD_NO_SPACE, ZD_READ_ONLY, ZD_STORE ... of the store; ZD_CANCELLED: the work was dropped.
 */

#define ZD_EDIT_TRIES_MAX 16

struct zd_edit_load;

/** One edit of one stored object. */
struct zd_edit_want {
    struct zd_wait wait;
    /* in */
    struct zd_edit *edit; /* owned, of zd_rewrite_edit_new; lent until the end, which sets its
                           * outcome: it must not move, even when the want is released */
    enum zd_condition condition;     /* on the stored object, as the client saw it */
    struct zd_generation generation; /* of ZD_CONDITION_GENERATION */
    bool is_dry;                     /* do everything but the write */
    bool drops_elements; /* of the staged form: the edit's elements are freed once it is staged, so
                          * that it fails with ZD_PRECONDITION when another process writes later */
    struct zd_job_owner owner; /* for whom a worker works */
    /* out, with ZD_OK */
    struct zd_stat stat; /* of the stored object from now on; zero: it is absent. Of a dry edit: as
                          * it was */
    struct zd_edit_load *load; /* its own: NULL when nothing is under way */
};

#endif
