/* Fuzzes core/codec/core/codec_packbits: any bits of elements of any type. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define PACKBITS(configuration) "[{'name':'packbits','configuration':" configuration "}]"

static struct zd_fuzz_chain rows[] = {
    {.codecs = PACKBITS("{}"), .data_type = "bool", .rank = 2, .shape = {5, 9}},
    {.codecs = PACKBITS("{'padding_encoding':'first_byte'}"),
        .data_type = "bool",
        .rank = 1,
        .shape = {37}},
    {.codecs = PACKBITS("{'padding_encoding':'last_byte','first_bit':3,'last_bit':62}"),
        .data_type = "int64",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
    {.codecs = PACKBITS("{'last_bit':11}"),
        .data_type = "int16",
        .rank = 1,
        .shape = {31},
        .is_lossy = true},
    {.codecs = PACKBITS("{'first_bit':1}"),
        .data_type = "complex64",
        .rank = 1,
        .shape = {8},
        .is_lossy = true},
    {.codecs = PACKBITS("{}"), .data_type = "float64", .rank = 1, .shape = {12}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
