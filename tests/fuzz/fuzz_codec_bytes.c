/* Fuzzes core/codec/core/codec_bytes: byte orders of every kind of element. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE "]", .data_type = "uint16", .rank = 2, .shape = {3, 5}},
    {.codecs = "[" ZD_FUZZ_BIG "]", .data_type = "uint16", .rank = 2, .shape = {3, 5}},
    {.codecs = "[" ZD_FUZZ_BIG "]", .data_type = "float64", .rank = 1, .shape = {9}},
    {.codecs = "[" ZD_FUZZ_BIG "]", .data_type = "complex64", .rank = 1, .shape = {4}},
    {.codecs = "['bytes']", .data_type = "bool", .rank = 3, .shape = {2, 2, 2}},
    {.codecs = "['bytes']", .data_type = "r24", .rank = 1, .shape = {5}},
    {.codecs = "[" ZD_FUZZ_BIG "]", .data_type = "int32", .rank = 0},
    {.codecs = "[" ZD_FUZZ_BIG "]", .data_type = "float16", .rank = 2, .shape = {64, 65}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
