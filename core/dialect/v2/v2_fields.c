/* Structures of Zarr v2: lists of fields (Zarr v2, data type encoding). */
#include "core/dialect/v2/v2_fields.h"

#include <assert.h>

#include "core/grid/struct_fields.h"

/* A list that is read, within others. */
struct list {
    const struct zd_json *fields;
    size_t next;
    struct zd_pointer at;
};

struct reading {
    struct zd_struct_fields *fields;
    struct zd_faults *faults;
    struct list list[ZD_STRUCT_DEPTH_MAX + 1];
    uint32_t depth;
    bool has_little;
    bool has_big;
};

static enum zd_status refuse(const struct reading *reading, const struct zd_pointer *at,
    const char *expected, const char *text)
{
    zd_faults_add(
        reading->faults, ZD_FAULT_INVALID, "bad_name", "dtype", at, expected, NULL, "%s", text);
    return ZD_INVALID;
}

static enum zd_status add_unsupported(
    const struct reading *reading, const struct zd_pointer *at, const char *name, const char *text)
{
    zd_faults_add(reading->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type", name, at, NULL,
        NULL, "%s; the stored chunks can still be read by key", text);
    return ZD_UNSUPPORTED;
}

static enum zd_status judge_added(
    const struct reading *reading, const struct zd_pointer *at, enum zd_status status)
{
    if (status == ZD_INVALID) {
        return refuse(reading, at, "at least one field, and unique names",
            "each list must have at least one field, and field names must be unique");
    }
    return status == ZD_TOO_LARGE
               ? add_unsupported(reading, at, "structured",
                     "the structure has too many fields or bytes for this version")
               : status;
}

/* The lengths of a field that is an array; none: it is one item. */
static enum zd_status read_shape(const struct reading *reading, const struct zd_json *json,
    const struct zd_pointer *at, uint32_t *ret_rank, uint64_t *ret_shape)
{
    const size_t rank = zd_json_count(json);
    bool is_good = json == NULL || zd_json_is(json, ZD_JSON_ARRAY);
    if (is_good && rank > ZD_FIELD_RANK_MAX) {
        return add_unsupported(
            reading, at, "structured", "this version decodes fields of at most 8 dimensions");
    }
    for (size_t d = 0; is_good && d < rank; d++) {
        is_good = zd_json_u64(zd_json_element(json, d), &ret_shape[d]) && ret_shape[d] > 0;
    }
    *ret_rank = (uint32_t)rank;
    return is_good ? ZD_OK
                   : refuse(reading, at, "a list of lengths, each 1 or more",
                         "the shape of a field must be a list of lengths");
}

static enum zd_status add_leaf(struct reading *reading, const char *name, const char *type,
    const struct zd_json *shape_json, const struct zd_pointer *at)
{
    struct zd_error err = {0};
    struct zd_typestr found;
    uint32_t rank = 0;
    uint64_t shape[ZD_FIELD_RANK_MAX];
    const enum zd_status status = zd_typestr_parse(type, &found, &err);
    if (status == ZD_NO_MEMORY) {
        return status;
    }
    if (status == ZD_UNSUPPORTED) {
        zd_faults_add(reading->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type", type, at,
            NULL, type, "%s", err.text);
        return status;
    }
    if (status != ZD_OK) {
        return refuse(reading, at, "a NumPy type string", err.text);
    }
    struct zd_struct_fields *fields = reading->fields;
    ZD_TRY(read_shape(reading, shape_json, at, &rank, shape));
    reading->has_big = reading->has_big || found.is_big;
    reading->has_little = reading->has_little || (!found.is_big && found.dtype.unit_bytes > 1);
    ZD_TRY(judge_added(reading, at,
        rank == 0
            ? zd_struct_fields_add(fields, name, reading->depth, &found.dtype)
            : zd_struct_fields_add_array(fields, name, reading->depth, &found.dtype, rank, shape)));
    fields->field[fields->n - 1].is_big = found.is_big;
    return ZD_OK;
}

/* [name, type], or [name, type, shape of a sub-array]. */
static enum zd_status add_field(struct reading *reading)
{
    struct list *own = &reading->list[reading->depth];
    const struct zd_pointer at = zd_pointer_element(&own->at, own->next);
    const struct zd_json *field = zd_json_element(own->fields, own->next++);
    const struct zd_json *type = zd_json_element(field, 1);
    const char *name = zd_json_string(zd_json_element(field, 0));
    const size_t n = zd_json_count(field);
    const bool is_list = zd_json_is(type, ZD_JSON_ARRAY);
    if (name == NULL || n < 2 || n > 3 || (!is_list && zd_json_string(type) == NULL)) {
        return refuse(reading, &at, "[name, type]", "a field must be a list of name and type");
    }
    const struct zd_pointer type_at = zd_pointer_element(&at, 1);
    if (!is_list) {
        return add_leaf(reading, name, zd_json_string(type), zd_json_element(field, 2), &type_at);
    }
    if (zd_json_count(zd_json_element(field, 2)) > 0) {
        return add_unsupported(
            reading, &at, name, "this version does not decode arrays of structures in a field");
    }
    ZD_TRY(judge_added(
        reading, &at, zd_struct_fields_add(reading->fields, name, reading->depth, NULL)));
    reading->list[++reading->depth] = (struct list){.fields = type, .at = type_at};
    return ZD_OK;
}

enum zd_status zd_v2_fields_parse(const struct zd_json *json, const struct zd_pointer *at,
    struct zd_typestr *ret_dtype, struct zd_faults *faults)
{
    ZD_AUTO(zd_struct_fields) fields = zd_struct_fields_new();
    struct reading reading = {
        .fields = fields, .faults = faults, .list = {{.fields = json, .at = *at}}};
    struct zd_dtype dtype;
    assert(zd_json_is(json, ZD_JSON_ARRAY));
    if (fields == NULL) {
        return ZD_NO_MEMORY;
    }
    while (reading.depth > 0 || reading.list[0].next < zd_json_count(json)) {
        const struct list *own = &reading.list[reading.depth];
        if (own->next == zd_json_count(own->fields)) {
            reading.depth--;
        } else {
            ZD_TRY(add_field(&reading));
        }
    }
    ZD_TRY(judge_added(&reading, at, zd_struct_fields_finish(fields, &dtype)));
    fields->is_mixed = reading.has_big && reading.has_little;
    const bool is_big = reading.has_big && !reading.has_little;
    dtype.fields = ZD_TAKE(fields);
    *ret_dtype = (struct zd_typestr){.dtype = dtype, .is_big = is_big};
    return ZD_OK;
}
