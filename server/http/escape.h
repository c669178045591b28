/* Text escaped for URLs (RFC 3986, 2.1) and for HTML. Thread: any. */
#ifndef ZD_HTTP_ESCAPE_H
#define ZD_HTTP_ESCAPE_H

#include "core/base/text.h"

/** Decode the byte at `at` and move the cursor behind it. -1: '%' without two digits. */
int zd_escape_percent_next(const uint8_t *text, size_t len, size_t *at);

/**
 * Decode a path or a segment once; `to` has room for text.len + 1.
 * @retval ZD_INVALID bad percent-encoding, control characters, NUL, %2F, invalid UTF-8, backslash
 */
ZD_RESULT zd_escape_percent_decode(
    struct zd_span text, char *to, size_t *ret_len, struct zd_error *err);

/** Encode for use in a path: everything but unreserved characters and '/'. */
enum zd_status zd_escape_percent_encode(struct zd_span text, struct zd_text *to);

/** Add text, with the characters escaped that have a meaning in elements and in attributes between
 * double quotes. Failures stick in the text. */
void zd_escape_html(struct zd_text *page, const char *text);

#endif
