/* One element of a JSON body. */
#include "server/format/json_element.h"

#include <string.h>

#include "core/base/num.h"

#define NUMBER_BYTES_MAX 1024 /* NumPy, Python and JavaScript write shorter ones */
#define NODES_MAX        (2 * (size_t)ZD_DTYPE_BYTES_MAX) /* raw bits as a list of bytes */
#define SHORT_DIGITS     18 /* any integer of so many digits fits 64 bits */
#define BYTE_TEXT_MAX    8  /* of one byte of raw bits in a list: "255, " and more */
#define GROUP_TEXT       4  /* characters of base64 for */
#define GROUP_BYTES      3  /* so many bytes */

size_t zd_json_element_bytes_max(const struct zd_dtype *dtype)
{
    return NUMBER_BYTES_MAX +
           (dtype->kind == ZD_DTYPE_RAW ? (size_t)dtype->bytes * BYTE_TEXT_MAX : 0);
}

/* ---- base64 (RFC 4648, 4) ---- */

static int digit_of(uint8_t c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* Four characters; false: one is not of the alphabet, or a bit behind the last byte is set. */
static bool read_group(const uint8_t *text, size_t n_bytes, uint8_t *to)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < GROUP_TEXT; i++) {
        const int digit = i <= n_bytes ? digit_of(text[i]) : text[i] == '=' ? 0 : -1;
        if (digit < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)digit;
    }
    for (size_t i = 0; i < n_bytes; i++) {
        to[i] = (uint8_t)(bits >> (16 - 8 * i));
    }
    return n_bytes == GROUP_BYTES || bits << (8 + 8 * n_bytes) == 0;
}

/* Exactly so many bytes. */
static bool read_base64(struct zd_span text, uint8_t *to, size_t len)
{
    if (text.len != zd_div_up(len, GROUP_BYTES) * GROUP_TEXT) {
        return false;
    }
    for (size_t i = 0; i < len; i += GROUP_BYTES) {
        const size_t n = zd_min_u64(len - i, GROUP_BYTES);
        if (!read_group(text.ptr + i / GROUP_BYTES * GROUP_TEXT, n, to + i)) {
            return false;
        }
    }
    return true;
}

static enum zd_status parse_raw(
    const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes, struct zd_error *err)
{
    ZD_AUTO(zd_buf) bytes = zd_buf_new(dtype->bytes);
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for an element of %u bytes", dtype->bytes);
    }
    if (!read_base64(text, bytes->data, dtype->bytes)) {
        const enum zd_status told = zd_fail(err, ZD_INVALID,
            "a value of %s is not base64 of %u bytes (RFC 4648, 4)", dtype->name, dtype->bytes);
        zd_fact_expected(err, "base64 of %u bytes", dtype->bytes);
        zd_fact_found(err, "%zu characters", text.len);
        return told;
    }
    memcpy(ret_bytes, bytes->data, dtype->bytes);
    return ZD_OK;
}

/* ---- numbers ---- */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_integer(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_INT || dtype->kind == ZD_DTYPE_UINT;
}

/* Most integers, without a JSON tree; false: the general parser must judge. */
static bool read_short(const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes)
{
    const bool is_negative = text.len > 0 && text.ptr[0] == '-';
    const size_t from = is_negative ? 1 : 0;
    if (text.len == from || text.len - from > SHORT_DIGITS ||
        (text.ptr[from] == '0' && text.len - from > 1)) {
        return false;
    }
    int64_t value = 0;
    for (size_t i = from; i < text.len; i++) {
        if (!is_digit(text.ptr[i])) {
            return false;
        }
        value = value * 10 + (text.ptr[i] - '0');
    }
    value = is_negative ? -value : value;
    const unsigned n_bits = dtype->bytes * 8;
    const bool fits =
        dtype->kind == ZD_DTYPE_UINT
            ? value >= 0 && (n_bits == 64 || value >> n_bits == 0)
            : n_bits == 64 || value >> (n_bits - 1) == 0 || ~value >> (n_bits - 1) == 0;
    if (fits) {
        memcpy(ret_bytes, &value, dtype->bytes);
    }
    return fits;
}

/* A value larger or deeper than any element is invalid. */
static enum zd_status parse_value(
    struct zd_span text, struct zd_json **ret_json, struct zd_error *err)
{
    const struct zd_json_limits limits = {
        .bytes_max = text.len, .nodes_max = NODES_MAX, .depth_max = 1};
    const enum zd_status status = zd_json_parse(text, &limits, ret_json, err);
    if (status != ZD_TOO_LARGE) {
        return status;
    }
    const enum zd_status told = zd_fail(err, ZD_INVALID, "a value has nested lists or objects");
    zd_fact_expected(err, "a number, a string or a list of them");
    return told;
}

static bool is_number(struct zd_span text)
{
    return text.len > 0 && (is_digit(text.ptr[0]) || text.ptr[0] == '-') &&
           is_digit(text.ptr[text.len - 1]);
}

/* "123": ints=string writes them so. */
static enum zd_status parse_quoted(
    const struct zd_dtype *dtype, struct zd_span inside, void *ret_bytes, struct zd_error *err)
{
    struct zd_json *parsed = NULL;
    bool is_noted;
    ZD_TRY(parse_value(inside, &parsed, err));
    ZD_AUTO(zd_json) json = parsed;
    return zd_scalar_parse(dtype, json, ret_bytes, &is_noted, err);
}

enum zd_status zd_json_element_parse(
    const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes, struct zd_error *err)
{
    if (is_integer(dtype) && read_short(dtype, text, ret_bytes)) {
        return ZD_OK;
    }
    struct zd_json *parsed = NULL;
    bool is_noted;
    ZD_TRY(parse_value(text, &parsed, err));
    ZD_AUTO(zd_json) json = parsed;
    const struct zd_span inside = zd_json_string_span(json);
    if (inside.ptr != NULL && dtype->kind == ZD_DTYPE_RAW) {
        return parse_raw(dtype, inside, ret_bytes, err);
    }
    if (inside.ptr != NULL && is_integer(dtype) && is_number(inside)) {
        return parse_quoted(dtype, inside, ret_bytes, err);
    }
    return zd_scalar_parse(dtype, json, ret_bytes, &is_noted, err);
}
