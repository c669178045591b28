/* Directories as listings of keys and prefixes. */
#ifndef ZD_CORE_STORE_FILE_DIRECTORY_H
#define ZD_CORE_STORE_FILE_DIRECTORY_H

#include "core/store/file/beneath.h"

/** The listings of one root that are under way, or wait between two pages. */
struct zd_directories {
    const struct zd_beneath *root; /* borrowed */
    size_t n_listings;
};

/**
 * Before each page: make list->cursor before the first one.
 * @retval ZD_NO_MEMORY
 * Thread: loop.
 */
ZD_RESULT zd_directory_prepare(
    struct zd_directories *directories, struct zd_store_list *list, struct zd_error *err);

/**
 * List a page below the root, as struct zd_store_list says. Regular files are keys, directories are
 * prefixes, links count as their target if it is inside the root. Everything else is left out:
 * other targets, links to a directory above, and names that no valid key contains. A directory is
 * read once for the first page, and once for each LISTING_ENTRIES of it that later pages need.
 * Memory: for the first page n_max entries for each level of directories, then LISTING_ENTRIES,
 * which all listings of the root share.
 *
 * @retval ZD_NOT_FOUND the prefix is no directory
 * @retval ZD_INVALID   list->stops_at_links, and there is one
 * @retval ZD_STORE
 * @retval ZD_NO_MEMORY
 * Thread: any; blocks.
 */
ZD_RESULT zd_directory_list(struct zd_store_list *list, struct zd_error *err);

#endif
