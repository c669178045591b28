/* Base64 with padding (RFC 4648, 4), and the one of URLs without (5). */
#ifndef ZD_CORE_BASE_BASE64_H
#define ZD_CORE_BASE_BASE64_H

#include "core/base/text.h"

/** How many characters so many bytes become; n_bytes is less than SIZE_MAX / 2. */
static inline size_t zd_base64_chars(size_t n_bytes)
{
    return (n_bytes + 2) / 3 * 4;
}

/** How many bytes a text stands for if it is base64 at all. */
size_t zd_base64_bytes(struct zd_span text);

/** @param to zd_base64_chars(bytes.len) characters; no NUL is added. Thread: any. */
void zd_base64_encode(struct zd_span bytes, char *to);

/** Add bytes as base64. Failures stick in the text. Thread: any. */
enum zd_status zd_base64_add(struct zd_text *text, struct zd_span bytes);

/**
 * Decode strictly: no other characters, padded, no bit set behind the last byte.
 *
 * @param to  zd_base64_bytes(text) bytes; overwritten even on failure
 * @return false: it is not base64
 * Thread: any.
 */
bool zd_base64_decode(struct zd_span text, uint8_t *to);

/** The same for URLs: '-' and '_' in place of '+' and '/', and no padding. */
size_t zd_base64_url_bytes(struct zd_span text);
enum zd_status zd_base64_url_add(struct zd_text *text, struct zd_span bytes);
bool zd_base64_url_decode(struct zd_span text, uint8_t *to);

#endif
