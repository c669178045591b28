/* Replacing whole files: readers, and a machine after a power cut, see the old bytes or the new. */
#ifndef ZD_CORE_STORE_FILE_REPLACE_H
#define ZD_CORE_STORE_FILE_REPLACE_H

#include "core/store/file/files.h"

/** Bytes under a temporary name, to be committed to a key or discarded. */
struct zd_file_staged {
    struct zd_staged staged; /* first member */
    bool may_be_last;        /* of its directory: it was erased, or never stored */
    char path[];             /* of the temporary file, below the root */
};

/**
 * Replace the bytes of a key, if the condition of the write holds: all phases except DISCARD. Makes
 * missing directories, and removes them again on failure. The caller keeps other threads from
 * replacing or removing keys of the same hash; this function keeps other processes out.
 *
 * @param write key, bytes, staged, condition and keeps_old are read, staged, stat and is_unsynced
 *              are set
 * @retval ZD_PRECONDITION
 * @retval ZD_NO_SPACE
 * @retval ZD_READ_ONLY a sync failed before
 * @retval ZD_TIMEOUT   another process holds the lock of the key
 * @retval ZD_STORE     if a sync failed, zd_files_failure says how
 * Thread: any; blocks.
 */
ZD_RESULT zd_replace_file(
    struct zd_files *files, struct zd_store_write *write, struct zd_error *err);

/** Remove staged bytes; failures are ignored. Thread: any; blocks. */
void zd_replace_discard(struct zd_files *files, struct zd_store_write *write);

/** Remove a key, with the same statuses, and the directories that become empty; with keeps_old they
 * go when the old object is discarded. @retval ZD_NOT_FOUND there is no such key */
ZD_RESULT zd_replace_remove(
    struct zd_files *files, struct zd_store_write *erase, struct zd_error *err);

#endif
