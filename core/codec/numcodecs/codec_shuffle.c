/* The codec `shuffle` of numcodecs: the first bytes of all items, then the second ones ... */
#include <inttypes.h>

#include "core/codec/parameter.h"

#define NAME         "numcodecs.shuffle"
#define BYTES_PER_US 2000
#define ITEM_BYTES   4 /* when it is not said */

struct shuffle {
    size_t item_bytes;
    struct zd_repr decoded;
};

static ZD_RESULT judge_size(
    const struct zd_parameters *parameters, const struct zd_repr *decoded, uint64_t item_bytes)
{
    const struct zd_pointer at = zd_parameter_at(parameters, "elementsize");
    if (decoded->size_is_exact && decoded->size % item_bytes != 0) {
        zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "out_of_range", NAME, &at,
            "a divisor of the number of bytes", NULL,
            "%" PRIu64 " bytes are not a whole number of items of %" PRIu64, decoded->size,
            item_bytes);
    }
    return zd_parameters_status(parameters);
}

static enum zd_status shuffle_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"elementsize", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t item_bytes = ITEM_BYTES;
    if (zd_parameter_find(&parameters, "elementsize") != NULL) {
        (void)zd_parameter_i64(&parameters, "elementsize", 1, INT32_MAX, &item_bytes);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    ZD_TRY(judge_size(&parameters, config->decoded, (uint64_t)item_bytes));
    struct shuffle *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct shuffle){.item_bytes = (size_t)item_bytes, .decoded = *config->decoded};
    *ret_encoded = (struct zd_repr){.is_bytes = true,
        .size = config->decoded->size,
        .size_is_exact = config->decoded->size_is_exact};
    *ret_state = state;
    return ZD_OK;
}

/* Copy one byte of each of n items: every `to_step`-th place gets every `from_step`-th byte. */
static void copy_plane(
    uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, size_t n_items)
{
    for (size_t i = 0; i < n_items; i++) {
        to[i * to_step] = from[i * from_step];
    }
}

static enum zd_status shuffle_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct shuffle *shuffle = state;
    const size_t n_items = encoded->len / shuffle->item_bytes;
    ZD_TRY(zd_codec_repr_check(&shuffle->decoded, NAME, encoded->len, err));
    if (encoded->len % shuffle->item_bytes != 0) {
        const enum zd_status status =
            zd_fail(err, ZD_CORRUPT, NAME ": %zu bytes are not a whole number of items of %zu",
                encoded->len, shuffle->item_bytes);
        zd_fact_name(err, NAME);
        return status;
    }
    ZD_AUTO(zd_buf) decoded = zd_buf_new(encoded->len);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", encoded->len);
    }
    for (size_t i = 0; i < shuffle->item_bytes; i++) {
        copy_plane(decoded->data + i, shuffle->item_bytes, encoded->data + i * n_items, 1, n_items);
    }
    decoded->len = encoded->len;
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status shuffle_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct shuffle *shuffle = state;
    const size_t n_items = decoded->len / shuffle->item_bytes;
    if (decoded->len % shuffle->item_bytes != 0) {
        return zd_fail(err, ZD_UNSUPPORTED,
            NAME ": %zu bytes are not a whole number of items of %zu", decoded->len,
            shuffle->item_bytes);
    }
    ZD_AUTO(zd_buf) encoded = zd_buf_new(decoded->len);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", decoded->len);
    }
    for (size_t i = 0; i < shuffle->item_bytes; i++) {
        copy_plane(encoded->data + i * n_items, 1, decoded->data + i, shuffle->item_bytes, n_items);
    }
    encoded->len = decoded->len;
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status shuffle_configuration(const void *state, struct zd_json **ret_json)
{
    const struct shuffle *shuffle = state;
    return zd_json_wrap("elementsize", zd_json_new_u64(shuffle->item_bytes), ret_json);
}

static const char *const aliases[] = {"https://codec.zarrs.dev/bytes_to_bytes/shuffle", NULL};

const struct zd_codec zd_codec_shuffle = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"elementsize\":{\"type\":\"integer\","
              "\"minimum\":1}},\"additionalProperties\":false}",
    .open = shuffle_open,
    .close = zd_free,
    .decode = shuffle_decode,
    .encode = shuffle_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = shuffle_configuration,
};
