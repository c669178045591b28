/* One element and its spellings: fill values, and elements in JSON and CSV. */
#include "core/grid/scalar.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"

#define PART_BYTES_MAX  8 /* of a float or one half of a complex number */
#define FOUND_BYTES_MAX 100
#define BASE64_BLOCK    3072 /* bytes coded at once; a multiple of 3 */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Refusals. */

static enum zd_status refuse(const struct zd_dtype *dtype, const struct zd_json *json,
    const char *expected, struct zd_error *err)
{
    ZD_SCOPED_TEXT(found, FOUND_BYTES_MAX);
    if (json != NULL) {
        struct zd_emit emit;
        zd_emit_init(&emit, &found, false);
        zd_emit_json(&emit, json);
    }
    /* Too long to show: what kind of value it is must do. */
    const bool is_shown = json != NULL && found.status == ZD_OK;
    const char *what = is_shown ? found.at : zd_json_type_name(json);
    const enum zd_status failed =
        zd_fail(err, ZD_INVALID, "a value of %s must be %s, found %s", dtype->name, expected, what);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%s", what);
    return failed;
}

/* Integers. */

static uint64_t max_of(const struct zd_dtype *dtype)
{
    const unsigned n_bits = dtype->bytes * 8 - (dtype->kind == ZD_DTYPE_INT ? 1 : 0);
    return UINT64_MAX >> (64 - n_bits);
}

static enum zd_status parse_integer(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, struct zd_error *err)
{
    const uint64_t max = max_of(dtype);
    const int64_t min = dtype->kind == ZD_DTYPE_INT ? -(int64_t)max - 1 : 0;
    uint64_t positive;
    int64_t negative;
    if (zd_json_u64(json, &positive) && positive <= max) {
        memcpy(ret_bytes, &positive, dtype->bytes);
        return ZD_OK;
    }
    if (zd_json_i64(json, &negative) && negative < 0 && negative >= min) {
        memcpy(ret_bytes, &negative, dtype->bytes);
        return ZD_OK;
    }
    char expected[ZD_FACT_TEXT_BYTES];
    snprintf(expected, sizeof expected,
        "an integer from %" PRId64 " to %" PRIu64 " without fraction or exponent", min, max);
    return refuse(dtype, json, expected, err);
}

static void add_integer(const struct zd_dtype *dtype, const void *bytes, struct zd_text *text)
{
    uint64_t value = 0;
    memcpy(&value, bytes, dtype->bytes);
    if (dtype->kind == ZD_DTYPE_INT && value > max_of(dtype)) {
        const unsigned n_above = 64 - dtype->bytes * 8;
        value = (0 - (value << n_above)) >> n_above; /* the magnitude, in as many bits */
        zd_text_add_char(text, '-');
    }
    zd_text_add_u64(text, value);
}

static struct zd_json *integer_json(const struct zd_dtype *dtype, const void *bytes)
{
    uint64_t value = 0;
    memcpy(&value, bytes, dtype->bytes);
    if (dtype->kind == ZD_DTYPE_UINT) {
        return zd_json_new_u64(value);
    }
    const uint64_t sign = max_of(dtype) + 1;
    return zd_json_new_i64((int64_t)((value ^ sign) - sign)); /* extends the sign */
}

/* Floats: one of its own, or a half of a complex number. */

static double load_float(const void *bytes, uint32_t len)
{
    switch (len) {
    case 2:
        return (double)zd_half_to_float(zd_load_u16(bytes));
    case 4: {
        float value;
        memcpy(&value, bytes, sizeof value);
        return (double)value;
    }
    default: {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    }
}

/* Rounds to nearest, ties to even; 64-bit integers straight to float, not by way of double. */
static void store_number(const struct zd_json *json, uint32_t len, void *ret_bytes)
{
    double value = 0;
    (void)zd_json_f64(json, &value);
    if (len == 2) {
        const uint16_t half = zd_half_from_double(value);
        memcpy(ret_bytes, &half, sizeof half);
    } else if (len == 4) {
        int64_t i64;
        uint64_t u64;
        const float rounded = zd_json_i64(json, &i64)   ? (float)i64
                              : zd_json_u64(json, &u64) ? (float)u64
                                                        : (float)value;
        memcpy(ret_bytes, &rounded, sizeof rounded);
    } else {
        memcpy(ret_bytes, &value, sizeof value);
    }
}

/* Zarr v3, fill_value: "NaN" is the quiet one, sign and payload 0. */
static uint64_t quiet_nan(uint32_t len)
{
    switch (len) {
    case 2:
        return 0x7E00;
    case 4:
        return 0x7FC00000;
    default:
        return UINT64_C(0x7FF8000000000000);
    }
}

static uint64_t infinity(uint32_t len)
{
    switch (len) {
    case 2:
        return 0x7C00;
    case 4:
        return 0x7F800000;
    default:
        return UINT64_C(0x7FF0000000000000);
    }
}

static uint64_t sign_bit(uint32_t len)
{
    return UINT64_C(1) << (len * 8 - 1);
}

static bool parse_word(struct zd_span word, uint32_t len, uint64_t *ret_bits)
{
    if (zd_span_is(word, "NaN")) {
        *ret_bits = quiet_nan(len);
    } else if (zd_span_is(word, "Infinity")) {
        *ret_bits = infinity(len);
    } else if (zd_span_is(word, "-Infinity")) {
        *ret_bits = infinity(len) | sign_bit(len);
    } else {
        return false;
    }
    return true;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const uint8_t lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* "0x" and the bits, most significant digit first; read with fewer digits than the type has. */
static bool parse_hex(struct zd_span word, uint32_t len, uint64_t *ret_bits, bool *noted)
{
    if (word.len < 3 || word.len > 2 + 2 * (size_t)len || word.ptr[0] != '0' ||
        word.ptr[1] != 'x') {
        return false;
    }
    uint64_t bits = 0;
    for (size_t i = 2; i < word.len; i++) {
        const int digit = hex_digit(word.ptr[i]);
        if (digit < 0) {
            return false;
        }
        bits = bits << 4 | (uint64_t)digit;
    }
    *noted = *noted || word.len < 2 + 2 * (size_t)len;
    *ret_bits = bits;
    return true;
}

static bool is_beyond(const struct zd_json *json, double stored)
{
    return isinf(stored) && (zd_json_is(json, ZD_JSON_INTEGER) || zd_json_is(json, ZD_JSON_REAL));
}

/* One float of len bytes; true and *noted, or false when json spells none. */
static bool parse_part(const struct zd_json *json, uint32_t len, void *ret_bytes, bool *noted)
{
    double value = 0;
    uint64_t bits = 0;
    if (zd_json_is(json, ZD_JSON_NONFINITE)) {
        (void)zd_json_f64(json, &value);
        bits = isnan(value) ? quiet_nan(len) : infinity(len) | (value < 0 ? sign_bit(len) : 0);
        memcpy(ret_bytes, &bits, len);
        *noted = true;
        return true;
    }
    if (zd_json_is(json, ZD_JSON_STRING)) {
        const struct zd_span word = zd_json_string_span(json);
        if (!parse_word(word, len, &bits) && !parse_hex(word, len, &bits, noted)) {
            return false;
        }
        memcpy(ret_bytes, &bits, len);
        return true;
    }
    if (!zd_json_f64(json, &value)) {
        return false;
    }
    store_number(json, len, ret_bytes);
    *noted = *noted || is_beyond(json, load_float(ret_bytes, len));
    return true;
}

/* Both halves of a complex number. */
static bool parse_parts(const struct zd_json *json, uint32_t len, uint8_t *ret_bytes, bool *noted)
{
    return zd_json_is(json, ZD_JSON_ARRAY) && zd_json_count(json) == 2 &&
           parse_part(zd_json_element(json, 0), len, ret_bytes, noted) &&
           parse_part(zd_json_element(json, 1), len, ret_bytes + len, noted);
}

/* The largest finite number, as a person writes it. */
static const char *largest(uint32_t len)
{
    switch (len) {
    case 2:
        return "65504";
    case 4:
        return "3.4028235e38";
    default:
        return "1.7976931348623157e308";
    }
}

static enum zd_status refuse_float(
    const struct zd_dtype *dtype, const struct zd_json *json, uint32_t len, struct zd_error *err)
{
    char expected[ZD_FACT_TEXT_BYTES];
    snprintf(expected, sizeof expected,
        "%sa number up to %s in size, \"NaN\", \"Infinity\", \"-Infinity\", or 0x and %u digits",
        len < dtype->bytes ? "[re, im], each " : "", largest(len), len * 2);
    return refuse(dtype, json, expected, err);
}

/* A float, or a complex number. What is noted is refused when nobody wants to know of it: a number
 * must not become an infinity unseen. */
static enum zd_status parse_floats(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, bool *ret_noted, struct zd_error *err)
{
    const bool is_complex = dtype->kind == ZD_DTYPE_COMPLEX;
    const uint32_t len = is_complex ? dtype->bytes / 2 : dtype->bytes;
    uint8_t parts[2 * PART_BYTES_MAX];
    bool noted = false;
    const bool is_read =
        is_complex ? parse_parts(json, len, parts, &noted) : parse_part(json, len, parts, &noted);
    if (!is_read || (noted && ret_noted == NULL)) {
        return refuse_float(dtype, json, len, err);
    }
    memcpy(ret_bytes, parts, dtype->bytes);
    if (ret_noted != NULL) {
        *ret_noted = noted;
    }
    return ZD_OK;
}

/* A double whose shortest spelling is that of the float: what a person wrote as 0.1 stays 0.1. */
static struct zd_json *number_json(const void *bytes, uint32_t len)
{
    const double value = load_float(bytes, len);
    if (len == 8) {
        return zd_json_new_f64(value);
    }
    const struct zd_json_limits one = {.bytes_max = FOUND_BYTES_MAX, .nodes_max = 1};
    ZD_SCOPED_TEXT(text, FOUND_BYTES_MAX);
    zd_decimal_add(&text, value, len * 8);
    struct zd_json *parsed = NULL;
    if (text.status != ZD_OK || zd_json_parse(zd_text_span(&text), &one, &parsed, NULL) != ZD_OK) {
        return NULL;
    }
    ZD_AUTO(zd_json) json = parsed;
    uint8_t again[PART_BYTES_MAX];
    store_number(json, len, again);
    return memcmp(again, bytes, len) == 0 ? ZD_TAKE(json) : zd_json_new_f64(value);
}

static struct zd_json *part_json(const void *bytes, uint32_t len)
{
    const double value = load_float(bytes, len);
    if (isfinite(value)) {
        return number_json(bytes, len);
    }
    uint64_t bits = 0;
    memcpy(&bits, bytes, len);
    if (isinf(value)) {
        return zd_json_new_text(value > 0 ? "Infinity" : "-Infinity");
    }
    if (bits == quiet_nan(len)) {
        return zd_json_new_text("NaN");
    }
    char hex[2 + 16 + 1];
    snprintf(hex, sizeof hex, "0x%0*" PRIx64, (int)(2 * len), bits);
    return zd_json_new_text(hex);
}

static struct zd_json *complex_json(const struct zd_dtype *dtype, const void *bytes)
{
    const uint32_t len = dtype->bytes / 2;
    ZD_AUTO(zd_json) pair = zd_json_new_array();
    if (zd_json_append(pair, part_json(bytes, len)) != ZD_OK ||
        zd_json_append(pair, part_json((const uint8_t *)bytes + len, len)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(pair);
}

static void add_part(
    const void *bytes, uint32_t len, const struct zd_scalar_style *style, struct zd_text *text)
{
    const double value = load_float(bytes, len);
    if (isfinite(value)) {
        zd_decimal_add(text, value, len * 8);
        return;
    }
    if (style->nan_null) {
        zd_text_add(text, "null");
        return;
    }
    const char *quote = style->bare_strings ? "" : "\"";
    zd_text_add(text, quote);
    zd_text_add(text, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    zd_text_add(text, quote);
}

/* Its comma makes a pair a quoted field of CSV (RFC 4180, 2.6). */
static void add_complex(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const uint32_t len = dtype->bytes / 2;
    zd_text_add(text, style->bare_strings ? "\"[" : "[");
    add_part(bytes, len, style, text);
    zd_text_add_char(text, ',');
    add_part((const uint8_t *)bytes + len, len, style, text);
    zd_text_add(text, style->bare_strings ? "]\"" : "]");
}

/* Raw bits. */

static bool is_byte_list(const struct zd_json *json, size_t n)
{
    uint64_t byte;
    if (!zd_json_is(json, ZD_JSON_ARRAY) || zd_json_count(json) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!zd_json_u64(zd_json_element(json, i), &byte) || byte > UINT8_MAX) {
            return false;
        }
    }
    return true;
}

/* Zarr v3 says N elements, which would be N bytes for N bits; everyone writes N / 8. */
static enum zd_status parse_raw(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t *ret_bytes, struct zd_error *err)
{
    if (!is_byte_list(json, dtype->bytes)) {
        char expected[ZD_FACT_TEXT_BYTES];
        snprintf(expected, sizeof expected, "a list of %u integers from 0 to 255", dtype->bytes);
        return refuse(dtype, json, expected, err);
    }
    for (uint32_t i = 0; i < dtype->bytes; i++) {
        uint64_t byte = 0;
        (void)zd_json_u64(zd_json_element(json, i), &byte);
        ret_bytes[i] = (uint8_t)byte;
    }
    return ZD_OK;
}

static struct zd_json *raw_json(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t i = 0; i < dtype->bytes; i++) {
        if (zd_json_append(list, zd_json_new_u64(bytes[i])) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(list);
}

static size_t code_base64(struct zd_span bytes, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < bytes.len; i += 3) {
        const size_t n = zd_min_u64(bytes.len - i, 3);
        const uint32_t group = (uint32_t)bytes.ptr[i] << 16 |
                               (n > 1 ? (uint32_t)bytes.ptr[i + 1] << 8 : 0) |
                               (n > 2 ? (uint32_t)bytes.ptr[i + 2] : 0);
        to[len++] = base64_digits[group >> 18];
        to[len++] = base64_digits[group >> 12 & 63];
        to[len++] = (char)(n > 1 ? base64_digits[group >> 6 & 63] : '=');
        to[len++] = (char)(n > 2 ? base64_digits[group & 63] : '=');
    }
    return len;
}

enum zd_status zd_scalar_add_base64(struct zd_text *text, struct zd_span bytes)
{
    char coded[BASE64_BLOCK / 3 * 4];
    for (size_t i = 0; i < bytes.len; i += BASE64_BLOCK) {
        const struct zd_span block = {
            .ptr = bytes.ptr + i, .len = zd_min_u64(bytes.len - i, BASE64_BLOCK)};
        ZD_TRY(zd_text_add_bytes(text, coded, code_base64(block, coded)));
    }
    return text->status;
}

/* The bytes of four characters; false: one is not of the alphabet, or a bit behind the last byte is
 * set. */
static bool read_base64_group(const uint8_t *text, size_t n_bytes, uint8_t *to)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = text[i] == '\0' ? NULL : strchr(base64_digits, text[i]);
        const bool is_padding = i > n_bytes;
        if (is_padding ? text[i] != '=' : digit == NULL) {
            return false;
        }
        bits = bits << 6 | (is_padding ? 0 : (uint32_t)(digit - base64_digits));
    }
    for (size_t i = 0; i < n_bytes; i++) {
        to[i] = (uint8_t)(bits >> (16 - 8 * i));
    }
    return n_bytes == 3 || bits << (8 + 8 * n_bytes) == 0;
}

bool zd_scalar_read_base64(struct zd_span text, uint8_t *to, size_t len)
{
    if (text.len != zd_div_up(len, 3) * 4) {
        return false;
    }
    for (size_t i = 0; i < len; i += 3) {
        if (!read_base64_group(text.ptr + i / 3 * 4, zd_min_u64(len - i, 3), to + i)) {
            return false;
        }
    }
    return true;
}

/* Every kind. */

static enum zd_status parse_bool(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t *ret_byte, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_BOOL)) {
        return refuse(dtype, json, "true or false", err);
    }
    *ret_byte = zd_json_is_true(json) ? 1 : 0;
    return ZD_OK;
}

enum zd_status zd_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, bool *ret_noted, struct zd_error *err)
{
    enum zd_status status = ZD_OK;
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        status = parse_bool(dtype, json, ret_bytes, err);
        break;
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        status = parse_integer(dtype, json, ret_bytes, err);
        break;
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_COMPLEX:
        return parse_floats(dtype, json, ret_bytes, ret_noted, err);
    case ZD_DTYPE_RAW:
        status = parse_raw(dtype, json, ret_bytes, err);
        break;
    }
    if (status == ZD_OK && ret_noted != NULL) {
        *ret_noted = false;
    }
    return status;
}

struct zd_json *zd_scalar_json(const struct zd_dtype *dtype, const void *bytes)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        return zd_json_new_bool(*(const uint8_t *)bytes != 0);
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        return integer_json(dtype, bytes);
    case ZD_DTYPE_FLOAT:
        return part_json(bytes, dtype->bytes);
    case ZD_DTYPE_COMPLEX:
        return complex_json(dtype, bytes);
    case ZD_DTYPE_RAW:
        break;
    }
    return raw_json(dtype, bytes);
}

void zd_scalar_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const bool is_wide = dtype->bytes == 8 && style->ints_string && !style->bare_strings;
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        zd_text_add(text, *(const uint8_t *)bytes != 0 ? "true" : "false");
        break;
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        zd_text_add(text, is_wide ? "\"" : "");
        add_integer(dtype, bytes, text);
        zd_text_add(text, is_wide ? "\"" : "");
        break;
    case ZD_DTYPE_FLOAT:
        add_part(bytes, dtype->bytes, style, text);
        break;
    case ZD_DTYPE_COMPLEX:
        add_complex(dtype, bytes, style, text);
        break;
    case ZD_DTYPE_RAW:
        zd_text_add(text, style->bare_strings ? "" : "\"");
        zd_scalar_add_base64(text, (struct zd_span){.ptr = bytes, .len = dtype->bytes});
        zd_text_add(text, style->bare_strings ? "" : "\"");
        break;
    }
}
