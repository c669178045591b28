/* The codec `lz4` of numcodecs: the size as 32 bits, then one block of LZ4. */
#include <inttypes.h>
#include <lz4.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME         "numcodecs.lz4"
#define BYTES_PER_US 2500
#define HEAD_BYTES   sizeof(uint32_t)

struct lz4 {
    int acceleration;
    struct zd_repr decoded;
};

static enum zd_status lz4_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"acceleration", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t acceleration = 1;
    if (zd_parameter_find(&parameters, "acceleration") != NULL) {
        /* Any integer: the library takes what it does not like for 1. */
        (void)zd_parameter_i64(&parameters, "acceleration", INT32_MIN, INT32_MAX, &acceleration);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct lz4 *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct lz4){.acceleration = (int)acceleration, .decoded = *config->decoded};
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status refuse(struct zd_error *err, const char *why, size_t len)
{
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": %s; the stored bytes are %zu", why, len);
    zd_fact_name(err, NAME);
    return status;
}

static enum zd_status lz4_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct lz4 *lz4 = state;
    if (encoded->len < HEAD_BYTES || encoded->len > INT32_MAX) {
        return refuse(err, "expected a size of 4 bytes, then a block", encoded->len);
    }
    const uint32_t size = zd_load_u32(encoded->data);
    ZD_TRY(zd_codec_repr_check(&lz4->decoded, NAME, size, err));
    if (size > LZ4_MAX_INPUT_SIZE) {
        return refuse(err, "the size exceeds the maximum of LZ4", encoded->len);
    }
    ZD_AUTO(zd_buf) decoded = zd_buf_new(size);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %" PRIu32 " bytes", size);
    }
    const int n = LZ4_decompress_safe((const char *)encoded->data + HEAD_BYTES,
        (char *)decoded->data, (int)(encoded->len - HEAD_BYTES), (int)size);
    if (n < 0 || (uint32_t)n != size) {
        return refuse(err, "the block does not decode to the size that precedes it", encoded->len);
    }
    decoded->len = size;
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status lz4_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct lz4 *lz4 = state;
    if (decoded->len > LZ4_MAX_INPUT_SIZE) {
        return zd_fail(err, ZD_TOO_LARGE, NAME ": cannot encode %zu bytes; the limit is %d",
            decoded->len, LZ4_MAX_INPUT_SIZE);
    }
    const size_t cap = HEAD_BYTES + (size_t)LZ4_compressBound((int)decoded->len);
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", cap);
    }
    zd_store_u32(encoded->data, (uint32_t)decoded->len);
    const int n = LZ4_compress_fast((const char *)decoded->data, (char *)encoded->data + HEAD_BYTES,
        (int)decoded->len, (int)(cap - HEAD_BYTES), lz4->acceleration);
    if (n <= 0) {
        /* With room for the bound, only memory fails: the library allocates its table. */
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for the compressor");
    }
    encoded->len = HEAD_BYTES + (size_t)n;
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status lz4_configuration(const void *state, struct zd_json **ret_json)
{
    const struct lz4 *lz4 = state;
    return zd_json_wrap("acceleration", zd_json_new_i64(lz4->acceleration), ret_json);
}

const struct zd_codec zd_codec_lz4 = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"acceleration\":{\"type\":\"integer\","
              "\"minimum\":-2147483648,\"maximum\":2147483647}},\"additionalProperties\":false}",
    .open = lz4_open,
    .close = zd_free,
    .decode = lz4_decode,
    .encode = lz4_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = lz4_configuration,
};
