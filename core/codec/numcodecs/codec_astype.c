/* The codec `astype` of numcodecs: numbers cast to another data type, and back. */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/number.h"
#include "core/codec/parameter.h"

#define NAME         "numcodecs.astype"
#define BYTES_PER_US 4000

struct astype {
    struct zd_dtype decode_dtype; /* of the elements */
    struct zd_dtype encode_dtype; /* of what is stored */
    uint64_t n;                   /* elements of a chunk */
    uint8_t fill[ZD_NUMBER_BYTES_MAX];
};

static bool read_dtype(
    const struct zd_parameters *parameters, const char *name, struct zd_dtype *ret_dtype)
{
    return zd_parameter_typestr(parameters, name, zd_number_is_real,
        "a type of integers, floating-point numbers or booleans", ret_dtype);
}

static enum zd_status astype_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"encode_dtype", "decode_dtype", NULL};
    struct zd_parameters parameters;
    struct astype astype = {0};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    (void)read_dtype(&parameters, "encode_dtype", &astype.encode_dtype);
    if (read_dtype(&parameters, "decode_dtype", &astype.decode_dtype)) {
        zd_parameter_judge_input(
            &parameters, "decode_dtype", config->decoded, &astype.decode_dtype);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_repr encoded = *config->decoded;
    encoded.dtype = astype.encode_dtype;
    ZD_TRY(zd_parameters_size(&parameters, "encode_dtype", &encoded));
    astype.n = encoded.size / astype.encode_dtype.bytes;
    zd_numbers_cast(
        &astype.decode_dtype, config->decoded->fill, 1, &astype.encode_dtype, astype.fill);
    struct astype *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = astype;
    *ret_encoded = encoded;
    ret_encoded->fill = state->fill;
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status cast(const struct zd_dtype *from_dtype, const struct zd_buf *from, uint64_t n,
    const struct zd_dtype *to_dtype, struct zd_buf **ret_to, struct zd_error *err)
{
    assert(from->len == n * from_dtype->bytes);
    struct zd_buf *to = zd_buf_new(n * to_dtype->bytes);
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    to->len = to->cap;
    zd_numbers_cast(from_dtype, from->data, n, to_dtype, to->data);
    *ret_to = to;
    return ZD_OK;
}

static enum zd_status astype_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct astype *astype = state;
    return cast(&astype->encode_dtype, encoded, astype->n, &astype->decode_dtype, ret_decoded, err);
}

static enum zd_status astype_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct astype *astype = state;
    return cast(&astype->decode_dtype, decoded, astype->n, &astype->encode_dtype, ret_encoded, err);
}

static enum zd_status astype_configuration(const void *state, struct zd_json **ret_json)
{
    const struct astype *astype = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_parameter_set_typestr(json, "encode_dtype", &astype->encode_dtype));
    ZD_TRY(zd_parameter_set_typestr(json, "decode_dtype", &astype->decode_dtype));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_astype = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"encode_dtype\":{\"type\":\"string\"},"
              "\"decode_dtype\":{\"type\":\"string\"}},\"required\":[\"encode_dtype\","
              "\"decode_dtype\"],\"additionalProperties\":false}",
    .open = astype_open,
    .close = zd_free,
    .decode = astype_decode,
    .encode = astype_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = astype_configuration,
};
