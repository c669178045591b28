/* The attributes.json of an N5 dataset as a final v3 document (N5, file-system specification). */
#include "core/dialect/n5/n5_array.h"

#include <string.h>

#include "core/base/num.h"

static const struct zd_pointer whole_document = {.text = ""};

/* Reserved members of N5; groups have the first one, too. */
static const char *const reserved[] = {
    "n5", "dimensions", "blockSize", "dataType", "compression", "compressionType"};

static const struct data_type {
    const char *name;
    uint32_t bytes;
} data_types[] = {
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"float32", 4},
    {"float64", 8},
};

/* A document under translation. */
struct translation {
    const struct zd_json *attributes;
    struct zd_faults *faults;
    struct zd_n5_array *array;
    const struct data_type *data_type; /* NULL: the faults say why */
};

static void judge_required(const struct translation *t)
{
    static const char *const names[] = {"blockSize", "dataType"};
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        if (zd_json_member(t->attributes, names[i]) == NULL) {
            const struct zd_pointer at = zd_pointer_member(&whole_document, names[i]);
            zd_faults_add(t->faults, ZD_FAULT_INVALID, "missing_member", names[i], &at, names[i],
                NULL, "a dataset of N5 must have the member \"%s\"", names[i]);
        }
    }
}

/* Newer Java code shares this member with its Zarr part; whoever writes it means codecs. */
static void judge_codecs(const struct translation *t)
{
    if (zd_json_member(t->attributes, "codecs") != NULL) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "codecs");
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", "codecs", &at,
            "compression", "codecs", "the member \"codecs\" of N5 is not supported");
    }
}

static void judge_data_type(struct translation *t)
{
    const struct zd_json *json = zd_json_member(t->attributes, "dataType");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "dataType");
    const char *name = zd_json_string(json);
    for (size_t i = 0; name != NULL && i < ZD_COUNT_OF(data_types); i++) {
        if (strcmp(data_types[i].name, name) == 0) {
            t->data_type = &data_types[i];
            return;
        }
    }
    if (name != NULL) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type", name, &at,
            "integers of 8 to 64 bits, float32, float64", name,
            "the data type \"%.64s\" is not supported; the stored blocks can still be read by key",
            name);
    } else if (json != NULL) {
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "wrong_type", "dataType", &at, "a string",
            zd_json_type_name(json), "dataType must be a string");
    }
}

/* ---- the members of v3 ---- */

/* The list as axes have it; what is none is left to the judge. NULL: no memory. */
static struct zd_json *axes_of(const struct translation *t, const char *member)
{
    const struct zd_json *stored = zd_json_member(t->attributes, member);
    if (!t->array->is_reversed || !zd_json_is(stored, ZD_JSON_ARRAY)) {
        return zd_json_ref(stored);
    }
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (size_t i = zd_json_count(stored); list != NULL && i-- > 0;) {
        if (zd_json_append(list, zd_json_ref(zd_json_element(stored, i))) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(list);
}

/* {"name": ..., "configuration": {PARAMETER: VALUE}}; takes over `value`. NULL: no memory. */
static struct zd_json *definition_of(const char *name, const char *parameter, struct zd_json *value)
{
    ZD_AUTO(zd_json) held = value;
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    if (configuration == NULL || definition == NULL ||
        zd_json_set(configuration, parameter, ZD_TAKE(held)) != ZD_OK ||
        zd_json_set(definition, "name", zd_json_new_text(name)) != ZD_OK ||
        zd_json_set(definition, "configuration", ZD_TAKE(configuration)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(definition);
}

static struct zd_json *reversal_of(size_t rank)
{
    ZD_AUTO(zd_json) order = zd_json_new_array();
    for (size_t i = rank; order != NULL && i-- > 0;) {
        if (zd_json_append(order, zd_json_new_u64(i)) != ZD_OK) {
            return NULL;
        }
    }
    return order == NULL ? NULL : definition_of("transpose", "order", ZD_TAKE(order));
}

/* `bytes` of elements without a byte order has no parameter. */
static struct zd_json *bytes_of(uint32_t element_bytes, const char *endian)
{
    if (element_bytes > 1) {
        return definition_of("bytes", "endian", zd_json_new_text(endian));
    }
    ZD_AUTO(zd_json) bytes = zd_json_new_object();
    if (bytes == NULL || zd_json_set(bytes, "name", zd_json_new_text("bytes")) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(bytes);
}

/* Reference 7A.7. */
static ZD_RESULT set_codecs(const struct translation *t, struct zd_json *document)
{
    const struct zd_n5_array *array = t->array;
    ZD_AUTO(zd_json) inner = zd_json_new_array();
    ZD_AUTO(zd_json) codecs = zd_json_new_array();
    if (inner == NULL || codecs == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_append(inner, reversal_of(array->rank)));
    ZD_TRY(zd_json_append(inner, bytes_of(t->data_type->bytes, "big")));
    if (array->compression.codec != NULL) {
        ZD_TRY(zd_json_append(inner, zd_json_ref(array->compression.codec)));
    }
    if (array->is_reversed) {
        ZD_TRY(zd_json_append(codecs, reversal_of(array->rank)));
    }
    ZD_TRY(zd_json_append(codecs, definition_of("n5_default", "codecs", ZD_TAKE(inner))));
    return zd_json_set(document, "codecs", ZD_TAKE(codecs));
}

static bool are_names(const struct zd_json *axes, size_t rank)
{
    if (!zd_json_is(axes, ZD_JSON_ARRAY) || zd_json_count(axes) != rank) {
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        if (zd_json_string(zd_json_element(axes, i)) == NULL) {
            return false;
        }
    }
    return true;
}

/* An attribute by which tensorstore names the axes, "" for none; of any other form, it is one like
 * any other. */
static ZD_RESULT set_names(const struct translation *t, struct zd_json *document)
{
    const size_t rank = t->array->rank;
    if (!are_names(zd_json_member(t->attributes, "axes"), rank)) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) axes = axes_of(t, "axes");
    ZD_AUTO(zd_json) names = zd_json_new_array();
    if (axes == NULL || names == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < rank; i++) {
        const struct zd_json *name = zd_json_element(axes, i);
        ZD_TRY(zd_json_append(
            names, zd_json_string(name)[0] == '\0' ? zd_json_new_null() : zd_json_ref(name)));
    }
    return zd_json_set(document, "dimension_names", ZD_TAKE(names));
}

static bool is_reserved(const char *name, bool is_group)
{
    const size_t n = is_group ? 1 : ZD_COUNT_OF(reserved);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(reserved[i], name) == 0) {
            return true;
        }
    }
    return false;
}

enum zd_status zd_n5_array_set_attributes(
    const struct zd_json *attributes, bool is_group, struct zd_json *document)
{
    ZD_AUTO(zd_json) others = zd_json_new_object();
    if (others == NULL) {
        return ZD_NO_MEMORY;
    }
    for (void *iter = attributes == NULL ? NULL : zd_json_next(attributes, NULL); iter != NULL;
        iter = zd_json_next(attributes, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (!is_reserved(name, is_group)) {
            ZD_TRY(zd_json_set(others, name, zd_json_ref(zd_json_iter_value(iter))));
        }
    }
    return zd_json_set(document, "attributes", ZD_TAKE(others));
}

static ZD_RESULT make_document(const struct translation *t, struct zd_json **ret_document)
{
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(document, "zarr_format", zd_json_new_u64(3)));
    ZD_TRY(zd_json_set(document, "node_type", zd_json_new_text("array")));
    ZD_TRY(zd_json_set(document, "shape", axes_of(t, "dimensions")));
    ZD_TRY(zd_json_set(document, "data_type", zd_json_new_text(t->data_type->name)));
    ZD_TRY(zd_json_set(
        document, "chunk_grid", definition_of("regular", "chunk_shape", axes_of(t, "blockSize"))));
    ZD_TRY(zd_json_set(
        document, "chunk_key_encoding", definition_of("v2", "separator", zd_json_new_text("/"))));
    ZD_TRY(zd_json_set(document, "fill_value", zd_json_new_u64(0)));
    ZD_TRY(set_codecs(t, document));
    ZD_TRY(zd_n5_array_set_attributes(t->attributes, false, document));
    ZD_TRY(set_names(t, document));
    *ret_document = ZD_TAKE(document);
    return ZD_OK;
}

enum zd_status zd_n5_array_translate(const struct zd_json *attributes, bool is_reversed,
    struct zd_n5_array *ret_array, struct zd_faults *faults)
{
    struct translation t = {.attributes = attributes, .faults = faults, .array = ret_array};
    *ret_array = (struct zd_n5_array){
        .rank = (uint32_t)zd_min_u64(
            zd_json_count(zd_json_member(attributes, "dimensions")), UINT32_MAX),
        .is_reversed = is_reversed,
    };
    judge_required(&t);
    judge_codecs(&t);
    judge_data_type(&t);
    ZD_TRY(zd_n5_compression_translate(
        attributes, t.data_type == NULL ? 1 : t.data_type->bytes, &ret_array->compression, faults));
    if (is_reversed) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "dimensions");
        zd_faults_add(faults, ZD_FAULT_WARNING, "reversed_axes", "n5_axes", &at, NULL, NULL,
            "n5_axes is reversed: the document describes decoded chunks, while the keys of blocks "
            "keep the stored order of dimensions");
    }
    return zd_faults_refuse(faults) || t.data_type == NULL
               ? ZD_OK
               : make_document(&t, &ret_array->document);
}

/* ---- findings ---- */

/* Entries of a list that was reversed. */
static void move_elements(const struct zd_n5_array *array, const struct zd_pointer *from,
    const struct zd_pointer *to, struct zd_faults *faults)
{
    const uint32_t n = (uint32_t)zd_min_u64(array->rank, ZD_RANK_MAX);
    for (uint32_t i = 0; array->is_reversed && i < n; i++) {
        const struct zd_pointer here = zd_pointer_element(from, i);
        const struct zd_pointer there = zd_pointer_element(to, array->rank - 1 - i);
        zd_faults_move(faults, &here, &there);
    }
    zd_faults_move(faults, from, to);
}

void zd_n5_array_move_faults(const struct zd_n5_array *array, struct zd_faults *faults)
{
    static const struct zd_pointer dimensions = {"/dimensions"};
    static const struct zd_pointer block_size = {"/blockSize"};
    static const struct zd_pointer data_type = {"/dataType"};
    static const struct zd_pointer shape = {"/shape"};
    static const struct zd_pointer chunk_shape = {"/chunk_grid/configuration/chunk_shape"};
    static const struct zd_pointer grid = {"/chunk_grid"};
    static const struct zd_pointer v3_type = {"/data_type"};
    static const struct zd_pointer block[] = {{"/codecs/0"}, {"/codecs/1"}};
    static const struct zd_pointer compressor[] = {
        {"/codecs/0/configuration/codecs/2"}, {"/codecs/1/configuration/codecs/2"}};
    const size_t i = array->is_reversed ? 1 : 0;
    const struct zd_pointer configuration = zd_pointer_member(&compressor[i], "configuration");
    zd_faults_move(faults, &configuration, &array->compression.place);
    zd_faults_move(faults, &compressor[i], &array->compression.place);
    zd_faults_move(faults, &block[i], &block_size);
    move_elements(array, &shape, &dimensions, faults);
    move_elements(array, &chunk_shape, &block_size, faults);
    zd_faults_move(faults, &grid, &block_size);
    zd_faults_move(faults, &v3_type, &data_type);
}

enum zd_status zd_n5_array_show_reversed(struct zd_meta *meta)
{
    ZD_AUTO(zd_json) codecs = zd_json_new_array();
    if (codecs == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_append(codecs, bytes_of(meta->dtype.bytes, "little")));
    ZD_TRY(zd_json_set(meta->document, "chunk_key_encoding",
        definition_of("default", "separator", zd_json_new_text("/"))));
    return zd_json_set(meta->document, "codecs", ZD_TAKE(codecs));
}

void zd_n5_array_done(struct zd_n5_array *array)
{
    zd_json_unref(array->document);
    zd_n5_compression_done(&array->compression);
    *array = (struct zd_n5_array){0};
}
