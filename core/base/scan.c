/* Reading text that a stranger sent: cursor in, cursor out, nothing moved on failure. */
#include "core/base/scan.h"

#include <string.h>

#include "core/base/num.h"

struct zd_scan zd_scan_of(struct zd_span text)
{
    const char *at = text.len == 0 ? "" : (const char *)text.ptr;
    return (struct zd_scan){.at = at, .end = at + text.len, .start = at};
}

bool zd_scan_at_end(const struct zd_scan *scan)
{
    return scan->at == scan->end;
}

size_t zd_scan_position(const struct zd_scan *scan)
{
    return (size_t)(scan->at - scan->start);
}

void zd_scan_skip_spaces(struct zd_scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t')) {
        scan->at++;
    }
}

bool zd_scan_char(struct zd_scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != c) {
        return false;
    }
    scan->at++;
    return true;
}

bool zd_scan_word(struct zd_scan *scan, const char *word)
{
    const size_t len = strlen(word);
    if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0) {
        return false;
    }
    scan->at += len;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum zd_status zd_scan_u64(struct zd_scan *scan, uint64_t value_max, uint64_t *ret_value)
{
    const char *at = scan->at;
    if (at == scan->end || !is_digit(*at)) {
        return ZD_INVALID;
    }
    if (*at == '0' && at + 1 < scan->end && is_digit(at[1])) {
        return ZD_INVALID;
    }
    uint64_t value = 0;
    for (; at < scan->end && is_digit(*at); at++) {
        if (ckd_mul(&value, value, 10U) || ckd_add(&value, value, (uint64_t)(*at - '0'))) {
            return ZD_TOO_LARGE;
        }
    }
    if (value > value_max) {
        return ZD_TOO_LARGE;
    }
    scan->at = at;
    *ret_value = value;
    return ZD_OK;
}

enum zd_status zd_scan_run(
    struct zd_scan *scan, const char *set, size_t len_max, struct zd_span *ret_run)
{
    const char *at = scan->at;
    while (at < scan->end && *at != '\0' && strchr(set, *at) != NULL) {
        at++;
    }
    const size_t len = (size_t)(at - scan->at);
    if (len == 0) {
        return ZD_INVALID;
    }
    if (len > len_max) {
        return ZD_TOO_LARGE;
    }
    *ret_run = (struct zd_span){.ptr = (const uint8_t *)scan->at, .len = len};
    scan->at = at;
    return ZD_OK;
}

enum zd_status zd_scan_whole_u64(struct zd_span text, uint64_t value_max, uint64_t *ret_value)
{
    struct zd_scan scan = zd_scan_of(text);
    uint64_t value = 0;
    ZD_TRY(zd_scan_u64(&scan, value_max, &value));
    if (!zd_scan_at_end(&scan)) {
        return ZD_INVALID;
    }
    *ret_value = value;
    return ZD_OK;
}

/* How many continuation bytes follow, and the least code point that may use so many. */
static int sequence(uint8_t lead, uint32_t *ret_bits, uint32_t *ret_least)
{
    if (lead < 0x80) {
        *ret_bits = lead;
        *ret_least = 0;
        return 0;
    }
    if ((lead & 0xe0) == 0xc0) {
        *ret_bits = lead & 0x1fU;
        *ret_least = 0x80;
        return 1;
    }
    if ((lead & 0xf0) == 0xe0) {
        *ret_bits = lead & 0x0fU;
        *ret_least = 0x800;
        return 2;
    }
    if ((lead & 0xf8) == 0xf0) {
        *ret_bits = lead & 0x07U;
        *ret_least = 0x10000;
        return 3;
    }
    return -1;
}

bool zd_scan_is_utf8(struct zd_span text)
{
    size_t i = 0;
    while (i < text.len) {
        uint32_t point = 0;
        uint32_t least = 0;
        const int n_more = sequence(text.ptr[i++], &point, &least);
        if (n_more < 0 || (size_t)n_more > text.len - i) {
            return false;
        }
        for (int k = 0; k < n_more; k++) {
            if ((text.ptr[i] & 0xc0) != 0x80) {
                return false;
            }
            point = point << 6 | (text.ptr[i++] & 0x3fU);
        }
        if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
            return false;
        }
    }
    return true;
}

size_t zd_scan_n_digits(const struct zd_scan *scan)
{
    size_t n = 0;
    while (scan->at + n < scan->end && scan->at[n] >= '0' && scan->at[n] <= '9') {
        n++;
    }
    return n;
}
