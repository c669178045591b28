/* Paths of nodes in pre-order: a group before what is below it, children by the bytes of their
 * names. */
#ifndef ZD_DATA_PATH_ORDER_H
#define ZD_DATA_PATH_ORDER_H

#include <stdbool.h>

/** Below 0, 0 or above 0: a comes before b, is b, comes after b. Thread: any. */
int zd_path_compare(const char *a, const char *b);

/** Whether path is strictly below ancestor; "" is the root. Thread: any. */
bool zd_path_is_below(const char *path, const char *ancestor);

#endif
