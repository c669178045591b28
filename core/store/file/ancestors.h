/* The directories above a key: made when the key is written, removed when they are empty. */
#ifndef ZD_CORE_STORE_FILE_ANCESTORS_H
#define ZD_CORE_STORE_FILE_ANCESTORS_H

#include "core/store/file/files.h"

/**
 * Open the deepest existing directory above a key.
 *
 * @param ret_len length of its path
 * @param ret_fd  owned
 * @retval ZD_GONE
 * @retval ZD_STORE an object has the name of a directory ...
 * Thread: any; blocks.
 */
ZD_RESULT zd_ancestors_find(
    struct zd_files *files, const char *key, size_t *ret_len, int *ret_fd, struct zd_error *err);

/**
 * Open the directory of a key. Missing directories are made, and their names synced if the store is
 * durable.
 *
 * @param ret_fd owned
 * @retval ZD_AGAIN an empty directory on the way was removed meanwhile; try again
 * @retval ZD_NO_SPACE
 * @retval ZD_STORE
 * Thread: any; blocks.
 */
ZD_RESULT zd_ancestors_make(
    struct zd_files *files, const char *key, int *ret_fd, struct zd_error *err);

/** Remove the directory of a key and those above it, as long as they are empty and their paths are
 * longer than that. Thread: any; blocks. */
void zd_ancestors_prune(struct zd_files *files, const char *key, size_t longer_than);

#endif
