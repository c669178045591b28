/* The codec `base64` of numcodecs (RFC 4648, 4). */
#include "core/base/base64.h"
#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME         "numcodecs.base64"
#define BYTES_PER_US 700
#define GROUP_BYTES  3U
#define GROUP_CHARS  4U

struct base64 {
    struct zd_repr decoded;
};

static struct zd_repr encoded_of(const struct zd_repr *decoded)
{
    struct zd_repr encoded = {.is_bytes = true, .size_is_exact = decoded->size_is_exact};
    if (ckd_mul(&encoded.size, zd_div_up(decoded->size, GROUP_BYTES), (uint64_t)GROUP_CHARS)) {
        encoded.size = UINT64_MAX;
        encoded.size_is_exact = false;
    }
    return encoded;
}

static enum zd_status base64_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct base64 *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct base64){.decoded = *config->decoded};
    *ret_encoded = encoded_of(config->decoded);
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status base64_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct base64 *base64 = state;
    const size_t len = zd_base64_bytes(zd_buf_span(encoded));
    ZD_TRY(zd_codec_repr_check(&base64->decoded, NAME, len, err));
    ZD_AUTO(zd_buf) decoded = zd_buf_new(len);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", len);
    }
    if (!zd_base64_decode(zd_buf_span(encoded), decoded->data)) {
        const enum zd_status status =
            zd_fail(err, ZD_CORRUPT, NAME ": the %zu stored bytes are not base64", encoded->len);
        zd_fact_name(err, NAME);
        return status;
    }
    decoded->len = len;
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status base64_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    (void)state;
    const bool fits = decoded->len < SIZE_MAX / 2;
    struct zd_buf *encoded = fits ? zd_buf_new(zd_base64_chars(decoded->len)) : NULL;
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate 4/3 of %zu bytes", decoded->len);
    }
    zd_base64_encode(zd_buf_span(decoded), (char *)encoded->data);
    encoded->len = encoded->cap;
    *ret_encoded = encoded;
    return ZD_OK;
}

static enum zd_status base64_configuration(const void *state, struct zd_json **ret_json)
{
    (void)state;
    *ret_json = NULL;
    return ZD_OK;
}

const struct zd_codec zd_codec_base64 = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"additionalProperties\":false}",
    .open = base64_open,
    .close = zd_free,
    .decode = base64_decode,
    .encode = base64_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = base64_configuration,
};
