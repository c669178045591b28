/* The codec `v2.struct`: structures of Zarr v2 of which some fields are big-endian, and others
 * little-endian. No document of v3 can say that; it stands in those that are made of v2's. */
#include <string.h>

#include "core/codec/parameter.h"

#define NAME         "v2.struct"
#define BYTES_PER_US 500

#define ENDIAN "\"little\" or \"big\" for each field, including the fields of nested structures"

struct v2_struct {
    struct zd_repr decoded;
    bool is_big[ZD_STRUCT_FIELDS_MAX]; /* of each field */
};

/* How many fields there must be; 0: that is not known. */
static uint32_t judge_input(
    const struct zd_parameters *parameters, const struct zd_codec_config *config)
{
    const struct zd_repr *decoded = config->decoded;
    if (decoded->lacks_dtype) {
        return 0;
    }
    if (decoded->dtype.fields == NULL) {
        zd_parameters_refuse_input(parameters, config, "struct");
        return 0;
    }
    return decoded->dtype.fields->n;
}

static void read_endian(
    const struct zd_parameters *parameters, uint32_t n_fields, struct v2_struct *state)
{
    const struct zd_json *list = zd_parameter_array(parameters, "endian");
    const struct zd_pointer at = zd_parameter_at(parameters, "endian");
    const size_t n = zd_json_count(list);
    if (list == NULL) {
        return;
    }
    if (n > ZD_STRUCT_FIELDS_MAX || (n_fields > 0 && n != n_fields)) {
        zd_parameter_fault(parameters, "endian", &at, "out_of_range", ENDIAN, list);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct zd_span word = zd_json_string_span(zd_json_element(list, i));
        state->is_big[i] = zd_span_is(word, "big");
        if (!state->is_big[i] && !zd_span_is(word, "little")) {
            const struct zd_pointer place = zd_pointer_element(&at, i);
            zd_parameter_fault(
                parameters, "endian", &place, "out_of_range", ENDIAN, zd_json_element(list, i));
            return;
        }
    }
}

static enum zd_status v2_struct_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"endian", NULL};
    struct zd_parameters parameters;
    struct v2_struct v2 = {.decoded = *config->decoded};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_endian(&parameters, judge_input(&parameters, config), &v2);
    ZD_TRY(zd_parameters_status(&parameters));
    struct v2_struct *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = v2;
    state->decoded.fill = NULL;
    *ret_encoded = (struct zd_repr){.is_bytes = true,
        .dtype = v2.decoded.dtype,
        .size = v2.decoded.size,
        .size_is_exact = true};
    *ret_state = state;
    return ZD_OK;
}

/* Both directions do the same. */
static enum zd_status v2_struct_convert(
    const void *state, struct zd_buf *from, struct zd_buf **ret_to, struct zd_error *err)
{
    const struct v2_struct *v2 = state;
    const struct zd_dtype *dtype = &v2->decoded.dtype;
    ZD_TRY(zd_codec_repr_check(&v2->decoded, NAME, from->len, err));
    struct zd_buf *to = zd_buf_copy(zd_buf_span(from));
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", from->len);
    }
    const size_t n = to->len / dtype->bytes;
    zd_dtype_swap_fields(dtype, to->data, n, v2->is_big);
    zd_dtype_settle(dtype, to->data, n);
    *ret_to = to;
    return ZD_OK;
}

static enum zd_status v2_struct_configuration(const void *state, struct zd_json **ret_json)
{
    const struct v2_struct *v2 = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    ZD_AUTO(zd_json) endian = zd_json_new_array();
    for (uint32_t i = 0; i < v2->decoded.dtype.fields->n; i++) {
        ZD_TRY(zd_json_append(endian, zd_json_new_text(v2->is_big[i] ? "big" : "little")));
    }
    ZD_TRY(zd_json_set(json, "endian", ZD_TAKE(endian)));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_v2_struct = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"endian\":{\"type\":\"array\","
              "\"items\":{\"enum\":[\"little\",\"big\"]}}},\"required\":[\"endian\"],"
              "\"additionalProperties\":false}",
    .open = v2_struct_open,
    .close = zd_free,
    .decode = v2_struct_convert,
    .encode = v2_struct_convert,
    .bytes_per_us = BYTES_PER_US,
    .configuration = v2_struct_configuration,
};
