/* Elements that are lists of numbers of one type. */
#include "core/grid/list_scalar.h"

#include "core/base/num.h"
#include "core/grid/variable.h"

enum zd_status zd_list_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, zd_struct_leaf_read *read_leaf, struct zd_error *err)
{
    const struct zd_dtype item = zd_dtype_list_item(dtype);
    const size_t n = zd_json_count(json);
    size_t len;
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        const char *found = zd_json_type_name(json);
        return zd_fail_expected(err, ZD_INVALID, "a list of numbers", found,
            "a value must be a list of %s, found %s", item.name, found);
    }
    ZD_AUTO(zd_buf) bytes = ckd_mul(&len, n, (size_t)item.bytes) ? NULL : zd_buf_new(len);
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a list of %zu numbers", n);
    }
    for (size_t i = 0; i < n; i++) {
        ZD_TRY(read_leaf(&item, zd_json_element(json, i), bytes->data + i * item.bytes, err));
    }
    bytes->len = len;
    uint8_t *element = zd_variable_new(zd_buf_span(bytes));
    if (element == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a list of %zu numbers", n);
    }
    *ret_element = element;
    return ZD_OK;
}

struct zd_json *zd_list_scalar_json(
    const struct zd_dtype *dtype, const uint8_t *element, zd_struct_leaf_json *leaf_json)
{
    const struct zd_dtype item = zd_dtype_list_item(dtype);
    const struct zd_span bytes = zd_variable_at(element, 0);
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (size_t at = 0; list != NULL && at + item.bytes <= bytes.len; at += item.bytes) {
        if (zd_json_append(list, leaf_json(&item, bytes.ptr + at)) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(list);
}

void zd_list_scalar_add(const struct zd_dtype *dtype, const uint8_t *element,
    const struct zd_scalar_style *style, zd_struct_leaf_add *add_leaf, struct zd_text *text)
{
    const struct zd_dtype item = zd_dtype_list_item(dtype);
    const struct zd_span bytes = zd_variable_at(element, 0);
    zd_text_add_char(text, '[');
    for (size_t at = 0; at + item.bytes <= bytes.len; at += item.bytes) {
        zd_text_add(text, at == 0 ? "" : ",");
        add_leaf(&item, bytes.ptr + at, style, text);
    }
    zd_text_add_char(text, ']');
}
