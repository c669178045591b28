/* The syntax of a request: classes of bytes, hosts, chunk extensions. */
#include "server/http/guard_syntax.h"

#include "core/base/num.h"

/* clang-format off */
const uint8_t zd_guard_syntax_classes[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, /* 0x00 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 0x10 */
    4, 15, 6, 5, 15, 15, 15, 15, 14, 14, 15, 15, 14, 15, 15, 6, /* 0x20 */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6, 14, 6, 14, 6, 6, /* 0x30 */
    6, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* 0x40 */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6, 6, 6, 7, 15, /* 0x50 */
    7, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* 0x60 */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6, 7, 6, 15, 0, /* 0x70 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0x80 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0x90 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xa0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xb0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xc0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xd0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xe0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xf0 */
};
/* clang-format on */

int zd_guard_syntax_hex(uint8_t byte)
{
    const uint8_t letter = byte | 0x20;
    if (zd_guard_syntax_is_digit(byte)) {
        return byte - '0';
    }
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Eight bytes of which none is a control character: what most values are made of. */
static bool is_plain_word(uint64_t word)
{
    static const uint64_t ones = UINT64_MAX / 255;
    static const uint64_t highs = (UINT64_MAX / 255) << 7;
    const uint64_t without_del = word ^ ones * 0x7f;
    const uint64_t below_space = (word - ones * 0x20) & ~word & highs;
    const uint64_t is_del = (without_del - ones) & ~without_del & highs;
    return (below_space | is_del) == 0;
}

const uint8_t *zd_guard_syntax_value_end(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8 && is_plain_word(zd_load_u64(at))) {
        at += 8;
    }
    while (at < end && zd_guard_syntax_is(*at, ZD_BYTE_VALUE)) {
        at++;
    }
    return at;
}

enum zd_host_part zd_guard_syntax_host(enum zd_host_part part, uint8_t byte)
{
    const bool is_colon = byte == ':';
    if (part == ZD_HOST_BEGIN && byte == '[') {
        return ZD_HOST_BRACKETS;
    }
    switch (part) {
    case ZD_HOST_BEGIN:
    case ZD_HOST_NAME:
        return is_colon                                 ? ZD_HOST_PORT
               : zd_guard_syntax_is(byte, ZD_BYTE_HOST) ? ZD_HOST_NAME
                                                        : ZD_HOST_BAD;
    case ZD_HOST_BRACKETS:
        if (byte == ']') {
            return ZD_HOST_AFTER_BRACKETS;
        }
        return is_colon || zd_guard_syntax_is(byte, ZD_BYTE_HOST) ? ZD_HOST_BRACKETS : ZD_HOST_BAD;
    case ZD_HOST_AFTER_BRACKETS:
        return is_colon ? ZD_HOST_PORT : ZD_HOST_BAD;
    case ZD_HOST_PORT:
        return zd_guard_syntax_is_digit(byte) ? ZD_HOST_PORT : ZD_HOST_BAD;
    case ZD_HOST_BAD:
        break;
    }
    return ZD_HOST_BAD;
}

/* The part after a name or a value; white space leads to the place `spaces`. */
static enum zd_extension_part after(uint8_t byte, enum zd_extension_part spaces)
{
    return byte == ';'                      ? ZD_EXTENSION_SEMICOLON
           : zd_guard_syntax_is_space(byte) ? spaces
                                            : ZD_EXTENSION_BAD;
}

static enum zd_extension_part after_name(uint8_t byte)
{
    return byte == '=' ? ZD_EXTENSION_EQUALS : after(byte, ZD_EXTENSION_AFTER_NAME);
}

enum zd_extension_part zd_guard_syntax_extension(enum zd_extension_part part, uint8_t byte)
{
    switch (part) {
    case ZD_EXTENSION_SEMICOLON:
        return zd_guard_syntax_is_space(byte)            ? ZD_EXTENSION_SEMICOLON
               : zd_guard_syntax_is(byte, ZD_BYTE_TOKEN) ? ZD_EXTENSION_NAME
                                                         : ZD_EXTENSION_BAD;
    case ZD_EXTENSION_NAME:
        return zd_guard_syntax_is(byte, ZD_BYTE_TOKEN) ? ZD_EXTENSION_NAME : after_name(byte);
    case ZD_EXTENSION_AFTER_NAME:
        return after_name(byte);
    case ZD_EXTENSION_EQUALS:
        if (byte == '"') {
            return ZD_EXTENSION_QUOTES;
        }
        return zd_guard_syntax_is_space(byte)            ? ZD_EXTENSION_EQUALS
               : zd_guard_syntax_is(byte, ZD_BYTE_TOKEN) ? ZD_EXTENSION_TOKEN
                                                         : ZD_EXTENSION_BAD;
    case ZD_EXTENSION_TOKEN:
        return zd_guard_syntax_is(byte, ZD_BYTE_TOKEN) ? ZD_EXTENSION_TOKEN
                                                       : after(byte, ZD_EXTENSION_AFTER);
    case ZD_EXTENSION_QUOTES:
        if (byte == '"') {
            return ZD_EXTENSION_AFTER_QUOTES;
        }
        return byte == '\\'                              ? ZD_EXTENSION_ESCAPE
               : zd_guard_syntax_is(byte, ZD_BYTE_VALUE) ? ZD_EXTENSION_QUOTES
                                                         : ZD_EXTENSION_BAD;
    case ZD_EXTENSION_ESCAPE:
        return zd_guard_syntax_is(byte, ZD_BYTE_VALUE) ? ZD_EXTENSION_QUOTES : ZD_EXTENSION_BAD;
    case ZD_EXTENSION_AFTER_QUOTES:
    case ZD_EXTENSION_AFTER:
        return after(byte, ZD_EXTENSION_AFTER);
    case ZD_EXTENSION_BAD:
        break;
    }
    return ZD_EXTENSION_BAD;
}

bool zd_guard_syntax_extension_may_end(enum zd_extension_part part)
{
    return part == ZD_EXTENSION_NAME || part == ZD_EXTENSION_TOKEN ||
           part == ZD_EXTENSION_AFTER_QUOTES;
}
