/* The codec `crc32c`: four bytes of checksum behind the data (Zarr v3, crc32c codec). */
#include "core/codec/checksum.h"
#include "core/codec/crc32c.h"

#define NAME         "crc32c"
#define BYTES_PER_US 2000 /* the copy included */

struct crc32c {
    struct zd_checksum checksum; /* first */
    struct zd_crc32c crc32c;
};

static uint32_t crc32c_of(const void *state, struct zd_span data)
{
    const struct crc32c *crc32c = state;
    return zd_crc32c_of(&crc32c->crc32c, data);
}

static void crc32c_close(void *state)
{
    struct crc32c *crc32c = state;
    if (crc32c != NULL) {
        zd_crc32c_done(&crc32c->crc32c);
        zd_free(crc32c);
    }
}

static enum zd_status crc32c_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const struct zd_checksum_kind kind = {.codec = NAME, .of = crc32c_of};
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct crc32c *state = zd_alloc_zero(1, sizeof *state);
    if (state == NULL || zd_crc32c_init(&state->crc32c) != ZD_OK) {
        zd_free(state);
        return ZD_NO_MEMORY;
    }
    state->checksum = (struct zd_checksum){.kind = &kind, .decoded = *config->decoded};
    *ret_encoded = zd_checksum_encoded(config->decoded);
    *ret_state = state;
    return ZD_OK;
}

const struct zd_codec zd_codec_crc32c = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"additionalProperties\":false}",
    .open = crc32c_open,
    .close = crc32c_close,
    .decode = zd_checksum_decode,
    .encode = zd_checksum_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_checksum_configuration,
};
