/* The compression of an N5 dataset as a codec of a final v3 document. */
#include "core/dialect/n5/n5_compression.h"

#include <string.h>

#include "core/base/num.h"

/* A `compression` under translation. */
struct translation {
    const struct zd_json *json; /* an object; NULL: `compressionType` names the type alone */
    struct zd_pointer at;
    uint32_t element_bytes;
    struct zd_faults *faults;
};

/* A parameter that is a number. */
struct parameter {
    const char *name; /* in N5 */
    const char *v3_name;
    int64_t min;
    int64_t max;
    int64_t initial;
    int64_t automatic; /* what -1 stands for */
};

#define NUMBERS_MAX 3
#define OTHERS_MAX  4

/* A row for each type. */
struct compressor {
    const char *type;
    const char *codec; /* of v3; NULL: none */
    bool is_unregistered;
    struct parameter number[NUMBERS_MAX];
    const char *other[OTHERS_MAX]; /* members besides that are known */
    enum zd_status (*finish)(const struct translation *t, struct zd_json *configuration);
};

static const struct zd_pointer whole_document = {.text = ""};

static void warn(const struct translation *t, const char *member, const char *what)
{
    const struct zd_pointer at = zd_pointer_member(&t->at, member);
    zd_faults_add(t->faults, ZD_FAULT_WARNING, "unknown_codec_parameter", member, &at, NULL, member,
        "the parameter \"%.64s\" %s; it is ignored", member, what);
}

/* ---- codecs with more than numbers ---- */

static ZD_RESULT finish_zstd(const struct translation *t, struct zd_json *configuration)
{
    (void)t;
    return zd_json_set(configuration, "checksum", zd_json_new_bool(false));
}

static ZD_RESULT finish_xz(const struct translation *t, struct zd_json *configuration)
{
    (void)t;
    ZD_TRY(zd_json_set(configuration, "format", zd_json_new_i64(1)));
    ZD_TRY(zd_json_set(configuration, "check", zd_json_new_i64(-1)));
    return zd_json_set(configuration, "filters", zd_json_new_null());
}

/* The filters of numcodecs: they say how the bytes are coded. */
static ZD_RESULT finish_lzma(const struct translation *t, struct zd_json *configuration)
{
    static const char *const names[] = {"format", "check", "preset", "filters"};
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        const struct zd_json *value = zd_json_member(t->json, names[i]);
        if (value != NULL) {
            ZD_TRY(zd_json_set(configuration, names[i], zd_json_ref(value)));
        }
    }
    return ZD_OK;
}

static const char *blosc_cname(const struct translation *t)
{
    static const char *const names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
    const struct zd_json *json = zd_json_member(t->json, "cname");
    const char *name = zd_json_string(json);
    for (size_t i = 0; name != NULL && i < ZD_COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return names[i];
        }
    }
    if (json != NULL) {
        warn(t, "cname", "names no compressor of Blosc");
    }
    return names[0];
}

static const char *blosc_shuffle(const struct translation *t)
{
    static const char *const names[] = {"noshuffle", "shuffle", "bitshuffle"};
    const struct zd_json *json = zd_json_member(t->json, "shuffle");
    uint64_t number = 0;
    if (json != NULL && (!zd_json_u64(json, &number) || number >= ZD_COUNT_OF(names))) {
        warn(t, "shuffle", "must be 0, 1 or 2");
        number = 0;
    }
    return names[number];
}

static ZD_RESULT finish_blosc(const struct translation *t, struct zd_json *configuration)
{
    int64_t typesize = 0;
    ZD_TRY(zd_json_set(configuration, "cname", zd_json_new_text(blosc_cname(t))));
    ZD_TRY(zd_json_set(configuration, "shuffle", zd_json_new_text(blosc_shuffle(t))));
    if (zd_json_i64(zd_json_member(configuration, "typesize"), &typesize) && typesize > 0) {
        return ZD_OK;
    }
    return zd_json_set(configuration, "typesize", zd_json_new_u64(t->element_bytes));
}

/* ---- the types ---- */

static const struct compressor compressors[] = {
    {.type = "raw"},
    {.type = "gzip",
        .codec = "gzip",
        .number = {{"level", "level", -1, 9, -1, 6}},
        .other = {"useZlib"}},
    {.type = "bzip2",
        .codec = "numcodecs.bz2",
        .is_unregistered = true,
        .number = {{"blockSize", "level", 1, 9, 9, 0}}},
    {.type = "xz",
        .codec = "numcodecs.lzma",
        .is_unregistered = true,
        .number = {{"preset", "preset", 0, 9, 6, 0}},
        .finish = finish_xz},
    {.type = "lz4", .codec = "n5.lz4", .is_unregistered = true, .other = {"blockSize"}},
    {.type = "blosc",
        .codec = "blosc",
        .number = {{"clevel", "clevel", 0, 9, 5, 0}, {"blocksize", "blocksize", 0, INT32_MAX, 0, 0},
            {"typesize", "typesize", 0, UINT8_MAX, 0, 0}},
        .other = {"cname", "shuffle", "nthreads"},
        .finish = finish_blosc},
    {.type = "zstd",
        .codec = "zstd",
        .number = {{"level", "level", -131072, 22, 3, -1}},
        .finish = finish_zstd},
    {.type = "lzma",
        .codec = "numcodecs.lzma",
        .is_unregistered = true,
        .other = {"format", "check", "preset", "filters"},
        .finish = finish_lzma},
};

/* Reference 7A.3: gzip with `useZlib`. */
static const struct compressor zlib = {
    .type = "gzip",
    .codec = "numcodecs.zlib",
    .is_unregistered = true,
    .number = {{"level", "level", -1, 9, -1, -1}},
    .other = {"useZlib"},
};

/* Reference 7A.5: zarr-python copies what it has from numcodecs. */
static const struct compressor numcodecs_lz4 = {
    .type = "lz4",
    .codec = "numcodecs.lz4",
    .is_unregistered = true,
    .number = {{"acceleration", "acceleration", INT32_MIN, INT32_MAX, 1, -1}},
    .other = {"id"},
};

static bool uses_zlib(const struct translation *t)
{
    const struct zd_json *json = zd_json_member(t->json, "useZlib");
    if (json != NULL && !zd_json_is(json, ZD_JSON_BOOL)) {
        warn(t, "useZlib", "must be true or false");
    }
    return zd_json_is_true(json);
}

static const struct compressor *find_compressor(const struct translation *t, const char *type)
{
    if (strcmp(type, "gzip") == 0 && uses_zlib(t)) {
        return &zlib;
    }
    if (strcmp(type, "lz4") == 0 && zd_json_member(t->json, "id") != NULL) {
        return &numcodecs_lz4;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(compressors); i++) {
        if (strcmp(compressors[i].type, type) == 0) {
            return &compressors[i];
        }
    }
    return NULL;
}

static ZD_RESULT set_number(
    const struct translation *t, const struct parameter *parameter, struct zd_json *configuration)
{
    const struct zd_json *json = zd_json_member(t->json, parameter->name);
    int64_t value = parameter->initial;
    if (json != NULL &&
        (!zd_json_i64(json, &value) || value < parameter->min || value > parameter->max)) {
        warn(t, parameter->name, "is out of range");
        value = parameter->initial;
    }
    return zd_json_set(configuration, parameter->v3_name,
        zd_json_new_i64(value == -1 ? parameter->automatic : value));
}

static bool has_member(const struct compressor *compressor, const char *name)
{
    for (size_t i = 0; i < NUMBERS_MAX && compressor->number[i].name != NULL; i++) {
        if (strcmp(compressor->number[i].name, name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < OTHERS_MAX && compressor->other[i] != NULL; i++) {
        if (strcmp(compressor->other[i], name) == 0) {
            return true;
        }
    }
    return strcmp(name, "type") == 0;
}

static void judge_members(const struct translation *t, const struct compressor *compressor)
{
    for (void *iter = t->json == NULL ? NULL : zd_json_next(t->json, NULL); iter != NULL;
        iter = zd_json_next(t->json, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (!has_member(compressor, name)) {
            warn(t, name, "does not belong to this compression");
        }
    }
}

static ZD_RESULT make_codec(
    const struct translation *t, const struct compressor *compressor, struct zd_json **ret_codec)
{
    ZD_AUTO(zd_json) codec = zd_json_new_object();
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (codec == NULL || configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < NUMBERS_MAX && compressor->number[i].name != NULL; i++) {
        ZD_TRY(set_number(t, &compressor->number[i], configuration));
    }
    if (compressor->finish != NULL) {
        ZD_TRY(compressor->finish(t, configuration));
    }
    ZD_TRY(zd_json_set(codec, "name", zd_json_new_text(compressor->codec)));
    if (zd_json_count(configuration) > 0) {
        ZD_TRY(zd_json_set(codec, "configuration", ZD_TAKE(configuration)));
    }
    *ret_codec = ZD_TAKE(codec);
    return ZD_OK;
}

/* @param type_at of the type's name */
static ZD_RESULT translate(const struct translation *t, const char *type,
    const struct zd_pointer *type_at, struct zd_json **ret_codec)
{
    const struct compressor *compressor = find_compressor(t, type);
    if (compressor == NULL) {
        zd_faults_add(t->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", type, type_at,
            "raw, gzip, bzip2, xz, lz4, blosc, zstd or lzma", type,
            "the compression \"%.64s\" is not supported; the stored blocks can still be read by "
            "key",
            type);
        return ZD_OK;
    }
    judge_members(t, compressor);
    if (compressor->is_unregistered) {
        zd_faults_add(t->faults, ZD_FAULT_WARNING, "unregistered_name", compressor->codec, type_at,
            NULL, compressor->codec,
            "Zarr v3 has no registered codec for this compression; the document names it %s",
            compressor->codec);
    }
    return compressor->codec == NULL ? ZD_OK : make_codec(t, compressor, ret_codec);
}

static void add_wrong_type(const struct translation *t, const char *name,
    const struct zd_pointer *at, const char *expected, const struct zd_json *json)
{
    zd_faults_add(t->faults, ZD_FAULT_INVALID, json == NULL ? "missing_member" : "wrong_type", name,
        at, expected, zd_json_type_name(json), "%s must be %s", name, expected);
}

static ZD_RESULT translate_object(struct translation *t, struct zd_json **ret_codec)
{
    const struct zd_json *type = zd_json_member(t->json, "type");
    const struct zd_pointer type_at = zd_pointer_member(&t->at, "type");
    if (!zd_json_is(t->json, ZD_JSON_OBJECT)) {
        add_wrong_type(t, "compression", &t->at, "an object", t->json);
    } else if (zd_json_string(type) == NULL) {
        add_wrong_type(t, "the type of compression", &type_at, "a string", type);
    } else {
        return translate(t, zd_json_string(type), &type_at, ret_codec);
    }
    return ZD_OK;
}

enum zd_status zd_n5_compression_translate(const struct zd_json *attributes, uint32_t element_bytes,
    struct zd_n5_compression *ret_compression, struct zd_faults *faults)
{
    const struct zd_json *legacy = zd_json_member(attributes, "compressionType");
    struct translation t = {
        .json = zd_json_member(attributes, "compression"),
        .at = zd_pointer_member(&whole_document, "compression"),
        .element_bytes = element_bytes,
        .faults = faults,
    };
    *ret_compression = (struct zd_n5_compression){.place = t.at};
    if (t.json != NULL || legacy == NULL) {
        return translate_object(&t, &ret_compression->codec);
    }
    ret_compression->place = zd_pointer_member(&whole_document, "compressionType");
    if (zd_json_string(legacy) == NULL) {
        add_wrong_type(&t, "compressionType", &ret_compression->place, "a string", legacy);
        return ZD_OK;
    }
    return translate(&t, zd_json_string(legacy), &ret_compression->place, &ret_compression->codec);
}

void zd_n5_compression_done(struct zd_n5_compression *compression)
{
    zd_json_unref(compression->codec);
    *compression = (struct zd_n5_compression){0};
}
