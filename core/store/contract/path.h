/* Paths below the root of a store: segments separated by slashes. Thread: any. */
#ifndef ZD_CORE_STORE_CONTRACT_PATH_H
#define ZD_CORE_STORE_CONTRACT_PATH_H

#include <stdbool.h>

#include "core/store/contract/key.h"

/** The last segment of a path; borrowed from it. */
const char *zd_path_last(const char *path);

/** The length of the path of the directory that holds a path; 0 = the root. */
size_t zd_path_parent_len(const char *path);

/** The first len bytes of a path, as a path of its own. @return cut */
const char *zd_path_cut(const char *path, size_t len, char cut[ZD_KEY_BYTES_MAX + 1]);

/** Compare paths of nodes in pre-order: a group before what is below it, children by the bytes of
 * their names. Below 0, 0 or above 0: a comes before b, is b, comes after b. */
int zd_path_compare(const char *a, const char *b);

/** Whether path is strictly below ancestor; "" is the root. */
bool zd_path_is_below(const char *path, const char *ancestor);

#endif
