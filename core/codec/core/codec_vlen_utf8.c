/* The codec `vlen-utf8`: UTF-8 strings of any length (Zarr v3 registry; numcodecs). */
#include "core/base/own.h"
#include "core/codec/vlen.h"

#define NAME "vlen-utf8"

static const char *const aliases[] = {"numcodecs." NAME, NULL};

static enum zd_status vlen_utf8_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    return zd_vlen_open(NAME, ZD_DTYPE_STRING, config, ret_encoded, ret_state, faults);
}

const struct zd_codec zd_codec_vlen_utf8 = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
    .takes_variable = true,
    .open = vlen_utf8_open,
    .close = zd_free,
    .decode = zd_vlen_decode,
    .encode = zd_vlen_encode,
    .find_bytes_per_us = zd_vlen_bytes_per_us,
    .configuration = zd_vlen_configuration,
};
