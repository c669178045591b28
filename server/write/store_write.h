/* Writes to a dataset's store: every write of the server, and the caches that it invalidates.
 *
 * A cache entry of the key, or of the node whose document the key is, is removed; requests that
 * already wait for it get it. An entry made of many keys (decoded chunks, shard indexes, prepared
 * answers) holds the dataset's count of changes, taken before the store was first asked. When the
 * count differs later, the store is asked again, as after revalidate_ms, and an equal generation or
 * tag makes the entry good again. So work under way during a change brings nothing old back.
 * Thread: loop. */
#ifndef ZD_WRITE_STORE_WRITE_H
#define ZD_WRITE_STORE_WRITE_H

#include "server/data/catalog.h"

enum zd_store_write_kind {
    ZD_WRITE_PUT,    /* the bytes, under the key */
    ZD_WRITE_ERASE,  /* the key */
    ZD_WRITE_STAGE,  /* bring the bytes into the store, under no key yet */
    ZD_WRITE_EXTEND, /* more of them, where zd_store_extends; a failure leaves nothing staged */
    ZD_WRITE_COMMIT, /* publish them under the key */
    ZD_WRITE_UNDO,   /* restore the key as it was before a COMMIT or an ERASE that keeps_old */
    ZD_WRITE_SETTLE, /* drop what an UNDO would restore */
};

/** A write or an erasure of one key. */
struct zd_store_write_want {
    struct zd_wait wait;
    enum zd_store_write_kind kind;   /* in */
    struct zd_buf *bytes;            /* in: PUT, STAGE, EXTEND: a reference is taken */
    enum zd_condition condition;     /* in: of PUT, ERASE and COMMIT; judged by the store, so that
                                        it holds beside other processes too */
    struct zd_generation generation; /* in */
    bool keeps_old; /* in: of COMMIT and ERASE: with ZD_OK an UNDO, a SETTLE or a release follows */
    struct zd_staged *staged; /* out, of STAGE and EXTEND with ZD_OK: the want keeps it for the
                                 COMMIT that follows, or until it is released */
    struct zd_stat stat;      /* out, of PUT and COMMIT with ZD_OK: of the stored object */
    bool is_unsynced; /* out, with ZD_STORE of PUT, ERASE and COMMIT: the key has changed, but
                         could not be synced: an UNDO is impossible */
    void *load;       /* its own: NULL when the store does not work on it, and nothing is staged */
};

/**
 * Begin. When `done` runs, all caches are invalidated: the next reader sees what was written.
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: there was nothing to erase; ZD_PRECONDITION; ZD_NO_SPACE;
 * ZD_READ_ONLY: the store takes no writes (any more); ZD_TIMEOUT: another process keeps the key for
 * too long; ZD_INVALID: the key is too long for any store; ZD_STORE ...: the key holds its old
 * object or the new one.
 *
 * An UNDO of a write that has changed nothing, or has failed, does nothing and is ZD_OK. When
 * another process has written since, it is ZD_PRECONDITION and changes nothing: the key must still
 * hold the object of `stat`, as set by the COMMIT or by a later write of the same change.
 *
 * @param key  borrowed during the call
 * @param want of EXTEND and COMMIT: the want of the STAGE, for the same dataset and key; of UNDO
 * and SETTLE: that of the COMMIT or ERASE
 * @return ZD_WAIT; ZD_NEXT when it cannot begin, or there is nothing to do
 */
enum zd_next zd_store_write_want(
    struct zd_dataset *dataset, const char *key, struct zd_store_write_want *want);

/**
 * Stop waiting: a write under way completes. A staged or kept object is discarded. Accepts a zeroed
 * want, and one that has ended.
 */
void zd_store_write_release(struct zd_store_write_want *want);

/** Take the object that an ERASE has kept; the want is then as if released. @return owned */
struct zd_staged *zd_store_write_take_old(struct zd_store_write_want *want);

/** Back into a want, as after the ERASE: an UNDO, a SETTLE or a release follows.
 * @param old is taken over with ZD_OK
 * @retval ZD_NO_MEMORY */
ZD_RESULT zd_store_write_give_old(struct zd_dataset *dataset, const char *key,
    struct zd_staged *old, struct zd_store_write_want *want);

#endif
