/* Text of strangers in lines that people read on a terminal. */
#include "server/runtime/log_text.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define VALUE_BYTES_MAX (512U << 10) /* of a JSON string: the longest target, escaped */
#define PLANE_0_MAX     0xffffU
#define SURROGATE_BITS  10
#define SURROGATE_HIGH  0xd800U
#define SURROGATE_LOW   0xdc00U
#define SURROGATE_BASE  0x10000U

struct range {
    uint32_t first;
    uint32_t last;
};

/* Unicode 15: controls (Cc), formats (Cf), separators of lines, and noncharacters. */
static const struct range unsafe[] = {
    {0x00, 0x1f},
    {0x7f, 0x9f},
    {0xad, 0xad},
    {0x600, 0x605},
    {0x61c, 0x61c},
    {0x6dd, 0x6dd},
    {0x70f, 0x70f},
    {0x890, 0x891},
    {0x8e2, 0x8e2},
    {0x180e, 0x180e},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},
    {0x110bd, 0x110bd},
    {0x110cd, 0x110cd},
    {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

static bool is_unsafe(uint32_t c)
{
    for (size_t i = 0; i < ZD_COUNT_OF(unsafe); i++) {
        if (c >= unsafe[i].first && c <= unsafe[i].last) {
            return true;
        }
    }
    return (c & 0xfffe) == 0xfffe;
}

/* The next character of valid UTF-8 (RFC 3629, 3). */
static uint32_t next_char(const char **at)
{
    const unsigned char *from = (const unsigned char *)*at;
    const size_t more = from[0] < 0x80 ? 0 : from[0] < 0xe0 ? 1 : from[0] < 0xf0 ? 2 : 3;
    uint32_t c = more == 0 ? from[0] : from[0] & (0x3fU >> more);
    for (size_t i = 1; i <= more; i++) {
        c = c << 6 | (from[i] & 0x3fU);
    }
    *at += more + 1;
    return c;
}

static size_t plain_len(const char *from)
{
    size_t n = 0;
    while (from[n] >= ' ' && from[n] <= '~') {
        n++;
    }
    return n;
}

/* Bytes that are no characters. */
static void add_bytes(struct zd_text *to, const char *from)
{
    for (; *from != '\0'; from++) {
        const unsigned char c = (unsigned char)*from;
        if (c < ' ' || c > '~') {
            zd_text_addf(to, "\\x%02x", c);
        } else {
            zd_text_add_char(to, *from);
        }
    }
}

void zd_log_text_add(struct zd_text *to, const char *from)
{
    const size_t n = plain_len(from);
    zd_text_add_bytes(to, from, n);
    from += n;
    if (!zd_scan_is_utf8(zd_span_of(from))) {
        add_bytes(to, from);
        return;
    }
    while (*from != '\0') {
        const char *const begin = from;
        const uint32_t c = next_char(&from);
        if (!is_unsafe(c)) {
            zd_text_add_bytes(to, begin, (size_t)(from - begin));
        } else if (c < 0x80) {
            zd_text_addf(to, "\\x%02x", c);
        } else {
            zd_text_addf(to, "\\u{%x}", c);
        }
    }
}

/* RFC 8259, 7: beyond the first plane a character is two. */
static void add_escape(struct zd_text *to, uint32_t c)
{
    if (c > PLANE_0_MAX) {
        const uint32_t high = (c - SURROGATE_BASE) >> SURROGATE_BITS;
        const uint32_t low = (c - SURROGATE_BASE) & ((1U << SURROGATE_BITS) - 1);
        zd_text_addf(to, "\\u%04x\\u%04x", SURROGATE_HIGH + high, SURROGATE_LOW + low);
    } else {
        zd_text_addf(to, "\\u%04x", c);
    }
}

static void add_value(struct zd_text *to, const char *from)
{
    zd_text_add_char(to, '"');
    while (*from != '\0') {
        const char *const begin = from;
        const uint32_t c = next_char(&from);
        if (c == '"' || c == '\\') {
            zd_text_add_char(to, '\\');
        }
        if (is_unsafe(c)) {
            add_escape(to, c);
        } else {
            zd_text_add_bytes(to, begin, (size_t)(from - begin));
        }
    }
    zd_text_add_char(to, '"');
}

void zd_log_text_emit(struct zd_emit *emit, const char *name, const char *from)
{
    if (from[plain_len(from)] == '\0') {
        zd_emit_member_string(emit, name, from);
        return;
    }
    ZD_SCOPED_TEXT(value, VALUE_BYTES_MAX);
    if (zd_scan_is_utf8(zd_span_of(from))) {
        add_value(&value, from);
        zd_emit_key(emit, name);
        zd_emit_raw(emit, zd_text_span(&value));
    } else {
        add_bytes(&value, from);
        zd_emit_member_text(emit, name, &value);
    }
    if (value.status != ZD_OK) {
        emit->text->status = value.status;
    }
}
