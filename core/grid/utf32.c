/* Text of fixed length: code points in elements (UTF-32), UTF-8 outside. */
#include "core/grid/utf32.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"

#define UNIT_BYTES      4U
#define POINT_MAX       0x10FFFFU
#define SURROGATE_FIRST 0xD800U
#define SURROGATE_LAST  0xDFFFU
#define REPLACEMENT     0xFFFDU

static bool is_character(uint32_t point)
{
    return point <= POINT_MAX && (point < SURROGATE_FIRST || point > SURROGATE_LAST);
}

/* RFC 3629, 3. */
static void add_point(uint32_t point, struct zd_text *text)
{
    char bytes[4];
    size_t len = 1;
    if (point < 0x80) {
        bytes[0] = (char)point;
    } else {
        const unsigned n_more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
        const uint8_t lead = (uint8_t)(0xFF00U >> (n_more + 1));
        bytes[0] = (char)(lead | point >> (6 * n_more));
        for (; len <= n_more; len++) {
            bytes[len] = (char)(0x80U | (point >> (6 * (n_more - len)) & 0x3FU));
        }
    }
    zd_text_add_bytes(text, bytes, len);
}

void zd_utf32_add(struct zd_span element, struct zd_text *text)
{
    size_t len = element.len;
    while (len > 0 && zd_load_u32(element.ptr + len - UNIT_BYTES) == 0) {
        len -= UNIT_BYTES;
    }
    for (size_t i = 0; i < len; i += UNIT_BYTES) {
        const uint32_t point = zd_load_u32(element.ptr + i);
        add_point(is_character(point) ? point : REPLACEMENT, text);
    }
}

size_t zd_utf32_len(struct zd_span utf8)
{
    size_t n = 0;
    for (size_t i = 0; i < utf8.len; i++) {
        n += (utf8.ptr[i] & 0xC0U) != 0x80 ? UNIT_BYTES : 0; /* the first byte of a character */
    }
    return n;
}

bool zd_utf32_read(struct zd_span utf8, uint8_t *to, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < utf8.len; n += UNIT_BYTES) {
        const uint8_t first = utf8.ptr[i++];
        const unsigned n_more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
        uint32_t point = n_more == 0 ? first : first & (0x3FU >> n_more);
        if (n == len) {
            return false;
        }
        for (unsigned k = 0; k < n_more; k++) {
            assert(i < utf8.len); /* it is UTF-8 */
            point = point << 6 | (utf8.ptr[i++] & 0x3FU);
        }
        memcpy(to + n, &point, sizeof point);
    }
    memset(to + n, 0, len - n);
    return true;
}

bool zd_utf32_is_valid(struct zd_span element)
{
    for (size_t i = 0; i < element.len; i += UNIT_BYTES) {
        if (!is_character(zd_load_u32(element.ptr + i))) {
            return false;
        }
    }
    return true;
}
