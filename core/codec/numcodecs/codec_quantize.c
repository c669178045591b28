/* The codec `quantize` of numcodecs: floating-point numbers without the digits that do not count.
 * Decoding is a cast; encoding rounds to a multiple of a power of two. */
#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/number.h"
#include "core/codec/parameter.h"

#define NAME         "numcodecs.quantize"
#define BYTES_PER_US 4000
#define DIGITS_MAX   300 /* of a power of ten that is a finite double, as is its inverse */

struct quantize {
    struct zd_dtype dtype;  /* of the elements */
    struct zd_dtype astype; /* of what is stored */
    int64_t digits;
    double scale; /* 2^bits */
    uint64_t n;   /* elements of a chunk */
    uint8_t fill[ZD_NUMBER_BYTES_MAX];
};

static bool read_dtype(
    const struct zd_parameters *parameters, const char *name, struct zd_dtype *ret_dtype)
{
    return zd_parameter_typestr(
        parameters, name, zd_number_is_float, "a type of floating-point numbers", ret_dtype);
}

/* numcodecs: as many bits as the decimal digits need. */
static double scale_of(int64_t digits)
{
    const double exponent = log10(pow(10, -(double)digits));
    const double whole = exponent < 0 ? floor(exponent) : ceil(exponent);
    return exp2(ceil(log2(pow(10, -whole))));
}

static void read_parameters(const struct zd_parameters *parameters, const struct zd_repr *decoded,
    struct quantize *quantize)
{
    if (zd_parameter_i64(parameters, "digits", -DIGITS_MAX, DIGITS_MAX, &quantize->digits)) {
        quantize->scale = scale_of(quantize->digits);
    }
    if (read_dtype(parameters, "dtype", &quantize->dtype)) {
        zd_parameter_judge_input(parameters, "dtype", decoded, &quantize->dtype);
        quantize->astype = quantize->dtype;
    }
    if (zd_parameter_find(parameters, "astype") != NULL) {
        (void)read_dtype(parameters, "astype", &quantize->astype);
    }
}

static enum zd_status quantize_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"digits", "dtype", "astype", NULL};
    struct zd_parameters parameters;
    struct quantize quantize = {0};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_parameters(&parameters, config->decoded, &quantize);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_repr encoded = *config->decoded;
    encoded.dtype = quantize.astype;
    ZD_TRY(zd_parameters_size(&parameters, "astype", &encoded));
    quantize.n = encoded.size / quantize.astype.bytes;
    /* The stored number that decodes to the fill value, as far as there is one. */
    zd_numbers_cast(&quantize.dtype, config->decoded->fill, 1, &quantize.astype, quantize.fill);
    struct quantize *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = quantize;
    *ret_encoded = encoded;
    ret_encoded->fill = state->fill;
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status quantize_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct quantize *quantize = state;
    assert(encoded->len == quantize->n * quantize->astype.bytes);
    if (quantize->dtype.bytes == quantize->astype.bytes) {
        *ret_decoded = zd_buf_ref(encoded);
        return ZD_OK;
    }
    struct zd_buf *decoded = zd_buf_new(quantize->n * quantize->dtype.bytes);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    decoded->len = decoded->cap;
    zd_numbers_cast(&quantize->astype, encoded->data, quantize->n, &quantize->dtype, decoded->data);
    *ret_decoded = decoded;
    return ZD_OK;
}

/* In the precision of the elements, as NumPy. */
static void encode_lot(const struct quantize *quantize, const uint8_t *from, size_t n, uint8_t *to)
{
    double number[ZD_NUMBERS_MAX];
    double scale = quantize->scale;
    zd_numbers_round(&quantize->dtype, &scale, 1);
    zd_numbers_load(&quantize->dtype, from, n, number);
    for (size_t i = 0; i < n; i++) {
        number[i] *= scale;
    }
    zd_numbers_round(&quantize->dtype, number, n);
    for (size_t i = 0; i < n; i++) {
        number[i] = rint(number[i]) / scale;
    }
    zd_numbers_round(&quantize->dtype, number, n);
    zd_numbers_store(&quantize->astype, number, n, to);
}

static enum zd_status quantize_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct quantize *quantize = state;
    assert(decoded->len == quantize->n * quantize->dtype.bytes);
    struct zd_buf *encoded = zd_buf_new(quantize->n * quantize->astype.bytes);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    encoded->len = encoded->cap;
    for (uint64_t at = 0; at < quantize->n; at += ZD_NUMBERS_MAX) {
        const size_t n = zd_min_u64(quantize->n - at, ZD_NUMBERS_MAX);
        encode_lot(quantize, decoded->data + at * quantize->dtype.bytes, n,
            encoded->data + at * quantize->astype.bytes);
    }
    *ret_encoded = encoded;
    return ZD_OK;
}

static uint64_t quantize_bytes_per_us(const void *state)
{
    const struct quantize *quantize = state;
    return quantize->dtype.bytes == quantize->astype.bytes ? 0 : BYTES_PER_US;
}

static enum zd_status quantize_configuration(const void *state, struct zd_json **ret_json)
{
    const struct quantize *quantize = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "digits", zd_json_new_i64(quantize->digits)));
    ZD_TRY(zd_parameter_set_typestr(json, "dtype", &quantize->dtype));
    ZD_TRY(zd_parameter_set_typestr(json, "astype", &quantize->astype));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_quantize = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"digits\":{\"type\":\"integer\",\"minimum\":"
              "-300,\"maximum\":300},\"dtype\":{\"type\":\"string\"},\"astype\":{\"type\":"
              "\"string\"}},\"required\":[\"digits\",\"dtype\"],\"additionalProperties\":false}",
    .open = quantize_open,
    .close = zd_free,
    .decode = quantize_decode,
    .encode = quantize_encode,
    .find_bytes_per_us = quantize_bytes_per_us,
    .configuration = quantize_configuration,
};
