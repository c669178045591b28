/* What writes to a store of files share, whatever thread they run on. */
#ifndef ZD_CORE_STORE_FILES_H
#define ZD_CORE_STORE_FILES_H

#include "core/store/beneath.h"
#include "core/store/dirsync.h"
#include "core/store/writers.h"

struct zd_files {
    struct zd_beneath root; /* owned */
    bool durable;           /* sync before a write is acknowledged */
    struct zd_writer writer;
    struct zd_dirsync dirsync;
    _Atomic int failure_state; /* 0 = none, 1 = it is being told, 2 = it is there */
    char failure[ZD_ERROR_TEXT_BYTES];
};

/** @param root taken over, with ZD_OK */
ZD_RESULT zd_files_init(
    struct zd_files *files, const struct zd_beneath *root, const struct zd_store_config *config);
void zd_files_done(struct zd_files *files);

/** A sync failed: no write may be made any more. The first one is told. Thread: any. */
void zd_files_stop_writes(struct zd_files *files, const char *failure);

/** What a failed step of a write says: zd_beneath_fail, but for names that are missing or in the
 * way, which are faults here. Thread: any. */
ZD_RESULT zd_files_fail(struct zd_error *err, int code, const char *key, const char *doing);

/** The same of a key that could not be locked: ZD_TIMEOUT when another process holds it. */
ZD_RESULT zd_files_fail_lock(
    const struct zd_files *files, int code, const char *key, struct zd_error *err);

/** The same of a sync: writes are stopped. Thread: any. */
ZD_RESULT zd_files_fail_sync(
    struct zd_files *files, int code, const char *key, const char *doing, struct zd_error *err);

/** Sync a directory that changed for a key, if the store is durable. Thread: any; blocks. */
ZD_RESULT zd_files_sync_directory(
    struct zd_files *files, int dir_fd, const char *key, struct zd_error *err);

/** How a sync failed; NULL = none did. Thread: any. */
const char *zd_files_failure(const struct zd_files *files);

#endif
