/* The codec `blosc` as numcodecs spells it: the shuffle is a number, all parameters may be absent.
 */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME       "numcodecs.blosc"
#define COMPRESSOR "lz4" /* when it is not said, as the rest */
#define LEVEL      5
#define AUTOMATIC  (-1)
#define SHUFFLES   "-1, 0, 1 or 2"
#define BYTES_MAX  INT32_MAX /* of a block or an item, in bytes */

/* Places in the names. */
enum shuffle { NO_SHUFFLE, BYTE_SHUFFLE, BIT_SHUFFLE };

/* The parameters of blosc beside the compressor. */
struct settings {
    const char *compressor;
    int64_t level;
    int64_t shuffle; /* or AUTOMATIC */
    int64_t item_bytes;
    int64_t block_bytes; /* 0: the library chooses */
};

/* Reference 13.2: GDAL writes a word. */
static bool read_word(const char *word, int64_t *ret_shuffle)
{
    static const char *const words[] = {"NONE", "BYTE", "BIT"};
    for (size_t i = 0; word != NULL && i < ZD_COUNT_OF(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret_shuffle = (int64_t)i;
            return true;
        }
    }
    return false;
}

static void read_shuffle(const struct zd_parameters *parameters, int64_t *ret_shuffle)
{
    const struct zd_json *member = zd_parameter_find(parameters, "shuffle");
    const struct zd_pointer at = zd_parameter_at(parameters, "shuffle");
    if (member == NULL || (parameters->judgement == ZD_JUDGE_READ &&
                              read_word(zd_json_string(member), ret_shuffle))) {
        return;
    }
    if (!zd_json_i64(member, ret_shuffle) || *ret_shuffle < AUTOMATIC ||
        *ret_shuffle > BIT_SHUFFLE) {
        zd_parameter_fault(parameters, "shuffle", &at, "out_of_range", SHUFFLES, member);
    }
}

static void read_settings(const struct zd_parameters *parameters, struct settings *settings)
{
    static const char *const compressors[] = {
        "lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib", NULL};
    uint32_t choice = 0;
    if (zd_parameter_find(parameters, "cname") != NULL &&
        zd_parameter_choice(parameters, "cname", compressors, &choice)) {
        settings->compressor = compressors[choice];
    }
    if (zd_parameter_find(parameters, "clevel") != NULL) {
        (void)zd_parameter_i64(parameters, "clevel", 0, 9, &settings->level);
    }
    if (zd_parameter_find(parameters, "typesize") != NULL) {
        (void)zd_parameter_i64(parameters, "typesize", 1, BYTES_MAX, &settings->item_bytes);
    }
    if (zd_parameter_find(parameters, "blocksize") != NULL) {
        (void)zd_parameter_i64(parameters, "blocksize", 0, BYTES_MAX, &settings->block_bytes);
    }
    read_shuffle(parameters, &settings->shuffle);
    if (settings->shuffle == AUTOMATIC) {
        settings->shuffle = settings->item_bytes == 1 ? BIT_SHUFFLE : BYTE_SHUFFLE;
    }
}

static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle"}; /* of `blosc` */

static ZD_RESULT write_settings(const struct settings *settings, struct zd_json *json)
{
    const char *shuffle = shuffles[settings->shuffle];
    ZD_TRY(zd_json_set(json, "cname", zd_json_new_text(settings->compressor)));
    ZD_TRY(zd_json_set(json, "clevel", zd_json_new_i64(settings->level)));
    ZD_TRY(zd_json_set(json, "shuffle", zd_json_new_text(shuffle)));
    ZD_TRY(zd_json_set(json, "typesize", zd_json_new_i64(settings->item_bytes)));
    return zd_json_set(json, "blocksize", zd_json_new_i64(settings->block_bytes));
}

static enum zd_status blosc_translate(const struct zd_codec_config *config, uint32_t item_bytes,
    const struct zd_codec **ret_codec, struct zd_json **ret_configuration, struct zd_faults *faults)
{
    static const char *const names[] = {
        "cname", "clevel", "shuffle", "blocksize", "typesize", NULL};
    struct zd_parameters parameters;
    struct settings settings = {.compressor = COMPRESSOR,
        .level = LEVEL,
        .shuffle = BYTE_SHUFFLE,
        .item_bytes = item_bytes};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_settings(&parameters, &settings);
    ZD_TRY(zd_parameters_status(&parameters));
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(write_settings(&settings, json));
    *ret_codec = zd_codec_find("blosc");
    *ret_configuration = ZD_TAKE(json);
    return ZD_OK;
}

static struct zd_json *spell_shuffle(const struct zd_json *configuration)
{
    const struct zd_span word = zd_json_string_span(zd_json_member(configuration, "shuffle"));
    for (size_t i = 0; i < ZD_COUNT_OF(shuffles); i++) {
        if (zd_span_is(word, shuffles[i])) {
            return zd_json_new_u64(i);
        }
    }
    return zd_json_new_i64(AUTOMATIC);
}

/* Not `typesize`: numcodecs takes it from the items, and has no such parameter before 0.16. */
static enum zd_status blosc_spell(
    const struct zd_json *configuration, struct zd_json **ret_configuration)
{
    static const char *const names[] = {"cname", "clevel", "blocksize"};
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        const struct zd_json *member = zd_json_member(configuration, names[i]);
        if (member != NULL) {
            ZD_TRY(zd_json_set(json, names[i], zd_json_ref(member)));
        }
    }
    ZD_TRY(zd_json_set(json, "shuffle", spell_shuffle(configuration)));
    *ret_configuration = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_numcodecs_blosc = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"cname\":{\"enum\":[\"lz4\",\"lz4hc\","
              "\"blosclz\",\"zstd\",\"snappy\",\"zlib\"]},"
              "\"clevel\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9},"
              "\"shuffle\":{\"enum\":[-1,0,1,2]},"
              "\"typesize\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647},"
              "\"blocksize\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":2147483647}},"
              "\"additionalProperties\":false}",
    .translate = blosc_translate,
    .spell = blosc_spell,
};
