/* Fuzzes core/codec/core/codec_crc32c: a checksum at the end; no byte may change unseen. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE ",'crc32c']",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6},
        .is_checked = true},
    {.codecs = "['bytes','crc32c']",
        .data_type = "uint8",
        .rank = 1,
        .shape = {1},
        .is_checked = true},
    {.codecs = "['bytes','crc32c','crc32c']",
        .data_type = "uint8",
        .rank = 1,
        .shape = {5000},
        .is_checked = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
