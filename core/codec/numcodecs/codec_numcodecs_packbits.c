/* The codec `packbits` of numcodecs: booleans as an array of bytes, of which the first one says how
 * many bits of the last one are padding. Bits begin with the most significant, other than those of
 * the codec `packbits` of the registry. */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME          "numcodecs.packbits"
#define BYTES_PER_US  1500
#define BITS_PER_BYTE 8U

static const uint8_t zero;

struct packed {
    uint64_t n; /* booleans of a chunk */
};

static uint8_t padding_of(const struct packed *packed)
{
    return (uint8_t)((BITS_PER_BYTE - packed->n % BITS_PER_BYTE) % BITS_PER_BYTE);
}

static uint64_t size_of(const struct packed *packed)
{
    return 1 + zd_div_up(packed->n, BITS_PER_BYTE);
}

static enum zd_status packbits_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (!config->decoded->lacks_dtype && config->decoded->dtype.kind != ZD_DTYPE_BOOL) {
        zd_parameters_refuse_input(&parameters, config, "bool");
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct packed *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct packed){.n = config->decoded->size};
    struct zd_repr encoded = {.rank = 1, .fill = &zero, .size_is_exact = true};
    encoded.size = encoded.shape[0] = size_of(state);
    *ret_state = state;
    *ret_encoded = encoded;
    return zd_dtype_find("uint8", &ret_encoded->dtype);
}

static enum zd_status packbits_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct packed *packed = state;
    assert(encoded->len == size_of(packed));
    if (encoded->data[0] != padding_of(packed)) {
        const enum zd_status status =
            zd_fail(err, ZD_CORRUPT, NAME ": the header announces %u bits of padding, expected %u",
                encoded->data[0], padding_of(packed));
        zd_fact_name(err, NAME);
        zd_fact_expected(err, "%u", padding_of(packed));
        zd_fact_found(err, "%u", encoded->data[0]);
        return status;
    }
    struct zd_buf *decoded = zd_buf_new(packed->n);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    decoded->len = decoded->cap;
    const uint8_t *bytes = encoded->data + 1;
    for (uint64_t i = 0; i < packed->n; i++) {
        decoded->data[i] = bytes[i / BITS_PER_BYTE] >> (BITS_PER_BYTE - 1 - i % BITS_PER_BYTE) & 1;
    }
    *ret_decoded = decoded;
    return ZD_OK;
}

static enum zd_status packbits_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct packed *packed = state;
    assert(decoded->len == packed->n);
    struct zd_buf *encoded = zd_buf_new(size_of(packed));
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    encoded->len = encoded->cap;
    memset(encoded->data, 0, encoded->len);
    encoded->data[0] = padding_of(packed);
    uint8_t *bytes = encoded->data + 1;
    for (uint64_t i = 0; i < packed->n; i++) {
        const unsigned bit = decoded->data[i] != 0;
        bytes[i / BITS_PER_BYTE] |= (uint8_t)(bit << (BITS_PER_BYTE - 1 - i % BITS_PER_BYTE));
    }
    *ret_encoded = encoded;
    return ZD_OK;
}

static enum zd_status packbits_configuration(const void *state, struct zd_json **ret_json)
{
    (void)state;
    *ret_json = NULL;
    return ZD_OK;
}

const struct zd_codec zd_codec_numcodecs_packbits = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
    .open = packbits_open,
    .close = zd_free,
    .decode = packbits_decode,
    .encode = packbits_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = packbits_configuration,
};
