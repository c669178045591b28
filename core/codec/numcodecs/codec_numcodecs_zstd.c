/* The codec `zstd` as numcodecs spells it: all parameters may be absent. */
#include "core/codec/parameter.h"

#define NAME "numcodecs.zstd"

static enum zd_status zstd_translate(const struct zd_codec_config *config, uint32_t item_bytes,
    const struct zd_codec **ret_codec, struct zd_json **ret_configuration, struct zd_faults *faults)
{
    static const char *const names[] = {"level", "checksum", NULL};
    struct zd_parameters parameters;
    int64_t level = 0;
    bool has_checksum = false;
    (void)item_bytes;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (zd_parameter_find(&parameters, "level") != NULL) {
        (void)zd_parameter_i64(&parameters, "level", -131072, 22, &level);
    }
    if (zd_parameter_find(&parameters, "checksum") != NULL) {
        (void)zd_parameter_bool(&parameters, "checksum", &has_checksum);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "level", zd_json_new_i64(level)));
    if (has_checksum) {
        ZD_TRY(zd_json_set(json, "checksum", zd_json_new_bool(true)));
    }
    *ret_codec = zd_codec_find("zstd");
    *ret_configuration = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_numcodecs_zstd = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\",\"minimum\":"
              "-131072,\"maximum\":22},\"checksum\":{\"type\":\"boolean\"}},"
              "\"additionalProperties\":false}",
    .translate = zstd_translate,
};
