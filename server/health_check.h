/* The client of /readyz and /livez: an image without a shell has no other. */
#ifndef ZD_SERVER_HEALTH_CHECK_H
#define ZD_SERVER_HEALTH_CHECK_H

#include "core/base/status.h"

/**
 * Asks a server once, and waits for it no longer than a few seconds in all.
 *
 * @param url "http://127.0.0.1:8080/readyz": the address is literal, the path may be left out
 * @retval ZD_OK      it answered with status 200
 * @retval ZD_INVALID the URL is malformed
 * @retval ZD_TIMEOUT
 * @retval ZD_STORE   it cannot be reached, or answered something else: the error says what
 * Thread: any; blocks.
 */
ZD_RESULT zd_health_check(const char *url, struct zd_error *err);

#endif
