/* The codec `transpose`: axes in another order (Zarr v3, transpose codec). */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/strided.h"
#include "core/grid/variable.h"

#define NAME         "transpose"
#define BYTES_PER_US 2000

struct transpose {
    uint32_t rank;
    uint32_t order[ZD_RANK_MAX]; /* axis i of the encoded array is axis order[i] of the decoded */
    bool is_identity;
    struct zd_repr decoded;
    struct zd_strided decode;
    struct zd_strided encode;
};

/* The letters of an abandoned draft, which zarrita 0.2.0 still writes. */
static bool read_letter(const struct zd_parameters *parameters, const struct zd_json *member,
    struct transpose *transpose)
{
    const char *letter = zd_json_string(member);
    const bool is_c = letter != NULL && strcmp(letter, "C") == 0;
    const bool is_f = letter != NULL && strcmp(letter, "F") == 0;
    if ((!is_c && !is_f) || parameters->judgement == ZD_JUDGE_WRITE) {
        return false;
    }
    for (uint32_t i = 0; i < transpose->rank; i++) {
        transpose->order[i] = is_c ? i : transpose->rank - 1 - i;
    }
    const struct zd_pointer at = zd_parameter_at(parameters, "order");
    zd_faults_add(parameters->faults, ZD_FAULT_WARNING, "letter_order", NAME, &at,
        "a permutation of the axes", letter,
        "order \"%s\" is read as the permutation it stands for", letter);
    return true;
}

static void read_axis(const struct zd_parameters *parameters, const struct zd_json *order,
    uint32_t i, uint64_t *seen, struct transpose *transpose)
{
    const struct zd_json *element = zd_json_element(order, i);
    const struct zd_pointer list = zd_parameter_at(parameters, "order");
    const struct zd_pointer at = zd_pointer_element(&list, i);
    uint64_t axis;
    if (!zd_json_is(element, ZD_JSON_INTEGER)) {
        zd_parameter_fault(parameters, "order", &at, "wrong_type", "a list of integers", element);
    } else if (!zd_json_u64(element, &axis) || axis >= transpose->rank) {
        zd_parameter_fault(
            parameters, "order", &at, "out_of_range", "a permutation of all axes", element);
    } else if ((*seen >> axis & 1) != 0) {
        zd_parameter_fault(
            parameters, "order", &at, "duplicate", "a permutation of all axes", element);
    } else {
        *seen |= UINT64_C(1) << axis;
        transpose->order[i] = (uint32_t)axis;
    }
}

static void read_order(const struct zd_parameters *parameters, struct transpose *transpose)
{
    const struct zd_json *member = zd_parameter_need(parameters, "order", "a list of integers");
    if (member == NULL || read_letter(parameters, member, transpose)) {
        return;
    }
    const struct zd_json *order = zd_parameter_array(parameters, "order");
    if (order == NULL) {
        return;
    }
    if (transpose->decoded.lacks_shape) {
        /* It must be a permutation of some rank. */
        transpose->rank = (uint32_t)zd_min_u64(zd_json_count(order), ZD_RANK_MAX);
    }
    if (zd_json_count(order) != transpose->rank) {
        const struct zd_pointer at = zd_parameter_at(parameters, "order");
        zd_parameter_fault(
            parameters, "order", &at, "wrong_rank", "one integer for each dimension", order);
        return;
    }
    uint64_t seen = 0; /* a bit for each axis */
    for (uint32_t i = 0; i < transpose->rank; i++) {
        read_axis(parameters, order, i, &seen, transpose);
    }
}

/* Zarr v3, transpose: encoded[i0, i1 ...] has axis i of shape decoded.shape[order[i]]. */
static void prepare(struct transpose *transpose, struct zd_repr *ret_encoded)
{
    const struct zd_repr *decoded = &transpose->decoded;
    const uint32_t rank = decoded->rank;
    struct zd_repr encoded = *decoded;
    transpose->is_identity = true;
    for (uint32_t i = 0; i < rank; i++) {
        encoded.shape[i] = decoded->shape[transpose->order[i]];
        transpose->is_identity = transpose->is_identity && transpose->order[i] == i;
    }
    uint64_t decoded_stride[ZD_RANK_MAX];
    uint64_t encoded_stride[ZD_RANK_MAX];
    zd_strided_dense(rank, decoded->shape, decoded->dtype.bytes, decoded_stride);
    zd_strided_dense(rank, encoded.shape, decoded->dtype.bytes, encoded_stride);
    struct zd_strided *encode = &transpose->encode;
    struct zd_strided *decode = &transpose->decode;
    *encode = (struct zd_strided){.rank = rank, .run_bytes = decoded->dtype.bytes};
    *decode = *encode;
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t axis = transpose->order[i];
        encode->count[i] = encoded.shape[i];
        encode->to[i] = (int64_t)encoded_stride[i];
        encode->from[i] = (int64_t)decoded_stride[axis];
        decode->count[axis] = encoded.shape[i];
        decode->to[axis] = (int64_t)decoded_stride[axis];
        decode->from[axis] = (int64_t)encoded_stride[i];
    }
    zd_strided_fold(encode);
    zd_strided_fold(decode);
    *ret_encoded = encoded;
}

static enum zd_status transpose_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"order", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    struct transpose *state = zd_alloc_zero(1, sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    state->rank = config->decoded->rank;
    state->decoded = *config->decoded;
    read_order(&parameters, state);
    const enum zd_status status = zd_parameters_status(&parameters);
    if (status != ZD_OK) {
        zd_free(state);
        return status;
    }
    prepare(state, ret_encoded);
    state->decoded.fill = NULL;
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status copy_box(const struct transpose *transpose, const struct zd_strided *box,
    struct zd_buf *from, struct zd_buf **ret_to, struct zd_error *err)
{
    assert(zd_codec_repr_has(&transpose->decoded, from));
    if (transpose->is_identity) {
        *ret_to = zd_buf_ref(from);
        return ZD_OK;
    }
    const uint64_t size = transpose->decoded.size;
    struct zd_buf *to = zd_buf_new(size);
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %" PRIu64 " bytes", size);
    }
    to->len = size;
    zd_strided_copy(box, to->data, from->data);
    *ret_to = to;
    return ZD_OK;
}

static enum zd_status transpose_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct transpose *transpose = state;
    const struct zd_repr *repr = &transpose->decoded;
    ZD_AUTO(zd_buf) decoded = NULL;
    ZD_TRY(copy_box(transpose, &transpose->decode, encoded, &decoded, err));
    if (zd_dtype_is_variable(&repr->dtype) && decoded != encoded) {
        const uint64_t n = repr->size / repr->dtype.bytes;
        return zd_variable_pack(decoded->data, n, zd_variable_bytes_max(n), ret_decoded, err);
    }
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status transpose_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct transpose *transpose = state;
    return copy_box(transpose, &transpose->encode, decoded, ret_encoded, err);
}

static enum zd_status transpose_configuration(const void *state, struct zd_json **ret_json)
{
    const struct transpose *transpose = state;
    ZD_AUTO(zd_json) order = zd_json_new_array();
    for (uint32_t i = 0; order != NULL && i < transpose->rank; i++) {
        ZD_TRY(zd_json_append(order, zd_json_new_u64(transpose->order[i])));
    }
    return zd_json_wrap("order", ZD_TAKE(order), ret_json);
}

static uint64_t transpose_bytes_per_us(const void *state)
{
    const struct transpose *transpose = state;
    return transpose->is_identity ? 0 : BYTES_PER_US;
}

static const uint32_t *transpose_order(const void *state)
{
    const struct transpose *transpose = state;
    return transpose->order;
}

const struct zd_codec zd_codec_transpose = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"order\":{\"type\":\"array\",\"items\":"
              "{\"type\":\"integer\",\"minimum\":0},\"uniqueItems\":true}},"
              "\"required\":[\"order\"],\"additionalProperties\":false}",
    .takes_variable = true,
    .open = transpose_open,
    .close = zd_free,
    .decode = transpose_decode,
    .encode = transpose_encode,
    .find_bytes_per_us = transpose_bytes_per_us,
    .configuration = transpose_configuration,
    .order = transpose_order,
};
