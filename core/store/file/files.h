/* State shared by all writes to a store of files, on any thread. */
#ifndef ZD_CORE_STORE_FILE_FILES_H
#define ZD_CORE_STORE_FILE_FILES_H

#include "core/store/file/beneath.h"
#include "core/store/file/dirsync.h"
#include "core/store/file/writers.h"

struct zd_files {
    struct zd_beneath root; /* owned */
    bool durable;           /* sync before a write is acknowledged */
    struct zd_writer writer;
    struct zd_dirsync dirsync;
    _Atomic int failure_state; /* of `failure`: 0 = none, 1 = being written, 2 = set */
    char failure[ZD_ERROR_TEXT_BYTES];
};

/** @param root taken over, with ZD_OK */
ZD_RESULT zd_files_init(
    struct zd_files *files, const struct zd_beneath *root, const struct zd_store_config *config);
void zd_files_done(struct zd_files *files);

/** A sync failed: refuse writes from now on. The first failure is kept. Thread: any. */
void zd_files_stop_writes(struct zd_files *files, const char *failure);

/** The error of a failed step of a write: as zd_beneath_fail, but missing names and names that are
 * in the way are ZD_STORE. Thread: any. */
ZD_RESULT zd_files_fail(struct zd_error *err, int code, const char *key, const char *doing);

/** The same for a key that could not be locked: ZD_TIMEOUT if another process holds it. */
ZD_RESULT zd_files_fail_lock(
    const struct zd_files *files, int code, const char *key, struct zd_error *err);

/** The same for a failed sync, which also stops writes. Thread: any. */
ZD_RESULT zd_files_fail_sync(
    struct zd_files *files, int code, const char *key, const char *doing, struct zd_error *err);

/** Sync the directory of a changed key, if the store is durable. Thread: any; blocks. */
ZD_RESULT zd_files_sync_directory(
    struct zd_files *files, int dir_fd, const char *key, struct zd_error *err);

/** How the first sync failed, or NULL. Thread: any. */
const char *zd_files_failure(const struct zd_files *files);

#endif
