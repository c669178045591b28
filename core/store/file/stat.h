/* The facts of an open file as an object. Thread: any. */
#ifndef ZD_CORE_STORE_FILE_STAT_H
#define ZD_CORE_STORE_FILE_STAT_H

#include <sys/stat.h>

#include "core/base/status.h"
#include "core/store/contract/generation.h"

/** The stat of a regular file. Different files have different generations, and so have the versions
 * of a file that this program has written. */
struct zd_stat zd_stat_of_file(const struct stat *file);

/** Whether an open file still has the same bytes. It may have lost its name, which changes its
 * generation. */
bool zd_stat_has_same_bytes(const struct zd_stat *a, const struct zd_stat *b);

/**
 * Stat an open file that should be an object.
 * @retval ZD_NOT_FOUND it is a directory
 * @retval ZD_STORE     it is neither a directory nor a regular file
 */
ZD_RESULT zd_stat_of_object(
    int fd, const char *key, struct zd_stat *ret_stat, struct zd_error *err);

#endif
