/* An element of variable length and its spellings. */
#include "core/grid/variable_scalar.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/emit.h"

static enum zd_status refuse(const struct zd_dtype *dtype, const struct zd_json *json,
    const char *expected, struct zd_error *err)
{
    const char *found = zd_json_type_name(json);
    return zd_fail_expected(err, ZD_INVALID, expected, found, "a value of %s must be %s, found %s",
        dtype->name, expected, found);
}

static bool read_byte_list(const struct zd_json *json, uint8_t *to)
{
    for (size_t i = 0; i < zd_json_count(json); i++) {
        uint64_t byte;
        if (!zd_json_u64(zd_json_element(json, i), &byte) || byte > UINT8_MAX) {
            return false;
        }
        to[i] = (uint8_t)byte;
    }
    return true;
}

static enum zd_status parse_bytes(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, struct zd_error *err)
{
    const bool is_list = zd_json_is(json, ZD_JSON_ARRAY);
    if (!is_list && zd_json_string(json) == NULL) {
        return refuse(dtype, json, "base64, or a list of integers from 0 to 255", err);
    }
    const struct zd_span text = zd_json_string_span(json);
    const size_t len = is_list ? zd_json_count(json) : zd_base64_bytes(text);
    ZD_AUTO(zd_buf) bytes = zd_buf_new(len);
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a value of %zu bytes", len);
    }
    bytes->len = len;
    if (!(is_list ? read_byte_list(json, bytes->data) : zd_base64_decode(text, bytes->data))) {
        return refuse(dtype, json, "base64, or a list of integers from 0 to 255", err);
    }
    *ret_element = zd_variable_new(zd_buf_span(bytes));
    return ZD_OK;
}

enum zd_status zd_variable_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, struct zd_error *err)
{
    uint8_t *element = NULL;
    if (dtype->kind == ZD_DTYPE_BYTES) {
        ZD_TRY(parse_bytes(dtype, json, &element, err));
    } else if (zd_json_string(json) != NULL) {
        element = zd_variable_new(zd_json_string_span(json));
    } else {
        return refuse(dtype, json, "a string", err);
    }
    if (element == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a value of %s", dtype->name);
    }
    *ret_element = element;
    return ZD_OK;
}

struct zd_json *zd_variable_scalar_json(const struct zd_dtype *dtype, const uint8_t *element)
{
    const struct zd_span bytes = zd_variable_at(element, 0);
    ZD_SCOPED_TEXT(text, SIZE_MAX);
    const enum zd_status status = dtype->kind == ZD_DTYPE_BYTES
                                      ? zd_base64_add(&text, bytes)
                                      : zd_text_add_bytes(&text, bytes.ptr, bytes.len);
    return status == ZD_OK ? zd_json_new_text(text.at) : NULL;
}

static bool needs_quotes(struct zd_span field)
{
    for (size_t i = 0; i < field.len; i++) {
        if (strchr(",\"\r\n", field.ptr[i]) != NULL) { /* U+0000, too */
            return true;
        }
    }
    return false;
}

static void add_field(struct zd_text *text, struct zd_span field)
{
    if (field.len == 0) {
        zd_text_add(text, "\"\"");
        return;
    }
    if (!needs_quotes(field)) {
        zd_text_add_bytes(text, field.ptr, field.len);
        return;
    }
    size_t begin = 0;
    zd_text_add_char(text, '"');
    for (size_t i = 0; i < field.len; i++) {
        if (field.ptr[i] == '"') {
            zd_text_add_bytes(text, field.ptr + begin, i + 1 - begin);
            begin = i; /* once more */
        }
    }
    zd_text_add_bytes(text, field.ptr + begin, field.len - begin);
    zd_text_add_char(text, '"');
}

void zd_variable_scalar_add(
    const struct zd_dtype *dtype, const uint8_t *element, bool is_csv, struct zd_text *text)
{
    const struct zd_span bytes = zd_variable_at(element, 0);
    struct zd_emit emit;
    if (is_csv && dtype->kind == ZD_DTYPE_STRING) {
        add_field(text, bytes);
    } else if (dtype->kind == ZD_DTYPE_STRING) {
        zd_emit_init(&emit, text, false);
        zd_emit_string_span(&emit, bytes);
    } else {
        const char *quote = is_csv && bytes.len > 0 ? "" : "\"";
        zd_text_add(text, quote);
        zd_base64_add(text, bytes);
        zd_text_add(text, quote);
    }
}
