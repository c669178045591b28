/* The codec `cast_value`: numbers stored as another data type, value by value, and back. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/value_cast.h"
#include "core/grid/scalar.h"

#define NAME            "cast_value"
#define BYTES_PER_US    1000
#define VALUE_BYTES_MAX 64
#define PAIRS_MAX       1024 /* of one way of scalar_map */

static const char *const rounding_words[] = {[ZD_NEAREST_EVEN] = "nearest-even",
    [ZD_TOWARDS_ZERO] = "towards-zero",
    [ZD_TOWARDS_POSITIVE] = "towards-positive",
    [ZD_TOWARDS_NEGATIVE] = "towards-negative",
    [ZD_NEAREST_AWAY] = "nearest-away",
    NULL};

static const char *const overflow_words[] = {"clamp", "wrap", NULL};

struct cast_value {
    struct zd_value_cast encode;
    struct zd_value_cast decode;
    struct zd_value_pair *encode_pair; /* owned, as those of decode */
    struct zd_value_pair *decode_pair;
    struct zd_json *configuration; /* as in the document */
    uint64_t n;                    /* elements of a chunk */
    uint8_t fill[ZD_NUMBER_BYTES_MAX];
};

static void cast_value_close(void *state)
{
    struct cast_value *cast = state;
    if (cast != NULL) {
        zd_free(cast->encode_pair);
        zd_free(cast->decode_pair);
        zd_json_unref(cast->configuration);
        zd_free(cast);
    }
}

static bool is_number(const struct zd_dtype *dtype)
{
    return zd_number_is_integer(dtype) || zd_number_is_float(dtype);
}

/* ---- scalar_map ---- */

/* A value of a pair. The registry's example spells an infinity as only this map may. */
static bool read_value(const struct zd_parameters *parameters, const struct zd_pointer *at,
    const struct zd_dtype *dtype, const struct zd_json *json, uint8_t *ret_bytes)
{
    const char *text = zd_json_string(json);
    if (text == NULL || strcmp(text, "+Infinity") != 0 || !zd_number_is_float(dtype)) {
        return zd_parameter_scalar(parameters, "scalar_map", at, dtype, json, ret_bytes);
    }
    const double infinity = INFINITY;
    zd_numbers_store(dtype, &infinity, 1, ret_bytes);
    return true;
}

static void read_pair(const struct zd_parameters *parameters, const struct zd_pointer *at,
    const struct zd_json *json, struct zd_value_cast *cast, struct zd_value_pair *pair)
{
    uint8_t from[ZD_NUMBER_BYTES_MAX];
    if (!zd_json_is(json, ZD_JSON_ARRAY) || zd_json_count(json) != 2) {
        zd_parameter_fault(parameters, "scalar_map", at, "wrong_type", "a list of pairs", json);
        return;
    }
    const struct zd_pointer first = zd_pointer_element(at, 0);
    const struct zd_pointer second = zd_pointer_element(at, 1);
    if (read_value(parameters, &first, &cast->from, zd_json_element(json, 0), from) &&
        read_value(parameters, &second, &cast->to, zd_json_element(json, 1), pair->to)) {
        pair->key = zd_value_key(&cast->from, from);
        cast->n_pairs++;
    }
}

static int compare_pairs(const void *a, const void *b)
{
    const struct zd_value_pair *x = a;
    const struct zd_value_pair *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Ascending keys; of those that are equal the first stays. */
static void sort_pairs(struct zd_value_cast *cast, struct zd_value_pair *pair)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < cast->n_pairs; i++) {
        bool is_known = false;
        for (size_t j = 0; j < n_kept && !is_known; j++) {
            is_known = pair[j].key == pair[i].key;
        }
        if (!is_known) {
            pair[n_kept++] = pair[i];
        }
    }
    qsort(pair, n_kept, sizeof *pair, compare_pairs);
    cast->n_pairs = n_kept;
}

/* Read one direction of the map. The caller owns the pairs; NULL when there are none. */
static enum zd_status read_pairs(const struct zd_parameters *parameters,
    const struct zd_pointer *at, const struct zd_json *list, struct zd_value_cast *cast,
    struct zd_value_pair **ret_pair)
{
    const size_t n = zd_json_count(list);
    if (list == NULL || n == 0) {
        return ZD_OK;
    }
    if (!zd_json_is(list, ZD_JSON_ARRAY) || n > PAIRS_MAX) {
        zd_parameter_fault(
            parameters, "scalar_map", at, "wrong_type", "a list of at most 1024 pairs", list);
        return ZD_OK;
    }
    struct zd_value_pair *pair = zd_alloc_zero(n, sizeof *pair);
    if (pair == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_pair = pair;
    for (size_t i = 0; i < n; i++) {
        const struct zd_pointer place = zd_pointer_element(at, i);
        read_pair(parameters, &place, zd_json_element(list, i), cast, &pair[cast->n_pairs]);
    }
    sort_pairs(cast, pair);
    cast->pair = pair;
    return ZD_OK;
}

static enum zd_status read_map(const struct zd_parameters *parameters, struct cast_value *cast)
{
    const struct zd_json *map = zd_parameter_find(parameters, "scalar_map");
    const struct zd_pointer at = zd_parameter_at(parameters, "scalar_map");
    if (map == NULL) {
        return ZD_OK;
    }
    if (!zd_json_is(map, ZD_JSON_OBJECT)) {
        zd_parameter_fault(parameters, "scalar_map", &at, "wrong_type",
            "an object with \"encode\" and \"decode\"", map);
        return ZD_OK;
    }
    for (void *iter = zd_json_next(map, NULL); iter != NULL; iter = zd_json_next(map, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (strcmp(name, "encode") != 0 && strcmp(name, "decode") != 0) {
            const struct zd_pointer place = zd_pointer_member(&at, name);
            zd_parameter_fault(parameters, "scalar_map", &place, "unknown_member",
                "an object with \"encode\" and \"decode\"", zd_json_iter_value(iter));
        }
    }
    const struct zd_pointer encode_at = zd_pointer_member(&at, "encode");
    const struct zd_pointer decode_at = zd_pointer_member(&at, "decode");
    ZD_TRY(read_pairs(
        parameters, &encode_at, zd_json_member(map, "encode"), &cast->encode, &cast->encode_pair));
    return read_pairs(
        parameters, &decode_at, zd_json_member(map, "decode"), &cast->decode, &cast->decode_pair);
}

/* ---- open ---- */

static bool read_data_type(const struct zd_parameters *parameters, struct zd_dtype *ret_dtype)
{
    static const char expected[] = "the name of a type of integers or floating-point numbers";
    const struct zd_json *member = zd_parameter_need(parameters, "data_type", expected);
    const struct zd_pointer at = zd_parameter_at(parameters, "data_type");
    const char *name = zd_json_string(member);
    if (member == NULL) {
        return false;
    }
    if (name == NULL || zd_dtype_find(name, ret_dtype) != ZD_OK || !is_number(ret_dtype)) {
        zd_parameter_fault(parameters, "data_type", &at,
            name == NULL ? "wrong_type" : "out_of_range", expected, member);
        return false;
    }
    return true;
}

static void read_rules(const struct zd_parameters *parameters, struct cast_value *cast)
{
    uint32_t rounding = ZD_NEAREST_EVEN;
    uint32_t overflow = 0;
    if (zd_parameter_find(parameters, "rounding") != NULL) {
        (void)zd_parameter_choice(parameters, "rounding", rounding_words, &rounding);
    }
    if (zd_parameter_find(parameters, "out_of_range") != NULL &&
        zd_parameter_choice(parameters, "out_of_range", overflow_words, &overflow)) {
        cast->encode.overflow = overflow == 0 ? ZD_OVERFLOW_CLAMPS : ZD_OVERFLOW_WRAPS;
    }
    cast->encode.rounding = rounding;
    cast->decode.rounding = rounding;
    cast->decode.overflow = cast->encode.overflow;
    if (cast->encode.overflow == ZD_OVERFLOW_WRAPS && zd_number_is_float(&cast->encode.to)) {
        const struct zd_pointer at = zd_parameter_at(parameters, "out_of_range");
        zd_parameter_fault(parameters, "out_of_range", &at, "out_of_range",
            "\"clamp\" or no such member, because floating-point numbers are stored",
            zd_parameter_find(parameters, "out_of_range"));
    }
}

static enum zd_status read_parameters(const struct zd_parameters *parameters,
    const struct zd_codec_config *config, struct cast_value *cast)
{
    const struct zd_dtype *decoded = &config->decoded->dtype;
    if (!config->decoded->lacks_dtype && !is_number(decoded)) {
        zd_parameters_refuse_input(parameters, config, "integers or floating-point numbers");
    }
    const bool is_known = read_data_type(parameters, &cast->encode.to);
    cast->encode.from = cast->decode.to = *decoded;
    cast->decode.from = cast->encode.to;
    read_rules(parameters, cast);
    if (!is_known || config->decoded->lacks_dtype || !is_number(decoded)) {
        return ZD_OK; /* values of a type that is not known cannot be judged */
    }
    return read_map(parameters, cast);
}

/* Missing chunks of a shard hold what is stored for it, and are fill value again when read. */
static void judge_fill(const struct zd_parameters *parameters, const struct zd_codec_config *config,
    struct cast_value *cast)
{
    const struct zd_dtype *dtype = &config->decoded->dtype;
    const void *fill = config->decoded->fill;
    uint8_t again[ZD_NUMBER_BYTES_MAX];
    uint64_t place;
    if (!zd_value_cast_run(&cast->encode, fill, 1, cast->fill, &place) ||
        !zd_value_cast_run(&cast->decode, cast->fill, 1, again, &place) ||
        zd_value_key(dtype, fill) != zd_value_key(dtype, again)) {
        zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "bad_fill_value", NAME, &config->at,
            "a fill value that encoding and decoding do not change", NULL,
            "the fill value changes when it is stored as %s and read again", cast->encode.to.name);
    }
}

static enum zd_status prepare(const struct zd_parameters *parameters,
    const struct zd_codec_config *config, struct cast_value *cast, struct zd_repr *ret_encoded)
{
    ZD_TRY(read_parameters(parameters, config, cast));
    ZD_TRY(zd_parameters_status(parameters));
    struct zd_repr encoded = *config->decoded;
    encoded.dtype = cast->encode.to;
    ZD_TRY(zd_parameters_size(parameters, "data_type", &encoded));
    cast->n = encoded.size / encoded.dtype.bytes;
    judge_fill(parameters, config, cast);
    ZD_TRY(zd_parameters_status(parameters));
    cast->configuration = zd_json_ref(config->configuration);
    *ret_encoded = encoded;
    ret_encoded->fill = cast->fill;
    return ZD_OK;
}

static enum zd_status cast_value_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {
        "data_type", "rounding", "out_of_range", "scalar_map", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    struct cast_value *state = zd_alloc_zero(1, sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    const enum zd_status status = prepare(&parameters, config, state, ret_encoded);
    if (status != ZD_OK) {
        cast_value_close(state);
        return status;
    }
    *ret_state = state;
    return ZD_OK;
}

/* ---- chunks ---- */

static enum zd_status refuse_element(const struct zd_value_cast *cast, uint64_t place,
    const uint8_t *element, enum zd_status status, struct zd_error *err)
{
    static const struct zd_scalar_style style = {.bare_strings = true};
    ZD_SCOPED_TEXT(value, VALUE_BYTES_MAX);
    zd_scalar_add(&cast->from, element, &style, &value);
    const enum zd_status failed =
        zd_fail(err, status, NAME ": element %" PRIu64 " is %s, which cannot be cast to %s", place,
            value.at, cast->to.name);
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "a value of %s", cast->to.name);
    zd_fact_found(err, "%s", value.at);
    return failed;
}

static enum zd_status run(const struct zd_value_cast *cast, uint64_t n, enum zd_status refusal,
    const struct zd_buf *from, struct zd_buf **ret_to, struct zd_error *err)
{
    assert(from->len == n * cast->from.bytes);
    ZD_AUTO(zd_buf) to = zd_buf_new(n * cast->to.bytes);
    uint64_t place;
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    to->len = to->cap;
    if (!zd_value_cast_run(cast, from->data, n, to->data, &place)) {
        return refuse_element(cast, place, from->data + place * cast->from.bytes, refusal, err);
    }
    *ret_to = ZD_TAKE(to);
    return ZD_OK;
}

static enum zd_status cast_value_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct cast_value *cast = state;
    return run(&cast->decode, cast->n, ZD_CORRUPT, encoded, ret_decoded, err);
}

static enum zd_status cast_value_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct cast_value *cast = state;
    return run(&cast->encode, cast->n, ZD_INVALID, decoded, ret_encoded, err);
}

static enum zd_status cast_value_configuration(const void *state, struct zd_json **ret_json)
{
    const struct cast_value *cast = state;
    *ret_json = zd_json_ref(cast->configuration);
    return ZD_OK;
}

const struct zd_codec zd_codec_cast_value = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema =
        "{\"type\":\"object\",\"properties\":{\"data_type\":{\"type\":\"string\"},\"rounding\":{"
        "\"enum\":[\"nearest-even\",\"towards-zero\",\"towards-positive\",\"towards-negative\","
        "\"nearest-away\"]},\"out_of_range\":{\"enum\":[\"clamp\",\"wrap\"]},\"scalar_map\":{"
        "\"type\":\"object\",\"properties\":{\"encode\":{\"type\":\"array\"},\"decode\":{\"type\":"
        "\"array\"}},\"additionalProperties\":false}},\"required\":[\"data_type\"],"
        "\"additionalProperties\":false}",
    .open = cast_value_open,
    .close = cast_value_close,
    .decode = cast_value_decode,
    .encode = cast_value_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = cast_value_configuration,
};
