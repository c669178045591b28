/* The codec `adler32` of numcodecs: Adler-32 (RFC 1950, 2.2) in front of the data, or behind it. */
#include <libdeflate.h>

#include "core/codec/checksum.h"

#define NAME         "numcodecs.adler32"
#define BYTES_PER_US 4000 /* the copy included */
#define NOTHING      1    /* the checksum of no bytes */

static uint32_t adler32_of(const void *state, struct zd_span data)
{
    (void)state;
    return libdeflate_adler32(NOTHING, data.ptr, data.len);
}

static enum zd_status adler32_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const struct zd_checksum_kind kind = {
        .codec = NAME, .is_at_start = true, .of = adler32_of};
    return zd_checksum_open(&kind, config, ret_encoded, ret_state, faults);
}

static const char *const aliases[] = {"https://codec.zarrs.dev/bytes_to_bytes/adler32", NULL};

const struct zd_codec zd_codec_adler32 = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = ZD_CHECKSUM_SCHEMA,
    .open = adler32_open,
    .close = zd_free,
    .decode = zd_checksum_decode,
    .encode = zd_checksum_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_checksum_configuration,
};
