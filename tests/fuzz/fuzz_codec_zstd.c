/* Fuzzes core/codec/core/codec_zstd: frames of any kind, frames one after the other, sizes that lie
 * or are not told. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define ZSTD(level, checksum)                                                                      \
    "{'name':'zstd','configuration':{'level':" level ",'checksum':" checksum "}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE "," ZSTD("1", "false") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "['bytes'," ZSTD("0", "true") "]", .data_type = "uint8", .rank = 1, .shape = {1}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," ZSTD("3", "true") "]",
        .data_type = "float64",
        .rank = 1,
        .shape = {4096}},
    {.codecs = "['bytes'," ZSTD("1", "false") "," ZSTD("1", "false") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
