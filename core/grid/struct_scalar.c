/* Elements that are structures, as objects. */
#include "core/grid/struct_scalar.h"

#include <string.h>

#include "core/base/base64.h"

static bool is_struct(const struct zd_field *field)
{
    return field->dtype.kind == ZD_DTYPE_STRUCT;
}

/* Count the fields of the object that begins there. */
static uint32_t count_members(const struct zd_struct_fields *fields, uint32_t first, uint32_t depth)
{
    uint32_t n = 0;
    for (uint32_t i = first; i < fields->n && fields->field[i].depth >= depth; i++) {
        n += fields->field[i].depth == depth;
    }
    return n;
}

static enum zd_status refuse(const char *what, const char *name, struct zd_error *err)
{
    const enum zd_status failed = zd_fail(err, ZD_INVALID,
        "a value of struct must be an object with every field and no others: %s \"%.64s\"", what,
        name);
    zd_fact_expected(err, "an object with every field");
    zd_fact_found(err, "%s %.64s", what, name);
    return failed;
}

/* ---- fields that are arrays: nested lists ---- */

/* Count the items of a list of dimension d: product(shape[d .. rank)). */
static uint32_t count_items(const struct zd_field *field, uint32_t d)
{
    uint32_t n = 1;
    for (; d < field->rank; d++) {
        n *= field->shape[d];
    }
    return n;
}

/* The value of an item; NULL: some list has another length. */
static const struct zd_json *find_item(
    const struct zd_field *field, const struct zd_json *value, uint32_t i)
{
    for (uint32_t d = 0; d < field->rank; d++) {
        if (!zd_json_is(value, ZD_JSON_ARRAY) || zd_json_count(value) != field->shape[d]) {
            return NULL;
        }
        value = zd_json_element(value, i / count_items(field, d + 1) % field->shape[d]);
    }
    return value;
}

static enum zd_status read_items(const struct zd_field *field, const struct zd_json *value,
    uint8_t *to, zd_struct_leaf_read *read_leaf, struct zd_error *err)
{
    for (uint32_t i = 0; i < field->n_items; i++) {
        const struct zd_json *item = find_item(field, value, i);
        if (item == NULL) {
            return refuse("lists of a wrong shape in field", field->name, err);
        }
        ZD_TRY(read_leaf(&field->dtype, item, to + (size_t)i * field->dtype.bytes, err));
    }
    return ZD_OK;
}

static struct zd_json *items_json(
    const struct zd_field *field, const uint8_t *bytes, zd_struct_leaf_json *leaf_json)
{
    ZD_AUTO(zd_json)
    root = field->rank == 0 ? leaf_json(&field->dtype, bytes) : zd_json_new_array();
    struct zd_json *list[ZD_FIELD_RANK_MAX] = {root};
    for (uint32_t i = 0; field->rank > 0 && i < field->n_items; i++) {
        for (uint32_t d = 1; d < field->rank; d++) {
            if (i % count_items(field, d) == 0) {
                list[d] = zd_json_new_array();
                if (zd_json_append(list[d - 1], list[d]) != ZD_OK) {
                    return NULL;
                }
            }
        }
        struct zd_json *item = leaf_json(&field->dtype, bytes + (size_t)i * field->dtype.bytes);
        if (zd_json_append(list[field->rank - 1], item) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(root);
}

static void add_items(const struct zd_field *field, const uint8_t *bytes,
    const struct zd_scalar_style *style, zd_struct_leaf_add *add_leaf, struct zd_text *text)
{
    for (uint32_t i = 0; i < field->n_items; i++) {
        zd_text_add(text, i == 0 ? "" : ",");
        for (uint32_t d = 0; d < field->rank; d++) {
            zd_text_add(text, i % count_items(field, d) == 0 ? "[" : "");
        }
        add_leaf(&field->dtype, bytes + (size_t)i * field->dtype.bytes, style, text);
        for (uint32_t d = 0; d < field->rank; d++) {
            zd_text_add(text, (i + 1) % count_items(field, d) == 0 ? "]" : "");
        }
    }
}

/* ---- objects ---- */

static enum zd_status read_fields(const struct zd_struct_fields *fields, const struct zd_json *json,
    uint8_t *element, zd_struct_leaf_read *read_leaf, struct zd_error *err)
{
    const struct zd_json *object[ZD_STRUCT_DEPTH_MAX + 1] = {json};
    if (!zd_json_is(json, ZD_JSON_OBJECT) || zd_json_count(json) != count_members(fields, 0, 0)) {
        return refuse("found", zd_json_type_name(json), err);
    }
    for (uint32_t i = 0; i < fields->n; i++) {
        const struct zd_field *field = &fields->field[i];
        const struct zd_json *value = zd_json_member(object[field->depth], field->name);
        if (value == NULL) {
            return refuse("it lacks field", field->name, err);
        }
        if (!is_struct(field)) {
            ZD_TRY(read_items(field, value, element + field->offset, read_leaf, err));
            continue;
        }
        if (!zd_json_is(value, ZD_JSON_OBJECT) ||
            zd_json_count(value) != count_members(fields, i + 1, field->depth + 1)) {
            return refuse("wrong members in field", field->name, err);
        }
        object[field->depth + 1] = value;
    }
    return ZD_OK;
}

enum zd_status zd_struct_scalar_read(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, zd_struct_leaf_read *read_leaf, struct zd_error *err)
{
    const struct zd_span text = zd_json_string_span(json);
    uint8_t *element = zd_alloc_zero(1, dtype->bytes);
    if (element == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a structure");
    }
    const bool is_base64 = text.ptr != NULL && dtype->fields->is_legacy;
    enum zd_status status = ZD_OK;
    if (!is_base64) {
        status = read_fields(dtype->fields, json, element, read_leaf, err);
    } else if (zd_base64_bytes(text) != dtype->bytes || !zd_base64_decode(text, element)) {
        status = refuse("found", "text that is not the base64 of an element", err);
    }
    if (status == ZD_OK) {
        memcpy(ret_bytes, element, dtype->bytes);
    }
    zd_free(element);
    return status;
}

struct zd_json *zd_struct_scalar_json(
    const struct zd_dtype *dtype, const void *bytes, zd_struct_leaf_json *leaf_json)
{
    const struct zd_struct_fields *fields = dtype->fields;
    ZD_AUTO(zd_json) root = zd_json_new_object();
    struct zd_json *object[ZD_STRUCT_DEPTH_MAX + 1] = {root};
    for (uint32_t i = 0; i < fields->n; i++) {
        const struct zd_field *field = &fields->field[i];
        struct zd_json *value =
            is_struct(field) ? zd_json_new_object()
                             : items_json(field, (const uint8_t *)bytes + field->offset, leaf_json);
        if (zd_json_set(object[field->depth], field->name, value) != ZD_OK) {
            return NULL;
        }
        object[field->depth + 1] = value; /* the object that has it keeps it */
    }
    return ZD_TAKE(root);
}

static void close_objects(struct zd_text *text, uint32_t n)
{
    for (; n > 0; n--) {
        zd_text_add_char(text, '}');
    }
}

void zd_struct_scalar_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, zd_struct_leaf_add *add_leaf, struct zd_text *text)
{
    const struct zd_struct_fields *fields = dtype->fields;
    uint32_t depth = 0;
    bool is_first = true;
    zd_text_add_char(text, '{');
    for (uint32_t i = 0; i < fields->n; i++) {
        const struct zd_field *field = &fields->field[i];
        struct zd_emit emit;
        if (field->depth < depth) {
            close_objects(text, depth - field->depth);
            depth = field->depth;
        }
        zd_text_add(text, is_first ? "" : ",");
        zd_emit_init(&emit, text, false);
        zd_emit_string(&emit, field->name);
        zd_text_add_char(text, ':');
        is_first = is_struct(field);
        if (is_first) {
            zd_text_add_char(text, '{');
            depth++;
        } else {
            add_items(field, (const uint8_t *)bytes + field->offset, style, add_leaf, text);
        }
    }
    close_objects(text, depth + 1);
}
