/* Origins of web pages (RFC 6454), as the header Origin says them. Thread: any. */
#ifndef ZD_HTTP_ORIGIN_H
#define ZD_HTTP_ORIGIN_H

#include <stdbool.h>

/** Whether an origin is one of a list. @param list separated by spaces; "*" stands for all */
bool zd_origin_is_listed(const char *origin, const char *list);

/** Whether an origin is a page of this machine: http:// or https://, a loopback host exactly as
 * browsers write it (zd_host_is_loopback), and perhaps a port. */
bool zd_origin_is_loopback(const char *origin);

#endif
