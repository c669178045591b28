/* Files with secrets. Thread: any; may block. */
#ifndef ZD_CORE_BASE_SECRET_FILE_H
#define ZD_CORE_BASE_SECRET_FILE_H

#include "core/base/buf.h"
#include "core/base/status.h"

/**
 * Whether a file keeps a secret. One that is not there does: whoever reads it says so.
 *
 * @param option that names it, for the text
 * @retval ZD_INVALID others than its owner and its group can read or change it
 */
ZD_RESULT zd_secret_file_judge(const char *option, const char *path, struct zd_error *err);

/**
 * Read a file that must keep its secret. The text names option and file, and nothing that is in it.
 *
 * @param option    that names it, for the text
 * @param ret_bytes owned
 * @retval ZD_INVALID   it is not there, no regular file, longer than bytes_max, cannot be read, or
 *                      others can read or change it
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_secret_file_read(const char *option, const char *path, size_t bytes_max,
    struct zd_buf **ret_bytes, struct zd_error *err);

/** The same of a file that others may read, and must not change. */
ZD_RESULT zd_secret_file_read_shared(const char *option, const char *path, size_t bytes_max,
    struct zd_buf **ret_bytes, struct zd_error *err);

#endif
