/* An element of a JSON body. */
#include "server/format/text_element.h"

#include <string.h>

#include "core/base/scan.h"
#include "core/grid/scalar.h"
#include "core/grid/variable.h"
#include "core/grid/zero_sign.h"

#define NODES_MAX    (2 * (size_t)ZD_DTYPE_BYTES_MAX) /* raw bits as a list of bytes */
#define SHORT_DIGITS 18 /* any integer of so many digits fits 64 bits */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

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
    const unsigned n_bits = zd_dtype_n_bits(dtype);
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
static enum zd_status parse_value(const struct zd_dtype *dtype, struct zd_span text,
    struct zd_json **ret_json, struct zd_error *err)
{
    const struct zd_json_limits limits = {
        .bytes_max = text.len,
        .nodes_max = NODES_MAX,
        .depth_max = dtype->kind == ZD_DTYPE_LIST ? 2 /* of complex numbers */
                     : dtype->fields == NULL      ? 1
                                                  : ZD_STRUCT_DEPTH_MAX + ZD_FIELD_RANK_MAX + 1,
    };
    const enum zd_status status = zd_json_parse(text, &limits, ret_json, err);
    if (status != ZD_TOO_LARGE) {
        return status;
    }
    return zd_fail_expected(err, ZD_INVALID, "a number, a string or a list of them", NULL,
        "a value has nested lists or objects, or more than %zu items", NODES_MAX);
}

/* A JSON value without spaces around it, in any spelling that slices are answered with, integers as
 * strings too, or that fill values have. */
enum zd_status zd_text_element_parse(
    const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes, struct zd_error *err)
{
    if (is_integer(dtype) && read_short(dtype, text, ret_bytes)) {
        return ZD_OK;
    }
    struct zd_json *parsed = NULL;
    ZD_TRY(parse_value(dtype, text, &parsed, err));
    ZD_AUTO(zd_json) json = parsed;
    ZD_TRY(zd_scalar_read(dtype, json, ret_bytes, err));
    zd_zero_sign_keep(dtype, text, ret_bytes);
    return ZD_OK;
}

static void skip_spaces(struct zd_scan *scan)
{
    while (!zd_scan_at_end(scan) && is_space((uint8_t)*scan->at)) {
        scan->at++;
    }
}

/* A number from 0 to 255, between spaces. */
static bool read_list_item(struct zd_scan *scan, struct zd_text *bytes)
{
    uint64_t byte;
    skip_spaces(scan);
    const bool is_read = zd_scan_u64(scan, UINT8_MAX, &byte) == ZD_OK &&
                         zd_text_add_char(bytes, (char)byte) == ZD_OK;
    skip_spaces(scan);
    return is_read;
}

/* A list of bytes, without a JSON tree; false: the general parser must judge. */
static bool read_byte_list(
    const struct zd_dtype *dtype, struct zd_span text, struct zd_text *bytes, size_t *ret_len)
{
    struct zd_scan scan = zd_scan_of(text);
    const size_t before = bytes->len;
    bool is_good =
        dtype->kind == ZD_DTYPE_BYTES && zd_scan_char(&scan, '[') && read_list_item(&scan, bytes);
    while (is_good && zd_scan_char(&scan, ',')) {
        is_good = read_list_item(&scan, bytes);
    }
    if (!is_good || !zd_scan_char(&scan, ']')) {
        zd_text_cut(bytes, before);
        return false;
    }
    *ret_len = bytes->len - before;
    return true;
}

enum zd_status zd_text_element_parse_variable(const struct zd_dtype *dtype, struct zd_span text,
    struct zd_text *bytes, size_t *ret_len, struct zd_error *err)
{
    struct zd_json *parsed = NULL;
    uint8_t *element;
    if (read_byte_list(dtype, text, bytes, ret_len)) {
        return ZD_OK;
    }
    ZD_TRY(parse_value(dtype, text, &parsed, err));
    ZD_AUTO(zd_json) json = parsed;
    ZD_TRY(zd_scalar_read_variable(dtype, json, &element, err));
    const struct zd_span found = zd_variable_at(element, 0);
    const enum zd_status status = zd_text_add_bytes(bytes, found.ptr, found.len);
    zd_free(element);
    if (status != ZD_OK) {
        return zd_fail(err, status, "the body has more than %zu bytes of text", bytes->len_max);
    }
    *ret_len = found.len;
    return ZD_OK;
}
