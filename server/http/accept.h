/* The client's preferences: media types (RFC 9110, 12.5.1) and content codings (12.5.3). */
#ifndef ZD_HTTP_ACCEPT_H
#define ZD_HTTP_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/http/compress.h"

#define ZD_ACCEPT_FULL 1000

/**
 * The q-value that a client gives a media type, in thousandths; 0 = refused. The most specific
 * range decides; malformed ranges are ignored.
 *
 * @param accept     the header's value; NULL or empty: ZD_ACCEPT_FULL for every type
 * @param media_type "text/csv"; borrowed
 * Thread: any.
 */
uint32_t zd_accept_quality(const char *accept, const char *media_type);

/**
 * Whether an answer for people is wanted rather than one for programs: of text/html and JSON, in
 * both of its types, the page is preferred. Browsers name text/html; a client that takes anything
 * is a program.
 *
 * @param accept the header's value, or NULL
 * Thread: any.
 */
bool zd_accept_is_for_people(const char *accept);

/**
 * Choose the content coding of a body: the one with the highest q-value; of equal ones zstd before
 * gzip before none. Bodies below ZD_COMPRESSED_BYTES_MIN are coded only for clients that refuse
 * them plain. A client that refuses every coding gets the plain form (RFC 9110, 12.4.1).
 *
 * @param accept_encoding the header's value; NULL or empty: plain
 * @param len             bytes of the plain body
 * Thread: any.
 */
enum zd_coding zd_accept_coding(const char *accept_encoding, uint64_t len);

#endif
