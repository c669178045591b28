/* The codec `crc32c` of numcodecs: the checksum behind the data, as in `crc32c`, or in front of
 * it. */
#include "core/codec/checksum.h"
#include "core/codec/crc32c.h"

#define NAME         "numcodecs.crc32c"
#define BYTES_PER_US 2000 /* the copy included */

struct crc32c {
    struct zd_checksum checksum; /* first */
    struct zd_crc32c crc32c;
};

extern const struct zd_codec zd_codec_numcodecs_crc32c;

static const char *const names[] = {"location", NULL};

static uint32_t crc32c_of(const void *state, struct zd_span data)
{
    const struct crc32c *crc32c = state;
    return zd_crc32c_of(&crc32c->crc32c, data);
}

static const struct zd_checksum_kind kind = {.codec = NAME, .of = crc32c_of};

static enum zd_status crc32c_translate(const struct zd_codec_config *config, uint32_t item_bytes,
    const struct zd_codec **ret_codec, struct zd_json **ret_configuration, struct zd_faults *faults)
{
    struct zd_parameters parameters;
    bool is_at_start;
    (void)item_bytes;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    zd_checksum_location(&parameters, &kind, &is_at_start);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_json *json = is_at_start ? zd_json_ref(config->configuration) : zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_codec = is_at_start ? &zd_codec_numcodecs_crc32c : zd_codec_find("crc32c");
    *ret_configuration = json;
    return ZD_OK;
}

/* Versions of numcodecs differ in where it is when that is not said. */
static enum zd_status crc32c_spell(
    const struct zd_json *configuration, struct zd_json **ret_configuration)
{
    ZD_AUTO(zd_json) json = zd_json_new_object();
    (void)configuration;
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "location", zd_json_new_text("end")));
    *ret_configuration = ZD_TAKE(json);
    return ZD_OK;
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
    struct zd_parameters parameters;
    struct zd_checksum checksum = {.kind = &kind, .decoded = *config->decoded};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    zd_checksum_location(&parameters, &kind, &checksum.is_at_start);
    ZD_TRY(zd_parameters_status(&parameters));
    struct crc32c *state = zd_alloc_zero(1, sizeof *state);
    if (state == NULL || zd_crc32c_init(&state->crc32c) != ZD_OK) {
        zd_free(state);
        return ZD_NO_MEMORY;
    }
    state->checksum = checksum;
    *ret_encoded = zd_checksum_encoded(config->decoded);
    *ret_state = state;
    return ZD_OK;
}

const struct zd_codec zd_codec_numcodecs_crc32c = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = ZD_CHECKSUM_SCHEMA,
    .translate = crc32c_translate,
    .spell = crc32c_spell,
    .open = crc32c_open,
    .close = crc32c_close,
    .decode = zd_checksum_decode,
    .encode = zd_checksum_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_checksum_configuration,
};
