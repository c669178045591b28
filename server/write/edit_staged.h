/* The staged form of edits: many objects change as a whole or not at all. Thread: loop.
 *
 * Lock them all, stage them all, commit them all, and then settle or undo them all: one
 * zd_edit_want an object, and each call ends with want->wait. After a failure only
 * zd_edit_staged_undo, where another object was committed, and zd_edit_release may follow: that
 * releases the lock, and discards what is staged or kept.
 *
 * No deadlock: a writer locks its objects in the order of their grid indices (C order), each when
 * it holds the one before. Staging and committing may go on side by side. */
#ifndef ZD_WRITE_EDIT_STAGED_H
#define ZD_WRITE_EDIT_STAGED_H

#include "server/write/edit_want.h"

/** Wait for the object's lock. */
enum zd_next zd_edit_staged_lock(struct zd_node *node, struct zd_edit_want *want);

/** Whether the object is locked, and neither settled nor released since. */
bool zd_edit_staged_is_locked(const struct zd_edit_want *want);

/** Read what is stored, judge the condition, make the new object, and stage its bytes: everything
 * but the rename. The outcome of the edit is known then. */
enum zd_next zd_edit_staged_stage(struct zd_edit_want *want);

/**
 * Publish what was staged, and keep what was stored before. Without a condition this repeats the
 * edit when another process has written in between; with one it fails with ZD_PRECONDITION. Once
 * begun it is completed, even if the want is released.
 */
enum zd_next zd_edit_staged_commit(struct zd_edit_want *want);

/** All are committed: drop what was stored before, and release the lock. Always ZD_OK. */
enum zd_next zd_edit_staged_settle(struct zd_edit_want *want);

/**
 * Another object could not be committed: put back what was stored before. The object stays locked
 * until the want is released. Does nothing when its commit has changed nothing.
 *
 * wait.status: ZD_OK; ZD_PRECONDITION: another process has written it since, and that stays; those
 * of the store: it is as it was committed, also by a commit that has failed itself, since it could
 * not be synced
 */
enum zd_next zd_edit_staged_undo(struct zd_edit_want *want);

/** The key of the object; borrowed until the want is released. The want is locked. */
const char *zd_edit_staged_key(const struct zd_edit_want *want);

/** The want of a locked object is released: for zd_edit_release. */
void zd_edit_staged_leave(struct zd_edit_load *load);

#endif
