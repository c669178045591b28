/* The certificates that remote stores are checked against. Pure, but for reading their file.
 * Thread: any. */
#ifndef ZD_CORE_STORE_TRANSFER_AUTHORITIES_H
#define ZD_CORE_STORE_TRANSFER_AUTHORITIES_H

#include "core/base/status.h"

/**
 * Whether remote.ca_file can be used: all requests to stores of TLS would fail otherwise.
 *
 * @param path "" = the certificates of the system, which are not judged
 * @retval ZD_INVALID it cannot be read, or holds no certificate @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_authorities_judge(const char *path, struct zd_error *err);

#endif
