/* The codec `scale_offset`: numbers shifted and scaled, in the arithmetic of their own type.
 *
 *     encoded = (decoded - offset) * scale
 *     decoded = encoded / scale + offset
 *
 * What the type cannot represent is an error: an overflow, and a division of integers with a rest.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/number.h"
#include "core/codec/parameter.h"
#include "core/grid/scalar.h"

#define NAME          "scale_offset"
#define BYTES_PER_US  2000
#define BITS_PER_BYTE 8U

/* A number of the elements' type, as the arithmetic needs it. */
struct operand {
    double number;    /* of floating-point types */
    uint64_t integer; /* of integers: two's complement */
    uint8_t bytes[ZD_NUMBER_BYTES_MAX];
    bool is_given; /* in the document */
};

struct scale_offset {
    struct zd_dtype dtype;
    struct operand offset;
    struct operand scale;
    uint64_t n; /* elements of a chunk */
    uint8_t fill[ZD_NUMBER_BYTES_MAX];
};

/* Code some elements in one direction; false, with its index, when an element cannot be
 * represented. */
typedef bool (*lot_coder)(const struct scale_offset *scale_offset, const uint8_t *from, size_t n,
    uint8_t *to, size_t *ret_place);

/* ---- integers ---- */

static bool fits_signed(uint32_t bytes, int64_t number)
{
    const int64_t most = INT64_MAX >> (sizeof most - bytes) * BITS_PER_BYTE;
    return number <= most && number >= -most - 1;
}

static bool fits_unsigned(uint32_t bytes, uint64_t number)
{
    return number <= UINT64_MAX >> (sizeof number - bytes) * BITS_PER_BYTE;
}

static bool encode_signed(const struct scale_offset *scale_offset, uint64_t *integer)
{
    int64_t number = (int64_t)*integer;
    if (ckd_sub(&number, number, (int64_t)scale_offset->offset.integer) ||
        ckd_mul(&number, number, (int64_t)scale_offset->scale.integer)) {
        return false;
    }
    *integer = (uint64_t)number;
    return fits_signed(scale_offset->dtype.bytes, number);
}

static bool decode_signed(const struct scale_offset *scale_offset, uint64_t *integer)
{
    int64_t number = (int64_t)*integer;
    const int64_t scale = (int64_t)scale_offset->scale.integer;
    /* The least integer has no opposite. */
    if ((scale == -1 && number == INT64_MIN) || number % scale != 0 ||
        ckd_add(&number, number / scale, (int64_t)scale_offset->offset.integer)) {
        return false;
    }
    *integer = (uint64_t)number;
    return fits_signed(scale_offset->dtype.bytes, number);
}

static bool encode_unsigned(const struct scale_offset *scale_offset, uint64_t *integer)
{
    return !ckd_sub(integer, *integer, scale_offset->offset.integer) &&
           !ckd_mul(integer, *integer, scale_offset->scale.integer) &&
           fits_unsigned(scale_offset->dtype.bytes, *integer);
}

static bool decode_unsigned(const struct scale_offset *scale_offset, uint64_t *integer)
{
    const uint64_t scale = scale_offset->scale.integer;
    return *integer % scale == 0 &&
           !ckd_add(integer, *integer / scale, scale_offset->offset.integer) &&
           fits_unsigned(scale_offset->dtype.bytes, *integer);
}

static bool code_integers(const struct scale_offset *scale_offset, const uint8_t *from, size_t n,
    uint8_t *to, bool (*code)(const struct scale_offset *scale_offset, uint64_t *integer),
    size_t *ret_place)
{
    uint64_t integer[ZD_NUMBERS_MAX];
    zd_numbers_load_integers(&scale_offset->dtype, from, n, integer);
    for (size_t i = 0; i < n; i++) {
        if (!code(scale_offset, &integer[i])) {
            *ret_place = i;
            return false;
        }
    }
    zd_numbers_store_integers(&scale_offset->dtype, integer, n, to);
    return true;
}

static bool encode_integers(const struct scale_offset *scale_offset, const uint8_t *from, size_t n,
    uint8_t *to, size_t *ret_place)
{
    const bool is_signed = scale_offset->dtype.kind == ZD_DTYPE_INT;
    return code_integers(
        scale_offset, from, n, to, is_signed ? encode_signed : encode_unsigned, ret_place);
}

static bool decode_integers(const struct scale_offset *scale_offset, const uint8_t *from, size_t n,
    uint8_t *to, size_t *ret_place)
{
    const bool is_signed = scale_offset->dtype.kind == ZD_DTYPE_INT;
    return code_integers(
        scale_offset, from, n, to, is_signed ? decode_signed : decode_unsigned, ret_place);
}

/* ---- floating-point numbers: every step is rounded to their precision ---- */

/* Infinite, and was finite before. */
static bool find_overflow(const struct scale_offset *scale_offset, const uint8_t *from,
    const double *number, size_t n, size_t *ret_place)
{
    double before[ZD_NUMBERS_MAX];
    bool is_infinite = false;
    for (size_t i = 0; i < n; i++) {
        is_infinite |= isinf(number[i]) != 0;
    }
    if (!is_infinite) {
        return false;
    }
    zd_numbers_load(&scale_offset->dtype, from, n, before);
    for (size_t i = 0; i < n; i++) {
        if (isinf(number[i]) && isfinite(before[i])) {
            *ret_place = i;
            return true;
        }
    }
    return false;
}

static bool encode_floats(const struct scale_offset *scale_offset, const uint8_t *from, size_t n,
    uint8_t *to, size_t *ret_place)
{
    double number[ZD_NUMBERS_MAX];
    zd_numbers_load(&scale_offset->dtype, from, n, number);
    for (size_t i = 0; i < n; i++) {
        number[i] -= scale_offset->offset.number;
    }
    zd_numbers_round(&scale_offset->dtype, number, n);
    for (size_t i = 0; i < n; i++) {
        number[i] *= scale_offset->scale.number;
    }
    zd_numbers_round(&scale_offset->dtype, number, n);
    zd_numbers_store(&scale_offset->dtype, number, n, to);
    return !find_overflow(scale_offset, from, number, n, ret_place);
}

static bool decode_floats(const struct scale_offset *scale_offset, const uint8_t *from, size_t n,
    uint8_t *to, size_t *ret_place)
{
    double number[ZD_NUMBERS_MAX];
    zd_numbers_load(&scale_offset->dtype, from, n, number);
    for (size_t i = 0; i < n; i++) {
        number[i] /= scale_offset->scale.number;
    }
    zd_numbers_round(&scale_offset->dtype, number, n);
    for (size_t i = 0; i < n; i++) {
        number[i] += scale_offset->offset.number;
    }
    zd_numbers_round(&scale_offset->dtype, number, n);
    zd_numbers_store(&scale_offset->dtype, number, n, to);
    return !find_overflow(scale_offset, from, number, n, ret_place);
}

/* ---- chunks ---- */

static enum zd_status refuse_element(const struct scale_offset *scale_offset, uint64_t place,
    enum zd_status status, struct zd_error *err)
{
    const enum zd_status failed =
        zd_fail(err, status, NAME ": element %" PRIu64 " has a result that %s cannot represent",
            place, scale_offset->dtype.name);
    zd_fact_name(err, NAME);
    return failed;
}

static enum zd_status code_chunk(const struct scale_offset *scale_offset, lot_coder code,
    enum zd_status refusal, const struct zd_buf *from, struct zd_buf **ret_to, struct zd_error *err)
{
    const uint32_t bytes = scale_offset->dtype.bytes;
    assert(from->len == scale_offset->n * bytes);
    ZD_AUTO(zd_buf) to = zd_buf_new(from->len);
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", from->len);
    }
    to->len = from->len;
    for (uint64_t at = 0; at < scale_offset->n; at += ZD_NUMBERS_MAX) {
        const size_t n = zd_min_u64(scale_offset->n - at, ZD_NUMBERS_MAX);
        size_t place = 0;
        if (!code(scale_offset, from->data + at * bytes, n, to->data + at * bytes, &place)) {
            return refuse_element(scale_offset, at + place, refusal, err);
        }
    }
    *ret_to = ZD_TAKE(to);
    return ZD_OK;
}

static enum zd_status scale_offset_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct scale_offset *scale_offset = state;
    const lot_coder code =
        zd_number_is_float(&scale_offset->dtype) ? decode_floats : decode_integers;
    return code_chunk(scale_offset, code, ZD_CORRUPT, encoded, ret_decoded, err);
}

static lot_coder encoder_of(const struct scale_offset *scale_offset)
{
    return zd_number_is_float(&scale_offset->dtype) ? encode_floats : encode_integers;
}

static enum zd_status scale_offset_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct scale_offset *scale_offset = state;
    return code_chunk(
        scale_offset, encoder_of(scale_offset), ZD_INVALID, decoded, ret_encoded, err);
}

/* ---- open ---- */

static void read_operand(const struct zd_parameters *parameters, const char *name, int initial,
    const struct zd_dtype *dtype, struct operand *operand)
{
    const struct zd_json *member = zd_parameter_find(parameters, name);
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    operand->is_given = member != NULL;
    operand->number = initial;
    if (member == NULL) {
        zd_numbers_store(dtype, &operand->number, 1, operand->bytes);
    } else if (!zd_parameter_scalar(parameters, name, &at, dtype, member, operand->bytes)) {
        return;
    }
    zd_numbers_load(dtype, operand->bytes, 1, &operand->number);
    if (!zd_number_is_float(dtype)) {
        zd_numbers_load_integers(dtype, operand->bytes, 1, &operand->integer);
    } else if (!isfinite(operand->number)) {
        zd_parameter_fault(parameters, name, &at, "out_of_range", "a finite number", member);
    }
}

static void read_parameters(
    const struct zd_parameters *parameters, struct scale_offset *scale_offset)
{
    read_operand(parameters, "offset", 0, &scale_offset->dtype, &scale_offset->offset);
    read_operand(parameters, "scale", 1, &scale_offset->dtype, &scale_offset->scale);
    if (scale_offset->scale.number == 0) {
        const struct zd_pointer at = zd_parameter_at(parameters, "scale");
        zd_parameter_fault(parameters, "scale", &at, "out_of_range", "a number other than 0",
            zd_parameter_find(parameters, "scale"));
    }
}

/* Missing chunks of a shard hold it. */
static void judge_fill(const struct zd_parameters *parameters, const struct zd_codec_config *config,
    struct scale_offset *scale_offset)
{
    size_t place = 0;
    if (!encoder_of(scale_offset)(
            scale_offset, config->decoded->fill, 1, scale_offset->fill, &place)) {
        zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "bad_fill_value", NAME, &config->at,
            NULL, NULL, "what " NAME " makes of the fill value is no %s", scale_offset->dtype.name);
    }
}

static enum zd_status scale_offset_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"offset", "scale", NULL};
    struct zd_parameters parameters;
    struct scale_offset scale_offset = {.dtype = config->decoded->dtype};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (config->decoded->lacks_dtype) {
        return ZD_INVALID; /* nothing can be said of its numbers */
    }
    if (!zd_number_is_integer(&scale_offset.dtype) && !zd_number_is_float(&scale_offset.dtype)) {
        zd_parameters_refuse_input(&parameters, config, "integers or floating-point numbers");
        return ZD_INVALID;
    }
    read_parameters(&parameters, &scale_offset);
    ZD_TRY(zd_parameters_status(&parameters));
    scale_offset.n = config->decoded->size / scale_offset.dtype.bytes;
    judge_fill(&parameters, config, &scale_offset);
    ZD_TRY(zd_parameters_status(&parameters));
    struct scale_offset *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = scale_offset;
    *ret_encoded = *config->decoded;
    ret_encoded->fill = state->fill;
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status scale_offset_configuration(const void *state, struct zd_json **ret_json)
{
    const struct scale_offset *scale_offset = state;
    const struct operand *offset = &scale_offset->offset;
    const struct operand *scale = &scale_offset->scale;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    if (offset->is_given) {
        ZD_TRY(zd_json_set(json, "offset", zd_scalar_json(&scale_offset->dtype, offset->bytes)));
    }
    if (scale->is_given) {
        ZD_TRY(zd_json_set(json, "scale", zd_scalar_json(&scale_offset->dtype, scale->bytes)));
    }
    *ret_json = zd_json_count(json) == 0 ? NULL : ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_scale_offset = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"offset\":{\"type\":[\"number\",\"string\"]},"
              "\"scale\":{\"type\":[\"number\",\"string\"]}},\"additionalProperties\":false}",
    .open = scale_offset_open,
    .close = zd_free,
    .decode = scale_offset_decode,
    .encode = scale_offset_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = scale_offset_configuration,
};
