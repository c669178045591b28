/* Files that are replaced whole: a reader, or a machine that lost its power, sees the old bytes or
 * the new ones. */
#ifndef ZD_CORE_STORE_REPLACE_H
#define ZD_CORE_STORE_REPLACE_H

#include "core/store/files.h"

/** Bytes under a temporary name, that become a key's or go away. */
struct zd_file_staged {
    struct zd_staged staged; /* first member */
    bool is_aside;           /* an erasure's, and perhaps the last in its directory */
    char path[];             /* of the temporary file, below the root */
};

/**
 * Put bytes in place of a key's, if the write's condition holds: all phases of a write but DISCARD.
 * Directories are made as needed, and with a failure those go away again.
 * The caller sees to it that no other thread replaces or removes a key of that hash; other
 * processes are kept out here.
 *
 * @param write key, bytes, staged, condition and keeps_old are read, staged, stat and is_unsynced
 *              are set
 * @retval ZD_PRECONDITION
 * @retval ZD_NO_SPACE
 * @retval ZD_READ_ONLY a sync failed before
 * @retval ZD_TIMEOUT   another process keeps the key's lock
 * @retval ZD_STORE     when a sync failed now, zd_files_failure tells it too
 * Thread: any; blocks.
 */
ZD_RESULT zd_replace_file(
    struct zd_files *files, struct zd_store_write *write, struct zd_error *err);

/** Remove what was staged, as well as that is possible. Thread: any; blocks. */
void zd_replace_discard(struct zd_files *files, struct zd_store_write *write);

/** Remove a key, on the same terms, and the directories that are empty without it: with keeps_old
 * only when that is discarded. @retval ZD_NOT_FOUND it is not there */
ZD_RESULT zd_replace_remove(
    struct zd_files *files, struct zd_store_write *erase, struct zd_error *err);

#endif
