/* The directories above a key: made when it is written, removed when they are empty. */
#ifndef ZD_CORE_STORE_ANCESTORS_H
#define ZD_CORE_STORE_ANCESTORS_H

#include "core/store/files.h"

/**
 * Open the deepest directory above a key that is there.
 *
 * @param ret_len length of its path
 * @param ret_fd  owned
 * @retval ZD_STORE the root was removed, an object has the name of a directory ...
 * Thread: any; blocks.
 */
ZD_RESULT zd_ancestors_find(
    struct zd_files *files, const char *key, size_t *ret_len, int *ret_fd, struct zd_error *err);

/**
 * Open the directory of a key; it is made, with those above it, where they are missing, and in a
 * durable store their names are synced.
 *
 * @param ret_fd owned
 * @retval ZD_AGAIN somebody removed one of them meanwhile, since it was empty
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
