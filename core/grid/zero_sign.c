/* The sign of zeros in JSON. */
#include "core/grid/zero_sign.h"

#include "core/base/json_token.h"
#include "core/base/small_float.h"

/* The bit of the sign in the last of len bytes; 0: there is no zero with one. */
static uint8_t sign_bit(const struct zd_dtype *dtype)
{
    if (dtype->small == NULL) {
        return dtype->kind == ZD_DTYPE_FLOAT || dtype->kind == ZD_DTYPE_COMPLEX ? 0x80 : 0;
    }
    const bool has_sign = dtype->small->specials == ZD_SMALL_FLOAT_IEEE ||
                          dtype->small->specials == ZD_SMALL_FLOAT_FINITE;
    return has_sign ? (uint8_t)(1U << (zd_small_float_bits(dtype->small) - 1) % 8) : 0;
}

/* Sign the zeros in n bytes of elements: an element, or the items of a field. */
static void sign_zeros_of(
    const struct zd_dtype *dtype, struct zd_span text, uint8_t *bytes, uint32_t n)
{
    const bool is_complex =
        dtype->kind == ZD_DTYPE_COMPLEX || dtype->kind == ZD_DTYPE_SMALL_COMPLEX;
    const uint32_t len = is_complex ? dtype->bytes / 2 : dtype->bytes;
    const uint8_t bit = sign_bit(dtype);
    uint32_t end_of_part = len;
    size_t end = 0;
    for (size_t at = 0; bit != 0 && end_of_part <= n; at = end) {
        const enum zd_json_token token = zd_json_next_token(text, &at, &end);
        const struct zd_span word = {.ptr = text.ptr + at, .len = end - at};
        if (token == ZD_JSON_TOKEN_END) {
            return;
        }
        if (token == ZD_JSON_TOKEN_WORD && zd_span_is(word, "-0")) {
            bytes[end_of_part - 1] |= bit;
        }
        end_of_part += token == ZD_JSON_TOKEN_WORD || token == ZD_JSON_TOKEN_STRING ? len : 0;
    }
}

void zd_zero_sign_keep(const struct zd_dtype *dtype, struct zd_span text, uint8_t *bytes)
{
    struct zd_span object[ZD_STRUCT_DEPTH_MAX + 1] = {text};
    if (dtype->fields == NULL) {
        sign_zeros_of(dtype, text, bytes, dtype->bytes);
        return;
    }
    for (uint32_t i = 0; i < dtype->fields->n; i++) {
        const struct zd_field *field = &dtype->fields->field[i];
        struct zd_span value = {.ptr = text.ptr, .len = 0};
        (void)zd_json_find_value(object[field->depth], field->name, &value);
        object[field->depth + 1] = value;
        if (field->dtype.kind != ZD_DTYPE_STRUCT) {
            sign_zeros_of(&field->dtype, value, bytes + field->offset, zd_dtype_field_bytes(field));
        }
    }
}
