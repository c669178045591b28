/* The codec `lzma` of numcodecs: .xz, .lzma, or a raw stream of known filters. */
#include <lzma.h>

#include "core/codec/lzma_filters.h"
#include "core/codec/output.h"
#include "core/codec/parameter.h"

#define NAME          "numcodecs.lzma"
#define BYTES_PER_US  120
#define DECODER_BYTES (UINT64_C(128) << 20) /* twice what preset 9 needs */

/* The numbers that Python gives them. */
enum format { FORMAT_XZ = 1, FORMAT_ALONE = 2, FORMAT_RAW = 3 };

#define CHECK_DEFAULT (-1) /* CRC-64 in .xz; others have none */

struct lzma {
    enum format format;
    lzma_check check;
    struct zd_lzma_filters filters;
    struct zd_json *configuration; /* as it is in the document; owned; NULL: none */
    struct zd_repr decoded;
};

static bool is_there(const struct zd_parameters *parameters, const char *name)
{
    const struct zd_json *member = zd_parameter_find(parameters, name);
    return member != NULL && !zd_json_is(member, ZD_JSON_NULL);
}

static void add_fault(const struct zd_parameters *parameters, const char *name, const char *code,
    const char *expected)
{
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    zd_parameter_fault(parameters, name, &at, code, expected, zd_parameter_find(parameters, name));
}

static void read_check(
    const struct zd_parameters *parameters, enum format format, lzma_check *ret_check)
{
    int64_t check = CHECK_DEFAULT;
    *ret_check = LZMA_CHECK_CRC64;
    if (zd_parameter_find(parameters, "check") == NULL ||
        !zd_parameter_i64(parameters, "check", CHECK_DEFAULT, LZMA_CHECK_SHA256, &check) ||
        check == CHECK_DEFAULT) {
        return;
    }
    const bool is_known = check == LZMA_CHECK_NONE || check == LZMA_CHECK_CRC32 ||
                          check == LZMA_CHECK_CRC64 || check == LZMA_CHECK_SHA256;
    if (!is_known || (format != FORMAT_XZ && check != LZMA_CHECK_NONE)) {
        add_fault(parameters, "check", "out_of_range",
            format == FORMAT_XZ ? "-1, 0, 1, 4 or 10"
                                : "-1 or 0, because only format 1 has checks");
    }
    *ret_check = (lzma_check)check;
}

static void read_preset(const struct zd_parameters *parameters, uint32_t *ret_preset)
{
    int64_t preset = LZMA_PRESET_DEFAULT;
    if (is_there(parameters, "preset") &&
        zd_parameter_i64(parameters, "preset", 0, UINT32_MAX, &preset) &&
        !zd_lzma_filters_preset(preset)) {
        add_fault(parameters, "preset", "out_of_range",
            "0 to 9, plus 2147483648 for the extreme variant");
        preset = LZMA_PRESET_DEFAULT;
    }
    *ret_preset = (uint32_t)preset;
}

static void read_filters(const struct zd_parameters *parameters, struct lzma *lzma)
{
    static const lzma_vli last[] = {[FORMAT_XZ] = LZMA_FILTER_LZMA2,
        [FORMAT_ALONE] = LZMA_FILTER_LZMA1,
        [FORMAT_RAW] = LZMA_VLI_UNKNOWN};
    uint32_t preset = LZMA_PRESET_DEFAULT;
    read_preset(parameters, &preset);
    if (!is_there(parameters, "filters")) {
        if (lzma->format == FORMAT_RAW) {
            add_fault(parameters, "filters", "missing_member",
                "a list of filters, because the format is 3");
            return;
        }
        zd_lzma_filters_init(&lzma->filters, last[lzma->format], preset);
        return;
    }
    if (is_there(parameters, "preset")) {
        add_fault(parameters, "preset", "out_of_range", "null, because filters are given");
    }
    (void)zd_lzma_filters_read(parameters, last[lzma->format], &lzma->filters);
}

static void lzma_close(void *state)
{
    struct lzma *lzma = state;
    if (lzma != NULL) {
        zd_json_unref(lzma->configuration);
        zd_free(lzma);
    }
}

static enum zd_status lzma_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"format", "check", "preset", "filters", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    struct lzma lzma = {.decoded = *config->decoded};
    int64_t format = FORMAT_XZ;
    if (zd_parameter_find(&parameters, "format") != NULL) {
        (void)zd_parameter_i64(&parameters, "format", FORMAT_XZ, FORMAT_RAW, &format);
    }
    lzma.format = (enum format)format;
    read_check(&parameters, lzma.format, &lzma.check);
    read_filters(&parameters, &lzma);
    ZD_TRY(zd_parameters_status(&parameters));
    struct lzma *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = lzma;
    state->configuration =
        config->configuration == NULL ? NULL : zd_json_ref(config->configuration);
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

static ZD_RESULT refuse(
    const lzma_stream *stream, const struct zd_buf *encoded, lzma_ret result, struct zd_error *err)
{
    enum zd_status status;
    switch (result) {
    case LZMA_MEM_ERROR:
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the decoder");
    case LZMA_MEMLIMIT_ERROR:
        status = zd_fail(err, ZD_UNSUPPORTED,
            NAME ": decoding needs %llu bytes of memory; the limit is %llu",
            (unsigned long long)lzma_memusage(stream), (unsigned long long)DECODER_BYTES);
        break;
    case LZMA_OPTIONS_ERROR:
        status = zd_fail(err, ZD_UNSUPPORTED,
            NAME ": the LZMA library does not support the filters or options of the stream");
        break;
    default:
        status =
            zd_fail(err, ZD_CORRUPT, NAME ": no valid stream in %zu stored bytes: %s", encoded->len,
                result == LZMA_BUF_ERROR      ? "the end is missing"
                : result == LZMA_FORMAT_ERROR ? "the beginning is wrong"
                                              : "they contradict each other");
        break;
    }
    zd_fact_name(err, NAME);
    return status;
}

static lzma_ret begin_decoder(const struct lzma *lzma, lzma_stream *stream)
{
    struct zd_lzma_filters filters = lzma->filters;
    switch (lzma->format) {
    case FORMAT_XZ:
        return lzma_stream_decoder(stream, DECODER_BYTES, LZMA_CONCATENATED);
    case FORMAT_ALONE:
        return lzma_alone_decoder(stream, DECODER_BYTES);
    case FORMAT_RAW:
        break;
    }
    zd_lzma_filters_trim(&filters, lzma->decoded.size);
    const struct zd_lzma_chain chain = zd_lzma_filters_chain(&filters);
    return lzma_raw_decoder(stream, chain.filter);
}

static ZD_RESULT run_decoder(lzma_stream *stream, const struct zd_buf *encoded,
    struct zd_output *output, struct zd_error *err)
{
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) {
        size_t room_bytes;
        ZD_TRY(zd_output_room(output, &stream->next_out, &room_bytes, err));
        stream->avail_out = room_bytes;
        result = lzma_code(stream, LZMA_FINISH);
        ZD_TRY(zd_output_add(output, room_bytes - stream->avail_out, err));
    }
    if (result != LZMA_STREAM_END) {
        return refuse(stream, encoded, result, err);
    }
    if (stream->avail_in > 0) {
        const enum zd_status status =
            zd_fail(err, ZD_CORRUPT, NAME ": %zu bytes follow the stream", stream->avail_in);
        zd_fact_name(err, NAME);
        return status;
    }
    return ZD_OK;
}

static enum zd_status lzma_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct lzma *lzma = state;
    struct zd_output output;
    lzma_stream stream = LZMA_STREAM_INIT;
    ZD_TRY(zd_output_init(&output, NAME, &lzma->decoded, encoded->len, err));
    stream.next_in = encoded->data;
    stream.avail_in = encoded->len;
    const lzma_ret begun = begin_decoder(lzma, &stream);
    enum zd_status status = begun == LZMA_OK ? run_decoder(&stream, encoded, &output, err)
                                             : refuse(&stream, encoded, begun, err);
    lzma_end(&stream);
    if (status == ZD_OK) {
        status = zd_output_take(&output, ret_decoded, err);
    }
    zd_output_done(&output);
    return status;
}

static lzma_ret begin_encoder(
    const struct lzma *lzma, struct zd_lzma_filters *filters, lzma_stream *stream)
{
    const struct zd_lzma_chain chain = zd_lzma_filters_chain(filters);
    switch (lzma->format) {
    case FORMAT_XZ:
        return lzma_stream_encoder(stream, chain.filter, lzma->check);
    case FORMAT_ALONE:
        return lzma_alone_encoder(stream, chain.filter[0].options);
    case FORMAT_RAW:
        break;
    }
    return lzma_raw_encoder(stream, chain.filter);
}

static enum zd_status lzma_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct lzma *lzma = state;
    struct zd_lzma_filters filters = lzma->filters;
    lzma_stream stream = LZMA_STREAM_INIT;
    const uint64_t cap = zd_codec_bound(decoded->len);
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate %llu bytes", (unsigned long long)cap);
    }
    zd_lzma_filters_trim(&filters, decoded->len);
    stream.next_in = decoded->data;
    stream.avail_in = decoded->len;
    stream.next_out = encoded->data;
    stream.avail_out = encoded->cap;
    lzma_ret result = begin_encoder(lzma, &filters, &stream);
    if (result == LZMA_OK) {
        result = lzma_code(&stream, LZMA_FINISH);
    }
    encoded->len = encoded->cap - stream.avail_out;
    lzma_end(&stream);
    if (result == LZMA_MEM_ERROR) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the compressor");
    }
    if (result != LZMA_STREAM_END) {
        /* The filters were judged, but no bound is known for LZMA1. */
        return zd_fail(err, ZD_TOO_LARGE, NAME ": cannot encode %zu bytes into %llu", decoded->len,
            (unsigned long long)cap);
    }
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status lzma_configuration(const void *state, struct zd_json **ret_json)
{
    const struct lzma *lzma = state;
    *ret_json = lzma->configuration == NULL ? NULL : zd_json_ref(lzma->configuration);
    return ZD_OK;
}

#define PRESETS                                                                                    \
    "0,1,2,3,4,5,6,7,8,9,2147483648,2147483649,2147483650,2147483651,2147483652,2147483653,"       \
    "2147483654,2147483655,2147483656,2147483657"

const struct zd_codec zd_codec_lzma = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"format\":{\"enum\":[1,2,3]},"
              "\"check\":{\"enum\":[-1,0,1,4,10]},\"preset\":{\"enum\":[null," PRESETS "]},"
              "\"filters\":{\"type\":[\"array\",\"null\"],\"minItems\":1,\"items\":{\"type\":"
              "\"object\",\"properties\":{\"id\":{\"enum\":[3,4,5,6,7,8,9,33,4611686018427387905]},"
              "\"preset\":{\"enum\":[" PRESETS "]},"
              "\"dict_size\":{\"type\":\"integer\",\"minimum\":4096,\"maximum\":1610612736},"
              "\"lc\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":4},"
              "\"lp\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":4},"
              "\"pb\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":4},"
              "\"mode\":{\"enum\":[1,2]},"
              "\"nice_len\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":273},"
              "\"mf\":{\"enum\":[3,4,18,19,20]},"
              "\"depth\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":4294967295},"
              "\"dist\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":256},"
              "\"start_offset\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":4294967295}},"
              "\"required\":[\"id\"],\"additionalProperties\":false}}},"
              "\"additionalProperties\":false}",
    .open = lzma_open,
    .close = lzma_close,
    .decode = lzma_decode,
    .encode = lzma_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = lzma_configuration,
};
