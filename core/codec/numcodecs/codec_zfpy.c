/* The codec `zfpy` of numcodecs: a stream of zfp behind a header, which says all that its reader
 * needs; the parameters are for writers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/zfp_stream.h"

#define NAME            "numcodecs.zfpy"
#define BYTES_PER_US    150
#define MODE_RATE       2 /* zfp_mode of zfp.h */
#define MODE_PRECISION  3
#define MODE_ACCURACY   4
#define MODE_REVERSIBLE 5
#define UNUSED          (-1)

struct zfpy {
    struct zd_zfp zfp;
    int64_t mode;
    double tolerance; /* as in the document; below 0: unused, as are the others */
    double rate;
    double precision;
    uint64_t n_bytes; /* of a chunk */
};

/* zfpy: a parameter below 0 is unused, and without any the stream is reversible. */
static void choose_mode(struct zfpy *zfpy)
{
    struct zd_zfp *zfp = &zfpy->zfp;
    zfp->mode = ZD_ZFP_REVERSIBLE;
    if (zfpy->mode == MODE_ACCURACY && zfpy->tolerance >= 0) {
        zfp->mode = ZD_ZFP_ACCURACY;
        zfp->tolerance = zfpy->tolerance;
    } else if (zfpy->mode == MODE_RATE && zfpy->rate > 0) {
        zfp->mode = ZD_ZFP_RATE;
        zfp->rate = zfpy->rate;
    } else if (zfpy->mode == MODE_PRECISION && zfpy->precision >= 0) {
        zfp->mode = ZD_ZFP_PRECISION;
        zfp->precision = (uint32_t)zfpy->precision;
    }
}

static void read_number(
    const struct zd_parameters *parameters, const char *name, double max, double *number)
{
    *number = UNUSED;
    if (zd_parameter_find(parameters, name) != NULL &&
        zd_parameter_number(parameters, name, number) && *number > max) {
        const struct zd_pointer at = zd_parameter_at(parameters, name);
        zd_parameter_fault(parameters, name, &at, "out_of_range", "at most 128",
            zd_parameter_find(parameters, name));
    }
}

static void read_parameters(const struct zd_parameters *parameters, struct zfpy *zfpy)
{
    zfpy->mode = MODE_ACCURACY;
    if (zd_parameter_find(parameters, "mode") != NULL) {
        (void)zd_parameter_i64(parameters, "mode", MODE_RATE, MODE_REVERSIBLE, &zfpy->mode);
    }
    read_number(parameters, "tolerance", INFINITY, &zfpy->tolerance);
    read_number(parameters, "rate", ZD_ZFP_RATE_MAX, &zfpy->rate);
    read_number(parameters, "precision", ZD_ZFP_RATE_MAX, &zfpy->precision);
    choose_mode(zfpy);
}

static enum zd_status zfpy_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"mode", "tolerance", "rate", "precision", NULL};
    struct zd_parameters parameters;
    struct zfpy zfpy = {.zfp = {.codec = NAME, .has_header = true}};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_parameters(&parameters, &zfpy);
    if (!config->decoded->lacks_dtype) {
        zfpy.zfp.type = zd_zfp_type_of(&config->decoded->dtype);
        if (zfpy.zfp.type == ZD_ZFP_NONE) {
            zd_parameters_refuse_input(
                &parameters, config, "integers or floating-point numbers of 32 or 64 bits");
        }
    }
    ZD_TRY(zd_parameters_status(&parameters));
    zfpy.n_bytes = config->decoded->size;
    uint64_t bytes = 0;
    ZD_TRY(zd_zfp_prepare(&zfpy.zfp, config, &bytes, faults));
    struct zfpy *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = zfpy;
    *ret_encoded = (struct zd_repr){.is_bytes = true, .size = bytes};
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status zfpy_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zfpy *zfpy = state;
    ZD_AUTO(zd_buf) decoded = zd_buf_new(zfpy->n_bytes);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    decoded->len = decoded->cap;
    ZD_TRY(zd_zfp_decode(&zfpy->zfp, zd_buf_span(encoded), decoded->data, err));
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status zfpy_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct zfpy *zfpy = state;
    assert(decoded->len == zfpy->n_bytes);
    return zd_zfp_encode(&zfpy->zfp, decoded->data, ret_encoded, err);
}

static enum zd_status zfpy_configuration(const void *state, struct zd_json **ret_json)
{
    const struct zfpy *zfpy = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "mode", zd_json_new_i64(zfpy->mode)));
    if (zfpy->tolerance >= 0) {
        ZD_TRY(zd_json_set(json, "tolerance", zd_json_new_f64(zfpy->tolerance)));
    }
    if (zfpy->rate >= 0) {
        ZD_TRY(zd_json_set(json, "rate", zd_json_new_f64(zfpy->rate)));
    }
    if (zfpy->precision >= 0) {
        ZD_TRY(zd_json_set(json, "precision", zd_json_new_i64((int64_t)zfpy->precision)));
    }
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_zfpy = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"mode\":{\"type\":\"integer\",\"minimum\":2,"
              "\"maximum\":5},\"tolerance\":{\"type\":\"number\"},\"rate\":{\"type\":\"number\","
              "\"maximum\":128},\"precision\":{\"type\":\"number\",\"maximum\":128}},"
              "\"additionalProperties\":false}",
    .open = zfpy_open,
    .close = zd_free,
    .decode = zfpy_decode,
    .encode = zfpy_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zfpy_configuration,
};
