/* A `.zarray` document of Zarr v2 as a final v3 document (Zarr v2, arrays, metadata). */
#include "core/dialect/v2/v2_array.h"

#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/v2/v2_fields.h"
#include "core/extension/data_type.h"
#include "core/grid/struct_fields.h"
#include "core/grid/scalar.h"

#define FORMAT         2U
#define EXACT_REAL_MAX 9007199254740992.0 /* 2^53: below, every integer is a double */

/* The members of a document. */
static const struct member {
    const char *name;
    bool is_optional;
} members[] = {
    {"zarr_format", false},
    {"shape", false},
    {"chunks", false},
    {"dtype", false},
    {"compressor", false},
    {"fill_value", false},
    {"order", false},
    {"filters", false},
    {"dimension_separator", true},
};

static const struct zd_pointer whole_document = {.text = ""};

/* A document under translation. */
struct translation {
    const struct zd_json *zarray;
    const struct zd_json *attributes; /* or NULL */
    struct zd_faults *faults;
    struct zd_v2_array *array;
    bool has_dtype;
    bool has_unknown_objects; /* dtype is "|O", and no filter that is known says of what */
    struct zd_typestr dtype;
};

static void judge_required(const struct translation *t)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        const char *name = members[i].name;
        if (!members[i].is_optional && zd_json_member(t->zarray, name) == NULL) {
            const struct zd_pointer at = zd_pointer_member(&whole_document, name);
            zd_faults_add(t->faults, ZD_FAULT_INVALID, "missing_member", name, &at, name, NULL,
                "a .zarray document must have the member \"%s\"", name);
        }
    }
}

static void judge_format(const struct translation *t)
{
    uint64_t format = FORMAT;
    const struct zd_json *json = zd_json_member(t->zarray, "zarr_format");
    if (json != NULL && (!zd_json_u64(json, &format) || format != FORMAT)) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "zarr_format");
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "out_of_range", "zarr_format", &at, "2",
            zd_json_type_name(json), "the format version of a .zarray must be 2");
    }
}

static bool is_object(const struct zd_json *dtype)
{
    return zd_span_is(zd_json_string_span(dtype), "|O");
}

static void judge_dtype(struct translation *t)
{
    const struct zd_json *json = zd_json_member(t->zarray, "dtype");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "dtype");
    struct zd_error err = {0};
    if (json == NULL) {
        return;
    }
    if (zd_json_is(json, ZD_JSON_ARRAY)) {
        const enum zd_status parsed = zd_v2_fields_parse(json, &at, &t->dtype, t->faults);
        t->has_dtype = parsed == ZD_OK;
        t->faults->out_of_memory = t->faults->out_of_memory || parsed == ZD_NO_MEMORY;
        return;
    }
    if (zd_json_string(json) == NULL) {
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "wrong_type", "dtype", &at,
            "a type string or a list of fields", zd_json_type_name(json),
            "dtype must be a type string, or a list of fields");
        return;
    }
    if (is_object(json)) {
        t->has_dtype = zd_v2_codecs_object_type(t->zarray, &t->dtype.dtype) == ZD_OK;
        t->has_unknown_objects = !t->has_dtype;
        return;
    }
    const enum zd_status status = zd_typestr_parse_stored(zd_json_string(json), &t->dtype, &err);
    t->has_dtype = status == ZD_OK;
    if (status == ZD_NO_MEMORY) {
        t->faults->out_of_memory = true;
    } else if (status == ZD_UNSUPPORTED) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type",
            zd_json_string(json), &at, NULL, zd_json_string(json), "%s", err.text);
    } else if (status != ZD_OK) {
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "bad_name", zd_json_string(json), &at,
            err.facts.expected, err.facts.found, "%s", err.text);
    }
}

/* A codec that is refused may be what would have said it; then its own fault tells more. */
static void judge_objects(const struct translation *t)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "dtype");
    if (t->has_unknown_objects && !zd_faults_have(t->faults, ZD_FAULT_UNSUPPORTED)) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type", "|O", &at,
            "a filter vlen-utf8, vlen-bytes, vlen-array, json2, msgpack2 or categorize", "|O",
            "no filter defines the type of the objects; the stored chunks can still be read by "
            "key");
    }
}

/* ---- fill values ---- */

static void warn_of_fill(const struct translation *t, const char *code, const char *detail)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "fill_value");
    zd_faults_add(
        t->faults, ZD_FAULT_WARNING, code, t->dtype.dtype.name, &at, NULL, NULL, "%s", detail);
}

/* Zarr v2: null says nothing of what is missing; zero is read, or NaT. */
static struct zd_json *default_of(const struct translation *t)
{
    if (zd_dtype_is_ticks(&t->dtype.dtype)) {
        return zd_json_new_text("NaT");
    }
    uint8_t *zero = zd_alloc_zero(1, t->dtype.dtype.bytes);
    struct zd_json *json = zero == NULL ? NULL : zd_scalar_json(&t->dtype.dtype, zero);
    zd_free(zero);
    return json;
}

static struct zd_json *bool_of(const struct translation *t, const struct zd_json *json)
{
    double number = 0;
    if (!zd_json_f64(json, &number) || (number != 0 && number != 1)) {
        return zd_json_ref(json);
    }
    warn_of_fill(t, "legacy_spelling",
        "the fill value of a boolean array is a number; it is read as a boolean");
    return zd_json_new_bool(number != 0);
}

/* Reference 13.2: z5py writes 0.0. */
static struct zd_json *integer_of(const struct translation *t, const struct zd_json *json)
{
    double number = 0;
    if (!zd_json_is(json, ZD_JSON_REAL) || !zd_json_f64(json, &number) || number != trunc(number) ||
        fabs(number) > EXACT_REAL_MAX) {
        return zd_json_ref(json);
    }
    warn_of_fill(t, "integral_float",
        "the fill value of an integer array is a real number; it is read as an integer");
    return zd_json_new_i64((int64_t)number);
}

static struct zd_json *complex_of(const struct translation *t, const struct zd_json *json)
{
    double number = 0;
    if (!zd_json_f64(json, &number) && zd_json_string(json) == NULL) {
        return zd_json_ref(json);
    }
    ZD_AUTO(zd_json) list = zd_json_new_array();
    if (list == NULL || zd_json_append(list, zd_json_ref(json)) != ZD_OK ||
        zd_json_append(list, zd_json_new_u64(0)) != ZD_OK) {
        return NULL;
    }
    warn_of_fill(t, "legacy_spelling",
        "the fill value of a complex array is one number; it is read as the real part");
    return ZD_TAKE(list);
}

/* Zarr v2: base64, or 0 by old writers. NULL: no memory. */
static struct zd_json *raw_of(const struct translation *t, const struct zd_json *json)
{
    const struct zd_dtype *dtype = &t->dtype.dtype;
    uint64_t zero = 1;
    if (zd_json_u64(json, &zero) && zero == 0) {
        return default_of(t);
    }
    uint8_t *bytes = zd_alloc(dtype->bytes);
    struct zd_json *fill = NULL;
    if (bytes != NULL) {
        const bool is_read = zd_json_string(json) != NULL &&
                             zd_scalar_read_base64(zd_json_string_span(json), bytes, dtype->bytes);
        fill = is_read ? zd_scalar_json(dtype, bytes) : zd_json_ref(json);
    }
    zd_free(bytes);
    return fill;
}

/* From the byte order that is stored to that of memory. */
static void swap_struct(const struct translation *t, uint8_t *element)
{
    const struct zd_dtype *dtype = &t->dtype.dtype;
    bool is_big[ZD_STRUCT_FIELDS_MAX];
    for (uint32_t i = 0; i < dtype->fields->n; i++) {
        is_big[i] = dtype->fields->field[i].is_big;
    }
    if (dtype->fields->is_mixed) {
        zd_dtype_swap_fields(dtype, element, 1, is_big);
    } else if (t->dtype.is_big) {
        zd_dtype_swap(dtype, element, element, 1);
    }
}

/* Base64 of the element as it is stored. NULL: no memory. */
static struct zd_json *struct_of(const struct translation *t, const struct zd_json *json)
{
    const struct zd_dtype *dtype = &t->dtype.dtype;
    const struct zd_span text = zd_json_string_span(json);
    uint64_t zero = 1;
    if (zd_json_u64(json, &zero) && zero == 0) {
        return default_of(t);
    }
    uint8_t *bytes = zd_alloc(dtype->bytes);
    struct zd_json *fill = NULL;
    if (bytes != NULL && text.ptr != NULL && zd_scalar_read_base64(text, bytes, dtype->bytes)) {
        swap_struct(t, bytes);
        fill = zd_scalar_json(dtype, bytes);
    } else if (bytes != NULL) {
        fill = zd_json_ref(json);
    }
    zd_free(bytes);
    return fill;
}

/* Old writers: 0 is the empty one. */
static struct zd_json *text_of(const struct translation *t, const struct zd_json *json)
{
    uint64_t zero = 1;
    return zd_json_u64(json, &zero) && zero == 0 ? default_of(t) : zd_json_ref(json);
}

static struct zd_json *fill_of(const struct translation *t, const struct zd_json *json)
{
    if (zd_json_is(json, ZD_JSON_NULL)) {
        return default_of(t);
    }
    switch (t->dtype.dtype.kind) {
    case ZD_DTYPE_BOOL:
        return bool_of(t, json);
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        return integer_of(t, json);
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_COMPLEX:
        return complex_of(t, json);
    case ZD_DTYPE_RAW:
        return raw_of(t, json);
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
        return text_of(t, json);
    case ZD_DTYPE_STRUCT:
        return struct_of(t, json);
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_SMALL_FLOAT:
        break;
    }
    return zd_json_ref(json);
}

/* ---- the members of v3 ---- */

/* Takes over `configuration`. */
static ZD_RESULT set_definition(struct zd_json *document, const char *member, const char *name,
    const char *parameter, struct zd_json *value)
{
    ZD_AUTO(zd_json) held = value;
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    if (configuration == NULL || definition == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(configuration, parameter, ZD_TAKE(held)));
    ZD_TRY(zd_json_set(definition, "name", zd_json_new_text(name)));
    ZD_TRY(zd_json_set(definition, "configuration", ZD_TAKE(configuration)));
    return zd_json_set(document, member, ZD_TAKE(definition));
}

static ZD_RESULT set_keys(const struct translation *t, struct zd_json *document)
{
    const struct zd_json *separator = zd_json_member(t->zarray, "dimension_separator");
    return set_definition(document, "chunk_key_encoding", "v2", "separator",
        separator == NULL ? zd_json_new_text(".") : zd_json_ref(separator));
}

/* A list of another length, or with entries that are no names, is an ordinary attribute. */
static ZD_RESULT set_names(const struct translation *t, struct zd_json *document)
{
    const struct zd_json *names = zd_json_member(t->attributes, ZD_V2_DIMENSIONS);
    const size_t n = zd_json_count(names);
    if (!zd_json_is(names, ZD_JSON_ARRAY) ||
        n != zd_json_count(zd_json_member(t->zarray, "shape"))) {
        return ZD_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (zd_json_string(zd_json_element(names, i)) == NULL) {
            return ZD_OK;
        }
    }
    return zd_json_set(document, "dimension_names", zd_json_ref(names));
}

static ZD_RESULT make_document(const struct translation *t, struct zd_json **ret_document)
{
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    const struct zd_json *zarray = t->zarray;
    ZD_TRY(zd_json_set(document, "zarr_format", zd_json_new_u64(3)));
    ZD_TRY(zd_json_set(document, "node_type", zd_json_new_text("array")));
    ZD_TRY(zd_json_set(document, "shape", zd_json_ref(zd_json_member(zarray, "shape"))));
    ZD_TRY(zd_json_set(document, "data_type", zd_data_type_json(&t->dtype.dtype)));
    ZD_TRY(set_definition(document, "chunk_grid", "regular", "chunk_shape",
        zd_json_ref(zd_json_member(zarray, "chunks"))));
    ZD_TRY(set_keys(t, document));
    ZD_TRY(zd_json_set(document, "fill_value", fill_of(t, zd_json_member(zarray, "fill_value"))));
    ZD_TRY(zd_json_set(document, "codecs", zd_json_ref(t->array->codecs.list)));
    if (t->attributes != NULL) {
        ZD_TRY(zd_json_set(document, "attributes", zd_json_ref(t->attributes)));
    }
    ZD_TRY(set_names(t, document));
    *ret_document = ZD_TAKE(document);
    return ZD_OK;
}

enum zd_status zd_v2_array_translate(const struct zd_json *zarray, const struct zd_json *attributes,
    struct zd_v2_array *ret_array, struct zd_faults *faults)
{
    struct translation t = {
        .zarray = zarray, .attributes = attributes, .faults = faults, .array = ret_array};
    *ret_array = (struct zd_v2_array){0};
    if (!zd_json_is(zarray, ZD_JSON_OBJECT)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", NULL, &whole_document, "an object",
            zd_json_type_name(zarray), "a .zarray document must be a JSON object");
        return ZD_OK;
    }
    judge_required(&t);
    judge_format(&t);
    judge_dtype(&t);
    const size_t rank = zd_json_count(zd_json_member(zarray, "shape"));
    enum zd_status status = zd_v2_codecs_translate(
        zarray, t.has_dtype ? &t.dtype : NULL, rank, &ret_array->codecs, faults);
    judge_objects(&t);
    if (status == ZD_OK && !zd_faults_refuse(faults)) {
        status = make_document(&t, &ret_array->document);
    }
    zd_struct_fields_unref(t.dtype.dtype.fields);
    return status;
}

void zd_v2_array_move_faults(const struct zd_v2_array *array, struct zd_faults *faults)
{
    static const struct {
        struct zd_pointer from;
        struct zd_pointer to;
    } moves[] = {
        {{"/chunk_grid/configuration/chunk_shape"}, {"/chunks"}},
        {{"/chunk_grid"}, {"/chunks"}},
        {{"/chunk_key_encoding/configuration/separator"}, {"/dimension_separator"}},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(moves); i++) {
        zd_faults_move(faults, &moves[i].from, &moves[i].to);
    }
    zd_v2_codecs_move_faults(&array->codecs, faults);
}

static bool is_member(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        if (strcmp(members[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

void zd_v2_array_judge_members(const struct zd_json *zarray, struct zd_faults *faults)
{
    for (void *iter = zd_json_next(zarray, NULL); iter != NULL; iter = zd_json_next(zarray, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (name[0] != '_' && !is_member(name)) { /* netcdf-c keeps its own under such names */
            const struct zd_pointer at = zd_pointer_member(&whole_document, name);
            zd_faults_add(faults, ZD_FAULT_WARNING, "unknown_member", name, &at, NULL, name,
                "Zarr v2 defines no member \"%.64s\"; it is ignored", name);
        }
    }
}

void zd_v2_array_done(struct zd_v2_array *array)
{
    zd_json_unref(array->document);
    zd_v2_codecs_done(&array->codecs);
    *array = (struct zd_v2_array){0};
}
