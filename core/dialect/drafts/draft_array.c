/* An array's document of the drafts of 2019 to January 2023, by way of v2 (reference 7.2 to 7.6).
 *
 *     draft                                v2                    final v3
 *     data_type "<f4", {"type": "<f4"}     dtype
 *     chunk_grid {chunk_shape, separator}  chunks                chunk_key_encoding
 *     chunk_memory_layout                  order                 transpose
 *     compressor {codec, configuration}    compressor {id, ...}  codecs
 *     attributes.filters                   filters
 *     codecs [{type, configuration}]       filters [{id, ...}]
 *     storage_transformers                                       sharding_indexed */
#include "core/dialect/drafts/draft_array.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/v3/draft_fill.h"
#include "core/dialect/drafts/draft_shard.h"

#define TYPESTR_BYTES 16

/* In which draft a member may stand. */
enum {
    IN_2019 = 1U << ZD_DRAFT_2019,
    IN_2020 = 1U << ZD_DRAFT_2020,
    IN_2023 = 1U << ZD_DRAFT_2023_01,
    IN_ALL = IN_2019 | IN_2020 | IN_2023,
};

static const struct member {
    const char *name;
    uint32_t drafts;
    bool is_optional;
} members[] = {
    {"shape", IN_ALL, false},
    {"data_type", IN_ALL, false},
    {"chunk_grid", IN_ALL, false},
    {"chunk_memory_layout", IN_ALL, false},
    {"fill_value", IN_ALL, false},
    {"extensions", IN_ALL, true},
    {"attributes", IN_ALL, true},
    {"compressor", IN_2019 | IN_2020, true},
    {"codecs", IN_2023, true},
    {"storage_transformers", IN_2020 | IN_2023, true},
    {"dimension_names", IN_2023, true},
};

static const struct zd_pointer whole_document = {.text = ""};

/* A document under translation. */
struct translation {
    const struct zd_json *document;
    enum zd_draft draft;
    struct zd_draft_array *array;
    struct zd_faults *faults;
    bool is_big; /* January 2023: the codec endian says so */
};

static struct zd_pointer at_member(const char *name)
{
    return zd_pointer_member(&whole_document, name);
}

static const struct zd_json *member_of(const struct translation *t, const char *name)
{
    return zd_json_member(t->document, name);
}

static void add_wrong_type(const struct translation *t, const struct zd_pointer *at,
    const char *expected, const struct zd_json *json)
{
    zd_faults_add(t->faults, ZD_FAULT_INVALID, json == NULL ? "missing_member" : "wrong_type", NULL,
        at, expected, zd_json_type_name(json), "expected %s, found %s", expected,
        zd_json_type_name(json));
}

/* ---- members ---- */

static void judge_required(const struct translation *t)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        const char *name = members[i].name;
        if (!members[i].is_optional && member_of(t, name) == NULL) {
            const struct zd_pointer at = at_member(name);
            zd_faults_add(t->faults, ZD_FAULT_INVALID, "missing_member", name, &at, name, NULL,
                "the document of an array must have the member \"%s\"", name);
        }
    }
}

static bool is_member(enum zd_draft draft, const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        if (strcmp(members[i].name, name) == 0 && (members[i].drafts & 1U << draft) != 0) {
            return true;
        }
    }
    return false;
}

/* ---- data types ---- */

/* The type string of a name; NULL: there is none. */
static const char *typestr_of(
    const struct translation *t, const char *name, char space[TYPESTR_BYTES])
{
    static const char letters[] = {
        [ZD_DTYPE_BOOL] = 'b',
        [ZD_DTYPE_INT] = 'i',
        [ZD_DTYPE_UINT] = 'u',
        [ZD_DTYPE_FLOAT] = 'f',
        [ZD_DTYPE_COMPLEX] = 'c',
        [ZD_DTYPE_RAW] = 'V',
    };
    struct zd_dtype dtype;
    if (strlen(name) == 2 && strspn(name, "iu") == 1 && name[1] == '1') {
        (void)snprintf(space, TYPESTR_BYTES, "|%s", name); /* as the drafts spell them */
        return space;
    }
    if (zd_dtype_find(name, &dtype) != ZD_OK || (size_t)dtype.kind >= sizeof letters ||
        letters[dtype.kind] == '\0') {
        return NULL;
    }
    const char *order = dtype.unit_bytes == 1 ? "|" : t->is_big ? ">" : "<";
    (void)snprintf(
        space, TYPESTR_BYTES, "%s%c%u", order, letters[dtype.kind], (unsigned)dtype.bytes);
    return space;
}

static bool is_known(const char *typestr)
{
    struct zd_typestr dtype;
    return zd_typestr_parse(typestr, &dtype, NULL) == ZD_OK;
}

/* A data type as v2 spells it, whether it is known or not. Owned. */
static struct zd_json *dtype_of(const struct translation *t, const struct zd_json *type)
{
    char space[TYPESTR_BYTES];
    const char *text = zd_json_string(type);
    const char *typestr = text == NULL ? NULL : typestr_of(t, text, space);
    return typestr == NULL ? zd_json_ref(type) : zd_json_new_text(typestr);
}

/* The first of them that is known: a name, or a list of names. NULL: there is none. */
static const struct zd_json *find_fallback(
    const struct translation *t, const struct zd_json *fallback)
{
    const bool is_list = zd_json_is(fallback, ZD_JSON_ARRAY);
    for (size_t i = 0; i < (is_list ? zd_json_count(fallback) : 1); i++) {
        const struct zd_json *type = is_list ? zd_json_element(fallback, i) : fallback;
        ZD_AUTO(zd_json) dtype = type == NULL ? NULL : dtype_of(t, type);
        if (zd_json_string(dtype) != NULL && is_known(zd_json_string(dtype))) {
            return type;
        }
    }
    return NULL;
}

/* An extension: what counts is its `type` (reference 13.4, row 46). */
static ZD_RESULT set_extension_type(struct translation *t, const struct zd_json *data_type)
{
    const struct zd_json *type = zd_json_member(data_type, "type");
    const struct zd_json *fallback = zd_json_member(data_type, "fallback");
    const char *extension = zd_json_string(zd_json_member(data_type, "extension"));
    const struct zd_pointer at = at_member("data_type");
    ZD_AUTO(zd_json) dtype = type == NULL ? NULL : dtype_of(t, type);
    const char *typestr = zd_json_string(dtype);
    const bool is_spelled = typestr != NULL || zd_json_is(dtype, ZD_JSON_ARRAY);
    const struct zd_json *chosen = find_fallback(t, fallback);
    t->array->has_type_object = true;
    if ((!is_spelled || (typestr != NULL && !is_known(typestr))) && chosen != NULL) {
        const struct zd_pointer place = zd_pointer_member(&at, "fallback");
        zd_faults_add(t->faults, ZD_FAULT_WARNING, "fallback_data_type", extension, &place, NULL,
            zd_json_string(chosen),
            "the data type is unknown: its elements are read as the fallback %.64s",
            zd_json_string(chosen));
        return zd_json_set(t->array->zarray, "dtype", dtype_of(t, chosen));
    }
    if (!is_spelled) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_data_type", extension, &at,
            "an extension with a known type, or with a known fallback", zd_json_type_name(type),
            "the data type of an extension is not known to this server");
        return ZD_OK;
    }
    return zd_json_set(t->array->zarray, "dtype", ZD_TAKE(dtype));
}

static ZD_RESULT set_data_type(struct translation *t)
{
    const struct zd_json *data_type = member_of(t, "data_type");
    const struct zd_pointer at = at_member("data_type");
    if (zd_json_is(data_type, ZD_JSON_OBJECT)) {
        return set_extension_type(t, data_type);
    }
    if (zd_json_string(data_type) == NULL) {
        add_wrong_type(t, &at, "a data type, or an extension", data_type);
        return ZD_OK;
    }
    return zd_json_set(t->array->zarray, "dtype", dtype_of(t, data_type));
}

/* ---- grid ---- */

static void judge_grid_members(const struct translation *t, const struct zd_json *grid)
{
    static const char *const known[] = {"type", "chunk_shape", "separator"};
    const struct zd_pointer grid_at = at_member("chunk_grid");
    for (void *iter = zd_json_next(grid, NULL); iter != NULL; iter = zd_json_next(grid, iter)) {
        const char *name = zd_json_iter_name(iter);
        bool is_member = false;
        for (size_t i = 0; i < ZD_COUNT_OF(known); i++) {
            is_member = is_member || strcmp(known[i], name) == 0;
        }
        if (!is_member) {
            const struct zd_pointer at = zd_pointer_member(&grid_at, name);
            zd_faults_add(t->faults, ZD_FAULT_INVALID, "unknown_member", name, &at,
                "type, chunk_shape, separator", name,
                "chunk grids do not define the member \"%.64s\"", name);
        }
    }
}

static ZD_RESULT set_grid(struct translation *t)
{
    const struct zd_json *grid = member_of(t, "chunk_grid");
    const struct zd_json *shape = zd_json_member(grid, "chunk_shape");
    const struct zd_json *separator = zd_json_member(grid, "separator");
    const char *type = zd_json_string(zd_json_member(grid, "type"));
    const struct zd_pointer at = at_member("chunk_grid");
    const struct zd_pointer type_at = zd_pointer_member(&at, "type");
    const struct zd_pointer shape_at = zd_pointer_member(&at, "chunk_shape");
    if (!zd_json_is(grid, ZD_JSON_OBJECT)) {
        add_wrong_type(t, &at, "an object", grid);
        return ZD_OK;
    }
    if (type == NULL) {
        add_wrong_type(t, &type_at, "\"regular\"", zd_json_member(grid, "type"));
    } else if (strcmp(type, "regular") != 0) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_grid", type, &type_at,
            "\"regular\"", type, "the chunk grid \"%.64s\" is not known to this server", type);
    }
    judge_grid_members(t, grid);
    if (shape == NULL) {
        add_wrong_type(t, &shape_at, "a list of integers", shape);
        return ZD_OK;
    }
    ZD_TRY(zd_json_set(t->array->zarray, "chunks", zd_json_ref(shape)));
    const char *initial = t->draft == ZD_DRAFT_2019 ? "." : "/";
    return zd_json_set(t->array->zarray, "dimension_separator",
        separator == NULL ? zd_json_new_text(initial) : zd_json_ref(separator));
}

/* ---- codecs ---- */

/* The name in a codec's URI, in front of the version; of another text its last segment. False: it
 * has none that fits. */
static bool name_of_uri(const char *uri, struct zd_text *name)
{
    const char *end = uri + strlen(uri);
    const char *last = strrchr(uri, '/');
    if (last != NULL && last > uri && strspn(last + 1, "0123456789.") == strlen(last + 1)) {
        end = last;
    }
    const char *start = end;
    while (start > uri && start[-1] != '/') {
        start--;
    }
    return start < end && zd_text_add_bytes(name, start, (size_t)(end - start)) == ZD_OK;
}

/* A codec as v2 spells it. @param member that has its URI @param ret_codec owned; NULL: a fault */
static ZD_RESULT codec_of(const struct translation *t, const struct zd_json *codec,
    const char *member, const struct zd_pointer *at, struct zd_json **ret_codec)
{
    const char *uri = zd_json_string(zd_json_member(codec, member));
    const struct zd_json *configuration = zd_json_member(codec, "configuration");
    const struct zd_pointer uri_at = zd_pointer_member(at, member);
    const struct zd_pointer configuration_at = zd_pointer_member(at, "configuration");
    ZD_SCOPED_TEXT(name, 128);
    *ret_codec = NULL;
    if (uri == NULL || !name_of_uri(uri, &name)) {
        add_wrong_type(t, &uri_at, "the URI of a codec", zd_json_member(codec, member));
        return ZD_OK;
    }
    if (configuration != NULL && !zd_json_is(configuration, ZD_JSON_OBJECT)) {
        add_wrong_type(t, &configuration_at, "an object", configuration);
        return ZD_OK;
    }
    ZD_AUTO(zd_json)
    made = configuration == NULL ? zd_json_new_object() : zd_json_copy(configuration);
    if (made == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(made, "id", zd_json_new_text(name.at)));
    *ret_codec = ZD_TAKE(made);
    return ZD_OK;
}

static ZD_RESULT set_compressor(struct translation *t)
{
    const struct zd_json *compressor =
        t->draft == ZD_DRAFT_2023_01 ? NULL : member_of(t, "compressor");
    const struct zd_pointer at = at_member("compressor");
    ZD_AUTO(zd_json) codec = NULL;
    if (compressor == NULL || zd_json_is(compressor, ZD_JSON_NULL)) {
        return zd_json_set(t->array->zarray, "compressor", zd_json_new_null());
    }
    ZD_TRY(codec_of(t, compressor, "codec", &at, &codec));
    return codec == NULL ? ZD_OK : zd_json_set(t->array->zarray, "compressor", ZD_TAKE(codec));
}

/* Reference 7.3: zarr-python hides filters among the attributes. Anything but a list of codecs is
 * an attribute like any other. */
static bool are_filters(const struct zd_json *filters)
{
    for (size_t i = 0; i < zd_json_count(filters); i++) {
        if (zd_json_string(zd_json_member(zd_json_element(filters, i), "id")) == NULL) {
            return false;
        }
    }
    return zd_json_is(filters, ZD_JSON_ARRAY) && zd_json_count(filters) > 0;
}

static ZD_RESULT set_attributes(struct translation *t)
{
    const struct zd_json *attributes = member_of(t, "attributes");
    const struct zd_json *filters = zd_json_member(attributes, "filters");
    const struct zd_pointer at = at_member("attributes");
    if (attributes == NULL) {
        return ZD_OK;
    }
    if (!zd_json_is(attributes, ZD_JSON_OBJECT)) {
        add_wrong_type(t, &at, "an object", attributes);
        return ZD_OK;
    }
    t->array->attributes = zd_json_copy(attributes);
    if (t->array->attributes == NULL) {
        return ZD_NO_MEMORY;
    }
    if (t->draft != ZD_DRAFT_2020 || !are_filters(filters)) {
        return ZD_OK;
    }
    ZD_TRY(zd_json_set(t->array->zarray, "filters", zd_json_ref(filters)));
    return zd_json_remove(t->array->attributes, "filters");
}

/* January 2023: the codec that makes bytes of elements; little-endian without it. */
static void take_endian(struct translation *t, const struct zd_json *codec, size_t n_before,
    const struct zd_pointer *at)
{
    const char *endian = zd_json_string(zd_json_member(codec, "endian"));
    const bool is_big = endian != NULL && strcmp(endian, "big") == 0;
    if (!is_big && (endian == NULL || strcmp(endian, "little") != 0)) {
        const struct zd_pointer configuration = zd_pointer_member(at, "configuration");
        const struct zd_pointer place = zd_pointer_member(&configuration, "endian");
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "out_of_range", "endian", &place,
            "\"little\" or \"big\"", endian, "endian must be \"little\" or \"big\"");
    }
    if (n_before > 0) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", "endian", at,
            "endian as the first codec", NULL, "endian is supported only as the first codec");
    }
    t->is_big = is_big;
}

static ZD_RESULT add_codec(struct translation *t, const struct zd_json *entry, size_t i,
    const struct zd_pointer *at, struct zd_json *filters)
{
    ZD_AUTO(zd_json) codec = NULL;
    ZD_TRY(codec_of(t, entry, "type", at, &codec));
    if (codec == NULL) {
        return ZD_OK;
    }
    if (strcmp(zd_json_string(zd_json_member(codec, "id")), "endian") == 0) {
        take_endian(t, codec, i, at);
        return ZD_OK;
    }
    return zd_json_append(filters, ZD_TAKE(codec));
}

static ZD_RESULT set_codecs(struct translation *t)
{
    const struct zd_json *codecs = t->draft == ZD_DRAFT_2023_01 ? member_of(t, "codecs") : NULL;
    const struct zd_pointer at = at_member("codecs");
    ZD_AUTO(zd_json) filters = zd_json_new_array();
    if (filters == NULL) {
        return ZD_NO_MEMORY;
    }
    if (codecs != NULL && !zd_json_is(codecs, ZD_JSON_ARRAY)) {
        add_wrong_type(t, &at, "a list of codecs", codecs);
        return ZD_OK;
    }
    for (size_t i = 0; i < zd_json_count(codecs); i++) {
        const struct zd_pointer place = zd_pointer_element(&at, i);
        ZD_TRY(add_codec(t, zd_json_element(codecs, i), i, &place, filters));
    }
    return zd_json_set(t->array->zarray, "filters", ZD_TAKE(filters));
}

/* ---- fill values ---- */

static ZD_RESULT set_fill(struct translation *t)
{
    const struct zd_json *fill = member_of(t, "fill_value");
    const struct zd_pointer at = at_member("fill_value");
    if (zd_json_is(fill, ZD_JSON_NULL) && t->draft == ZD_DRAFT_2023_01) {
        zd_faults_add(t->faults, ZD_FAULT_WARNING, "legacy_spelling", "fill_value", &at, NULL,
            "null", "null, which this draft does not allow, is read as zero");
    }
    return zd_json_set(t->array->zarray, "fill_value", zd_draft_fill_respell(fill));
}

/* ---- the whole ---- */

static ZD_RESULT make_zarray(struct translation *t)
{
    t->array->zarray = zd_json_new_object();
    struct zd_json *zarray = t->array->zarray;
    if (zarray == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(zarray, "zarr_format", zd_json_new_u64(2)));
    ZD_TRY(zd_json_set(zarray, "shape", zd_json_ref(member_of(t, "shape"))));
    ZD_TRY(zd_json_set(zarray, "order", zd_json_ref(member_of(t, "chunk_memory_layout"))));
    ZD_TRY(set_grid(t));
    ZD_TRY(set_codecs(t));
    ZD_TRY(set_attributes(t));
    ZD_TRY(set_data_type(t));
    ZD_TRY(set_compressor(t));
    return set_fill(t);
}

/* Add the members that v2 spells differently or does not have. */
static ZD_RESULT finish_document(const struct translation *t)
{
    struct zd_json *document = t->array->v2.document;
    const struct zd_json *names =
        t->draft == ZD_DRAFT_2023_01 ? member_of(t, "dimension_names") : NULL;
    if (t->draft != ZD_DRAFT_2019) {
        ZD_AUTO(zd_json) keys = zd_json_copy(zd_json_member(document, "chunk_key_encoding"));
        if (keys == NULL) {
            return ZD_NO_MEMORY;
        }
        ZD_TRY(zd_json_set(keys, "name", zd_json_new_text("default")));
        ZD_TRY(zd_json_set(document, "chunk_key_encoding", ZD_TAKE(keys)));
    }
    return names == NULL ? ZD_OK : zd_json_set(document, "dimension_names", zd_json_ref(names));
}

static ZD_RESULT translate(struct translation *t)
{
    const struct zd_json *transformers =
        t->draft == ZD_DRAFT_2019 ? NULL : member_of(t, "storage_transformers");
    struct zd_draft_array *array = t->array;
    ZD_TRY(make_zarray(t));
    zd_draft_entry_judge_extensions(member_of(t, "extensions"), NULL, t->faults);
    const struct zd_json *per_shard =
        zd_draft_shard_judge(transformers, zd_json_count(member_of(t, "shape")), t->faults);
    if (zd_faults_refuse(t->faults)) {
        return ZD_OK;
    }
    ZD_TRY(zd_v2_array_translate(array->zarray, array->attributes, &array->v2, t->faults));
    if (array->v2.document == NULL) {
        return ZD_OK;
    }
    ZD_TRY(finish_document(t));
    array->is_sharded = per_shard != NULL;
    return per_shard == NULL ? ZD_OK
                             : zd_draft_shard_apply(per_shard, array->v2.document, t->faults);
}

enum zd_status zd_draft_array_translate(const struct zd_json *document, enum zd_draft draft,
    struct zd_draft_array *ret_array, struct zd_faults *faults)
{
    struct translation t = {
        .document = document, .draft = draft, .array = ret_array, .faults = faults};
    *ret_array = (struct zd_draft_array){0};
    if (!zd_json_is(document, ZD_JSON_OBJECT)) {
        add_wrong_type(&t, &whole_document, "an object", document);
        return ZD_OK;
    }
    judge_required(&t);
    return zd_faults_have(faults, ZD_FAULT_INVALID) ? ZD_OK : translate(&t);
}

/* ---- places ---- */

/* Parameters of a codec stand in its configuration. */
static void move_parameters(const struct zd_json *codec, const struct zd_pointer *from,
    const struct zd_pointer *to, struct zd_faults *faults)
{
    const struct zd_pointer configuration = zd_pointer_member(to, "configuration");
    for (void *iter = zd_json_next(codec, NULL); iter != NULL; iter = zd_json_next(codec, iter)) {
        const struct zd_pointer place = zd_pointer_member(from, zd_json_iter_name(iter));
        const struct zd_pointer there = zd_pointer_member(&configuration, zd_json_iter_name(iter));
        zd_faults_move(faults, &place, &there);
    }
    zd_faults_move(faults, from, to);
}

/* January 2023: `endian` is no filter of v2. */
static void move_codecs(
    const struct zd_json *filters, const struct zd_json *codecs, struct zd_faults *faults)
{
    const struct zd_pointer filters_at = at_member("filters");
    const struct zd_pointer codecs_at = at_member("codecs");
    const size_t n = zd_json_count(filters);
    const size_t n_endian = zd_json_count(codecs) - n;
    for (size_t i = 0; i < n; i++) {
        const struct zd_pointer from = zd_pointer_element(&filters_at, i);
        const struct zd_pointer to = zd_pointer_element(&codecs_at, i + n_endian);
        move_parameters(zd_json_element(filters, i), &from, &to, faults);
    }
}

void zd_draft_array_move_faults(
    const struct zd_draft_array *array, const struct zd_json *document, struct zd_faults *faults)
{
    static const struct {
        struct zd_pointer from;
        struct zd_pointer to;
    } moves[] = {
        {{"/chunks"}, {"/chunk_grid/chunk_shape"}},
        {{"/dimension_separator"}, {"/chunk_grid/separator"}},
        {{"/order"}, {"/chunk_memory_layout"}},
    };
    const struct zd_pointer compressor = at_member("compressor");
    const struct zd_pointer dtype = at_member("dtype");
    const struct zd_pointer data_type = at_member("data_type");
    const struct zd_pointer filters = at_member("filters");
    const struct zd_pointer attributes = at_member("attributes");
    const struct zd_pointer type = zd_pointer_member(&data_type, "type");
    const struct zd_pointer hidden = zd_pointer_member(&attributes, "filters");
    const struct zd_json *codecs = zd_json_member(document, "codecs");
    if (array->is_sharded) {
        zd_draft_shard_move_faults(faults);
    }
    if (array->v2.document != NULL) {
        zd_v2_array_move_faults(&array->v2, faults);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(moves); i++) {
        zd_faults_move(faults, &moves[i].from, &moves[i].to);
    }
    zd_faults_move(faults, &dtype, array->has_type_object ? &type : &data_type);
    move_parameters(zd_json_member(array->zarray, "compressor"), &compressor, &compressor, faults);
    if (codecs == NULL) {
        zd_faults_move(faults, &filters, &hidden);
    } else {
        move_codecs(zd_json_member(array->zarray, "filters"), codecs, faults);
    }
}

/* In 2019 nothing was said of other members; later none were allowed. Reference 13.4, row 41:
 * zarr-python adds one, though the grid has a separator. */
void zd_draft_array_judge_members(
    const struct zd_json *document, enum zd_draft draft, struct zd_faults *faults)
{
    for (void *iter = zd_json_next(document, NULL); iter != NULL;
        iter = zd_json_next(document, iter)) {
        const char *name = zd_json_iter_name(iter);
        const bool is_ignored =
            draft == ZD_DRAFT_2019 ||
            (draft == ZD_DRAFT_2020 && strcmp(name, "dimension_separator") == 0);
        if (!is_member(draft, name)) {
            const struct zd_pointer at = at_member(name);
            zd_faults_add(faults, is_ignored ? ZD_FAULT_WARNING : ZD_FAULT_INVALID,
                "unknown_member", name, &at, NULL, name,
                "this draft defines no member \"%.64s\" of arrays%s", name,
                is_ignored ? "; it is ignored" : "");
        }
    }
}

void zd_draft_array_done(struct zd_draft_array *array)
{
    zd_json_unref(array->zarray);
    zd_json_unref(array->attributes);
    zd_v2_array_done(&array->v2);
    *array = (struct zd_draft_array){0};
}
