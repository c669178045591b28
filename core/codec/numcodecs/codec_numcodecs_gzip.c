/* The codec `gzip` as numcodecs spells it. */
#include "core/codec/parameter.h"

#define NAME          "numcodecs.gzip"
#define LEVEL         1 /* when it is not said */
#define LEVEL_LIBRARY 6 /* what -1 stands for */

static enum zd_status gzip_translate(const struct zd_codec_config *config, uint32_t item_bytes,
    const struct zd_codec **ret_codec, struct zd_json **ret_configuration, struct zd_faults *faults)
{
    static const char *const names[] = {"level", NULL};
    struct zd_parameters parameters;
    int64_t level = LEVEL;
    (void)item_bytes;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (zd_parameter_find(&parameters, "level") != NULL) {
        (void)zd_parameter_i64(&parameters, "level", -1, 9, &level);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "level", zd_json_new_i64(level < 0 ? LEVEL_LIBRARY : level)));
    *ret_codec = zd_codec_find("gzip");
    *ret_configuration = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_numcodecs_gzip = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\",\"minimum\":-1,"
              "\"maximum\":9}},\"additionalProperties\":false}",
    .translate = gzip_translate,
};
