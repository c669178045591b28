/* The codec `bz2` of numcodecs: streams of bzip2. */
#include <bzlib.h>
#include <limits.h>

#include "core/base/num.h"
#include "core/codec/output.h"
#include "core/codec/parameter.h"

#define NAME              "numcodecs.bz2"
#define EMPTY_STREAMS_MAX 16 /* each of them costs a decoder and 14 bytes */
#define BYTES_PER_US      35
#define LEVEL             1 /* when it is not said */
#define WORK_FACTOR       0 /* the library's own choice */

/* bzip2's manual, 3.5.1: what a buffer needs at most, beside its data. */
#define MORE_DIVISOR 100
#define MORE_BYTES   600

struct bz2 {
    int level;
    struct zd_repr decoded;
};

/* The rest of the input. The library counts in an unsigned int. */
struct input {
    char *at; /* borrowed; not written to */
    size_t len;
};

static enum zd_status bz2_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"level", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t level = LEVEL;
    if (zd_parameter_find(&parameters, "level") != NULL) {
        (void)zd_parameter_i64(&parameters, "level", 1, 9, &level);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct bz2 *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct bz2){.level = (int)level, .decoded = *config->decoded};
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

static void feed(struct input *input, bz_stream *stream)
{
    if (stream->avail_in == 0) {
        stream->next_in = input->at;
        stream->avail_in = (unsigned)zd_min_u64(input->len, UINT_MAX);
        input->at += stream->avail_in;
        input->len -= stream->avail_in;
    }
}

static enum zd_status refuse(int result, size_t at, struct zd_error *err)
{
    if (result == BZ_MEM_ERROR) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the decoder");
    }
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": no valid stream at byte %zu", at);
    zd_fact_name(err, NAME);
    return status;
}

/* @param at where the stream begins in what is stored */
static ZD_RESULT run_decoder(bz_stream *stream, struct input *input, struct zd_output *output,
    size_t at, struct zd_error *err)
{
    int result = BZ_OK;
    while (result == BZ_OK) {
        uint8_t *room;
        size_t room_bytes;
        ZD_TRY(zd_output_room(output, &room, &room_bytes, err));
        const unsigned n = (unsigned)zd_min_u64(room_bytes, UINT_MAX);
        feed(input, stream);
        stream->next_out = (char *)room;
        stream->avail_out = n;
        result = BZ2_bzDecompress(stream);
        ZD_TRY(zd_output_add(output, n - stream->avail_out, err));
        if (result == BZ_OK && stream->avail_out > 0 && stream->avail_in == 0 && input->len == 0) {
            return refuse(BZ_UNEXPECTED_EOF, at, err);
        }
    }
    return result == BZ_STREAM_END ? ZD_OK : refuse(result, at, err);
}

static ZD_RESULT refuse_empty(struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": more than %d empty streams", EMPTY_STREAMS_MAX);
    zd_fact_name(err, NAME);
    return status;
}

/* A file is streams one after the other, at least one (bzip2's manual, 2.1). */
static ZD_RESULT decode_streams(
    const struct zd_buf *encoded, struct zd_output *output, struct zd_error *err)
{
    struct input input = {.at = (char *)encoded->data, .len = encoded->len};
    size_t at = 0;
    uint32_t n_empty = 0;
    do {
        const size_t n_before = output->bytes->len;
        bz_stream stream = {0};
        const int result = BZ2_bzDecompressInit(&stream, 0, 0);
        if (result != BZ_OK) {
            return refuse(result, at, err);
        }
        const enum zd_status status = run_decoder(&stream, &input, output, at, err);
        input.at -= stream.avail_in;
        input.len += stream.avail_in;
        (void)BZ2_bzDecompressEnd(&stream);
        ZD_TRY(status);
        at = encoded->len - input.len;
        n_empty += output->bytes->len == n_before ? 1 : 0;
        if (n_empty > EMPTY_STREAMS_MAX) {
            return refuse_empty(err);
        }
    } while (input.len > 0);
    return ZD_OK;
}

static enum zd_status bz2_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct bz2 *bz2 = state;
    struct zd_output output;
    ZD_TRY(zd_output_init(&output, NAME, &bz2->decoded, encoded->len, err));
    enum zd_status status = decode_streams(encoded, &output, err);
    if (status == ZD_OK) {
        status = zd_output_take(&output, ret_decoded, err);
    }
    zd_output_done(&output);
    return status;
}

/* Whether all of it was encoded: with room for the bound, nothing is in the way. */
static bool run_encoder(bz_stream *stream, struct input *input, struct zd_buf *encoded)
{
    int result = BZ_RUN_OK;
    while (result > 0 && result != BZ_STREAM_END) {
        const unsigned n = (unsigned)zd_min_u64(encoded->cap - encoded->len, UINT_MAX);
        feed(input, stream);
        stream->next_out = (char *)encoded->data + encoded->len;
        stream->avail_out = n;
        result = BZ2_bzCompress(stream, input->len > 0 ? BZ_RUN : BZ_FINISH);
        encoded->len += n - stream->avail_out;
    }
    return result == BZ_STREAM_END;
}

static enum zd_status bz2_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct bz2 *bz2 = state;
    struct input input = {.at = (char *)decoded->data, .len = decoded->len};
    size_t cap;
    if (ckd_add(&cap, decoded->len, decoded->len / MORE_DIVISOR + MORE_BYTES)) {
        return zd_fail(err, ZD_TOO_LARGE, NAME ": cannot encode %zu bytes", decoded->len);
    }
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", cap);
    }
    bz_stream stream = {0};
    if (BZ2_bzCompressInit(&stream, bz2->level, 0, WORK_FACTOR) != BZ_OK) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the compressor");
    }
    const bool is_whole = run_encoder(&stream, &input, encoded);
    (void)BZ2_bzCompressEnd(&stream);
    if (!is_whole) {
        return zd_fail(
            err, ZD_INTERNAL, NAME ": the compressed bytes do not fit in %zu bytes", cap);
    }
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status bz2_configuration(const void *state, struct zd_json **ret_json)
{
    const struct bz2 *bz2 = state;
    return zd_json_wrap("level", zd_json_new_i64(bz2->level), ret_json);
}

static const char *const aliases[] = {"https://codec.zarrs.dev/bytes_to_bytes/bz2", NULL};

const struct zd_codec zd_codec_bz2 = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\",\"minimum\":1,"
              "\"maximum\":9}},\"additionalProperties\":false}",
    .open = bz2_open,
    .close = zd_free,
    .decode = bz2_decode,
    .encode = bz2_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = bz2_configuration,
};
