/* The codec `zfp`: blocks of numbers, compressed with or without loss by the library zfp. Types
 * that it lacks are stored as others: unsigned integers as the signed ones of the same bits, short
 * ones as the top bits of int32. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/zfp_stream.h"

#define NAME         "zfp"
#define BYTES_PER_US 150
#define MAXBITS_MIN  32 /* of a block: below the head of one zfp loses count */

/* How a type of the array is stored. */
static const struct stored_type {
    const char *name;
    enum zd_zfp_type type;
    uint32_t shift; /* of short ones, of which int32 has the top bits; 0: stored as they are */
    int32_t middle; /* what is 0 in int32 */
    int32_t min;
    int32_t max;
} stored_types[] = {
    {.name = "int32", .type = ZD_ZFP_INT32},
    {.name = "uint32", .type = ZD_ZFP_INT32},
    {.name = "int64", .type = ZD_ZFP_INT64},
    {.name = "uint64", .type = ZD_ZFP_INT64},
    {.name = "float32", .type = ZD_ZFP_FLOAT},
    {.name = "float64", .type = ZD_ZFP_DOUBLE},
    {.name = "int16", .type = ZD_ZFP_INT32, .shift = 15, .min = INT16_MIN, .max = INT16_MAX},
    {.name = "uint16", .type = ZD_ZFP_INT32, .shift = 15, .middle = 0x8000, .max = UINT16_MAX},
    {.name = "int8", .type = ZD_ZFP_INT32, .shift = 23, .min = INT8_MIN, .max = INT8_MAX},
    {.name = "uint8", .type = ZD_ZFP_INT32, .shift = 23, .middle = 0x80, .max = UINT8_MAX},
};

struct zfp_state {
    struct zd_zfp zfp;
    const struct stored_type *type;
    uint32_t element_bytes;
    uint64_t n; /* elements of a chunk */
};

static const char *const mode_words[] = {[ZD_ZFP_REVERSIBLE] = "reversible",
    [ZD_ZFP_EXPERT] = "expert",
    [ZD_ZFP_ACCURACY] = "fixed_accuracy",
    [ZD_ZFP_RATE] = "fixed_rate",
    [ZD_ZFP_PRECISION] = "fixed_precision",
    NULL};

/* The members of a configuration, by its mode. */
static const char *const mode_names[][6] = {
    [ZD_ZFP_REVERSIBLE] = {"mode"},
    [ZD_ZFP_EXPERT] = {"mode", "minbits", "maxbits", "maxprec", "minexp"},
    [ZD_ZFP_ACCURACY] = {"mode", "tolerance"},
    [ZD_ZFP_RATE] = {"mode", "rate"},
    [ZD_ZFP_PRECISION] = {"mode", "precision"},
};

/* ---- open ---- */

static const struct stored_type *find_type(const struct zd_dtype *dtype)
{
    for (size_t i = 0; i < ZD_COUNT_OF(stored_types); i++) {
        if (strcmp(stored_types[i].name, dtype->name) == 0) {
            return &stored_types[i];
        }
    }
    return NULL;
}

/* The members that may stand beside a mode; those of the simplest one where it is none. */
static const char *const *names_of(const struct zd_json *configuration)
{
    const char *word = zd_json_string(zd_json_member(configuration, "mode"));
    for (size_t i = 0; word != NULL && mode_words[i] != NULL; i++) {
        if (strcmp(word, mode_words[i]) == 0) {
            return mode_names[i];
        }
    }
    return mode_names[ZD_ZFP_REVERSIBLE];
}

static void read_u32(const struct zd_parameters *parameters, const char *name, int64_t min,
    int64_t max, uint32_t *ret_value)
{
    int64_t value = 0;
    if (zd_parameter_i64(parameters, name, min, max, &value)) {
        *ret_value = (uint32_t)value;
    }
}

static void read_expert(const struct zd_parameters *parameters, struct zd_zfp *zfp)
{
    int64_t minexp = 0;
    read_u32(parameters, "maxbits", MAXBITS_MIN, UINT32_MAX, &zfp->maxbits);
    zfp->maxbits = (uint32_t)zd_min_u64(zfp->maxbits, ZD_ZFP_MAXBITS_MAX); /* of no effect above */
    read_u32(parameters, "minbits", 0, zfp->maxbits, &zfp->minbits);
    read_u32(parameters, "maxprec", 1, ZD_ZFP_MAXPREC_MAX, &zfp->maxprec);
    if (zd_parameter_i64(parameters, "minexp", INT16_MIN, INT16_MAX, &minexp)) {
        zfp->minexp = (int32_t)minexp;
    }
}

static void read_number(const struct zd_parameters *parameters, const char *name, bool may_be_zero,
    double max, double *number)
{
    const bool is_read = zd_parameter_number(parameters, name, number);
    if (is_read && (*number < 0 || *number > max || (*number == 0 && !may_be_zero))) {
        const struct zd_pointer at = zd_parameter_at(parameters, name);
        zd_parameter_fault(parameters, name, &at, "out_of_range",
            may_be_zero ? "0 or more" : "a number above 0, at most 128",
            zd_parameter_find(parameters, name));
    }
}

static void read_mode(const struct zd_parameters *parameters, struct zd_zfp *zfp)
{
    uint32_t mode = ZD_ZFP_REVERSIBLE;
    if (!zd_parameter_choice(parameters, "mode", mode_words, &mode)) {
        return;
    }
    zfp->mode = mode;
    switch (zfp->mode) {
    case ZD_ZFP_REVERSIBLE:
        return;
    case ZD_ZFP_EXPERT:
        read_expert(parameters, zfp);
        return;
    case ZD_ZFP_ACCURACY:
        read_number(parameters, "tolerance", true, INFINITY, &zfp->tolerance);
        return;
    case ZD_ZFP_RATE:
        read_number(parameters, "rate", false, ZD_ZFP_RATE_MAX, &zfp->rate);
        return;
    case ZD_ZFP_PRECISION:
        read_u32(parameters, "precision", 0, UINT32_MAX, &zfp->precision);
        return;
    }
}

static enum zd_status zfp_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    struct zd_parameters parameters;
    struct zfp_state zfp = {.zfp = {.codec = NAME}};
    zd_parameters_init(&parameters, NAME, config, names_of(config->configuration), faults);
    read_mode(&parameters, &zfp.zfp);
    if (!config->decoded->lacks_dtype) {
        zfp.type = find_type(&config->decoded->dtype);
        if (zfp.type == NULL) {
            zd_parameters_refuse_input(&parameters, config,
                "integers of 8 to 64 bits, or floating-point numbers of 32 or 64");
        }
    }
    ZD_TRY(zd_parameters_status(&parameters));
    if (zfp.type == NULL) {
        return ZD_INVALID;
    }
    zfp.zfp.type = zfp.type->type;
    zfp.element_bytes = config->decoded->dtype.bytes;
    zfp.n = config->decoded->size / zfp.element_bytes;
    uint64_t bytes = 0;
    ZD_TRY(zd_zfp_prepare(&zfp.zfp, config, &bytes, faults));
    struct zfp_state *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = zfp;
    *ret_encoded = (struct zd_repr){.is_bytes = true, .size = bytes};
    *ret_state = state;
    return ZD_OK;
}

/* ---- short integers ---- */

/* Values that a lossy mode made too large or too small become the extreme. */
static void shorten(const struct zfp_state *state, const uint8_t *from, uint8_t *to)
{
    const struct stored_type *type = state->type;
    for (uint64_t i = 0; i < state->n; i++) {
        int32_t number = (int32_t)zd_load_u32(from + i * sizeof number);
        number = (number >> type->shift) + type->middle;
        number = number < type->min ? type->min : number > type->max ? type->max : number;
        memcpy(to + i * state->element_bytes, &number, state->element_bytes);
    }
}

static int32_t load_short(const struct zfp_state *state, const uint8_t *at)
{
    const bool is_signed = state->type->min < 0;
    if (state->element_bytes == 1) {
        return is_signed ? (int8_t)*at : *at;
    }
    return is_signed ? (int16_t)zd_load_u16(at) : zd_load_u16(at);
}

static void lengthen(const struct zfp_state *state, const uint8_t *from, uint8_t *to)
{
    for (uint64_t i = 0; i < state->n; i++) {
        const int32_t number = load_short(state, from + i * state->element_bytes);
        const int32_t shifted = (number - state->type->middle) * (1 << state->type->shift);
        zd_store_u32(to + i * sizeof shifted, (uint32_t)shifted);
    }
}

/* ---- chunks ---- */

static enum zd_status no_memory(struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
}

static enum zd_status zfp_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zfp_state *zfp = state;
    const bool is_short = zfp->type->shift > 0;
    ZD_AUTO(zd_buf) decoded = zd_buf_new(zfp->n * zfp->element_bytes);
    ZD_AUTO(zd_buf) wide = is_short ? zd_buf_new(zfp->n * sizeof(int32_t)) : NULL;
    if (decoded == NULL || (is_short && wide == NULL)) {
        return no_memory(err);
    }
    decoded->len = decoded->cap;
    if (!is_short) {
        ZD_TRY(zd_zfp_decode(&zfp->zfp, zd_buf_span(encoded), decoded->data, err));
    } else {
        ZD_TRY(zd_zfp_decode(&zfp->zfp, zd_buf_span(encoded), wide->data, err));
        shorten(zfp, wide->data, decoded->data);
    }
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status zfp_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct zfp_state *zfp = state;
    assert(decoded->len == zfp->n * zfp->element_bytes);
    if (zfp->type->shift == 0) {
        return zd_zfp_encode(&zfp->zfp, decoded->data, ret_encoded, err);
    }
    ZD_AUTO(zd_buf) wide = zd_buf_new(zfp->n * sizeof(int32_t));
    if (wide == NULL) {
        return no_memory(err);
    }
    lengthen(zfp, decoded->data, wide->data);
    return zd_zfp_encode(&zfp->zfp, wide->data, ret_encoded, err);
}

static ZD_RESULT set_parameters(const struct zd_zfp *zfp, struct zd_json *json)
{
    switch (zfp->mode) {
    case ZD_ZFP_REVERSIBLE:
        return ZD_OK;
    case ZD_ZFP_EXPERT:
        ZD_TRY(zd_json_set(json, "minbits", zd_json_new_u64(zfp->minbits)));
        ZD_TRY(zd_json_set(json, "maxbits", zd_json_new_u64(zfp->maxbits)));
        ZD_TRY(zd_json_set(json, "maxprec", zd_json_new_u64(zfp->maxprec)));
        return zd_json_set(json, "minexp", zd_json_new_i64(zfp->minexp));
    case ZD_ZFP_ACCURACY:
        return zd_json_set(json, "tolerance", zd_json_new_f64(zfp->tolerance));
    case ZD_ZFP_RATE:
        return zd_json_set(json, "rate", zd_json_new_f64(zfp->rate));
    case ZD_ZFP_PRECISION:
        break;
    }
    return zd_json_set(json, "precision", zd_json_new_u64(zfp->precision));
}

static enum zd_status zfp_configuration(const void *state, struct zd_json **ret_json)
{
    const struct zfp_state *zfp = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "mode", zd_json_new_text(mode_words[zfp->zfp.mode])));
    ZD_TRY(set_parameters(&zfp->zfp, json));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

static const char *const aliases[] = {
    "zarrs.zfp", "https://codec.zarrs.dev/array_to_bytes/zfp", NULL};

const struct zd_codec zd_codec_zfp = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema =
        "{\"type\":\"object\",\"properties\":{\"mode\":{\"enum\":[\"reversible\",\"expert\","
        "\"fixed_accuracy\",\"fixed_rate\",\"fixed_precision\"]},\"tolerance\":{\"type\":"
        "\"number\",\"minimum\":0},\"rate\":{\"type\":\"number\",\"minimum\":0,\"maximum\":128},"
        "\"precision\":{\"type\":\"integer\",\"minimum\":0},\"minbits\":{\"type\":\"integer\","
        "\"minimum\":0},\"maxbits\":{\"type\":\"integer\",\"minimum\":32},\"maxprec\":{\"type\":"
        "\"integer\",\"minimum\":1,\"maximum\":64},\"minexp\":{\"type\":\"integer\"}},"
        "\"required\":[\"mode\"],\"additionalProperties\":false}",
    .open = zfp_open,
    .close = zd_free,
    .decode = zfp_decode,
    .encode = zfp_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zfp_configuration,
};
