/* A final v3 array document as a `.zarray` document (Zarr v2, arrays, metadata). */
#include "core/dialect/v2/v2_zarray.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/dialect/v2/v2_filters.h"
#include "core/extension/data_type.h"
#include "core/grid/scalar.h"
#include "core/grid/struct_fields.h"
#include "core/grid/typestr.h"

#define FORMAT 2U

static const struct zd_json_limits fields_limits = {
    .bytes_max = SIZE_MAX, .nodes_max = SIZE_MAX, .depth_max = 4 * (size_t)ZD_STRUCT_DEPTH_MAX};

static const struct zd_pointer whole_document = {.text = ""};

/* A document under translation. */
struct writing {
    const struct zd_json *document;
    struct zd_faults *faults;
    struct zd_dtype dtype;
    struct zd_v2_filters filters;
};

static void refuse(const struct writing *writing, const char *member, const char *expected,
    const char *found, const char *why)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, member);
    zd_faults_add(writing->faults, ZD_FAULT_INVALID, "not_in_dialect", member, &at, expected, found,
        "Zarr v2 cannot express this %s: %s", member, why);
}

/* The configuration of a member that is judged already; NULL: it has none. */
static const struct zd_json *configuration_of(const struct writing *writing, const char *member)
{
    return zd_json_member(zd_json_member(writing->document, member), "configuration");
}

/* ---- data types ---- */

static ZD_RESULT read_dtype(struct writing *writing)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "data_type");
    const struct zd_data_type_rules rules = {.is_translated = true};
    struct zd_definition definition;
    struct zd_faults faults = {0};
    enum zd_status status = zd_definition_parse(
        zd_json_member(writing->document, "data_type"), &at, false, &definition, &faults);
    if (status == ZD_OK) {
        status = zd_data_type_parse(&definition, &at, &rules, &writing->dtype, &faults);
    }
    zd_faults_done(&faults);
    return status;
}

/* Whether the items of a field are stored big-endian; those of structures say nothing. */
static bool is_big_field(const struct writing *writing, uint32_t i)
{
    const struct zd_json *endian = writing->filters.endian;
    return endian == NULL ? writing->filters.is_big
                          : zd_span_is(zd_json_string_span(zd_json_element(endian, i)), "big");
}

/* The next field that is no structure. */
static uint32_t leaf_from(const struct zd_struct_fields *fields, uint32_t i)
{
    while (i < fields->n && fields->field[i].dtype.kind == ZD_DTYPE_STRUCT) {
        i++;
    }
    return i;
}

/* The length of a string of JSON in ASCII, with its quotes. */
static size_t string_len(const char *json)
{
    size_t len = 1;
    while (json[len] != '"') {
        len += json[len] == '\\' ? 2 : 1;
    }
    return len + 1;
}

/* Zarr v2: a list of names and types; each type has its byte order, and stands behind a comma. */
static struct zd_json *fields_of(const struct writing *writing)
{
    const struct zd_struct_fields *fields = writing->dtype.fields;
    struct zd_json *list = NULL;
    uint32_t leaf = leaf_from(fields, 0);
    ZD_SCOPED_TEXT(text, strlen(fields->typestr));
    for (const char *at = fields->typestr; *at != '\0';) {
        const bool is_type = at[0] == '"' && at[-1] == ','; /* a bracket is in front of all */
        const bool is_big = is_type && at[1] == '<' && is_big_field(writing, leaf);
        const size_t len = at[0] == '"' ? string_len(at) : 1;
        leaf = is_type ? leaf_from(fields, leaf + 1) : leaf;
        zd_text_add(&text, is_big ? "\">" : "");
        zd_text_add_bytes(&text, at + (is_big ? 2 : 0), len - (is_big ? 2 : 0));
        at += len;
    }
    return text.status == ZD_OK &&
                   zd_json_parse(zd_text_span(&text), &fields_limits, &list, NULL) == ZD_OK
               ? list
               : NULL;
}

/* Whether a type string says this data type. @param lacks_memory set where nobody knows */
static bool is_said(const struct writing *writing, const char *typestr, bool *lacks_memory)
{
    struct zd_typestr read;
    const enum zd_status status = zd_typestr_parse_stored(typestr, &read, NULL);
    *lacks_memory = *lacks_memory || status == ZD_NO_MEMORY;
    return status == ZD_OK && zd_dtype_equal(&read.dtype, &writing->dtype) &&
           read.is_big == writing->filters.is_big;
}

/* tensorstore names the types that NumPy lacks. NULL: no memory. */
static struct zd_json *dtype_of(const struct writing *writing)
{
    const struct zd_dtype *dtype = &writing->dtype;
    char typestr[ZD_DTYPE_TYPESTR_BYTES] = "|O";
    if (zd_dtype_is_variable(dtype)) {
        return zd_json_new_text(typestr);
    }
    if (dtype->kind == ZD_DTYPE_STRUCT) {
        return fields_of(writing);
    }
    zd_dtype_typestr(dtype, typestr);
    if (writing->filters.is_big && typestr[0] == '<') {
        typestr[0] = '>';
    }
    bool lacks_memory = false;
    if (is_said(writing, typestr, &lacks_memory)) {
        return zd_json_new_text(typestr);
    }
    if (is_said(writing, dtype->name, &lacks_memory)) {
        return zd_json_new_text(dtype->name);
    }
    if (lacks_memory) {
        return NULL;
    }
    refuse(writing, "data_type", "a data type of NumPy", dtype->name,
        "NumPy has no type string for it; use another data type");
    return zd_json_new_null();
}

/* ---- fill values ---- */

static void judge_float(const struct writing *writing, const struct zd_json *json)
{
    const char *text = zd_json_string(json);
    if (text != NULL && text[0] == '0') {
        refuse(writing, "fill_value", "a number, \"NaN\", \"Infinity\" or \"-Infinity\"", text,
            "it cannot spell the bits of a NaN; use \"NaN\"");
    }
}

/* From the byte order of memory to that which is stored. */
static void swap(const struct writing *writing, uint8_t *element)
{
    const struct zd_dtype *dtype = &writing->dtype;
    bool is_big[ZD_STRUCT_FIELDS_MAX];
    if (dtype->fields == NULL) {
        return; /* raw bytes have none */
    }
    for (uint32_t i = 0; i < dtype->fields->n; i++) {
        is_big[i] = is_big_field(writing, i);
    }
    zd_dtype_swap_fields(dtype, element, 1, is_big);
}

/* NULL: no memory. */
static struct zd_json *base64_of(const struct writing *writing, const struct zd_json *json)
{
    const struct zd_dtype *dtype = &writing->dtype;
    uint8_t *bytes = zd_alloc(dtype->bytes);
    ZD_SCOPED_TEXT(text, zd_base64_chars(dtype->bytes));
    struct zd_json *fill = NULL;
    const enum zd_status status =
        bytes == NULL ? ZD_NO_MEMORY : zd_scalar_parse(dtype, json, bytes, NULL, NULL);
    if (status == ZD_OK) {
        swap(writing, bytes);
        const struct zd_span span = {.ptr = bytes, .len = dtype->bytes};
        fill = zd_base64_add(&text, span) == ZD_OK ? zd_json_new_text(text.at) : NULL;
    } else if (status != ZD_NO_MEMORY) {
        fill = zd_json_ref(json);
    }
    zd_free(bytes);
    return fill;
}

static struct zd_json *fill_of(const struct writing *writing, const struct zd_json *json)
{
    switch (writing->dtype.kind) {
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_STRUCT:
        return base64_of(writing, json);
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        return zd_json_string(json) == NULL ? zd_json_ref(json)
                                            : zd_json_new_i64(ZD_DTYPE_NAT); /* as NumPy has it */
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_SMALL_FLOAT:
        judge_float(writing, json);
        break;
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_COMPLEX:
        judge_float(writing, zd_json_element(json, 0));
        judge_float(writing, zd_json_element(json, 1));
        break;
    case ZD_DTYPE_BOOL:
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
        break;
    }
    return zd_json_ref(json);
}

/* ---- the members of v2 ---- */

static struct zd_json *chunks_of(const struct writing *writing)
{
    const struct zd_json *shape =
        zd_json_member(configuration_of(writing, "chunk_grid"), "chunk_shape");
    const struct zd_json *grid = zd_json_member(writing->document, "chunk_grid");
    const struct zd_span name = zd_json_string_span(zd_json_member(grid, "name"));
    if (!zd_span_is(name, "regular")) {
        refuse(writing, "chunk_grid", "regular", zd_json_string(zd_json_member(grid, "name")),
            "all its chunks have the same shape; use the grid \"regular\"");
        return zd_json_new_null();
    }
    return zd_json_ref(shape);
}

/* Zarr v3: "default" has "/" unless it says otherwise, "v2" has ".". */
static struct zd_json *separator_of(const struct writing *writing)
{
    const struct zd_json *keys = zd_json_member(writing->document, "chunk_key_encoding");
    const struct zd_json *separator =
        zd_json_member(configuration_of(writing, "chunk_key_encoding"), "separator");
    const struct zd_span name = zd_json_string_span(zd_json_member(keys, "name"));
    const bool is_default = zd_span_is(name, "default");
    if (!is_default && !zd_span_is(name, "v2")) {
        refuse(writing, "chunk_key_encoding", "v2", zd_json_string(zd_json_member(keys, "name")),
            "use the encoding \"v2\"");
        return zd_json_new_null();
    }
    return separator != NULL ? zd_json_ref(separator) : zd_json_new_text(is_default ? "/" : ".");
}

static struct zd_json *compressor_of(struct writing *writing)
{
    struct zd_json *compressor = ZD_TAKE(writing->filters.compressor);
    return compressor != NULL ? compressor : zd_json_new_null();
}

static struct zd_json *filters_of(const struct writing *writing)
{
    const struct zd_json *list = writing->filters.list;
    return zd_json_count(list) > 0 ? zd_json_ref(list) : zd_json_new_null();
}

/* In the order of their names, as zarr-python 2 writes them. */
static ZD_RESULT make(struct writing *writing, struct zd_json **ret_zarray)
{
    const struct zd_json *document = writing->document;
    const struct zd_json *fill = zd_json_member(document, "fill_value");
    ZD_AUTO(zd_json) zarray = zd_json_new_object();
    if (zarray == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(zarray, "chunks", chunks_of(writing)));
    ZD_TRY(zd_json_set(zarray, "compressor", compressor_of(writing)));
    ZD_TRY(zd_json_set(zarray, "dimension_separator", separator_of(writing)));
    ZD_TRY(zd_json_set(zarray, "dtype", dtype_of(writing)));
    ZD_TRY(zd_json_set(zarray, "fill_value", fill_of(writing, fill)));
    ZD_TRY(zd_json_set(zarray, "filters", filters_of(writing)));
    ZD_TRY(zd_json_set(zarray, "order", zd_json_new_text(writing->filters.is_f ? "F" : "C")));
    ZD_TRY(zd_json_set(zarray, "shape", zd_json_ref(zd_json_member(document, "shape"))));
    ZD_TRY(zd_json_set(zarray, "zarr_format", zd_json_new_u64(FORMAT)));
    *ret_zarray = ZD_TAKE(zarray);
    return ZD_OK;
}

enum zd_status zd_v2_zarray_make(
    const struct zd_json *document, struct zd_json **ret_zarray, struct zd_faults *faults)
{
    struct writing writing = {.document = document, .faults = faults};
    const size_t rank = zd_json_count(zd_json_member(document, "shape"));
    enum zd_status status = read_dtype(&writing);
    if (status == ZD_OK) {
        status = zd_v2_filters_make(
            zd_json_member(document, "codecs"), &writing.dtype, rank, &writing.filters, faults);
    }
    if (status == ZD_OK) {
        status = make(&writing, ret_zarray);
    }
    zd_v2_filters_done(&writing.filters);
    zd_struct_fields_unref(writing.dtype.fields);
    return status;
}
