/* Fuzzes core/codec/numcodecs/codec_bz2: streams of any kind, one after the other too. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE ",'numcodecs.bz2']",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "['bytes','numcodecs.bz2']", .data_type = "uint8", .rank = 1, .shape = {1}},
    {.codecs = "[" ZD_FUZZ_LITTLE ",{'name':'numcodecs.bz2','configuration':{'level':9}}]",
        .data_type = "float64",
        .rank = 1,
        .shape = {4096}},
    {.codecs = "['bytes','numcodecs.bz2','numcodecs.bz2']",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
