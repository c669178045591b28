/* Hosts that are this machine, or on its link. */
#ifndef ZD_CORE_STORE_TRANSFER_TRANSFER_HOST_H
#define ZD_CORE_STORE_TRANSFER_TRANSFER_HOST_H

#include <stdbool.h>

/**
 * Whether a URL leads to this machine or its link: localhost and names below it, loopback,
 * unspecified and link-local addresses, and the address at which Amazon EC2 gives out credentials.
 * A proxy means itself by them, so that it could answer in place of the host that was meant: nobody
 * asks them through one.
 *
 * @param url read as libcurl reads it, so that 127.1 and 0x7f000001 are addresses, too
 * @return false for text that is no URL
 * Thread: any.
 */
bool zd_transfer_host_is_near(const char *url);

#endif
