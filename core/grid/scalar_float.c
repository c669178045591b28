/* Floats, and complex numbers as pairs of them: their spellings. */
#include "core/grid/scalar_float.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"

#define PART_BYTES_MAX   8 /* of a float or one half of a complex number */
#define NUMBER_BYTES_MAX 100
#define FLOAT_BITS       32

/* A float, or a half of a complex number. */
struct part {
    uint32_t len;
    const struct zd_small_float *small; /* or NULL */
};

static struct part part_of(const struct zd_dtype *dtype)
{
    return (struct part){
        .len = zd_dtype_is_complex(dtype) ? dtype->bytes / 2 : dtype->bytes,
        .small = dtype->small,
    };
}

static double load_float(const void *bytes, const struct part *part)
{
    uint32_t code = 0;
    float single;
    double value;
    if (part->small != NULL) {
        memcpy(&code, bytes, part->len);
        return zd_small_float_value(part->small, code);
    }
    switch (part->len) {
    case sizeof(uint16_t):
        return (double)zd_half_to_float(zd_load_u16(bytes));
    case sizeof single:
        memcpy(&single, bytes, sizeof single);
        return (double)single;
    default:
        memcpy(&value, bytes, sizeof value);
        return value;
    }
}

/* Rounds to nearest, ties to even; 64-bit integers straight to float, not by way of double. False:
 * the type has nothing for it. */
static bool store_number(const struct zd_json *json, const struct part *part, void *ret_bytes)
{
    double value = 0;
    uint32_t code = 0;
    (void)zd_json_f64(json, &value);
    if (part->small != NULL) {
        if (!zd_small_float_nearest(part->small, value, &code)) {
            return false;
        }
        memcpy(ret_bytes, &code, part->len);
    } else if (part->len == sizeof(uint16_t)) {
        const uint16_t half = zd_half_from_double(value);
        memcpy(ret_bytes, &half, sizeof half);
    } else if (part->len == sizeof(float)) {
        int64_t i64;
        uint64_t u64;
        const float rounded = zd_json_i64(json, &i64)   ? (float)i64
                              : zd_json_u64(json, &u64) ? (float)u64
                                                        : (float)value;
        memcpy(ret_bytes, &rounded, sizeof rounded);
    } else {
        memcpy(ret_bytes, &value, sizeof value);
    }
    return true;
}

/* Zarr v3, fill_value: "NaN" is the quiet one, sign and payload 0. False: there is none. */
static bool find_nan(const struct part *part, uint64_t *ret_bits)
{
    uint32_t code = 0;
    if (part->small != NULL) {
        const bool is_there = zd_small_float_nan(part->small, &code);
        *ret_bits = code;
        return is_there;
    }
    *ret_bits = part->len == sizeof(uint16_t) ? 0x7E00
                : part->len == sizeof(float)  ? 0x7FC00000
                                              : UINT64_C(0x7FF8000000000000);
    return true;
}

static bool find_infinity(const struct part *part, bool is_negative, uint64_t *ret_bits)
{
    const uint64_t sign = is_negative ? UINT64_C(1) << (part->len * 8 - 1) : 0;
    uint32_t code = 0;
    if (part->small != NULL) {
        const bool is_there = zd_small_float_infinity(part->small, &code);
        *ret_bits = sign | code;
        return is_there;
    }
    *ret_bits = sign | (part->len == sizeof(uint16_t)   ? 0x7C00
                           : part->len == sizeof(float) ? 0x7F800000
                                                        : UINT64_C(0x7FF0000000000000));
    return true;
}

static bool parse_word(struct zd_span word, const struct part *part, uint64_t *ret_bits)
{
    if (zd_span_is(word, "NaN")) {
        return find_nan(part, ret_bits);
    }
    const bool is_negative = zd_span_is(word, "-Infinity");
    return (is_negative || zd_span_is(word, "Infinity")) &&
           find_infinity(part, is_negative, ret_bits);
}

/* A small float as the float that answers have instead, so that all of them agree. */
static void add_number(double value, const struct part *part, struct zd_text *text)
{
    zd_decimal_add(text, value, part->small != NULL ? FLOAT_BITS : part->len * 8);
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
static bool parse_hex(struct zd_span word, const struct part *part, uint64_t *ret_bits, bool *noted)
{
    const size_t n_digits = 2 * (size_t)part->len;
    if (word.len < 3 || word.len > 2 + n_digits || word.ptr[0] != '0' || word.ptr[1] != 'x') {
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
    if (part->small != NULL && bits >> zd_small_float_bits(part->small) != 0) {
        return false;
    }
    *noted = *noted || word.len < 2 + n_digits;
    *ret_bits = bits;
    return true;
}

static bool is_beyond(const struct zd_json *json, double stored)
{
    return isinf(stored) && (zd_json_is(json, ZD_JSON_INTEGER) || zd_json_is(json, ZD_JSON_REAL));
}

/* Parse a float; true and *noted, or false when json spells none. */
static bool parse_part(
    const struct zd_json *json, const struct part *part, void *ret_bytes, bool *noted)
{
    double value = 0;
    uint64_t bits = 0;
    if (zd_json_is(json, ZD_JSON_NONFINITE)) {
        (void)zd_json_f64(json, &value);
        if (!(isnan(value) ? find_nan(part, &bits) : find_infinity(part, value < 0, &bits))) {
            return false;
        }
        memcpy(ret_bytes, &bits, part->len);
        *noted = true;
        return true;
    }
    if (zd_json_is(json, ZD_JSON_STRING)) {
        const struct zd_span word = zd_json_string_span(json);
        if (!parse_word(word, part, &bits) && !parse_hex(word, part, &bits, noted)) {
            return false;
        }
        memcpy(ret_bytes, &bits, part->len);
        return true;
    }
    if (!zd_json_f64(json, &value) || !store_number(json, part, ret_bytes)) {
        return false;
    }
    *noted = *noted || is_beyond(json, load_float(ret_bytes, part));
    return true;
}

/* Both halves of a complex number. */
static bool parse_parts(
    const struct zd_json *json, const struct part *part, uint8_t *ret_bytes, bool *noted)
{
    return zd_json_is(json, ZD_JSON_ARRAY) && zd_json_count(json) == 2 &&
           parse_part(zd_json_element(json, 0), part, ret_bytes, noted) &&
           parse_part(zd_json_element(json, 1), part, ret_bytes + part->len, noted);
}

/* The largest finite number, as a person writes it. */
static void add_largest(const struct part *part, struct zd_text *text)
{
    if (part->small != NULL) {
        add_number(zd_small_float_greatest(part->small), part, text);
        return;
    }
    zd_text_add(text, part->len == sizeof(uint16_t) ? "65504"
                      : part->len == sizeof(float)  ? "3.4028235e38"
                                                    : "1.7976931348623157e308");
}

void zd_scalar_float_expected(const struct zd_dtype *dtype, char ret_expected[ZD_FACT_TEXT_BYTES])
{
    const struct part part = part_of(dtype);
    uint64_t bits = 0;
    ZD_SCOPED_TEXT(largest, NUMBER_BYTES_MAX);
    add_largest(&part, &largest);
    snprintf(ret_expected, ZD_FACT_TEXT_BYTES,
        "%sa number up to %s in magnitude%s%s, or 0x followed by %u digits",
        part.len < dtype->bytes ? "[re, im], each " : "", largest.at,
        find_nan(&part, &bits) ? ", \"NaN\"" : "",
        find_infinity(&part, false, &bits) ? ", \"Infinity\", \"-Infinity\"" : "", part.len * 2);
}

bool zd_scalar_float_read(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, bool *noted)
{
    const struct part part = part_of(dtype);
    uint8_t parts[2 * PART_BYTES_MAX];
    const bool is_read = part.len < dtype->bytes ? parse_parts(json, &part, parts, noted)
                                                 : parse_part(json, &part, parts, noted);
    if (is_read) {
        memcpy(ret_bytes, parts, dtype->bytes);
    }
    return is_read;
}

/* A double whose shortest spelling is that of the float: what a person wrote as 0.1 stays 0.1. */
static struct zd_json *number_json(const void *bytes, const struct part *part)
{
    const double value = load_float(bytes, part);
    if (part->len == sizeof value) {
        return zd_json_new_f64(value);
    }
    const struct zd_json_limits one = {.bytes_max = NUMBER_BYTES_MAX, .nodes_max = 1};
    ZD_SCOPED_TEXT(text, NUMBER_BYTES_MAX);
    add_number(value, part, &text);
    struct zd_json *parsed = NULL;
    if (text.status != ZD_OK || zd_json_parse(zd_text_span(&text), &one, &parsed, NULL) != ZD_OK) {
        return NULL;
    }
    ZD_AUTO(zd_json) json = parsed;
    uint8_t again[PART_BYTES_MAX];
    return store_number(json, part, again) && memcmp(again, bytes, part->len) == 0
               ? ZD_TAKE(json)
               : zd_json_new_f64(value);
}

static struct zd_json *part_json(const void *bytes, const struct part *part)
{
    const double value = load_float(bytes, part);
    if (isfinite(value)) {
        return number_json(bytes, part);
    }
    uint64_t bits = 0;
    uint64_t nan = 0;
    memcpy(&bits, bytes, part->len);
    if (isinf(value)) {
        return zd_json_new_text(value > 0 ? "Infinity" : "-Infinity");
    }
    if (find_nan(part, &nan) && bits == nan) {
        return zd_json_new_text("NaN");
    }
    char hex[2 + 16 + 1];
    snprintf(hex, sizeof hex, "0x%0*" PRIx64, (int)(2 * part->len), bits);
    return zd_json_new_text(hex);
}

static struct zd_json *complex_json(const void *bytes, const struct part *part)
{
    ZD_AUTO(zd_json) pair = zd_json_new_array();
    if (zd_json_append(pair, part_json(bytes, part)) != ZD_OK ||
        zd_json_append(pair, part_json((const uint8_t *)bytes + part->len, part)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(pair);
}

static void add_part(const void *bytes, const struct part *part,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const double value = load_float(bytes, part);
    if (isfinite(value)) {
        add_number(value, part, text);
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
static void add_complex(const void *bytes, const struct part *part,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    zd_text_add(text, style->bare_strings ? "\"[" : "[");
    add_part(bytes, part, style, text);
    zd_text_add_char(text, ',');
    add_part((const uint8_t *)bytes + part->len, part, style, text);
    zd_text_add(text, style->bare_strings ? "]\"" : "]");
}

struct zd_json *zd_scalar_float_json(const struct zd_dtype *dtype, const void *bytes)
{
    const struct part part = part_of(dtype);
    return zd_dtype_is_complex(dtype) ? complex_json(bytes, &part) : part_json(bytes, &part);
}

void zd_scalar_float_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const struct part part = part_of(dtype);
    if (zd_dtype_is_complex(dtype)) {
        add_complex(bytes, &part, style, text);
    } else {
        add_part(bytes, &part, style, text);
    }
}
