/* Reading text that a stranger sent: cursor in, cursor out, nothing moved on failure. */
#ifndef ZD_CORE_BASE_SCAN_H
#define ZD_CORE_BASE_SCAN_H

#include "core/base/buf.h"
#include "core/base/status.h"

/** A place in some text. */
struct zd_scan {
    const char *at;
    const char *end;   /* one past the last byte */
    const char *start; /* for zd_scan_position */
};

struct zd_scan zd_scan_of(struct zd_span text);
bool zd_scan_at_end(const struct zd_scan *scan);
size_t zd_scan_position(const struct zd_scan *scan);
size_t zd_scan_n_digits(const struct zd_scan *scan); /* that come next */
void zd_scan_skip_spaces(struct zd_scan *scan);      /* spaces and tabs */

/** Moves past c when it is next. */
bool zd_scan_char(struct zd_scan *scan, char c);

/** Moves past the word when it is next, byte for byte. */
bool zd_scan_word(struct zd_scan *scan, const char *word);

/**
 * An unsigned decimal integer: digits only, no sign, value <= value_max.
 *
 * @retval ZD_INVALID   no digit is next, or a leading zero precedes another digit
 * @retval ZD_TOO_LARGE the digits say more than value_max
 */
ZD_RESULT zd_scan_u64(struct zd_scan *scan, uint64_t value_max, uint64_t *ret_value);

/**
 * The longest run of bytes of which each is in set, between 1 and len_max bytes; borrowed.
 *
 * @retval ZD_INVALID   no such byte is next
 * @retval ZD_TOO_LARGE the run is longer than len_max
 */
ZD_RESULT zd_scan_run(
    struct zd_scan *scan, const char *set, size_t len_max, struct zd_span *ret_run);

/** All of the text as one such integer; surplus bytes are ZD_INVALID. */
ZD_RESULT zd_scan_whole_u64(struct zd_span text, uint64_t value_max, uint64_t *ret_value);

/** Whether the bytes are well-formed UTF-8 (RFC 3629), without surrogates and overlong forms. */
bool zd_scan_is_utf8(struct zd_span text);

#endif
