/* The codec `gzip` (Zarr v3, gzip codec; RFC 1952). */
#include "core/base/num.h"
#include "core/codec/deflate.h"
#include "core/codec/parameter.h"

#define NAME         "gzip"
#define BYTES_PER_US 700

struct gzip {
    int level;
    struct zd_repr decoded;
};

static enum zd_status gzip_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"level", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t level = 0;
    (void)zd_parameter_i64(&parameters, "level", 0, 9, &level);
    ZD_TRY(zd_parameters_status(&parameters));
    struct gzip *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct gzip){.level = (int)level, .decoded = *config->decoded};
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status refuse(
    enum libdeflate_result result, const struct gzip *gzip, size_t at, struct zd_error *err)
{
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
        return zd_codec_too_much(&gzip->decoded, NAME, err);
    }
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": no valid member at byte %zu", at);
    zd_fact_name(err, NAME);
    return status;
}

/* RFC 1952, 2.2: a file is members one after the other, each of at least 18 bytes. */
static enum zd_status inflate_members(const struct gzip *gzip,
    struct libdeflate_decompressor *decoder, struct zd_span from, struct zd_buf *to,
    struct zd_error *err)
{
    size_t at = 0;
    do {
        size_t n_in;
        size_t n_out;
        const enum libdeflate_result result = libdeflate_gzip_decompress_ex(decoder, from.ptr + at,
            from.len - at, to->data + to->len, to->cap - to->len, &n_in, &n_out);
        if (result != LIBDEFLATE_SUCCESS) {
            return refuse(result, gzip, at, err);
        }
        at += n_in;
        to->len += n_out;
    } while (at < from.len);
    return zd_codec_repr_check(&gzip->decoded, NAME, to->len, err);
}

static enum zd_status gzip_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct gzip *gzip = state;
    const uint64_t room = zd_deflate_room(&gzip->decoded, encoded->len);
    ZD_AUTO(zd_buf) decoded = zd_buf_new(room);
    struct libdeflate_decompressor *decoder = decoded == NULL ? NULL : zd_deflate_take_decoder();
    if (decoder == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate %llu bytes", (unsigned long long)room);
    }
    const enum zd_status status =
        inflate_members(gzip, decoder, zd_buf_span(encoded), decoded, err);
    zd_deflate_give_decoder(decoder);
    ZD_TRY(status);
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status gzip_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct gzip *gzip = state;
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(gzip->level);
    if (compressor == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the compressor");
    }
    const size_t cap = libdeflate_gzip_compress_bound(compressor, decoded->len);
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded != NULL) {
        encoded->len = libdeflate_gzip_compress(
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

static enum zd_status gzip_configuration(const void *state, struct zd_json **ret_json)
{
    const struct gzip *gzip = state;
    return zd_json_wrap("level", zd_json_new_i64(gzip->level), ret_json);
}

const struct zd_codec zd_codec_gzip = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\",\"minimum\":0,"
              "\"maximum\":9}},\"required\":[\"level\"],\"additionalProperties\":false}",
    .open = gzip_open,
    .close = zd_free,
    .decode = gzip_decode,
    .encode = gzip_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = gzip_configuration,
};
