/* The codec `zlib` of numcodecs (RFC 1950). */
#include "core/base/num.h"
#include "core/codec/deflate.h"
#include "core/codec/parameter.h"

#define NAME          "numcodecs.zlib"
#define BYTES_PER_US  700
#define LEVEL         1 /* when it is not said */
#define LEVEL_LIBRARY 6 /* what -1 stands for */

struct zlib {
    int level;
    struct zd_repr decoded;
};

static enum zd_status zlib_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"level", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t level = LEVEL;
    if (zd_parameter_find(&parameters, "level") != NULL) {
        (void)zd_parameter_i64(&parameters, "level", -1, 9, &level);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct zlib *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct zlib){.level = (int)level, .decoded = *config->decoded};
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status refuse(
    const struct zlib *zlib, enum libdeflate_result result, struct zd_error *err)
{
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
        return zd_codec_too_much(&zlib->decoded, NAME, err);
    }
    const enum zd_status status = zd_fail(err, ZD_CORRUPT, NAME ": no valid stream");
    zd_fact_name(err, NAME);
    return status;
}

/* Inflate a single stream, with nothing behind it. */
static enum zd_status inflate_stream(const struct zlib *zlib,
    struct libdeflate_decompressor *decoder, struct zd_span from, struct zd_buf *to,
    struct zd_error *err)
{
    size_t n_in = 0;
    const enum libdeflate_result result = libdeflate_zlib_decompress_ex(
        decoder, from.ptr, from.len, to->data, to->cap, &n_in, &to->len);
    if (result != LIBDEFLATE_SUCCESS) {
        return refuse(zlib, result, err);
    }
    if (n_in != from.len) {
        const enum zd_status status =
            zd_fail(err, ZD_CORRUPT, NAME ": %zu bytes follow the stream", from.len - n_in);
        zd_fact_name(err, NAME);
        return status;
    }
    return zd_codec_repr_check(&zlib->decoded, NAME, to->len, err);
}

static enum zd_status zlib_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zlib *zlib = state;
    const uint64_t room = zd_deflate_room(&zlib->decoded, encoded->len);
    ZD_AUTO(zd_buf) decoded = zd_buf_new(room);
    struct libdeflate_decompressor *decoder = decoded == NULL ? NULL : zd_deflate_take_decoder();
    if (decoder == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate %llu bytes", (unsigned long long)room);
    }
    const enum zd_status status = inflate_stream(zlib, decoder, zd_buf_span(encoded), decoded, err);
    zd_deflate_give_decoder(decoder);
    ZD_TRY(status);
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status zlib_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct zlib *zlib = state;
    struct libdeflate_compressor *compressor =
        libdeflate_alloc_compressor(zlib->level < 0 ? LEVEL_LIBRARY : zlib->level);
    if (compressor == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the compressor");
    }
    const size_t cap = libdeflate_zlib_compress_bound(compressor, decoded->len);
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded != NULL) {
        encoded->len = libdeflate_zlib_compress(
            compressor, decoded->data, decoded->len, encoded->data, encoded->cap);
    }
    libdeflate_free_compressor(compressor);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", cap);
    }
    assert(encoded->len > 0); /* the bound is enough */
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status zlib_configuration(const void *state, struct zd_json **ret_json)
{
    const struct zlib *zlib = state;
    return zd_json_wrap("level", zd_json_new_i64(zlib->level), ret_json);
}

static const char *const aliases[] = {"zlib", NULL};

const struct zd_codec zd_codec_zlib = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\",\"minimum\":-1,"
              "\"maximum\":9}},\"additionalProperties\":false}",
    .open = zlib_open,
    .close = zd_free,
    .decode = zlib_decode,
    .encode = zlib_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zlib_configuration,
};
