/* The codec `bytes`: elements in C order, one after the other (Zarr v3, bytes codec). */
#include <string.h>

#include "core/codec/parameter.h"

#define NAME         "bytes"
#define BYTES_PER_US 8000

struct bytes {
    struct zd_repr decoded;
    bool has_endian; /* the data type has units that a byte order can swap */
    bool is_big;
};

static const char *const endian_words[] = {"little", "big", NULL};

static enum zd_status bytes_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"endian", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    const bool has_endian = !config->decoded->lacks_dtype && config->decoded->dtype.unit_bytes > 1;
    const struct zd_struct_fields *fields =
        config->decoded->lacks_dtype ? NULL : config->decoded->dtype.fields;
    /* Reference 5.4.3: no byte order of the legacy type means little. */
    const bool may_lack_endian = fields != NULL && fields->is_legacy;
    uint32_t endian = 0;
    /* Zarr v3, bytes: required for types of several bytes, without meaning for the others. */
    if ((has_endian && !may_lack_endian) || zd_parameter_find(&parameters, "endian") != NULL) {
        (void)zd_parameter_choice(&parameters, "endian", endian_words, &endian);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct bytes *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct bytes){
        .decoded = *config->decoded, .has_endian = has_endian, .is_big = has_endian && endian == 1};
    state->decoded.fill = NULL;
    *ret_encoded = (struct zd_repr){.is_bytes = true,
        .dtype = config->decoded->dtype,
        .size = config->decoded->size,
        .size_is_exact = true};
    *ret_state = state;
    return ZD_OK;
}

static bool has_odd_bool(const struct zd_buf *data)
{
    uint8_t seen = 0;
    for (size_t i = 0; i < data->len; i++) {
        seen |= data->data[i];
    }
    return seen > 1;
}

/* Both directions do the same. */
static enum zd_status convert(
    const struct bytes *state, struct zd_buf *from, struct zd_buf **ret_to, struct zd_error *err)
{
    const struct zd_dtype *dtype = &state->decoded.dtype;
    /* Zarr v3, bytes: bool is 0 or 1; anything else counts as true. */
    const bool is_odd =
        zd_dtype_is_loose(dtype) && (dtype->kind != ZD_DTYPE_BOOL || has_odd_bool(from));
    if (!state->is_big && !is_odd) {
        *ret_to = zd_buf_ref(from);
        return ZD_OK;
    }
    struct zd_buf *to = zd_buf_new(from->len);
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", from->len);
    }
    to->len = from->len;
    const size_t n = from->len / dtype->bytes;
    if (state->is_big) {
        zd_dtype_swap(dtype, to->data, from->data, n);
    } else {
        memcpy(to->data, from->data, from->len);
    }
    if (is_odd) {
        zd_dtype_settle(dtype, to->data, n);
    }
    *ret_to = to;
    return ZD_OK;
}

static enum zd_status bytes_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct bytes *bytes = state;
    ZD_TRY(zd_codec_repr_check(&bytes->decoded, NAME, encoded->len, err));
    return convert(bytes, encoded, ret_decoded, err);
}

static enum zd_status bytes_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    return convert(state, decoded, ret_encoded, err);
}

static enum zd_status bytes_configuration(const void *state, struct zd_json **ret_json)
{
    const struct bytes *bytes = state;
    if (!bytes->has_endian) {
        *ret_json = NULL;
        return ZD_OK;
    }
    return zd_json_wrap("endian", zd_json_new_text(endian_words[bytes->is_big ? 1 : 0]), ret_json);
}

static uint64_t bytes_bytes_per_us(const void *state)
{
    const struct bytes *bytes = state;
    return bytes->is_big || zd_dtype_is_loose(&bytes->decoded.dtype) ? BYTES_PER_US : 0;
}

static bool bytes_is_swapped(const void *state)
{
    const struct bytes *bytes = state;
    return bytes->is_big;
}

const struct zd_codec zd_codec_bytes = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"endian\":{\"enum\":[\"little\",\"big\"]}},"
              "\"additionalProperties\":false}",
    .open = bytes_open,
    .close = zd_free,
    .decode = bytes_decode,
    .encode = bytes_encode,
    .find_bytes_per_us = bytes_bytes_per_us,
    .configuration = bytes_configuration,
    .is_swapped = bytes_is_swapped,
};
