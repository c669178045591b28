/* Directories as listings of keys and prefixes. */
#ifndef ZD_CORE_STORE_DIRECTORY_H
#define ZD_CORE_STORE_DIRECTORY_H

#include "core/store/beneath.h"

/**
 * List below a root, as struct zd_store_list says. Regular files are keys, directories are
 * prefixes, links count as their target if it is inside the root. Everything else is left out:
 * other targets, and names that no valid key contains. Memory: n_max entries, and with `deep` as
 * many again for each level of directories.
 *
 * @retval ZD_NOT_FOUND the prefix is no directory
 * @retval ZD_STORE
 * @retval ZD_NO_MEMORY
 * Thread: any; blocks.
 */
ZD_RESULT zd_directory_list(
    const struct zd_beneath *root, struct zd_store_list *list, struct zd_error *err);

#endif
