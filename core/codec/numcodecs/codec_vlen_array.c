/* The codec `vlen-array` of numcodecs: lists of numbers of one type, any number of them.
 *
 *     u32le count, then for each element: u32le length in bytes, numbers */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/vlen.h"
#include "core/grid/typestr.h"
#include "core/grid/variable.h"

#define NAME       "numcodecs.vlen-array"
#define WORD_BYTES sizeof(uint32_t)

struct vlen_array {
    struct zd_vlen vlen; /* first */
    struct zd_typestr item;
};

/* The type of the numbers, in which a byte order counts. */
static void read_dtype(const struct zd_parameters *parameters, struct vlen_array *state)
{
    const char *expected = "the NumPy type string of a type of numbers";
    const struct zd_json *member = zd_parameter_need(parameters, "dtype", expected);
    const struct zd_pointer at = zd_parameter_at(parameters, "dtype");
    const char *text = zd_json_string(member);
    struct zd_dtype list;
    if (member != NULL &&
        (text == NULL || zd_typestr_parse_any(text, &state->item, NULL) != ZD_OK ||
            !zd_dtype_of_list(&state->item.dtype, &list))) {
        zd_parameter_fault(parameters, "dtype", &at, "out_of_range", expected, member);
        state->item = (struct zd_typestr){0};
    }
}

static void judge_input(const struct zd_parameters *parameters,
    const struct zd_codec_config *config, const struct vlen_array *state)
{
    const struct zd_dtype *dtype = &config->decoded->dtype;
    if (config->decoded->lacks_dtype || state->item.dtype.bytes == 0) {
        return;
    }
    if (dtype->kind != ZD_DTYPE_LIST ||
        strcmp(zd_dtype_list_item(dtype).name, state->item.dtype.name) != 0) {
        zd_parameters_refuse_input(parameters, config, "lists of its dtype");
    }
}

static enum zd_status vlen_array_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"dtype", NULL};
    struct zd_parameters parameters;
    struct vlen_array array = {.vlen = {.name = NAME, .kind = ZD_DTYPE_LIST}};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_dtype(&parameters, &array);
    judge_input(&parameters, config, &array);
    zd_vlen_prepare(&array.vlen, config, ret_encoded, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct vlen_array *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = array;
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status corrupt(
    const struct vlen_array *array, uint64_t i, size_t len, struct zd_error *err)
{
    const uint32_t item_bytes = array->item.dtype.bytes;
    const enum zd_status status = zd_fail(err, ZD_CORRUPT,
        NAME ": element %" PRIu64 " has %zu bytes, expected a multiple of %" PRIu32, i, len,
        item_bytes);
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "a multiple of %" PRIu32 " bytes", item_bytes);
    zd_fact_found(err, "%zu bytes", len);
    return status;
}

/* Numbers as they are in memory. */
static void settle(const struct zd_typestr *item, uint8_t *numbers, size_t n)
{
    if (item->is_big) {
        zd_dtype_swap(&item->dtype, numbers, numbers, n);
    }
    zd_dtype_settle(&item->dtype, numbers, n);
}

static enum zd_status vlen_array_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct vlen_array *array = state;
    const uint32_t item_bytes = array->item.dtype.bytes;
    ZD_AUTO(zd_buf) decoded = NULL;
    ZD_TRY(zd_vlen_decode(&array->vlen, encoded, &decoded, err));
    uint8_t *numbers = decoded->data + array->vlen.n_elements * ZD_VARIABLE_BYTES;
    for (uint64_t i = 0; i < array->vlen.n_elements; i++) {
        const size_t len = zd_variable_at(decoded->data, i).len;
        if (len % item_bytes != 0) {
            return corrupt(array, i, len, err);
        }
        settle(&array->item, numbers, len / item_bytes); /* they follow one another */
        numbers += len;
    }
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status vlen_array_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct vlen_array *array = state;
    const struct zd_dtype *item = &array->item.dtype;
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_TRY(zd_vlen_encode(&array->vlen, decoded, &encoded, err));
    uint8_t *at = encoded->data + WORD_BYTES;
    for (uint64_t i = 0; array->item.is_big && i < array->vlen.n_elements; i++) {
        const uint32_t len = zd_load_u32(at);
        at += WORD_BYTES;
        zd_dtype_swap(item, at, at, len / item->bytes);
        at += len;
    }
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status vlen_array_configuration(const void *state, struct zd_json **ret_json)
{
    const struct vlen_array *array = state;
    char typestr[ZD_DTYPE_TYPESTR_BYTES];
    ZD_AUTO(zd_json) json = zd_json_new_object();
    zd_dtype_typestr(&array->item.dtype, typestr);
    if (array->item.is_big) {
        typestr[0] = '>';
    }
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "dtype", zd_json_new_text(typestr)));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_vlen_array = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"dtype\":{\"type\":\"string\"}},"
              "\"required\":[\"dtype\"],\"additionalProperties\":false}",
    .takes_variable = true,
    .open = vlen_array_open,
    .close = zd_free,
    .decode = vlen_array_decode,
    .encode = vlen_array_encode,
    .find_bytes_per_us = zd_vlen_bytes_per_us,
    .configuration = vlen_array_configuration,
};
