/* What is known of an open file as an object. Thread: any. */
#ifndef ZD_CORE_STORE_STAT_H
#define ZD_CORE_STORE_STAT_H

#include <sys/stat.h>

#include "core/base/status.h"
#include "core/store/generation.h"

/** What is known of a regular file. Two files, and two versions of one that were written by us, are
 * never of one generation. Thread: any. */
struct zd_stat zd_stat_of_file(const struct stat *file);

/** Whether one open file has the bytes that it had: it may have lost its name meanwhile, which is
 * another generation. Thread: any. */
bool zd_stat_has_same_bytes(const struct zd_stat *a, const struct zd_stat *b);

/**
 * Look at an open file that is to be an object.
 * @retval ZD_NOT_FOUND it is a directory
 * @retval ZD_STORE     it is neither that nor a regular file
 * Thread: any.
 */
ZD_RESULT zd_stat_of_object(
    int fd, const char *key, struct zd_stat *ret_stat, struct zd_error *err);

#endif
