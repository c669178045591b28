/* Data types as v3 documents define them. */
#include "core/extension/data_type.h"

#include <string.h>

#include "core/base/json_schema.h"
#include "core/base/scan.h"
#include "core/grid/struct_fields.h"

#define LENGTH "length_bytes"

#define TICKS_SCHEMA(title)                                                                        \
    "{\"title\":\"" title "\",\"type\":\"object\",\"properties\":{"                                \
    "\"unit\":{\"description\":\"Y M W D h m s ms us ns ps fs as generic\",\"type\":\"string\"},"  \
    "\"scale_factor\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647}},"               \
    "\"required\":[\"unit\",\"scale_factor\"],\"additionalProperties\":false}"
#define LENGTH_SCHEMA(title, minimum)                                                              \
    "{\"title\":\"" title "\",\"type\":\"object\",\"properties\":{"                                \
    "\"length_bytes\":{\"type\":\"integer\",\"minimum\":" minimum "}},"                            \
    "\"required\":[\"length_bytes\"],\"additionalProperties\":false}"

#define STRUCT     "struct"
#define STRUCTURED "structured"
#define FIELDS     "fields"
#define ARRAY      "v2.array" /* of documents translated from v2: a field that is an array */
#define FIELDS_SCHEMA(title)                                                                       \
    "{\"title\":\"" title "\",\"type\":\"object\",\"properties\":{"                                \
    "\"fields\":{\"type\":\"array\",\"minItems\":1}},"                                             \
    "\"required\":[\"fields\"],\"additionalProperties\":false}"

const struct zd_data_type_form zd_data_type_forms[] = {
    {"numpy.datetime64", TICKS_SCHEMA("Times, as ticks since 1970-01-01T00:00")},
    {"numpy.timedelta64", TICKS_SCHEMA("Durations, as ticks")},
    {"fixed_length_utf32", LENGTH_SCHEMA("Text, 4 bytes per character", "4")},
    {"null_terminated_bytes", LENGTH_SCHEMA("Byte strings; zeros at the end do not count", "1")},
    {"raw_bytes", LENGTH_SCHEMA("Opaque bytes", "1")},
    {STRUCT, FIELDS_SCHEMA("Named fields, stored without gaps")},
    {STRUCTURED, FIELDS_SCHEMA("The old name of struct; read-only")},
    {NULL, NULL},
};

/* ---- definitions that are read ---- */

/* A definition under judgement. */
struct judged {
    const struct zd_definition *definition;
    const struct zd_pointer *at;
    struct zd_pointer configuration_at;
    const struct zd_data_type_rules *rules;
    struct zd_faults *faults;
};

static const struct zd_data_type_form *find_form(const char *name)
{
    for (const struct zd_data_type_form *form = zd_data_type_forms; form->name != NULL; form++) {
        if (strcmp(form->name, name) == 0) {
            return form;
        }
    }
    return NULL;
}

static enum zd_status add_unsupported(const struct judged *judged)
{
    const char *name = judged->definition->name;
    zd_faults_add(judged->faults, ZD_FAULT_UNSUPPORTED,
        zd_definition_unsupported_code(ZD_POINT_DATA_TYPE), name, judged->at,
        "a name that this server knows", name, "\"%s\" is not known to this server", name);
    return ZD_UNSUPPORTED;
}

static enum zd_status add_unknown_unit(const struct judged *judged, const char *unit)
{
    const struct zd_pointer at = zd_pointer_member(&judged->configuration_at, "unit");
    zd_faults_add(judged->faults, ZD_FAULT_INVALID, "out_of_range", "unit", &at,
        "Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as or generic", unit,
        "the unit of %s must be a time unit of NumPy", judged->definition->name);
    return ZD_INVALID;
}

static enum zd_status parse_ticks(const struct judged *judged, struct zd_dtype *ret_dtype)
{
    const struct zd_json *configuration = judged->definition->configuration;
    const struct zd_json *unit = zd_json_member(configuration, "unit");
    enum zd_dtype_unit found = ZD_DTYPE_GENERIC;
    uint64_t scale = 0;
    (void)zd_json_u64(zd_json_member(configuration, "scale_factor"), &scale);
    if (!zd_dtype_unit_find(zd_json_string_span(unit), &found)) {
        return add_unknown_unit(judged, zd_json_string(unit));
    }
    return zd_dtype_of_ticks(judged->definition->name, found, scale, ret_dtype);
}

/* Too long for this build, or not of whole characters. */
static enum zd_status add_bad_length(const struct judged *judged, uint64_t bytes)
{
    const struct zd_pointer at = zd_pointer_member(&judged->configuration_at, LENGTH);
    const bool is_long = bytes > ZD_DTYPE_BYTES_MAX;
    zd_faults_add(judged->faults, is_long ? ZD_FAULT_UNSUPPORTED : ZD_FAULT_INVALID,
        is_long ? "unsupported_data_type" : "out_of_range", LENGTH, &at,
        is_long ? "at most 65536" : "a multiple of 4", NULL,
        is_long ? "the elements have %llu bytes; the limit is 65536"
                : "%llu bytes are not a whole number of characters",
        (unsigned long long)bytes);
    return is_long ? ZD_UNSUPPORTED : ZD_INVALID;
}

static enum zd_status parse_length(const struct judged *judged, struct zd_dtype *ret_dtype)
{
    uint64_t bytes = UINT64_MAX; /* an integer beyond 64 bits */
    (void)zd_json_u64(zd_json_member(judged->definition->configuration, LENGTH), &bytes);
    const enum zd_status status = zd_dtype_of_bytes(judged->definition->name, bytes, ret_dtype);
    return status == ZD_OK ? ZD_OK : add_bad_length(judged, bytes);
}

static enum zd_status parse_form(
    const struct judged *judged, const struct zd_data_type_form *form, struct zd_dtype *ret_dtype)
{
    const struct zd_json *configuration = judged->definition->configuration;
    ZD_AUTO(zd_json) none = zd_json_new_object();
    if (none == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_schema_check(form->schema, configuration == NULL ? none : configuration,
        &judged->configuration_at, form->name, judged->faults));
    return zd_json_member(configuration, LENGTH) != NULL ? parse_length(judged, ret_dtype)
                                                         : parse_ticks(judged, ret_dtype);
}

/* Whether a name can only be meant as raw bits: 'r' and digits. */
static bool is_raw_bits(const char *name)
{
    return name[0] == 'r' && name[1] != '\0' && strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Raw bits that zd_dtype_find does not know: malformed, or too large for this build. */
static bool is_malformed_raw_bits(const char *name)
{
    uint64_t n_bits = 0;
    const enum zd_status status = zd_scan_whole_u64(zd_span_of(name + 1), UINT64_MAX, &n_bits);
    return status == ZD_INVALID || (status == ZD_OK && (n_bits == 0 || n_bits % 8 != 0));
}

static void judge_no_configuration(const struct judged *judged)
{
    const struct zd_json *configuration = judged->definition->configuration;
    for (void *iter = zd_json_next(configuration, NULL); iter != NULL;
        iter = zd_json_next(configuration, iter)) {
        const char *name = zd_json_iter_name(iter);
        const struct zd_pointer place = zd_pointer_member(&judged->configuration_at, name);
        zd_faults_add(judged->faults, ZD_FAULT_INVALID, "unknown_member", name, &place,
            "no members", name, "the configuration does not define the member \"%s\"", name);
    }
}

static enum zd_status parse_plain(const struct judged *judged, struct zd_dtype *ret_dtype)
{
    const char *name = judged->definition->name;
    struct zd_dtype dtype;
    const bool is_found = zd_dtype_find(name, &dtype) == ZD_OK;
    if (!is_found || (dtype.kind == ZD_DTYPE_LIST && !judged->rules->is_translated)) {
        if (!is_raw_bits(name) || !is_malformed_raw_bits(name)) {
            return add_unsupported(judged);
        }
        zd_faults_add(judged->faults, ZD_FAULT_INVALID, "bad_name", name, judged->at,
            "r<N>, N a positive multiple of 8", name, "\"%s\" is not a valid data type of raw bits",
            name);
        return ZD_INVALID;
    }
    if (strcmp(dtype.name, name) != 0) {
        zd_faults_add(judged->faults, ZD_FAULT_WARNING, "unregistered_name", name, judged->at,
            dtype.name, name, "\"%s\" is an alias of \"%s\"", name, dtype.name);
    }
    judge_no_configuration(judged);
    *ret_dtype = dtype;
    return ZD_OK;
}

/* Reference 2.4: zarr-python's own. */
static void warn_of_name(const struct judged *judged)
{
    const char *name = judged->definition->name;
    if (strcmp(name, "null_terminated_bytes") == 0 || strcmp(name, "raw_bytes") == 0) {
        zd_faults_add(judged->faults, ZD_FAULT_WARNING, "unregistered_name", name, judged->at, NULL,
            name, "the data type \"%s\" belongs to zarr-python and is not registered", name);
    }
}

/* Parse a type that is no structure. */
static enum zd_status parse_leaf(const struct judged *judged, struct zd_dtype *ret_dtype)
{
    const struct zd_data_type_form *form = find_form(judged->definition->name);
    if (form == NULL) {
        return parse_plain(judged, ret_dtype);
    }
    ZD_TRY(parse_form(judged, form, ret_dtype));
    if (!judged->rules->is_translated) {
        warn_of_name(judged);
    }
    return ZD_OK;
}

/* ---- structures: lists of fields, one within the other ---- */

static bool is_struct(const char *name)
{
    return strcmp(name, STRUCT) == 0 || strcmp(name, STRUCTURED) == 0;
}

/* A list of fields that is read. */
struct list {
    const struct zd_json *fields;
    size_t next;
    struct zd_pointer at;
};

static enum zd_status add_fault(const struct judged *judged, const struct zd_pointer *at,
    const char *expected, const char *text)
{
    zd_faults_add(
        judged->faults, ZD_FAULT_INVALID, "out_of_range", FIELDS, at, expected, NULL, "%s", text);
    return ZD_INVALID;
}

/* {"name", "data_type"}, or of the legacy type a pair of both. */
static enum zd_status take_apart(const struct judged *judged, const struct zd_json *field,
    const struct zd_pointer *at, bool is_legacy, const char **ret_name,
    const struct zd_json **ret_type)
{
    const bool is_pair = is_legacy && zd_json_is(field, ZD_JSON_ARRAY) && zd_json_count(field) == 2;
    *ret_name = zd_json_string(is_pair ? zd_json_element(field, 0) : zd_json_member(field, "name"));
    *ret_type = is_pair ? zd_json_element(field, 1) : zd_json_member(field, "data_type");
    if (*ret_name == NULL || *ret_type == NULL || zd_json_count(field) != 2) {
        return add_fault(judged, at, "an object with name and data_type",
            "a field must have exactly the members name and data_type");
    }
    return ZD_OK;
}

static enum zd_status judge_added(
    const struct judged *judged, const struct zd_pointer *at, enum zd_status status)
{
    if (status == ZD_INVALID) {
        return add_fault(judged, at, "a unique name", "field names must be unique");
    }
    if (status == ZD_TOO_LARGE) {
        zd_faults_add(judged->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type", FIELDS, at,
            NULL, NULL, "the structure exceeds %d fields, %d levels or 65536 bytes",
            ZD_STRUCT_FIELDS_MAX, ZD_STRUCT_DEPTH_MAX);
        return ZD_UNSUPPORTED;
    }
    return status;
}

/* A field that is an array, as append_field makes it of a document of v2. */
static enum zd_status add_array(const struct judged *judged, struct zd_struct_fields *fields,
    const char *name, uint32_t depth, const struct zd_definition *array)
{
    const struct zd_json *list = zd_json_member(array->configuration, "shape");
    const struct zd_json *type = zd_json_member(array->configuration, "data_type");
    uint64_t shape[ZD_FIELD_RANK_MAX] = {0};
    const size_t rank = zd_json_count(list);
    struct zd_definition definition;
    struct judged inner = *judged;
    struct zd_dtype dtype;
    inner.definition = &definition;
    ZD_TRY(zd_definition_parse(type, judged->at, false, &definition, judged->faults));
    if (is_struct(definition.name) || rank == 0 || rank > ZD_FIELD_RANK_MAX) {
        return add_unsupported(judged);
    }
    for (size_t d = 0; d < rank; d++) {
        (void)zd_json_u64(zd_json_element(list, d), &shape[d]); /* else 0, which is refused */
    }
    ZD_TRY(parse_leaf(&inner, &dtype));
    if (zd_dtype_is_variable(&dtype)) {
        return add_unsupported(judged);
    }
    return judge_added(judged, judged->at,
        zd_struct_fields_add_array(fields, name, depth, &dtype, (uint32_t)rank, shape));
}

static enum zd_status add_field(const struct judged *judged, struct zd_struct_fields *fields,
    struct list *list, uint32_t *depth)
{
    struct list *own = &list[*depth];
    const struct zd_pointer at = zd_pointer_element(&own->at, own->next);
    const struct zd_json *field = zd_json_element(own->fields, own->next++);
    const struct zd_json *type = NULL;
    const char *name = NULL;
    struct zd_definition definition;
    struct zd_dtype dtype;
    ZD_TRY(take_apart(judged, field, &at, fields->is_legacy, &name, &type));
    const struct zd_pointer type_at = zd_pointer_member(&at, "data_type");
    ZD_TRY(
        zd_definition_parse(type, &type_at, judged->rules->is_strict, &definition, judged->faults));
    struct judged inner = *judged;
    inner.definition = &definition;
    inner.at = &type_at;
    inner.configuration_at = zd_pointer_member(&type_at, "configuration");
    if (is_struct(definition.name)) {
        const struct zd_pointer fields_at = zd_pointer_member(&inner.configuration_at, FIELDS);
        ZD_TRY(judge_added(judged, &at, zd_struct_fields_add(fields, name, *depth, NULL)));
        if (definition.configuration == NULL) {
            return add_fault(judged, &type_at, "a configuration with fields",
                "a structure must have a configuration with its fields");
        }
        ZD_TRY(zd_json_schema_check(find_form(STRUCT)->schema, definition.configuration,
            &inner.configuration_at, STRUCT, judged->faults));
        list[++*depth] = (struct list){
            .fields = zd_json_member(definition.configuration, FIELDS), .at = fields_at};
        return ZD_OK;
    }
    if (judged->rules->is_translated && strcmp(definition.name, ARRAY) == 0) {
        return add_array(&inner, fields, name, *depth, &definition);
    }
    ZD_TRY(parse_leaf(&inner, &dtype));
    if (zd_dtype_is_variable(&dtype)) {
        return add_fault(
            judged, &type_at, "a type of fixed size", "a field must have a type of fixed size");
    }
    return judge_added(judged, &at, zd_struct_fields_add(fields, name, *depth, &dtype));
}

static enum zd_status parse_struct(const struct judged *judged, struct zd_dtype *ret_dtype)
{
    const struct zd_json *configuration = judged->definition->configuration;
    const struct zd_pointer at = zd_pointer_member(&judged->configuration_at, FIELDS);
    struct list list[ZD_STRUCT_DEPTH_MAX + 1] = {
        {.fields = zd_json_member(configuration, FIELDS), .at = at}};
    uint32_t depth = 0;
    ZD_AUTO(zd_json) none = zd_json_new_object();
    ZD_AUTO(zd_struct_fields) fields = zd_struct_fields_new();
    if (fields == NULL || none == NULL) {
        return ZD_NO_MEMORY;
    }
    fields->is_legacy = strcmp(judged->definition->name, STRUCTURED) == 0;
    ZD_TRY(zd_json_schema_check(find_form(STRUCT)->schema,
        configuration == NULL ? none : configuration, &judged->configuration_at, STRUCT,
        judged->faults));
    while (depth > 0 || list[0].next < zd_json_count(list[0].fields)) {
        if (list[depth].next == zd_json_count(list[depth].fields)) {
            depth--;
        } else {
            ZD_TRY(add_field(judged, fields, list, &depth));
        }
    }
    ZD_TRY(judge_added(judged, &at, zd_struct_fields_finish(fields, ret_dtype)));
    if (fields->is_legacy) {
        zd_faults_add(judged->faults,
            judged->rules->is_strict ? ZD_FAULT_INVALID : ZD_FAULT_WARNING, "legacy_spelling",
            STRUCTURED, judged->at, STRUCT, STRUCTURED,
            "\"structured\" is the old name of \"struct\"");
    }
    ret_dtype->fields = ZD_TAKE(fields);
    return ZD_OK;
}

enum zd_status zd_data_type_parse(const struct zd_definition *definition,
    const struct zd_pointer *at, const struct zd_data_type_rules *rules, struct zd_dtype *ret_dtype,
    struct zd_faults *faults)
{
    const struct judged judged = {
        .definition = definition,
        .at = at,
        .configuration_at = zd_pointer_member(at, "configuration"),
        .rules = rules,
        .faults = faults,
    };
    return is_struct(definition->name) ? parse_struct(&judged, ret_dtype)
                                       : parse_leaf(&judged, ret_dtype);
}

/* ---- definitions that are made ---- */

static enum zd_status add_configuration(const struct zd_dtype *dtype, struct zd_json *configuration)
{
    if (!zd_dtype_is_ticks(dtype)) {
        return zd_json_set(configuration, LENGTH, zd_json_new_u64(dtype->bytes));
    }
    ZD_TRY(zd_json_set(configuration, "unit", zd_json_new_text(zd_dtype_unit_name(dtype->unit))));
    return zd_json_set(configuration, "scale_factor", zd_json_new_u64(dtype->scale));
}

static struct zd_json *leaf_json(const struct zd_dtype *dtype)
{
    if (find_form(dtype->name) == NULL) {
        return zd_json_new_text(dtype->name);
    }
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (definition == NULL || configuration == NULL ||
        add_configuration(dtype, configuration) != ZD_OK ||
        zd_json_set(definition, "name", zd_json_new_text(dtype->name)) != ZD_OK ||
        zd_json_set(definition, "configuration", ZD_TAKE(configuration)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(definition);
}

/* The definition of a field that is an array. @param item its items' definition, taken over */
static struct zd_json *new_array(const struct zd_field *field, struct zd_json *item)
{
    ZD_AUTO(zd_json) held = item;
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) shape = zd_json_new_array();
    for (uint32_t d = 0; d < field->rank; d++) {
        if (zd_json_append(shape, zd_json_new_u64(field->shape[d])) != ZD_OK) {
            return NULL;
        }
    }
    if (definition == NULL || configuration == NULL ||
        zd_json_set(configuration, "data_type", ZD_TAKE(held)) != ZD_OK ||
        zd_json_set(configuration, "shape", ZD_TAKE(shape)) != ZD_OK ||
        zd_json_set(definition, "name", zd_json_new_text(ARRAY)) != ZD_OK ||
        zd_json_set(definition, "configuration", ZD_TAKE(configuration)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(definition);
}

static struct zd_json *field_json(const struct zd_field *field)
{
    struct zd_json *leaf = leaf_json(&field->dtype);
    return field->rank == 0 || leaf == NULL ? leaf : new_array(field, leaf);
}

static enum zd_status append_field(
    struct zd_json *list, const struct zd_field *field, struct zd_json *type)
{
    ZD_AUTO(zd_json) held = type;
    ZD_AUTO(zd_json) member = zd_json_new_object();
    if (member == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(member, "name", zd_json_new_text(field->name)));
    ZD_TRY(zd_json_set(member, "data_type", ZD_TAKE(held)));
    return zd_json_append(list, ZD_TAKE(member));
}

/* A definition of an empty structure. @param ret_list where its fields go; borrowed from it */
static struct zd_json *new_struct(struct zd_json **ret_list)
{
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    struct zd_json *list = zd_json_new_array();
    if (zd_json_set(configuration, FIELDS, list) != ZD_OK ||
        zd_json_set(definition, "name", zd_json_new_text(STRUCT)) != ZD_OK ||
        zd_json_set(definition, "configuration", ZD_TAKE(configuration)) != ZD_OK) {
        return NULL;
    }
    *ret_list = list;
    return ZD_TAKE(definition);
}

struct zd_json *zd_data_type_json(const struct zd_dtype *dtype)
{
    struct zd_json *list[ZD_STRUCT_DEPTH_MAX + 1] = {NULL};
    if (dtype->fields == NULL) {
        return leaf_json(dtype);
    }
    ZD_AUTO(zd_json) root = new_struct(&list[0]);
    for (uint32_t i = 0; root != NULL && i < dtype->fields->n; i++) {
        const struct zd_field *field = &dtype->fields->field[i];
        struct zd_json *type = field->dtype.kind == ZD_DTYPE_STRUCT
                                   ? new_struct(&list[field->depth + 1])
                                   : field_json(field);
        if (type == NULL || append_field(list[field->depth], field, type) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(root);
}
