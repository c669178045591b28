/* Writes to a dataset's store: everything that is written goes through here. Thread: loop. */
#ifndef ZD_WRITE_STORE_WRITE_H
#define ZD_WRITE_STORE_WRITE_H

#include "server/data/catalog.h"

enum zd_store_write_kind {
    ZD_WRITE_PUT,    /* the bytes, under the key */
    ZD_WRITE_ERASE,  /* the key */
    ZD_WRITE_STAGE,  /* the bytes are in the store, under no key yet */
    ZD_WRITE_COMMIT, /* what was staged, under the key */
    ZD_WRITE_UNDO,   /* the key is as it was before a COMMIT or an ERASE that keeps_old */
    ZD_WRITE_SETTLE, /* that cannot be undone any more */
};

/** One key to be written, or erased. */
struct zd_store_write_want {
    struct zd_wait wait;
    enum zd_store_write_kind kind;   /* in */
    struct zd_buf *bytes;            /* in: PUT, STAGE: a reference is taken */
    enum zd_condition condition;     /* in: of PUT, ERASE and COMMIT; judged by the store, so that
                                        it holds beside other processes too */
    struct zd_generation generation; /* in */
    bool keeps_old; /* in: of COMMIT and ERASE: with ZD_OK one of UNDO, SETTLE or a release follows
                     */
    struct zd_staged *staged; /* out, of STAGE with ZD_OK: the want keeps it for the COMMIT
                                 that follows, or until it is released */
    struct zd_stat stat;      /* out, of PUT and COMMIT with ZD_OK: of what is stored now */
    bool is_unsynced; /* out, with ZD_STORE of PUT, ERASE and COMMIT: the key has changed, and the
                         sync of that failed, so that there is no UNDO */
    void *load;       /* its own: NULL when the store does not work on it, and nothing is staged */
};

/**
 * Begin. When `done` runs, the next one who asks sees what was written, by whatever way: what the
 * caches knew of it is forgotten by then (server/write/invalidate.h).
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: there was nothing to erase; ZD_PRECONDITION; ZD_NO_SPACE;
 * ZD_READ_ONLY: the store takes no writes, or none any more; ZD_TIMEOUT: another process keeps the
 * key for too long; ZD_INVALID: no store has such a key; ZD_STORE ...: what is stored under the key
 * is what was before, or what was to be written.
 *
 * An UNDO of what has changed nothing, or has failed, is ZD_OK and does nothing. One of what
 * another process has written since is ZD_PRECONDITION, and that stays: the key must still hold
 * what `stat` tells, as it was set by the COMMIT, or by who has written the key once more.
 *
 * @param key  borrowed during the call
 * @param want of COMMIT: the one that has staged, for the same dataset and key; of UNDO and SETTLE:
 *             the one that has changed the key
 * @return ZD_WAIT; ZD_NEXT when it cannot begin, or there is nothing to do
 */
enum zd_next zd_store_write_want(
    struct zd_dataset *dataset, const char *key, struct zd_store_write_want *want);

/**
 * Stop waiting: a write under way ends by itself, and is seen as any other. What was staged, or is
 * being staged, is discarded; what is kept too. Accepts a zeroed want, and one that was answered.
 */
void zd_store_write_release(struct zd_store_write_want *want);

#endif
