/* Shared by the codecs that put a checksum of four bytes in front of the data or behind it. */
#include "core/codec/checksum.h"

#include <string.h>

#include "core/base/num.h"

#define LOCATION "location"

static const char *const locations[] = {"start", "end", NULL};

struct zd_repr zd_checksum_encoded(const struct zd_repr *decoded)
{
    struct zd_repr encoded = {.is_bytes = true, .size_is_exact = decoded->size_is_exact};
    if (ckd_add(&encoded.size, decoded->size, ZD_CHECKSUM_BYTES)) {
        encoded.size = UINT64_MAX;
        encoded.size_is_exact = false;
    }
    return encoded;
}

void zd_checksum_location(const struct zd_parameters *parameters,
    const struct zd_checksum_kind *kind, bool *ret_is_at_start)
{
    uint32_t location = kind->is_at_start ? 0 : 1;
    if (zd_parameter_find(parameters, LOCATION) != NULL) {
        (void)zd_parameter_choice(parameters, LOCATION, locations, &location);
    }
    *ret_is_at_start = location == 0;
}

enum zd_status zd_checksum_open(const struct zd_checksum_kind *kind,
    const struct zd_codec_config *config, struct zd_repr *ret_encoded, void **ret_state,
    struct zd_faults *faults)
{
    static const char *const names[] = {LOCATION, NULL};
    struct zd_parameters parameters;
    struct zd_checksum checksum = {.kind = kind, .decoded = *config->decoded};
    zd_parameters_init(&parameters, kind->codec, config, names, faults);
    zd_checksum_location(&parameters, kind, &checksum.is_at_start);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_checksum *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = checksum;
    *ret_encoded = zd_checksum_encoded(config->decoded);
    *ret_state = state;
    return ZD_OK;
}

enum zd_status zd_checksum_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zd_checksum *checksum = state;
    const char *codec = checksum->kind->codec;
    if (encoded->len < ZD_CHECKSUM_BYTES) {
        const enum zd_status status = zd_fail(err, ZD_CORRUPT,
            "%s: %zu bytes cannot hold a checksum of 4 bytes", codec, encoded->len);
        zd_fact_name(err, codec);
        return status;
    }
    const struct zd_span data = {
        .ptr = encoded->data + (checksum->is_at_start ? ZD_CHECKSUM_BYTES : 0),
        .len = encoded->len - ZD_CHECKSUM_BYTES};
    ZD_TRY(zd_codec_repr_check(&checksum->decoded, codec, data.len, err));
    const uint32_t stored =
        zd_load_u32(checksum->is_at_start ? encoded->data : encoded->data + data.len);
    const uint32_t found = checksum->kind->of(state, data);
    if (found != stored) {
        const enum zd_status status = zd_fail(
            err, ZD_CORRUPT, "%s: the checksum is %08x, but %08x is stored", codec, found, stored);
        zd_fact_name(err, codec);
        zd_fact_expected(err, "%08x", stored);
        zd_fact_found(err, "%08x", found);
        return status;
    }
    struct zd_buf *decoded = zd_buf_copy(data);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: cannot allocate %zu bytes", codec, data.len);
    }
    *ret_decoded = decoded;
    return ZD_OK;
}

enum zd_status zd_checksum_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct zd_checksum *checksum = state;
    size_t len;
    struct zd_buf *encoded =
        ckd_add(&len, decoded->len, ZD_CHECKSUM_BYTES) ? NULL : zd_buf_new(len);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: cannot allocate %zu bytes and 4",
            checksum->kind->codec, decoded->len);
    }
    uint8_t *data = encoded->data + (checksum->is_at_start ? ZD_CHECKSUM_BYTES : 0);
    memcpy(data, decoded->data, decoded->len);
    zd_store_u32(checksum->is_at_start ? encoded->data : encoded->data + decoded->len,
        checksum->kind->of(state, zd_buf_span(decoded)));
    encoded->len = len;
    *ret_encoded = encoded;
    return ZD_OK;
}

enum zd_status zd_checksum_configuration(const void *state, struct zd_json **ret_json)
{
    const struct zd_checksum *checksum = state;
    if (checksum->is_at_start == checksum->kind->is_at_start) {
        *ret_json = NULL;
        return ZD_OK;
    }
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    const char *location = locations[checksum->is_at_start ? 0 : 1];
    ZD_TRY(zd_json_set(json, LOCATION, zd_json_new_text(location)));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}
