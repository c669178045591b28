/* The codec `crc32` of numcodecs: CRC-32 (RFC 1952, 8) in front of the data, or behind it. */
#include <libdeflate.h>

#include "core/codec/checksum.h"

#define NAME         "numcodecs.crc32"
#define BYTES_PER_US 4000 /* the copy included */
#define NOTHING      0    /* the checksum of no bytes */

static uint32_t crc32_of(const void *state, struct zd_span data)
{
    (void)state;
    return libdeflate_crc32(NOTHING, data.ptr, data.len);
}

static enum zd_status crc32_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const struct zd_checksum_kind kind = {
        .codec = NAME, .is_at_start = true, .of = crc32_of};
    return zd_checksum_open(&kind, config, ret_encoded, ret_state, faults);
}

const struct zd_codec zd_codec_crc32 = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = ZD_CHECKSUM_SCHEMA,
    .open = crc32_open,
    .close = zd_free,
    .decode = zd_checksum_decode,
    .encode = zd_checksum_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_checksum_configuration,
};
