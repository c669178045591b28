/* The codec `fixedscaleoffset` of numcodecs: numbers shifted, scaled and rounded to a narrower
 * type.
 *
 *     encoded = astype(round((decoded - offset) * scale))
 *     decoded = dtype(encoded / scale + offset)
 *
 * The arithmetic is NumPy's: that of the elements where they are floating-point numbers, with every
 * step rounded, else that of double; integers keep to their own type where the parameter is written
 * as an integer (NEP 50). */
#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/number.h"
#include "core/codec/parameter.h"

#define NAME         "numcodecs.fixedscaleoffset"
#define BYTES_PER_US 3000

/* A parameter: NumPy computes otherwise with 10 than with 10.0. */
struct operand {
    double number;
    uint64_t integer; /* when is_integer: two's complement */
    bool is_integer;
};

struct fixedscaleoffset {
    struct zd_dtype dtype;  /* of the elements */
    struct zd_dtype astype; /* of what is stored */
    struct operand offset;
    struct operand scale;
    uint64_t n; /* elements of a chunk */
    uint8_t fill[ZD_NUMBER_BYTES_MAX];
};

static bool is_number(const struct zd_dtype *dtype)
{
    return zd_number_is_integer(dtype) || zd_number_is_float(dtype);
}

static bool read_dtype(
    const struct zd_parameters *parameters, const char *name, struct zd_dtype *ret_dtype)
{
    return zd_parameter_typestr(
        parameters, name, is_number, "a type of integers or floating-point numbers", ret_dtype);
}

static bool read_operand(
    const struct zd_parameters *parameters, const char *name, struct operand *operand)
{
    int64_t number = 0;
    const struct zd_json *member = zd_parameter_find(parameters, name);
    if (!zd_parameter_number(parameters, name, &operand->number)) {
        return false;
    }
    operand->is_integer = zd_json_u64(member, &operand->integer) || zd_json_i64(member, &number);
    if (operand->is_integer && number < 0) {
        operand->integer = (uint64_t)number;
    }
    return true;
}

static void read_parameters(const struct zd_parameters *parameters, const struct zd_repr *decoded,
    struct fixedscaleoffset *fso)
{
    (void)read_operand(parameters, "offset", &fso->offset);
    if (read_operand(parameters, "scale", &fso->scale) && fso->scale.number == 0) {
        const struct zd_pointer at = zd_parameter_at(parameters, "scale");
        zd_parameter_fault(parameters, "scale", &at, "out_of_range", "a number other than 0",
            zd_parameter_find(parameters, "scale"));
    }
    if (read_dtype(parameters, "dtype", &fso->dtype)) {
        zd_parameter_judge_input(parameters, "dtype", decoded, &fso->dtype);
        fso->astype = fso->dtype;
    }
    if (zd_parameter_find(parameters, "astype") != NULL) {
        (void)read_dtype(parameters, "astype", &fso->astype);
    }
}

/* ---- decode ---- */

/* In double nothing is rounded on the way; otherwise each of NumPy's steps is. */
static void decode_numbers(const struct fixedscaleoffset *fso, double *number, size_t n)
{
    double scale = fso->scale.number;
    double offset = fso->offset.number;
    if (!zd_number_is_float(&fso->astype) || fso->astype.bytes == sizeof(double)) {
        for (size_t i = 0; i < n; i++) {
            number[i] = number[i] / scale + offset;
        }
        return;
    }
    zd_numbers_round(&fso->astype, &scale, 1);
    zd_numbers_round(&fso->astype, &offset, 1);
    for (size_t i = 0; i < n; i++) {
        number[i] /= scale;
    }
    zd_numbers_round(&fso->astype, number, n);
    for (size_t i = 0; i < n; i++) {
        number[i] += offset;
    }
    zd_numbers_round(&fso->astype, number, n);
}

/* The same for float32 that stays float32. */
static void decode_floats(
    const struct fixedscaleoffset *fso, const uint8_t *from, size_t n, uint8_t *to)
{
    const float scale = (float)fso->scale.number;
    const float offset = (float)fso->offset.number;
    for (size_t i = 0; i < n; i++) {
        float number;
        memcpy(&number, from + i * sizeof number, sizeof number);
        number = number / scale + offset;
        memcpy(to + i * sizeof number, &number, sizeof number);
    }
}

static bool is_float_of(const struct zd_dtype *dtype, size_t bytes)
{
    return zd_number_is_float(dtype) && dtype->bytes == bytes;
}

/* Elements of float64 are made where they belong, others by way of a lot. */
static void decode_lot(
    const struct fixedscaleoffset *fso, const uint8_t *from, size_t n, uint8_t *to)
{
    double lot[ZD_NUMBERS_MAX];
    const bool is_double = is_float_of(&fso->dtype, sizeof(double));
    double *number = is_double ? (double *)(void *)to : lot;
    if (is_float_of(&fso->astype, sizeof(float)) && is_float_of(&fso->dtype, sizeof(float))) {
        decode_floats(fso, from, n, to);
        return;
    }
    zd_numbers_load(&fso->astype, from, n, number);
    decode_numbers(fso, number, n);
    if (!is_double) {
        zd_numbers_store(&fso->dtype, number, n, to);
    }
}

/* ---- encode ---- */

static void subtract_integers(
    const struct fixedscaleoffset *fso, const uint8_t *from, size_t n, uint8_t *to)
{
    uint64_t integer[ZD_NUMBERS_MAX];
    zd_numbers_load_integers(&fso->dtype, from, n, integer);
    for (size_t i = 0; i < n; i++) {
        integer[i] -= fso->offset.integer;
    }
    zd_numbers_store_integers(&fso->dtype, integer, n, to);
}

static void multiply_integers(
    const struct fixedscaleoffset *fso, const uint8_t *from, size_t n, uint8_t *to)
{
    uint64_t integer[ZD_NUMBERS_MAX];
    zd_numbers_load_integers(&fso->dtype, from, n, integer);
    for (size_t i = 0; i < n; i++) {
        integer[i] *= fso->scale.integer;
    }
    zd_numbers_store_integers(&fso->dtype, integer, n, to);
}

static void round_if_float(const struct fixedscaleoffset *fso, double *number, size_t n)
{
    if (zd_number_is_float(&fso->dtype)) {
        zd_numbers_round(&fso->dtype, number, n);
    }
}

static void subtract_numbers(const struct fixedscaleoffset *fso, double *number, size_t n)
{
    double offset = fso->offset.number;
    round_if_float(fso, &offset, 1);
    for (size_t i = 0; i < n; i++) {
        number[i] -= offset;
    }
    round_if_float(fso, number, n);
}

static void multiply_and_round(const struct fixedscaleoffset *fso, double *number, size_t n)
{
    double scale = fso->scale.number;
    round_if_float(fso, &scale, 1);
    for (size_t i = 0; i < n; i++) {
        number[i] *= scale;
    }
    round_if_float(fso, number, n);
    for (size_t i = 0; i < n; i++) {
        number[i] = rint(number[i]);
    }
}

static void encode_lot(
    const struct fixedscaleoffset *fso, const uint8_t *from, size_t n, uint8_t *to)
{
    uint8_t whole[ZD_NUMBERS_MAX * ZD_NUMBER_BYTES_MAX];
    double number[ZD_NUMBERS_MAX];
    if (zd_number_is_integer(&fso->dtype) && fso->offset.is_integer) {
        subtract_integers(fso, from, n, whole);
        if (fso->scale.is_integer) {
            multiply_integers(fso, whole, n, whole);
            zd_numbers_cast(&fso->dtype, whole, n, &fso->astype, to);
            return;
        }
        zd_numbers_load(&fso->dtype, whole, n, number);
    } else {
        zd_numbers_load(&fso->dtype, from, n, number);
        subtract_numbers(fso, number, n);
    }
    multiply_and_round(fso, number, n);
    zd_numbers_store(&fso->astype, number, n, to);
}

/* ---- chunks ---- */

static enum zd_status fixedscaleoffset_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct fixedscaleoffset *fso = state;
    assert(encoded->len == fso->n * fso->astype.bytes);
    struct zd_buf *decoded = zd_buf_new(fso->n * fso->dtype.bytes);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    decoded->len = decoded->cap;
    for (uint64_t at = 0; at < fso->n; at += ZD_NUMBERS_MAX) {
        const size_t n = zd_min_u64(fso->n - at, ZD_NUMBERS_MAX);
        decode_lot(
            fso, encoded->data + at * fso->astype.bytes, n, decoded->data + at * fso->dtype.bytes);
    }
    *ret_decoded = decoded;
    return ZD_OK;
}

static enum zd_status fixedscaleoffset_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct fixedscaleoffset *fso = state;
    assert(decoded->len == fso->n * fso->dtype.bytes);
    struct zd_buf *encoded = zd_buf_new(fso->n * fso->astype.bytes);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    encoded->len = encoded->cap;
    for (uint64_t at = 0; at < fso->n; at += ZD_NUMBERS_MAX) {
        const size_t n = zd_min_u64(fso->n - at, ZD_NUMBERS_MAX);
        encode_lot(
            fso, decoded->data + at * fso->dtype.bytes, n, encoded->data + at * fso->astype.bytes);
    }
    *ret_encoded = encoded;
    return ZD_OK;
}

/* ---- open ---- */

static enum zd_status fixedscaleoffset_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"offset", "scale", "dtype", "astype", NULL};
    struct zd_parameters parameters;
    struct fixedscaleoffset fso = {0};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_parameters(&parameters, config->decoded, &fso);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_repr encoded = *config->decoded;
    encoded.dtype = fso.astype;
    ZD_TRY(zd_parameters_size(&parameters, "astype", &encoded));
    fso.n = encoded.size / fso.astype.bytes;
    encode_lot(&fso, config->decoded->fill, 1, fso.fill);
    struct fixedscaleoffset *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = fso;
    *ret_encoded = encoded;
    ret_encoded->fill = state->fill;
    *ret_state = state;
    return ZD_OK;
}

static struct zd_json *new_operand(const struct operand *operand)
{
    if (!operand->is_integer) {
        return zd_json_new_f64(operand->number);
    }
    return operand->number < 0 ? zd_json_new_i64((int64_t)operand->integer)
                               : zd_json_new_u64(operand->integer);
}

static enum zd_status fixedscaleoffset_configuration(const void *state, struct zd_json **ret_json)
{
    const struct fixedscaleoffset *fso = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "offset", new_operand(&fso->offset)));
    ZD_TRY(zd_json_set(json, "scale", new_operand(&fso->scale)));
    ZD_TRY(zd_parameter_set_typestr(json, "dtype", &fso->dtype));
    ZD_TRY(zd_parameter_set_typestr(json, "astype", &fso->astype));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_fixedscaleoffset = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"offset\":{\"type\":\"number\"},"
              "\"scale\":{\"type\":\"number\"},\"dtype\":{\"type\":\"string\"},"
              "\"astype\":{\"type\":\"string\"}},\"required\":[\"offset\",\"scale\",\"dtype\"],"
              "\"additionalProperties\":false}",
    .open = fixedscaleoffset_open,
    .close = zd_free,
    .decode = fixedscaleoffset_decode,
    .encode = fixedscaleoffset_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = fixedscaleoffset_configuration,
};
