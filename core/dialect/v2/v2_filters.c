/* The codecs of a final v3 array as order, filters and compressor of Zarr v2.
 *
 *     v3:  array -> transpose -> array->array codecs -> bytes -> bytes->bytes codecs
 *     v2:  array -> order -> filter, filter ... -> compressor
 *
 * The last codec of all is the compressor, unless it is one of elements. */
#include "core/dialect/v2/v2_filters.h"

#include <string.h>

#include "core/base/num.h"
#include "core/codec/codec.h"

#define PREFIX         "numcodecs."
#define NAME_BYTES_MAX 128
#define BYTES          "bytes"
#define STRUCT         "v2.struct"

/* The codecs while they are translated. */
struct writing {
    struct zd_v2_filters *filters;
    struct zd_faults *faults;
    const struct zd_dtype *dtype;
    size_t rank;
    struct zd_pointer at;                /* of the codec at hand */
    const char *name;                    /* its name */
    const struct zd_json *configuration; /* its configuration, or NULL */
};

static enum zd_status refuse(const struct writing *writing, const char *expected, const char *why)
{
    zd_faults_add(writing->faults, ZD_FAULT_INVALID, "not_in_dialect", writing->name, &writing->at,
        expected, writing->name, "Zarr v2 cannot express the codec \"%.64s\" here: %s",
        writing->name, why);
    return ZD_OK;
}

/* ---- codecs that v2 says by other members ---- */

/* Zarr v2, order: "F" is the reverse order of axes. */
static bool is_reversed(const struct zd_json *order, size_t rank)
{
    for (size_t i = 0; i < rank; i++) {
        uint64_t axis = 0;
        if (!zd_json_u64(zd_json_element(order, i), &axis) || axis != rank - 1 - i) {
            return false;
        }
    }
    return zd_json_count(order) == rank && rank > 1;
}

static enum zd_status write_transpose(struct writing *writing, size_t place)
{
    if (place > 0 || !is_reversed(zd_json_member(writing->configuration, "order"), writing->rank)) {
        return refuse(writing, "the first codec, all axes reversed",
            "it has only \"order\", \"C\" or \"F\"; omit the codec, or reverse all axes with the "
            "first codec");
    }
    writing->filters->is_f = true;
    return ZD_OK;
}

/* In v3 only this codec knows a byte order: in front of it, in v2, all have the same one. */
static void read_order(const struct zd_json *codecs, struct zd_v2_filters *filters)
{
    for (size_t i = 0; i < zd_json_count(codecs); i++) {
        const struct zd_json *codec = zd_json_element(codecs, i);
        const struct zd_json *endian =
            zd_json_member(zd_json_member(codec, "configuration"), "endian");
        const struct zd_span name = zd_json_string_span(zd_json_member(codec, "name"));
        if (zd_span_is(name, BYTES)) {
            filters->is_big = zd_span_is(zd_json_string_span(endian), "big");
        } else if (zd_span_is(name, STRUCT)) {
            filters->endian = endian;
        }
    }
}

/* ---- codecs of numcodecs ---- */

/* The name of the codec in numcodecs; NULL: numcodecs does not have it, or the text's failure says
 * why. */
static const struct zd_codec *find_spelling(const struct zd_codec *codec, struct zd_text *id)
{
    const size_t len = strlen(PREFIX);
    if (strncmp(codec->name, PREFIX, len) == 0) {
        return zd_text_add(id, codec->name + len) == ZD_OK ? codec : NULL;
    }
    ZD_SCOPED_TEXT(name, NAME_BYTES_MAX);
    zd_text_addf(&name, PREFIX "%s", codec->name);
    id->status = name.status;
    if (zd_text_add(id, codec->name) != ZD_OK) {
        return NULL;
    }
    const struct zd_codec *found = zd_codec_find(name.at);
    return found != NULL && (found == codec || found->translate != NULL) ? found : NULL;
}

/* Codecs of elements say what they take and make as type strings. */
static bool is_typestr(const char *name)
{
    static const char *const names[] = {"dtype", "astype", "encode_dtype", "decode_dtype"};
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* NULL: no memory. */
static struct zd_json *big_of(const char *typestr)
{
    ZD_SCOPED_TEXT(text, strlen(typestr));
    zd_text_add_char(&text, '>');
    zd_text_add(&text, typestr + 1);
    return text.status == ZD_OK ? zd_json_new_text(text.at) : NULL;
}

static ZD_RESULT copy_members(
    const struct writing *writing, const struct zd_json *configuration, struct zd_json *entry)
{
    for (void *iter = zd_json_next(configuration, NULL); iter != NULL;
        iter = zd_json_next(configuration, iter)) {
        const char *name = zd_json_iter_name(iter);
        const struct zd_json *value = zd_json_iter_value(iter);
        const char *typestr = is_typestr(name) ? zd_json_string(value) : NULL;
        const bool becomes_big = writing->filters->is_big && typestr != NULL && typestr[0] == '<';
        ZD_TRY(zd_json_set(entry, name, becomes_big ? big_of(typestr) : zd_json_ref(value)));
    }
    return ZD_OK;
}

static ZD_RESULT make_entry(const struct writing *writing, const struct zd_codec *spelling,
    const char *id, struct zd_json **ret_entry)
{
    ZD_AUTO(zd_json) spelled = NULL;
    ZD_AUTO(zd_json) entry = zd_json_new_object();
    if (entry == NULL) {
        return ZD_NO_MEMORY;
    }
    if (spelling->spell != NULL) {
        ZD_TRY(spelling->spell(writing->configuration, &spelled));
    }
    ZD_TRY(zd_json_set(entry, "id", zd_json_new_text(id)));
    ZD_TRY(copy_members(writing, spelled != NULL ? spelled : writing->configuration, entry));
    *ret_entry = ZD_TAKE(entry);
    return ZD_OK;
}

/* Old readers know some codecs only as filters: those of elements, which follow the data type. */
static bool is_filter(const struct zd_codec *codec, const struct zd_dtype *dtype)
{
    return codec->kind == ZD_CODEC_ARRAY_ARRAY ||
           (codec->kind == ZD_CODEC_ARRAY_BYTES && zd_dtype_is_variable(dtype));
}

static enum zd_status write_codec(
    struct writing *writing, const struct zd_codec *codec, bool is_last)
{
    ZD_SCOPED_TEXT(id, NAME_BYTES_MAX);
    const struct zd_codec *spelling = find_spelling(codec, &id);
    ZD_AUTO(zd_json) entry = NULL;
    if (id.status == ZD_NO_MEMORY) {
        return ZD_NO_MEMORY;
    }
    if (spelling == NULL) {
        return refuse(writing, "a codec of numcodecs",
            codec->shard == NULL
                ? "numcodecs has no such codec; use a codec of numcodecs"
                : "its chunks have no inner chunks; use a smaller chunk_shape and plain codecs");
    }
    ZD_TRY(make_entry(writing, spelling, id.at, &entry));
    if (is_last && !is_filter(codec, writing->dtype)) {
        writing->filters->compressor = ZD_TAKE(entry);
        return ZD_OK;
    }
    return zd_json_append(writing->filters->list, ZD_TAKE(entry));
}

static enum zd_status write_entry(
    struct writing *writing, const struct zd_json *json, size_t place, bool is_last)
{
    const char *name = zd_json_string(json);
    writing->name = name != NULL ? name : zd_json_string(zd_json_member(json, "name"));
    writing->configuration = zd_json_member(json, "configuration");
    if (writing->name == NULL) {
        writing->name = "";
        return refuse(writing, "a codec of numcodecs", "it has no name");
    }
    if (strcmp(writing->name, "transpose") == 0) {
        return write_transpose(writing, place);
    }
    if (strcmp(writing->name, BYTES) == 0 || strcmp(writing->name, STRUCT) == 0) {
        return ZD_OK; /* the data type says it */
    }
    const struct zd_codec *codec = zd_codec_find(writing->name);
    return codec == NULL ? refuse(writing, "a codec of numcodecs", "this server does not know it")
                         : write_codec(writing, codec, is_last);
}

enum zd_status zd_v2_filters_make(const struct zd_json *codecs, const struct zd_dtype *dtype,
    size_t rank, struct zd_v2_filters *ret_filters, struct zd_faults *faults)
{
    const struct zd_pointer document = {.text = ""};
    const struct zd_pointer list = zd_pointer_member(&document, "codecs");
    const size_t n = zd_json_count(codecs);
    struct writing writing = {
        .filters = ret_filters, .faults = faults, .dtype = dtype, .rank = rank};
    *ret_filters = (struct zd_v2_filters){.list = zd_json_new_array()};
    if (ret_filters->list == NULL) {
        return ZD_NO_MEMORY;
    }
    read_order(codecs, ret_filters);
    for (size_t i = 0; i < n; i++) {
        writing.at = zd_pointer_element(&list, i);
        ZD_TRY(write_entry(&writing, zd_json_element(codecs, i), i, i + 1 == n));
    }
    return ZD_OK;
}

void zd_v2_filters_done(struct zd_v2_filters *filters)
{
    zd_json_unref(filters->list);
    zd_json_unref(filters->compressor);
    *filters = (struct zd_v2_filters){0};
}
