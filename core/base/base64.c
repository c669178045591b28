/* Base64 with padding, and the one of URLs without. */
#include "core/base/base64.h"

#include "core/base/num.h"

#define GROUP_CHARS 4U
#define GROUP_BYTES 3U
#define NO_DIGIT    0xff
#define NO          NO_DIGIT
#define BLOCK_BYTES 3072 /* coded at once; a multiple of 3 */
#define DIGIT_BITS  6
#define BYTE_BITS   8

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The values of the characters '+' to 'z'. */
static const uint8_t values[] = {62, NO, NO, NO, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, NO, NO,
    NO, NO, NO, NO, NO, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
    21, 22, 23, 24, 25, NO, NO, NO, NO, NO, NO, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38,
    39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51};

size_t zd_base64_bytes(struct zd_span text)
{
    size_t n = text.len / GROUP_CHARS * GROUP_BYTES;
    for (size_t i = 1; i < GROUP_BYTES && i <= text.len && n > 0; i++) {
        if (text.ptr[text.len - i] != '=') {
            break;
        }
        n--; /* its padding */
    }
    return n;
}

void zd_base64_encode(struct zd_span bytes, char *to)
{
    size_t at = 0;
    for (; bytes.len - at >= GROUP_BYTES; at += GROUP_BYTES) {
        const uint32_t group =
            (uint32_t)bytes.ptr[at] << 16 | (uint32_t)bytes.ptr[at + 1] << 8 | bytes.ptr[at + 2];
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = digits[group >> 6 & 63];
        *to++ = digits[group & 63];
    }
    if (at < bytes.len) {
        const bool has_two = bytes.len - at == 2;
        const uint32_t group =
            (uint32_t)bytes.ptr[at] << 16 | (has_two ? (uint32_t)bytes.ptr[at + 1] << 8 : 0);
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = (char)(has_two ? digits[group >> 6 & 63] : '=');
        *to++ = '=';
    }
}

/* NO_DIGIT, or six bits. */
static uint32_t value_of(uint8_t character)
{
    const unsigned place = (unsigned)character - '+';
    return place < ZD_COUNT_OF(values) ? values[place] : NO_DIGIT;
}

static bool decode_group(const uint8_t *text, uint32_t *ret_group)
{
    const uint32_t a = value_of(text[0]);
    const uint32_t b = value_of(text[1]);
    const uint32_t c = value_of(text[2]);
    const uint32_t d = value_of(text[3]);
    *ret_group = a << 18 | b << 12 | c << 6 | d;
    return (a | b | c | d) < 64;
}

/* The last group, of one or two bytes. */
static bool decode_padded(const uint8_t *text, size_t n_bytes, uint8_t *to)
{
    const uint8_t filled[GROUP_CHARS] = {text[0], text[1], n_bytes == 2 ? text[2] : 'A', 'A'};
    uint32_t group;
    if (!decode_group(filled, &group) || text[3] != '=' || (n_bytes == 1 && text[2] != '=')) {
        return false;
    }
    to[0] = (uint8_t)(group >> 16);
    if (n_bytes == 2) {
        to[1] = (uint8_t)(group >> 8);
    }
    return (group & (n_bytes == 1 ? 0xffffU : 0xffU)) == 0;
}

bool zd_base64_decode(struct zd_span text, uint8_t *to)
{
    const size_t n_bytes = zd_base64_bytes(text);
    const size_t n_whole = n_bytes / GROUP_BYTES;
    const uint8_t *from = text.ptr;
    if (text.len % GROUP_CHARS != 0) {
        return false;
    }
    for (size_t i = 0; i < n_whole; i++, from += GROUP_CHARS, to += GROUP_BYTES) {
        uint32_t group;
        if (!decode_group(from, &group)) {
            return false;
        }
        to[0] = (uint8_t)(group >> 16);
        to[1] = (uint8_t)(group >> 8);
        to[2] = (uint8_t)group;
    }
    return n_bytes % GROUP_BYTES == 0 || decode_padded(from, n_bytes % GROUP_BYTES, to);
}

enum zd_status zd_base64_add(struct zd_text *text, struct zd_span bytes)
{
    char coded[BLOCK_BYTES / 3 * 4];
    for (size_t i = 0; i < bytes.len; i += BLOCK_BYTES) {
        const struct zd_span block = {
            .ptr = bytes.ptr + i, .len = zd_min_u64(bytes.len - i, BLOCK_BYTES)};
        zd_base64_encode(block, coded);
        ZD_TRY(zd_text_add_bytes(text, coded, zd_base64_chars(block.len)));
    }
    return text->status;
}

/* ---- of URLs ---- */

size_t zd_base64_url_bytes(struct zd_span text)
{
    const size_t n_more = text.len % GROUP_CHARS;
    return text.len / GROUP_CHARS * GROUP_BYTES + (n_more == 0 ? 0 : n_more - 1);
}

enum zd_status zd_base64_url_add(struct zd_text *text, struct zd_span bytes)
{
    const size_t from = text->len;
    ZD_TRY(zd_base64_add(text, bytes));
    for (size_t i = from; i < text->len; i++) {
        text->at[i] = (char)(text->at[i] == '+' ? '-' : text->at[i] == '/' ? '_' : text->at[i]);
    }
    while (text->len > from && text->at[text->len - 1] == '=') {
        zd_text_cut(text, text->len - 1);
    }
    return ZD_OK;
}

static uint32_t url_value_of(uint8_t character)
{
    switch (character) {
    case '-':
        return value_of('+');
    case '_':
        return value_of('/');
    case '+':
    case '/':
        return NO_DIGIT;
    default:
        return value_of(character);
    }
}

bool zd_base64_url_decode(struct zd_span text, uint8_t *to)
{
    uint32_t bits = 0;
    unsigned n_bits = 0; /* that no byte has yet; the upper ones of `bits` are old */
    for (size_t i = 0; i < text.len; i++) {
        const uint32_t value = url_value_of(text.ptr[i]);
        if (value == NO_DIGIT) {
            return false;
        }
        bits = bits << DIGIT_BITS | value;
        n_bits += DIGIT_BITS;
        if (n_bits >= BYTE_BITS) {
            n_bits -= BYTE_BITS;
            *to++ = (uint8_t)(bits >> n_bits);
        }
    }
    return text.len % GROUP_CHARS != 1 && (bits & ((1U << n_bits) - 1)) == 0;
}
