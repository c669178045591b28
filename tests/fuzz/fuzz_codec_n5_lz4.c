/* Fuzzes core/codec/n5/codec_n5_lz4: frames and blocks of any kind, sizes and checksums that lie.
 */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE ",'n5.lz4']", .data_type = "uint16", .rank = 2, .shape = {16, 6}},
    {.codecs = "['bytes','n5.lz4']", .data_type = "uint8", .rank = 1, .shape = {1}},
    {.codecs = "[" ZD_FUZZ_LITTLE ",'n5.lz4']",
        .data_type = "float64",
        .rank = 1,
        .shape = {40000}}, /* more than one frame */
    {.codecs = "['bytes','n5.lz4','n5.lz4']", .data_type = "uint8", .rank = 1, .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
