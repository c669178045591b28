/* Which media types a client wants (RFC 9110, 12.5.1). */
#ifndef ZD_SERVER_ACCEPT_H
#define ZD_SERVER_ACCEPT_H

#include <stdint.h>

#define ZD_ACCEPT_FULL 1000

/**
 * How much a client wants a media type: its q-value in thousandths, 0 = not at all. The most
 * specific range decides; ranges that are malformed are as if they were not there.
 *
 * @param accept     the header's value; NULL or empty: everything is wanted fully
 * @param media_type "text/csv"; borrowed
 * Thread: any.
 */
uint32_t zd_accept_quality(const char *accept, const char *media_type);

#endif
