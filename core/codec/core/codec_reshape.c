/* The codec `reshape`: the same elements in C order, as an array of other dimensions. Each entry of
 * its shape is a size, dimensions of the input whose product it is, or -1 for what is left. */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME "reshape"

/* A dimension of the output. */
struct entry {
    uint64_t size;
    bool is_rest; /* -1 */
    bool has_dims;
    uint32_t first_dim; /* has_dims: of the input, whose product is the size */
    uint32_t last_dim;
};

/* The shape while it is judged. */
struct reading {
    const struct zd_parameters *parameters;
    const struct zd_repr *decoded;
    uint32_t rank;
    uint32_t n_rest;
    uint32_t next_dim; /* input dimensions in the list are strictly increasing */
    struct entry entry[ZD_RANK_MAX];
};

struct reshape {
    struct zd_json *shape; /* as in the document */
};

static void add_fault(const struct reading *reading, const struct zd_pointer *at, const char *code,
    const char *expected, const struct zd_json *found)
{
    zd_parameter_fault(reading->parameters, "shape", at, code, expected, found);
}

static void read_dims(
    struct reading *reading, const struct zd_json *list, const struct zd_pointer *at)
{
    struct entry *entry = &reading->entry[reading->rank];
    entry->size = 1;
    for (size_t i = 0; i < zd_json_count(list); i++) {
        const struct zd_json *element = zd_json_element(list, i);
        const struct zd_pointer place = zd_pointer_element(at, i);
        const uint32_t rank = reading->decoded->lacks_shape ? ZD_RANK_MAX : reading->decoded->rank;
        uint64_t dim = 0;
        if (!zd_json_is(element, ZD_JSON_INTEGER)) {
            add_fault(reading, &place, "wrong_type", "a list of dimensions of the input", element);
            return;
        }
        if (!zd_json_u64(element, &dim) || dim >= rank || dim < reading->next_dim) {
            add_fault(reading, &place, "out_of_range",
                "dimensions of the input, each once and in their order", element);
            return;
        }
        entry->first_dim = entry->has_dims ? entry->first_dim : (uint32_t)dim;
        entry->last_dim = (uint32_t)dim;
        entry->has_dims = true;
        reading->next_dim = (uint32_t)dim + 1;
        /* Within the chunk's size, which is known to fit. */
        entry->size *= reading->decoded->lacks_shape ? 1 : reading->decoded->shape[dim];
    }
}

static void read_entry(
    struct reading *reading, const struct zd_json *json, const struct zd_pointer *at)
{
    static const char expected[] = "a size, a list of dimensions of the input, or -1";
    struct entry *entry = &reading->entry[reading->rank];
    int64_t number = 0;
    if (zd_json_is(json, ZD_JSON_ARRAY)) {
        read_dims(reading, json, at);
    } else if (!zd_json_is(json, ZD_JSON_INTEGER)) {
        add_fault(reading, at, "wrong_type", expected, json);
    } else if (zd_json_i64(json, &number) && number == -1) {
        entry->is_rest = true;
        if (reading->n_rest++ > 0) {
            add_fault(reading, at, "duplicate", "-1 at most once", json);
        }
    } else if (!zd_json_u64(json, &entry->size) || entry->size == 0) {
        add_fault(reading, at, "out_of_range", expected, json);
    }
    reading->rank++;
}

/* The product of the sizes of some entries. */
static bool entries_overflow(
    const struct reading *reading, uint32_t first, uint32_t end, uint64_t *ret_product)
{
    *ret_product = 1;
    for (uint32_t i = first; i < end; i++) {
        if (ckd_mul(ret_product, *ret_product, reading->entry[i].size)) {
            return true;
        }
    }
    return false;
}

/* The output has as many elements as the input: this gives the value of -1. */
static void judge_product(struct reading *reading, const struct zd_json *shape)
{
    const struct zd_pointer at = zd_parameter_at(reading->parameters, "shape");
    const uint64_t n = reading->decoded->size / reading->decoded->dtype.bytes;
    struct entry *rest = NULL;
    uint64_t product;
    for (uint32_t i = 0; i < reading->rank; i++) {
        if (reading->entry[i].is_rest) {
            rest = &reading->entry[i];
            rest->size = 1;
        }
    }
    if (entries_overflow(reading, 0, reading->rank, &product) || n % product != 0 ||
        (rest == NULL && product != n)) {
        add_fault(
            reading, &at, "out_of_range", "a shape with as many elements as the input", shape);
    } else if (rest != NULL) {
        rest->size = n / product;
    }
}

/* Dimensions that are named must be where they were: as many elements vary faster, and slower. */
static void judge_groups(const struct reading *reading, const struct zd_json *shape)
{
    const struct zd_repr *decoded = reading->decoded;
    for (uint32_t i = 0; i < reading->rank; i++) {
        const struct entry *entry = &reading->entry[i];
        uint64_t before = 0;
        uint64_t input_before = 0;
        uint64_t input_size = 0;
        if (!entry->has_dims) {
            continue;
        }
        const uint32_t n_dims = entry->last_dim - entry->first_dim + 1;
        const bool overflows =
            entries_overflow(reading, 0, i, &before) ||
            zd_product_overflows(&input_before, decoded->shape, entry->first_dim) ||
            zd_product_overflows(&input_size, decoded->shape + entry->first_dim, n_dims);
        if (overflows || before != input_before || entry->size != input_size) {
            const struct zd_pointer list = zd_parameter_at(reading->parameters, "shape");
            const struct zd_pointer at = zd_pointer_element(&list, i);
            add_fault(reading, &at, "out_of_range",
                "as many elements before these dimensions as in the input",
                zd_json_element(shape, i));
        }
    }
}

static void read_shape(struct reading *reading, const struct zd_json *shape)
{
    const struct zd_parameters *parameters = reading->parameters;
    const struct zd_pointer at = zd_parameter_at(parameters, "shape");
    if (zd_json_count(shape) > ZD_RANK_MAX) {
        add_fault(reading, &at, "out_of_range", "at most 32 dimensions", shape);
        return;
    }
    for (size_t i = 0; i < zd_json_count(shape); i++) {
        const struct zd_pointer place = zd_pointer_element(&at, i);
        read_entry(reading, zd_json_element(shape, i), &place);
    }
    if (zd_parameters_status(parameters) == ZD_OK) {
        judge_product(reading, shape);
    }
    if (zd_parameters_status(parameters) == ZD_OK) {
        judge_groups(reading, shape);
    }
}

static void reshape_close(void *state)
{
    struct reshape *reshape = state;
    if (reshape != NULL) {
        zd_json_unref(reshape->shape);
        zd_free(reshape);
    }
}

static enum zd_status reshape_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"shape", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    struct reading reading = {.parameters = &parameters, .decoded = config->decoded};
    const struct zd_json *shape = zd_parameter_array(&parameters, "shape");
    if (shape != NULL) {
        read_shape(&reading, shape);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct reshape *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct reshape){.shape = zd_json_ref(shape)};
    *ret_encoded = *config->decoded;
    ret_encoded->rank = reading.rank;
    for (uint32_t i = 0; i < reading.rank; i++) {
        ret_encoded->shape[i] = reading.entry[i].size;
    }
    *ret_state = state;
    return ZD_OK;
}

/* Both directions do the same: nothing. */
static enum zd_status reshape_code(
    const void *state, struct zd_buf *from, struct zd_buf **ret_to, struct zd_error *err)
{
    (void)state;
    (void)err;
    *ret_to = zd_buf_ref(from);
    return ZD_OK;
}

static enum zd_status reshape_configuration(const void *state, struct zd_json **ret_json)
{
    const struct reshape *reshape = state;
    return zd_json_wrap("shape", zd_json_ref(reshape->shape), ret_json);
}

const struct zd_codec zd_codec_reshape = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"shape\":{\"type\":\"array\"}},"
              "\"required\":[\"shape\"],\"additionalProperties\":false}",
    .open = reshape_open,
    .close = reshape_close,
    .decode = reshape_code,
    .encode = reshape_code,
    .configuration = reshape_configuration,
};
