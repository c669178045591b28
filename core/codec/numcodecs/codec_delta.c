/* The codec `delta` of numcodecs: the first element, then what each adds to the one before it. */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME         "numcodecs.delta"
#define BYTES_PER_US 800
#define ZERO_BYTES   8 /* of the longest element */

static const uint8_t zero[ZERO_BYTES];

struct delta {
    struct zd_dtype dtype;  /* of the elements */
    struct zd_dtype astype; /* of the differences */
    uint64_t n;             /* elements of a chunk */
};

static bool is_integer(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_INT || dtype->kind == ZD_DTYPE_UINT;
}

static bool is_float(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_FLOAT && dtype->bytes > 2;
}

static bool has_differences(const struct zd_dtype *dtype)
{
    return is_integer(dtype) || is_float(dtype);
}

static bool read_dtype(
    const struct zd_parameters *parameters, const char *name, struct zd_dtype *ret_dtype)
{
    return zd_parameter_typestr(
        parameters, name, has_differences, "an integer type, float32 or float64", ret_dtype);
}

static bool read_parameters(
    const struct zd_parameters *parameters, const struct zd_repr *decoded, struct delta *delta)
{
    if (!read_dtype(parameters, "dtype", &delta->dtype)) {
        return false;
    }
    zd_parameter_judge_input(parameters, "dtype", decoded, &delta->dtype);
    delta->astype = delta->dtype;
    if (zd_parameter_find(parameters, "astype") != NULL &&
        !read_dtype(parameters, "astype", &delta->astype)) {
        return false;
    }
    if (is_integer(&delta->dtype) != is_integer(&delta->astype)) {
        const struct zd_pointer at = zd_parameter_at(parameters, "astype");
        zd_faults_add(parameters->faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", NAME, &at,
            delta->dtype.name, delta->astype.name, "differences of %s cannot be stored as %s",
            delta->dtype.name, delta->astype.name);
        return false;
    }
    return true;
}

static enum zd_status delta_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"dtype", "astype", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    struct delta delta = {0};
    (void)read_parameters(&parameters, config->decoded, &delta);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_repr encoded = *config->decoded;
    encoded.dtype = delta.astype;
    encoded.fill = zero;
    ZD_TRY(zd_parameters_size(&parameters, "astype", &encoded));
    delta.n = encoded.size / encoded.dtype.bytes;
    struct delta *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = delta;
    *ret_encoded = encoded;
    *ret_state = state;
    return ZD_OK;
}

/* ---- integers: in 64 bits, of which the low ones count ---- */

static uint64_t load_integer(const struct zd_dtype *dtype, const uint8_t *at)
{
    const bool is_signed = dtype->kind == ZD_DTYPE_INT;
    switch (dtype->bytes) {
    case 1:
        return is_signed ? (uint64_t)(int8_t)*at : *at;
    case 2:
        return is_signed ? (uint64_t)(int16_t)zd_load_u16(at) : zd_load_u16(at);
    case 4:
        return is_signed ? (uint64_t)(int32_t)zd_load_u32(at) : zd_load_u32(at);
    default:
        return zd_load_u64(at);
    }
}

static void add_integers(const struct delta *delta, const uint8_t *from, uint8_t *to)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < delta->n; i++) {
        sum += load_integer(&delta->astype, from + i * delta->astype.bytes);
        memcpy(to + i * delta->dtype.bytes, &sum, delta->dtype.bytes);
    }
}

static void subtract_integers(const struct delta *delta, const uint8_t *from, uint8_t *to)
{
    uint64_t before = 0;
    for (uint64_t i = 0; i < delta->n; i++) {
        const uint64_t now = load_integer(&delta->dtype, from + i * delta->dtype.bytes);
        const uint64_t difference = now - before;
        memcpy(to + i * delta->astype.bytes, &difference, delta->astype.bytes);
        before = now;
    }
}

/* ---- floating-point numbers: in the precision of the elements ---- */

static double load_float(const struct zd_dtype *dtype, const uint8_t *at)
{
    float small = 0;
    double large = 0;
    if (dtype->bytes == sizeof small) {
        memcpy(&small, at, sizeof small);
        return (double)small;
    }
    memcpy(&large, at, sizeof large);
    return large;
}

static double rounded(const struct zd_dtype *dtype, double number)
{
    return dtype->bytes == sizeof(float) ? (double)(float)number : number;
}

static void store_float(const struct zd_dtype *dtype, uint8_t *at, double number)
{
    const float small = (float)number;
    if (dtype->bytes == sizeof small) {
        memcpy(at, &small, sizeof small);
    } else {
        memcpy(at, &number, sizeof number);
    }
}

/* The sum of two floats in double, rounded once, is their sum in float. */
static void add_floats(const struct delta *delta, const uint8_t *from, uint8_t *to)
{
    double sum = 0;
    for (uint64_t i = 0; i < delta->n; i++) {
        const double difference =
            rounded(&delta->dtype, load_float(&delta->astype, from + i * delta->astype.bytes));
        sum = i == 0 ? difference : rounded(&delta->dtype, sum + difference);
        store_float(&delta->dtype, to + i * delta->dtype.bytes, sum);
    }
}

static void subtract_floats(const struct delta *delta, const uint8_t *from, uint8_t *to)
{
    double before = 0;
    for (uint64_t i = 0; i < delta->n; i++) {
        const double now = load_float(&delta->dtype, from + i * delta->dtype.bytes);
        const double difference = i == 0 ? now : rounded(&delta->dtype, now - before);
        store_float(&delta->astype, to + i * delta->astype.bytes, difference);
        before = now;
    }
}

static enum zd_status delta_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct delta *delta = state;
    assert(encoded->len == delta->n * delta->astype.bytes);
    struct zd_buf *decoded = zd_buf_new(delta->n * delta->dtype.bytes);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    decoded->len = decoded->cap;
    if (is_integer(&delta->dtype)) {
        add_integers(delta, encoded->data, decoded->data);
    } else {
        add_floats(delta, encoded->data, decoded->data);
    }
    *ret_decoded = decoded;
    return ZD_OK;
}

static enum zd_status delta_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct delta *delta = state;
    assert(decoded->len == delta->n * delta->dtype.bytes);
    struct zd_buf *encoded = zd_buf_new(delta->n * delta->astype.bytes);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    encoded->len = encoded->cap;
    if (is_integer(&delta->dtype)) {
        subtract_integers(delta, decoded->data, encoded->data);
    } else {
        subtract_floats(delta, decoded->data, encoded->data);
    }
    *ret_encoded = encoded;
    return ZD_OK;
}

static enum zd_status delta_configuration(const void *state, struct zd_json **ret_json)
{
    const struct delta *delta = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_parameter_set_typestr(json, "dtype", &delta->dtype));
    ZD_TRY(zd_parameter_set_typestr(json, "astype", &delta->astype));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_delta = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"dtype\":{\"type\":\"string\"},"
              "\"astype\":{\"type\":\"string\"}},\"required\":[\"dtype\"],"
              "\"additionalProperties\":false}",
    .open = delta_open,
    .close = zd_free,
    .decode = delta_decode,
    .encode = delta_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = delta_configuration,
};
