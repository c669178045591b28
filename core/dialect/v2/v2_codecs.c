/* Filters and compressor of a Zarr v2 array as codecs of v3.
 *
 *     v2:  array -> order -> filter, filter ... -> compressor
 *     v3:  array -> transpose -> array->array codecs -> bytes -> bytes->bytes codecs
 *
 * In v2 every filter gets bytes, and what it takes them for stands in its parameters. In v3 only
 * `bytes` knows a byte order: it is that of the last array->array filter. */
#include "core/dialect/v2/v2_codecs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/refusal.h"

#define PREFIX         "numcodecs."
#define NAME_BYTES_MAX 128
#define FILTERS_MAX    (ZD_CHAIN_CODECS_MAX - 3U) /* beside transpose, bytes and the compressor */

static const struct zd_json_limits schema_limits = {
    .bytes_max = 4096, .nodes_max = 500, .depth_max = 16};

/* The codecs while they are translated. */
struct translation {
    struct zd_v2_codecs *codecs;
    struct zd_faults *faults;
    bool has_dtype;         /* flow is known */
    struct zd_typestr flow; /* what reaches the next codec that takes an array */
    uint32_t item_bytes;    /* of what reaches the next codec, as numcodecs counts them */
    bool is_bytes;          /* the array->bytes codec is in the list */
};

/* A filter or the compressor. */
struct entry {
    const struct zd_json *json; /* an object */
    struct zd_pointer at;
    const char *id;
    const struct zd_codec *codec;
};

static const struct zd_pointer whole_document = {.text = ""};

/* Reference 13.2: netcdf-c writes 0 and means the size of an item. */
static ZD_RESULT fill_elementsize(
    const struct translation *t, const struct entry *entry, struct zd_json *configuration)
{
    uint64_t size = 1;
    if (strcmp(entry->id, "shuffle") != 0 ||
        !zd_json_u64(zd_json_member(entry->json, "elementsize"), &size) || size != 0) {
        return ZD_OK;
    }
    const struct zd_pointer at = zd_pointer_member(&entry->at, "elementsize");
    zd_faults_add(t->faults, ZD_FAULT_WARNING, "implied_elementsize", entry->id, &at, "1 or more",
        "0", "an elementsize of 0 is read as the size of the items, %" PRIu32, t->item_bytes);
    return zd_json_set(configuration, "elementsize", zd_json_new_u64(t->item_bytes));
}

/* ---- one entry ---- */

static const struct zd_codec *find_codec(const char *id)
{
    char name[NAME_BYTES_MAX + 1];
    const int n = snprintf(name, sizeof name, PREFIX "%s", id);
    return n > 0 && (size_t)n < sizeof name ? zd_codec_find(name) : NULL;
}

static void refuse_codec(const struct translation *t, const struct entry *entry)
{
    const char *why = zd_refusal_find(entry->id);
    zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", entry->id, &entry->at,
        "a codec that /v1/extensions lists", entry->id,
        "the codec \"%s\" is not supported%s%s; the stored chunks can still be read by key",
        entry->id, why == NULL ? "" : ": ", why == NULL ? "" : why);
}

/* The codec's schema says which members a configuration may have. */
static ZD_RESULT copy_members(
    const struct translation *t, const struct entry *entry, struct zd_json **ret_configuration)
{
    ZD_AUTO(zd_json) schema = NULL;
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_TRY(zd_json_parse(zd_span_of(entry->codec->schema), &schema_limits, &schema, NULL));
    if (configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    const struct zd_json *properties = zd_json_member(schema, "properties");
    for (void *iter = zd_json_next(entry->json, NULL); iter != NULL;
        iter = zd_json_next(entry->json, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (zd_json_member(properties, name) != NULL) {
            ZD_TRY(zd_json_set(configuration, name, zd_json_ref(zd_json_iter_value(iter))));
        } else if (strcmp(name, "id") != 0) {
            const struct zd_pointer at = zd_pointer_member(&entry->at, name);
            zd_faults_add(t->faults, ZD_FAULT_WARNING, "unknown_codec_parameter", entry->id, &at,
                NULL, name, "%.64s does not define the parameter \"%.64s\"; it is ignored",
                entry->id, name);
        }
    }
    *ret_configuration = ZD_TAKE(configuration);
    return ZD_OK;
}

/* Takes over `configuration`, which may be NULL. */
static ZD_RESULT add_codec(struct translation *t, const char *name, struct zd_json *configuration,
    const struct zd_pointer *place)
{
    ZD_AUTO(zd_json) held = configuration;
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    assert(t->codecs->n < ZD_CHAIN_CODECS_MAX);
    if (definition == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(definition, "name", zd_json_new_text(name)));
    if (held != NULL && zd_json_count(held) > 0) {
        ZD_TRY(zd_json_set(definition, "configuration", ZD_TAKE(held)));
    }
    t->codecs->place[t->codecs->n++] = *place;
    return zd_json_append(t->codecs->list, ZD_TAKE(definition));
}

/* v3 has no codec for fields that differ in their byte order. */
static ZD_RESULT add_struct(struct translation *t, const struct zd_pointer *at)
{
    const struct zd_struct_fields *fields = t->flow.dtype.fields;
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) endian = zd_json_new_array();
    for (uint32_t i = 0; i < fields->n; i++) {
        const char *word = fields->field[i].is_big ? "big" : "little";
        ZD_TRY(zd_json_append(endian, zd_json_new_text(word)));
    }
    ZD_TRY(zd_json_set(configuration, "endian", ZD_TAKE(endian)));
    return add_codec(t, "v2.struct", ZD_TAKE(configuration), at);
}

static ZD_RESULT add_bytes(struct translation *t)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "dtype");
    const struct zd_struct_fields *fields = t->flow.dtype.fields;
    t->is_bytes = true;
    if (fields != NULL && fields->is_mixed) {
        return add_struct(t, &at);
    }
    if (t->flow.dtype.unit_bytes == 1) {
        return add_codec(t, "bytes", NULL, &at);
    }
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    const char *endian = t->flow.is_big ? "big" : "little";
    ZD_TRY(zd_json_set(configuration, "endian", zd_json_new_text(endian)));
    return add_codec(t, "bytes", ZD_TAKE(configuration), &at);
}

/* The data type of the first of these members that is there. */
static const char *find_dtype(const struct entry *entry, const char *const *members,
    struct zd_typestr *ret_dtype, bool *is_read)
{
    for (; *members != NULL; members++) {
        const char *text = zd_json_string(zd_json_member(entry->json, *members));
        if (text != NULL) {
            *is_read = zd_typestr_parse_any(text, ret_dtype, NULL) == ZD_OK;
            return *members;
        }
    }
    *is_read = false;
    return NULL;
}

/* A filter takes its input for what it says, whatever that is: only what is true is read. */
static void judge_input(const struct translation *t, const struct entry *entry)
{
    static const char *const members[] = {"dtype", "decode_dtype", NULL};
    struct zd_typestr input;
    bool is_read = false;
    const char *member = find_dtype(entry, members, &input, &is_read);
    if (!t->has_dtype || !is_read || zd_typestr_equal(&input, &t->flow)) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&entry->at, member);
    zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", entry->id, &at,
        t->flow.dtype.name, input.dtype.name,
        "%.64s expects %s%s, but its input has another type: such filters are not supported",
        entry->id, input.is_big ? "big-endian " : "", input.dtype.name);
}

static void follow_array(struct translation *t, const struct entry *entry)
{
    static const char *const members[] = {"astype", "encode_dtype", "dtype", NULL};
    struct zd_typestr output;
    bool is_read = false;
    judge_input(t, entry);
    (void)find_dtype(entry, members, &output, &is_read);
    if (strcmp(entry->id, "packbits") == 0) { /* it makes bytes, and has no parameters */
        is_read = zd_typestr_parse_any("uint8", &output, NULL) == ZD_OK;
    }
    if (is_read) {
        t->flow = output;
    }
    t->item_bytes = t->flow.dtype.bytes;
}

/* Where the codec goes: array->array codecs come first. */
static ZD_RESULT judge_order(struct translation *t, const struct entry *entry)
{
    const enum zd_codec_kind kind = entry->codec->kind;
    if (kind == ZD_CODEC_BYTES_BYTES) {
        return t->is_bytes ? ZD_OK : add_bytes(t);
    }
    if (t->is_bytes) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", entry->id, &entry->at,
            "codecs of elements before codecs of bytes", entry->id,
            "the codec \"%.64s\" is not supported after codecs of bytes", entry->id);
    }
    t->is_bytes = t->is_bytes || kind == ZD_CODEC_ARRAY_BYTES;
    return ZD_OK;
}

/* Faults are found when the v3 document is judged. */
static ZD_RESULT translate_codec(
    const struct translation *t, const struct zd_codec **codec, struct zd_json **configuration)
{
    const struct zd_codec_config config = {
        .configuration = *configuration, .at = whole_document, .judgement = ZD_JUDGE_READ};
    struct zd_faults faults = {0};
    struct zd_json *translated = NULL;
    if ((*codec)->translate == NULL) {
        return ZD_OK;
    }
    const enum zd_status status =
        (*codec)->translate(&config, t->item_bytes, codec, &translated, &faults);
    zd_faults_done(&faults);
    if (status == ZD_OK) {
        zd_json_unref(*configuration);
        *configuration = translated;
    }
    return status == ZD_INVALID ? ZD_OK : status;
}

/* Reference 13.2, row 24: GDAL writes a word for the number of a shuffle. */
static void note_word(const struct translation *t, const struct entry *entry)
{
    const struct zd_json *shuffle = zd_json_member(entry->json, "shuffle");
    if (strcmp(entry->id, "blosc") == 0 && zd_json_is(shuffle, ZD_JSON_STRING)) {
        const struct zd_pointer at = zd_pointer_member(&entry->at, "shuffle");
        zd_faults_add(t->faults, ZD_FAULT_WARNING, "legacy_spelling", entry->id, &at,
            "-1, 0, 1 or 2", zd_json_string(shuffle), "the shuffle of blosc should be a number");
    }
}

static ZD_RESULT add_entry(struct translation *t, const struct entry *entry)
{
    ZD_AUTO(zd_json) configuration = NULL;
    const struct zd_codec *codec = entry->codec;
    ZD_TRY(judge_order(t, entry));
    ZD_TRY(copy_members(t, entry, &configuration));
    ZD_TRY(fill_elementsize(t, entry, configuration));
    note_word(t, entry);
    ZD_TRY(translate_codec(t, &codec, &configuration));
    if (entry->codec->kind == ZD_CODEC_ARRAY_ARRAY) {
        follow_array(t, entry);
    } else {
        t->item_bytes = 1;
    }
    return add_codec(t, codec->name, ZD_TAKE(configuration), &entry->at);
}

static ZD_RESULT translate_entry(
    struct translation *t, const struct zd_json *json, const struct zd_pointer *at)
{
    struct entry entry = {
        .json = json, .at = *at, .id = zd_json_string(zd_json_member(json, "id"))};
    if (entry.id == NULL) {
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "wrong_type", NULL, at,
            "an object with the member \"id\"", zd_json_type_name(json),
            "a codec of v2 must be an object with the member \"id\"");
        return ZD_OK;
    }
    entry.codec = find_codec(entry.id);
    if (entry.codec == NULL) {
        refuse_codec(t, &entry);
        return ZD_OK;
    }
    return add_entry(t, &entry);
}

/* ---- the members ---- */

static ZD_RESULT translate_filters(struct translation *t, const struct zd_json *filters)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "filters");
    if (filters == NULL || zd_json_is(filters, ZD_JSON_NULL)) {
        return ZD_OK;
    }
    if (!zd_json_is(filters, ZD_JSON_ARRAY)) {
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "wrong_type", "filters", &at, "a list or null",
            zd_json_type_name(filters), "filters must be a list of codecs, or null");
        return ZD_OK;
    }
    if (zd_json_count(filters) > FILTERS_MAX) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "out_of_range", "filters", &at, NULL, NULL,
            "%zu filters; at most %u are supported", zd_json_count(filters), FILTERS_MAX);
        return ZD_OK;
    }
    for (size_t i = 0; i < zd_json_count(filters); i++) {
        const struct zd_pointer place = zd_pointer_element(&at, i);
        ZD_TRY(translate_entry(t, zd_json_element(filters, i), &place));
    }
    return ZD_OK;
}

static ZD_RESULT add_transpose(struct translation *t, size_t rank, const struct zd_pointer *at)
{
    ZD_AUTO(zd_json) order = zd_json_new_array();
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (order == NULL || configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = rank; i-- > 0;) {
        ZD_TRY(zd_json_append(order, zd_json_new_u64(i)));
    }
    ZD_TRY(zd_json_set(configuration, "order", ZD_TAKE(order)));
    return add_codec(t, "transpose", ZD_TAKE(configuration), at);
}

static ZD_RESULT translate_order(struct translation *t, const struct zd_json *json, size_t rank)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "order");
    const char *order = zd_json_string(json);
    if (order != NULL && strcmp(order, "F") == 0) {
        return rank < 2 ? ZD_OK : add_transpose(t, rank, &at);
    }
    if (json != NULL && (order == NULL || strcmp(order, "C") != 0)) {
        zd_faults_add(t->faults, ZD_FAULT_INVALID, "out_of_range", "order", &at, "\"C\" or \"F\"",
            order == NULL ? zd_json_type_name(json) : order, "order must be \"C\" or \"F\"");
    }
    return ZD_OK;
}

/* The type of an array's objects, from the filter that knows it (Zarr v2, object data types). */
static enum zd_status find_object_type(const struct zd_json *codec, struct zd_dtype *ret_dtype)
{
    static const struct {
        const char *id;
        const char *data_type;
    } objects[] = {
        {"vlen-utf8", "string"},
        {"vlen-bytes", "bytes"},
        {"categorize", "string"},
        {"json2", "string"},
        {"msgpack2", "string"},
    };
    const struct zd_span id = zd_json_string_span(zd_json_member(codec, "id"));
    for (size_t i = 0; i < ZD_COUNT_OF(objects); i++) {
        if (zd_span_is(id, objects[i].id)) {
            return zd_dtype_find(objects[i].data_type, ret_dtype);
        }
    }
    const char *item = zd_json_string(zd_json_member(codec, "dtype"));
    struct zd_typestr found;
    const bool is_list = zd_span_is(id, "vlen-array") && item != NULL &&
                         zd_typestr_parse_any(item, &found, NULL) == ZD_OK &&
                         zd_dtype_of_list(&found.dtype, ret_dtype);
    return is_list ? ZD_OK : ZD_UNSUPPORTED;
}

enum zd_status zd_v2_codecs_object_type(const struct zd_json *zarray, struct zd_dtype *ret_dtype)
{
    const struct zd_json *filters = zd_json_member(zarray, "filters");
    for (size_t i = 0; i < zd_json_count(filters); i++) {
        if (find_object_type(zd_json_element(filters, i), ret_dtype) == ZD_OK) {
            return ZD_OK;
        }
    }
    return find_object_type(zd_json_member(zarray, "compressor"), ret_dtype);
}

enum zd_status zd_v2_codecs_translate(const struct zd_json *zarray, const struct zd_typestr *dtype,
    size_t rank, struct zd_v2_codecs *ret_codecs, struct zd_faults *faults)
{
    struct translation t = {.codecs = ret_codecs, .faults = faults, .has_dtype = dtype != NULL};
    if (dtype != NULL) {
        t.flow = *dtype;
    }
    t.item_bytes = dtype == NULL ? 1 : dtype->dtype.bytes;
    *ret_codecs = (struct zd_v2_codecs){.list = zd_json_new_array()};
    if (ret_codecs->list == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(translate_order(&t, zd_json_member(zarray, "order"), rank));
    ZD_TRY(translate_filters(&t, zd_json_member(zarray, "filters")));
    const struct zd_json *compressor = zd_json_member(zarray, "compressor");
    if (compressor != NULL && !zd_json_is(compressor, ZD_JSON_NULL)) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "compressor");
        ZD_TRY(translate_entry(&t, compressor, &at));
    }
    return t.is_bytes ? ZD_OK : add_bytes(&t);
}

void zd_v2_codecs_move_faults(const struct zd_v2_codecs *codecs, struct zd_faults *faults)
{
    const struct zd_pointer list = zd_pointer_member(&whole_document, "codecs");
    for (uint32_t i = 0; i < codecs->n; i++) {
        const struct zd_pointer codec = zd_pointer_element(&list, i);
        const struct zd_pointer configuration = zd_pointer_member(&codec, "configuration");
        zd_faults_move(faults, &configuration, &codecs->place[i]);
        zd_faults_move(faults, &codec, &codecs->place[i]);
    }
}

void zd_v2_codecs_done(struct zd_v2_codecs *codecs)
{
    zd_json_unref(codecs->list);
    *codecs = (struct zd_v2_codecs){0};
}
