/* What writes to a store of files share. */
#include "core/store/files.h"

#include <stdio.h>

enum failure_state { FAILURE_NONE, FAILURE_BEGUN, FAILURE_TOLD };

enum zd_status zd_files_init(struct zd_files *files, const struct zd_beneath *root, bool durable)
{
    *files = (struct zd_files){.durable = durable};
    ZD_TRY(zd_writer_init(&files->writer));
    if (zd_dirsync_init(&files->dirsync) != ZD_OK) {
        zd_writer_done(&files->writer);
        return ZD_NO_MEMORY;
    }
    files->root = *root;
    return ZD_OK;
}

void zd_files_done(struct zd_files *files)
{
    zd_dirsync_done(&files->dirsync);
    zd_writer_done(&files->writer);
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
