/* Codecs of strings in nested lists, opened; and what is wrong with a chunk of theirs. */
#include "core/codec/nesting.h"

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/grid/variable.h"

#define SHAPE_BYTES_MAX 1024 /* and of the type */

static void count_items(struct zd_nesting *nesting)
{
    for (uint32_t d = 0; d < nesting->rank; d++) {
        /* No more than the elements of the chunk, or nothing. */
        (void)zd_product_overflows(&nesting->n_items[d], nesting->length + d, nesting->rank - d);
    }
}

static void nested_init(struct zd_nested *nested, const struct zd_repr *decoded)
{
    const uint32_t rank = decoded->rank;
    nested->n = decoded->size / ZD_VARIABLE_BYTES;
    nested->own.rank = nested->turned.rank = rank;
    for (uint32_t d = 0; d < rank; d++) {
        nested->own.length[d] = decoded->shape[d];
        nested->turned.length[d] = decoded->shape[rank - 1 - d];
    }
    count_items(&nested->own);
    count_items(&nested->turned);
}

static void judge_input(
    const char *name, const struct zd_codec_config *config, struct zd_faults *faults)
{
    const struct zd_repr *decoded = config->decoded;
    if (!decoded->lacks_dtype && decoded->dtype.kind != ZD_DTYPE_STRING) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", name, &config->at,
            "string", decoded->dtype.name, "%s supports elements of string, not of %s", name,
            decoded->dtype.name);
    }
}

static bool overflows(const struct zd_nesting_format *format, uint64_t n, uint64_t *ret_size)
{
    uint64_t marks;
    return ckd_mul(ret_size, zd_variable_bytes_max(n), (uint64_t)format->byte_bytes) ||
           ckd_mul(&marks, n, (uint64_t)format->mark_bytes) ||
           ckd_add(ret_size, *ret_size, marks) ||
           ckd_add(ret_size, *ret_size, (uint64_t)SHAPE_BYTES_MAX);
}

enum zd_status zd_nesting_open(const struct zd_nesting_format *format,
    const struct zd_codec_config *config, struct zd_repr *ret_encoded, void **ret_state,
    struct zd_faults *faults)
{
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, format->name, config, format->parameters, faults);
    judge_input(format->name, config, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_nested *nested = zd_alloc_zero(1, sizeof *nested);
    if (nested == NULL) {
        return ZD_NO_MEMORY;
    }
    nested_init(nested, config->decoded);
    *ret_encoded = (struct zd_repr){.is_bytes = true};
    if (overflows(format, nested->n, &ret_encoded->size)) {
        ret_encoded->size = UINT64_MAX;
    }
    *ret_state = nested;
    return ZD_OK;
}

enum zd_status zd_nesting_configuration(const void *state, struct zd_json **ret_json)
{
    (void)state;
    *ret_json = NULL;
    return ZD_OK;
}

enum zd_status zd_nesting_corrupt(
    const char *codec, size_t at, const char *expected, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, "%s: byte %zu: expected %s", codec, at, expected);
    zd_fact_name(err, codec);
    zd_fact_expected(err, "%s", expected);
    return status;
}
