/* Files with secrets. Thread: any; may block. */
#ifndef ZD_CORE_STORE_SECRET_FILE_H
#define ZD_CORE_STORE_SECRET_FILE_H

#include "core/base/status.h"

/**
 * Whether a file keeps a secret. One that is not there does: whoever reads it says so.
 *
 * @param option that names it, for the text
 * @retval ZD_INVALID others than its owner and its group can read or change it
 */
ZD_RESULT zd_secret_file_judge(const char *option, const char *path, struct zd_error *err);

#endif
