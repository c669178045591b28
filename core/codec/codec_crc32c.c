/* The codec `crc32c`: four bytes of checksum behind the data (Zarr v3, crc32c codec). */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/crc32c.h"
#include "core/codec/parameter.h"

#define NAME           "crc32c"
#define CHECKSUM_BYTES sizeof(uint32_t)
#define BYTES_PER_US   2000 /* the copy included */

struct crc32c {
    struct zd_repr decoded;
    struct zd_crc32c_table *table; /* NULL where the processor does it; owned */
};

static void crc32c_close(void *state)
{
    struct crc32c *crc32c = state;
    if (crc32c != NULL) {
        zd_free(crc32c->table);
        zd_free(crc32c);
    }
}

static struct crc32c *crc32c_new(const struct zd_repr *decoded)
{
    struct crc32c *state = zd_alloc_zero(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->decoded = *decoded;
    if (!zd_crc32c_is_native()) {
        state->table = zd_alloc(sizeof *state->table);
        if (state->table == NULL) {
            crc32c_close(state);
            return NULL;
        }
        zd_crc32c_table_init(state->table);
    }
    return state;
}

static enum zd_status crc32c_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_repr encoded = {.is_bytes = true, .size_is_exact = config->decoded->size_is_exact};
    if (ckd_add(&encoded.size, config->decoded->size, CHECKSUM_BYTES)) {
        encoded.size = UINT64_MAX;
        encoded.size_is_exact = false;
    }
    struct crc32c *state = crc32c_new(config->decoded);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_encoded = encoded;
    *ret_state = state;
    return ZD_OK;
}

static uint32_t checksum(const struct crc32c *crc32c, struct zd_span bytes)
{
    return crc32c->table == NULL ? zd_crc32c_native(bytes)
                                 : zd_crc32c_by_table(crc32c->table, bytes);
}

static enum zd_status crc32c_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct crc32c *crc32c = state;
    if (encoded->len < CHECKSUM_BYTES) {
        const enum zd_status status = zd_fail(
            err, ZD_CORRUPT, NAME ": %zu bytes cannot hold a checksum of 4 bytes", encoded->len);
        zd_fact_name(err, NAME);
        return status;
    }
    const struct zd_span data = {.ptr = encoded->data, .len = encoded->len - CHECKSUM_BYTES};
    ZD_TRY(zd_codec_repr_check(&crc32c->decoded, NAME, data.len, err));
    const uint32_t stored = zd_load_u32(data.ptr + data.len);
    const uint32_t found = checksum(crc32c, data);
    if (found != stored) {
        const enum zd_status status = zd_fail(
            err, ZD_CORRUPT, NAME ": the checksum is %08x, but %08x is stored", found, stored);
        zd_fact_name(err, NAME);
        zd_fact_expected(err, "%08x", stored);
        zd_fact_found(err, "%08x", found);
        return status;
    }
    struct zd_buf *decoded = zd_buf_copy(data);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", data.len);
    }
    *ret_decoded = decoded;
    return ZD_OK;
}

static enum zd_status crc32c_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    size_t len;
    struct zd_buf *encoded = ckd_add(&len, decoded->len, CHECKSUM_BYTES) ? NULL : zd_buf_new(len);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes and 4", decoded->len);
    }
    memcpy(encoded->data, decoded->data, decoded->len);
    zd_store_u32(encoded->data + decoded->len, checksum(state, zd_buf_span(decoded)));
    encoded->len = len;
    *ret_encoded = encoded;
    return ZD_OK;
}

static enum zd_status crc32c_configuration(const void *state, struct zd_json **ret_json)
{
    (void)state;
    *ret_json = NULL;
    return ZD_OK;
}

static uint64_t crc32c_bytes_per_us(const void *state)
{
    (void)state;
    return BYTES_PER_US;
}

const struct zd_codec zd_codec_crc32c = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"additionalProperties\":false}",
    .open = crc32c_open,
    .close = crc32c_close,
    .decode = crc32c_decode,
    .encode = crc32c_encode,
    .bytes_per_us = crc32c_bytes_per_us,
    .configuration = crc32c_configuration,
};
