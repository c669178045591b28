/* State shared by the writes to a store of files. */
#include "core/store/file/files.h"

#include <errno.h>
#include <stdio.h>

enum failure_state { FAILURE_NONE, FAILURE_BEGUN, FAILURE_TOLD };

enum zd_status zd_files_init(
    struct zd_files *files, const struct zd_beneath *root, const struct zd_store_config *config)
{
    *files = (struct zd_files){.durable = config->durable};
    ZD_TRY(zd_writer_init(&files->writer));
    files->writer.lock_ms = config->lock_ms;
    if (zd_dirsync_init(&files->dirsync) != ZD_OK) {
        zd_writer_done(&files->writer, root);
        return ZD_NO_MEMORY;
    }
    files->root = *root;
    return ZD_OK;
}

void zd_files_done(struct zd_files *files)
{
    zd_dirsync_done(&files->dirsync);
    zd_writer_done(&files->writer, &files->root);
    zd_beneath_close(&files->root);
}

void zd_files_stop_writes(struct zd_files *files, const char *failure)
{
    int expected = FAILURE_NONE;
    if (atomic_compare_exchange_strong(&files->failure_state, &expected, FAILURE_BEGUN)) {
        snprintf(files->failure, sizeof files->failure, "%s", failure);
        atomic_store(&files->failure_state, FAILURE_TOLD);
    }
}

const char *zd_files_failure(const struct zd_files *files)
{
    return atomic_load(&files->failure_state) == FAILURE_TOLD ? files->failure : NULL;
}

enum zd_status zd_files_fail(struct zd_error *err, int code, const char *key, const char *doing)
{
    switch (code) {
    case ENOENT:
        return zd_fail(err, ZD_STORE, "%s: cannot %s: it vanished", key, doing);
    case ENOTDIR:
        return zd_fail(err, ZD_STORE,
            "%s: cannot %s: an object is stored under the name of a parent directory", key, doing);
    case EISDIR:
        return zd_fail(err, ZD_STORE, "%s: cannot %s: a directory has that name", key, doing);
    default:
        return zd_beneath_fail(err, code, key, doing);
    }
}

enum zd_status zd_files_fail_lock(
    const struct zd_files *files, int code, const char *key, struct zd_error *err)
{
    if (code != ETIMEDOUT) {
        return zd_files_fail(err, code, key, "lock");
    }
    return zd_fail(err, ZD_TIMEOUT,
        "%s: another process has held its lock (in %s, at the root of the store) for longer than "
        "limits.lock_ms (%llu); check for a stopped writer",
        key, ZD_PRESENCE_LOCK, (unsigned long long)files->writer.lock_ms);
}

/* The kernel may have dropped the pages that it could not write: a second sync could succeed
 * without them. */
enum zd_status zd_files_fail_sync(
    struct zd_files *files, int code, const char *key, const char *doing, struct zd_error *err)
{
    struct zd_error told = {0};
    const enum zd_status status = zd_files_fail(&told, code, key, doing);
    zd_files_stop_writes(files, told.text);
    return zd_fail(err, status, "%s", told.text);
}

enum zd_status zd_files_sync_directory(
    struct zd_files *files, int dir_fd, const char *key, struct zd_error *err)
{
    const int code = files->durable ? zd_dirsync_wait(&files->dirsync, dir_fd) : 0;
    return code == 0 ? ZD_OK : zd_files_fail_sync(files, code, key, "sync its directory", err);
}
