/* An element and its spellings: fill values, and elements in JSON and CSV. */
#include "core/grid/scalar.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/num.h"
#include "core/grid/calendar.h"
#include "core/grid/scalar_float.h"
#include "core/grid/list_scalar.h"
#include "core/grid/struct_scalar.h"
#include "core/grid/utf32.h"
#include "core/grid/variable_scalar.h"

#define FOUND_BYTES_MAX  100
#define NUMBER_BYTES_MAX UINT64_C(32)                /* one number or date, with its quotes */
#define LIST_MARKS       (2 * ZD_FIELD_RANK_MAX + 1) /* around an item of a field that is an array */
#define POINT_BYTES_MAX  6                           /* of a character in JSON: \u0001 */

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
    const unsigned n_bits = zd_dtype_n_bits(dtype) - (dtype->kind == ZD_DTYPE_INT ? 1 : 0);
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
    const uint64_t sign = UINT64_C(1) << (dtype->bytes * 8 - 1);
    return zd_json_new_i64((int64_t)((value ^ sign) - sign)); /* extends the sign */
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
static enum zd_status parse_list(const struct zd_dtype *dtype, const struct zd_json *json,
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

static struct zd_json *list_json(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t i = 0; i < dtype->bytes; i++) {
        if (zd_json_append(list, zd_json_new_u64(bytes[i])) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(list);
}

/* An element's bytes, without the zeros at the end that are none of its. */
static struct zd_span chars_of(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    size_t len = dtype->bytes;
    while (dtype->kind == ZD_DTYPE_CHARS && len > 0 && bytes[len - 1] == 0) {
        len--;
    }
    return (struct zd_span){.ptr = bytes, .len = len};
}

bool zd_scalar_read_base64(struct zd_span text, uint8_t *to, size_t len)
{
    return zd_base64_bytes(text) == len && zd_base64_decode(text, to);
}

/* Strings of bytes: base64 of all of them, or where zeros at the end are none, of fewer. */

static enum zd_status parse_base64(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t *ret_bytes, struct zd_error *err)
{
    const struct zd_span text = zd_json_string_span(json);
    const bool may_be_short = dtype->kind == ZD_DTYPE_CHARS;
    const size_t n = zd_base64_bytes(text);
    uint8_t *element = zd_alloc_zero(1, dtype->bytes);
    if (element == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a value of %s", dtype->name);
    }
    const bool fits = may_be_short ? n <= dtype->bytes : n == dtype->bytes;
    const bool is_read = text.ptr != NULL && fits && zd_base64_decode(text, element);
    if (is_read) {
        memcpy(ret_bytes, element, dtype->bytes);
    }
    zd_free(element);
    if (is_read) {
        return ZD_OK;
    }
    char expected[ZD_FACT_TEXT_BYTES];
    snprintf(expected, sizeof expected, "base64 of %s%u bytes (RFC 4648, section 4)",
        may_be_short ? "at most " : "", dtype->bytes);
    return refuse(dtype, json, expected, err);
}

static void add_quoted_base64(const struct zd_dtype *dtype, const uint8_t *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const char *quote = style->bare_strings ? "" : "\"";
    zd_text_add(text, quote);
    zd_base64_add(text, chars_of(dtype, bytes));
    zd_text_add(text, quote);
}

static struct zd_json *base64_json(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    ZD_SCOPED_TEXT(text, zd_scalar_text_max(dtype));
    return zd_base64_add(&text, chars_of(dtype, bytes)) == ZD_OK ? zd_json_new_text(text.at) : NULL;
}

/* Text of fixed length. */

static enum zd_status parse_utf32(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t *ret_bytes, struct zd_error *err)
{
    uint8_t *element = zd_alloc(dtype->bytes);
    if (element == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a value of %s", dtype->name);
    }
    const struct zd_span text = zd_json_string_span(json);
    const bool is_read = text.ptr != NULL && zd_utf32_read(text, element, dtype->bytes);
    if (is_read) {
        memcpy(ret_bytes, element, dtype->bytes);
    }
    zd_free(element);
    if (is_read) {
        return ZD_OK;
    }
    char expected[ZD_FACT_TEXT_BYTES];
    snprintf(expected, sizeof expected, "a string of at most %u characters without U+0000",
        dtype->bytes / 4);
    return refuse(dtype, json, expected, err);
}

void zd_scalar_add_field(struct zd_span utf8, struct zd_text *text)
{
    bool is_quoted = false;
    for (size_t i = 0; i < utf8.len && !is_quoted; i++) {
        is_quoted = utf8.ptr[i] != '\0' && strchr("\",\r\n", utf8.ptr[i]) != NULL;
    }
    zd_text_add(text, is_quoted ? "\"" : "");
    for (size_t i = 0; i < utf8.len; i++) {
        zd_text_add(text, utf8.ptr[i] == '"' ? "\"" : "");
        zd_text_add_char(text, (char)utf8.ptr[i]);
    }
    zd_text_add(text, is_quoted ? "\"" : "");
}

static void add_utf32(const struct zd_dtype *dtype, const uint8_t *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    ZD_SCOPED_TEXT(utf8, dtype->bytes);
    zd_utf32_add((struct zd_span){.ptr = bytes, .len = dtype->bytes}, &utf8);
    if (utf8.status != ZD_OK) {
        text->status = utf8.status;
    } else if (style->bare_strings) {
        zd_scalar_add_field(zd_text_span(&utf8), text);
    } else {
        struct zd_emit emit;
        zd_emit_init(&emit, text, false);
        zd_emit_string_span(&emit, zd_text_span(&utf8));
    }
}

static struct zd_json *utf32_json(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    ZD_SCOPED_TEXT(utf8, dtype->bytes);
    zd_utf32_add((struct zd_span){.ptr = bytes, .len = dtype->bytes}, &utf8);
    return utf8.status == ZD_OK ? zd_json_new_text(utf8.at) : NULL;
}

/* Times and durations. */

static enum zd_status parse_ticks(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, struct zd_error *err)
{
    int64_t ticks = ZD_DTYPE_NAT;
    const bool is_nat = zd_span_is(zd_json_string_span(json), "NaT");
    if (!is_nat && !zd_json_i64(json, &ticks)) {
        return refuse(dtype, json, "a number of ticks, an integer of 64 bits, or \"NaT\"", err);
    }
    memcpy(ret_bytes, &ticks, sizeof ticks);
    return ZD_OK;
}

static int64_t load_ticks(const void *bytes)
{
    int64_t ticks;
    memcpy(&ticks, bytes, sizeof ticks);
    return ticks;
}

static struct zd_json *ticks_json(const void *bytes)
{
    const int64_t ticks = load_ticks(bytes);
    return ticks == ZD_DTYPE_NAT ? zd_json_new_text("NaT") : zd_json_new_i64(ticks);
}

static void add_ticks(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const int64_t ticks = load_ticks(bytes);
    const char *quote = style->bare_strings ? "" : "\"";
    const bool is_wide = style->ints_string && !style->bare_strings;
    if (ticks == ZD_DTYPE_NAT) {
        zd_text_addf(text, style->nan_null ? "null" : "%sNaT%s", quote, quote);
        return;
    }
    const size_t before = text->len;
    if (dtype->kind == ZD_DTYPE_TIME) {
        zd_text_add(text, quote);
        if (zd_calendar_add(dtype, ticks, text)) {
            zd_text_add(text, quote);
            return;
        }
        zd_text_cut(text, before);
    }
    zd_text_addf(text, "%s%" PRId64 "%s", is_wide ? "\"" : "", ticks, is_wide ? "\"" : "");
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

/* A caller that does not take notes gets an error instead: a number must not silently become an
 * infinity. */
static enum zd_status parse_floats(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, bool *ret_noted, struct zd_error *err)
{
    uint8_t bytes[2 * sizeof(double)];
    bool noted = false;
    if (!zd_scalar_float_read(dtype, json, bytes, &noted) || (noted && ret_noted == NULL)) {
        char expected[ZD_FACT_TEXT_BYTES];
        zd_scalar_float_expected(dtype, expected);
        return refuse(dtype, json, expected, err);
    }
    memcpy(ret_bytes, bytes, dtype->bytes);
    if (ret_noted != NULL) {
        *ret_noted = noted;
    }
    return ZD_OK;
}

/* r<N>, which has no configuration, is spelled as a list. */
static bool is_list(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_RAW && strcmp(dtype->name, "raw_bytes") != 0;
}

static enum zd_status parse_exact(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, struct zd_error *err)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        return parse_bool(dtype, json, ret_bytes, err);
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        return parse_integer(dtype, json, ret_bytes, err);
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_FLOAT:
    case ZD_DTYPE_SMALL_COMPLEX:
        return parse_floats(dtype, json, ret_bytes, NULL, err);
    case ZD_DTYPE_RAW:
        return is_list(dtype) ? parse_list(dtype, json, ret_bytes, err)
                              : parse_base64(dtype, json, ret_bytes, err);
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        return parse_ticks(dtype, json, ret_bytes, err);
    case ZD_DTYPE_UTF32:
        return parse_utf32(dtype, json, ret_bytes, err);
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:   /* their bytes need memory: zd_scalar_replace */
    case ZD_DTYPE_STRUCT: /* its fields are read one by one */
        return refuse(dtype, json, "of a fixed size", err);
    case ZD_DTYPE_CHARS:
        break;
    }
    return parse_base64(dtype, json, ret_bytes, err);
}

enum zd_status zd_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, bool *ret_noted, struct zd_error *err)
{
    if (zd_dtype_is_float(dtype) || zd_dtype_is_complex(dtype)) {
        return parse_floats(dtype, json, ret_bytes, ret_noted, err);
    }
    ZD_TRY(dtype->fields != NULL ? zd_struct_scalar_read(dtype, json, ret_bytes, parse_exact, err)
                                 : parse_exact(dtype, json, ret_bytes, err));
    if (ret_noted != NULL) {
        *ret_noted = false;
    }
    return ZD_OK;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* "123": ints=string writes them so. @param ret_number NULL: it is no number */
static enum zd_status number_inside(const struct zd_json *json, struct zd_json **ret_number)
{
    const struct zd_json_limits one = {.bytes_max = FOUND_BYTES_MAX, .nodes_max = 1};
    const struct zd_span text = zd_json_string_span(json);
    *ret_number = NULL;
    if (text.len == 0 || !(is_digit(text.ptr[0]) || text.ptr[0] == '-') ||
        !is_digit(text.ptr[text.len - 1])) {
        return ZD_OK;
    }
    const enum zd_status status = zd_json_parse(text, &one, ret_number, NULL);
    return status == ZD_NO_MEMORY ? status : ZD_OK;
}

/* An integer, or ticks. */
static enum zd_status read_integer(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, struct zd_error *err)
{
    ZD_AUTO(zd_json) number = NULL;
    if (number_inside(json, &number) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a value of %s", dtype->name);
    }
    return parse_exact(dtype, number == NULL ? json : number, ret_bytes, err);
}

static enum zd_status read_leaf(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, struct zd_error *err)
{
    const struct zd_span text = zd_json_string_span(json);
    int64_t ticks = 0;
    if (text.ptr == NULL) {
        return parse_exact(dtype, json, ret_bytes, err);
    }
    if (dtype->kind == ZD_DTYPE_RAW) {
        return parse_base64(dtype, json, ret_bytes, err);
    }
    if (dtype->kind == ZD_DTYPE_TIME && zd_calendar_read(dtype, text, &ticks)) {
        memcpy(ret_bytes, &ticks, sizeof ticks);
        return ZD_OK;
    }
    const bool is_integer = dtype->kind == ZD_DTYPE_INT || dtype->kind == ZD_DTYPE_UINT;
    return is_integer || zd_dtype_is_ticks(dtype) ? read_integer(dtype, json, ret_bytes, err)
                                                  : parse_exact(dtype, json, ret_bytes, err);
}

enum zd_status zd_scalar_read(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, struct zd_error *err)
{
    return dtype->fields != NULL ? zd_struct_scalar_read(dtype, json, ret_bytes, read_leaf, err)
                                 : read_leaf(dtype, json, ret_bytes, err);
}

enum zd_status zd_scalar_read_variable(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, struct zd_error *err)
{
    return dtype->kind == ZD_DTYPE_LIST
               ? zd_list_scalar_parse(dtype, json, ret_element, read_leaf, err)
               : zd_variable_scalar_parse(dtype, json, ret_element, err);
}

enum zd_status zd_scalar_replace(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **element, bool *ret_noted, struct zd_error *err)
{
    uint8_t *found = NULL;
    if (!zd_dtype_is_variable(dtype)) {
        return zd_scalar_parse(dtype, json, *element, ret_noted, err);
    }
    ZD_TRY(zd_scalar_read_variable(dtype, json, &found, err));
    if (ret_noted != NULL) {
        *ret_noted = false;
    }
    zd_free(*element);
    *element = found;
    return ZD_OK;
}

static struct zd_json *leaf_json(const struct zd_dtype *dtype, const void *bytes)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        return zd_json_new_bool(*(const uint8_t *)bytes != 0);
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        return integer_json(dtype, bytes);
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_FLOAT:
    case ZD_DTYPE_SMALL_COMPLEX:
        return zd_scalar_float_json(dtype, bytes);
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
        return zd_variable_scalar_json(dtype, bytes);
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        return NULL; /* their numbers and fields are made one by one */
    case ZD_DTYPE_RAW:
        return is_list(dtype) ? list_json(dtype, bytes) : base64_json(dtype, bytes);
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        return ticks_json(bytes);
    case ZD_DTYPE_UTF32:
        return utf32_json(dtype, bytes);
    case ZD_DTYPE_CHARS:
        break;
    }
    return base64_json(dtype, bytes);
}

struct zd_json *zd_scalar_json(const struct zd_dtype *dtype, const void *bytes)
{
    if (dtype->kind == ZD_DTYPE_LIST) {
        return zd_list_scalar_json(dtype, bytes, leaf_json);
    }
    return dtype->fields != NULL ? zd_struct_scalar_json(dtype, bytes, leaf_json)
                                 : leaf_json(dtype, bytes);
}

static uint64_t leaf_text_max(const struct zd_dtype *dtype)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_SMALL_FLOAT:
        return NUMBER_BYTES_MAX;
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_COMPLEX:
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        return 2 * NUMBER_BYTES_MAX;
    case ZD_DTYPE_UTF32:
        return NUMBER_BYTES_MAX + (uint64_t)dtype->bytes / 4 * POINT_BYTES_MAX;
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        return UINT64_MAX;
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_CHARS:
        break;
    }
    return NUMBER_BYTES_MAX + zd_div_up(dtype->bytes, 3) * 4;
}

/* Every quote may be two (CSV). */
uint64_t zd_scalar_text_max(const struct zd_dtype *dtype)
{
    uint64_t bytes = NUMBER_BYTES_MAX;
    for (uint32_t i = 0; dtype->fields != NULL && i < dtype->fields->n; i++) {
        const struct zd_field *field = &dtype->fields->field[i];
        const bool is_struct = field->dtype.kind == ZD_DTYPE_STRUCT;
        bytes += NUMBER_BYTES_MAX + UINT64_C(2) * POINT_BYTES_MAX * strlen(field->name) +
                 (is_struct ? 0 : field->n_items * (2 * leaf_text_max(&field->dtype) + LIST_MARKS));
    }
    return dtype->fields != NULL ? bytes : leaf_text_max(dtype);
}

static void add_leaf(const struct zd_dtype *dtype, const void *bytes,
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
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_FLOAT:
    case ZD_DTYPE_SMALL_COMPLEX:
        zd_scalar_float_add(dtype, bytes, style, text);
        break;
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        add_ticks(dtype, bytes, style, text);
        break;
    case ZD_DTYPE_UTF32:
        add_utf32(dtype, bytes, style, text);
        break;
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_CHARS:
        add_quoted_base64(dtype, bytes, style, text);
        break;
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
        zd_variable_scalar_add(dtype, bytes, style->bare_strings, text);
        break;
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT: /* their numbers and fields are added one by one */
        break;
    }
}

static void add_compound(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    if (dtype->fields != NULL) {
        zd_struct_scalar_add(dtype, bytes, style, add_leaf, text);
    } else {
        zd_list_scalar_add(dtype, bytes, style, add_leaf, text);
    }
}

void zd_scalar_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    struct zd_scalar_style quoted = *style;
    if (dtype->fields == NULL && dtype->kind != ZD_DTYPE_LIST) {
        add_leaf(dtype, bytes, style, text);
        return;
    }
    quoted.bare_strings = false;
    if (!style->bare_strings) {
        add_compound(dtype, bytes, &quoted, text);
        return;
    }
    ZD_SCOPED_TEXT(object, zd_min_u64(zd_scalar_text_max(dtype), text->len_max));
    add_compound(dtype, bytes, &quoted, &object);
    zd_scalar_add_field(zd_text_span(&object), text);
    text->status = text->status == ZD_OK ? object.status : text->status;
}
