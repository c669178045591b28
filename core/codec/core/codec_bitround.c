/* The codec `bitround`: the last bits of numbers rounded away, so that they compress. What is
 * stored are elements of the same type: decoding changes nothing. */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME          "bitround"
#define KEEPBITS_MAX  64
#define BITS_PER_BYTE 8U

/* The types that can be rounded, by name: others may have the kind and size of one of these. */
static const struct rounded_type {
    const char *name;
    uint32_t unit_bytes;    /* of an integer, or of one component */
    uint32_t mantissa_bits; /* 0: integers */
} rounded_types[] = {
    {"int8", 1, 0},
    {"int16", 2, 0},
    {"int32", 4, 0},
    {"int64", 8, 0},
    {"uint8", 1, 0},
    {"uint16", 2, 0},
    {"uint32", 4, 0},
    {"uint64", 8, 0},
    {"numpy.datetime64", 8, 0},
    {"numpy.timedelta64", 8, 0},
    {"float16", 2, 10},
    {"float32", 4, 23},
    {"float64", 8, 52},
    {"complex64", 4, 23},
    {"complex128", 8, 52},
};

struct bitround {
    const struct rounded_type *type;
    uint32_t keepbits;
};

static const struct rounded_type *find_type(const struct zd_dtype *dtype)
{
    for (size_t i = 0; i < ZD_COUNT_OF(rounded_types); i++) {
        if (strcmp(rounded_types[i].name, dtype->name) == 0) {
            return &rounded_types[i];
        }
    }
    return NULL;
}

/* The registry: keepbits is 1 or more in its text, 0 or more in its schema. numcodecs refuses more
 * bits than there are, zarrs rounds nothing then. */
static void judge_keepbits(const struct zd_parameters *parameters, const struct bitround *bitround)
{
    const uint32_t mantissa_bits = bitround->type == NULL ? 0 : bitround->type->mantissa_bits;
    if (parameters->judgement == ZD_JUDGE_WRITE && mantissa_bits > 0 &&
        bitround->keepbits > mantissa_bits) {
        const struct zd_pointer at = zd_parameter_at(parameters, "keepbits");
        zd_parameter_fault(parameters, "keepbits", &at, "out_of_range",
            "at most the number of bits of the mantissa",
            zd_parameter_find(parameters, "keepbits"));
    }
}

static enum zd_status bitround_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"keepbits", NULL};
    const int64_t least = config->judgement == ZD_JUDGE_WRITE ? 1 : 0;
    struct zd_parameters parameters;
    struct bitround bitround = {0};
    int64_t keepbits = 0;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (!config->decoded->lacks_dtype) {
        bitround.type = find_type(&config->decoded->dtype);
        if (bitround.type == NULL) {
            zd_parameters_refuse_input(
                &parameters, config, "integers, times, floating-point or complex numbers");
        }
    }
    if (zd_parameter_i64(&parameters, "keepbits", least, KEEPBITS_MAX, &keepbits)) {
        bitround.keepbits = (uint32_t)keepbits;
        judge_keepbits(&parameters, &bitround);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct bitround *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = bitround;
    *ret_encoded =
        *config->decoded; /* its fill value too: that is what such an element decodes to */
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status bitround_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    (void)state;
    (void)err;
    *ret_decoded = zd_buf_ref(encoded);
    return ZD_OK;
}

/* To the nearest, ties to even; a carry may reach the exponent. NaN and infinities stay. */
static uint64_t round_float(const struct bitround *bitround, uint64_t bits)
{
    const uint32_t mantissa_bits = bitround->type->mantissa_bits;
    const uint32_t sign_bit = bitround->type->unit_bytes * BITS_PER_BYTE - 1;
    const uint64_t mantissa = (UINT64_C(1) << mantissa_bits) - 1;
    const uint64_t exponent = ((UINT64_C(1) << sign_bit) - 1) & ~mantissa;
    if (bitround->keepbits >= mantissa_bits || (bits & exponent) == exponent) {
        return bits;
    }
    const uint32_t n_dropped = mantissa_bits - bitround->keepbits;
    bits += (bits >> n_dropped & 1) + (UINT64_C(1) << (n_dropped - 1)) - 1;
    return bits & ~((UINT64_C(1) << n_dropped) - 1);
}

/* Round as unsigned, from the highest set bit; an overflow saturates. At least one bit is kept,
 * since rounding needs one. */
static uint64_t round_integer(const struct bitround *bitround, uint64_t bits)
{
    const uint32_t n_kept = bitround->keepbits > 0 ? bitround->keepbits : 1;
    const uint32_t width = bitround->type->unit_bytes * BITS_PER_BYTE;
    const uint64_t most = UINT64_MAX >> (KEEPBITS_MAX - width);
    uint32_t n_used = 0;
    while (n_used < width && bits >> n_used != 0) {
        n_used++;
    }
    if (n_used <= n_kept) {
        return bits;
    }
    const uint32_t n_dropped = n_used - n_kept;
    const uint64_t more = (bits >> n_dropped & 1) + (UINT64_C(1) << (n_dropped - 1)) - 1;
    bits = more > most - bits ? most : bits + more;
    return bits & ~((UINT64_C(1) << n_dropped) - 1);
}

static enum zd_status bitround_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct bitround *bitround = state;
    const uint32_t unit_bytes = bitround->type->unit_bytes;
    struct zd_buf *encoded = zd_buf_new(decoded->len);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", decoded->len);
    }
    encoded->len = decoded->len;
    for (size_t at = 0; at < decoded->len; at += unit_bytes) {
        uint64_t bits = 0;
        memcpy(&bits, decoded->data + at, unit_bytes);
        bits = bitround->type->mantissa_bits > 0 ? round_float(bitround, bits)
                                                 : round_integer(bitround, bits);
        memcpy(encoded->data + at, &bits, unit_bytes);
    }
    *ret_encoded = encoded;
    return ZD_OK;
}

static enum zd_status bitround_configuration(const void *state, struct zd_json **ret_json)
{
    const struct bitround *bitround = state;
    return zd_json_wrap("keepbits", zd_json_new_u64(bitround->keepbits), ret_json);
}

static const char *const aliases[] = {"numcodecs.bitround", NULL};

const struct zd_codec zd_codec_bitround = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"keepbits\":{\"type\":\"integer\",\"minimum\":"
              "1,\"maximum\":64}},\"required\":[\"keepbits\"],\"additionalProperties\":false}",
    .open = bitround_open,
    .close = zd_free,
    .decode = bitround_decode,
    .encode = bitround_encode,
    .configuration = bitround_configuration,
};
