/* Fuzzes core/codec/core/codec_bitround: any numbers, rounded. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define BITROUND(keepbits) "{'name':'bitround','configuration':{'keepbits':" keepbits "}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" BITROUND("3") "," ZD_FUZZ_LITTLE "]",
        .data_type = "float32",
        .rank = 2,
        .shape = {16, 6},
        .is_lossy = true},
    {.codecs = "[" BITROUND("0") "," ZD_FUZZ_BIG "]",
        .data_type = "complex128",
        .rank = 1,
        .shape = {9},
        .is_lossy = true},
    {.codecs = "[" BITROUND("1") "," ZD_FUZZ_LITTLE "]",
        .data_type = "uint64",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
    {.codecs = "[" BITROUND("5") ",'bytes']",
        .data_type = "int8",
        .rank = 1,
        .shape = {64},
        .is_lossy = true},
    {.codecs = "[" BITROUND("10") "," ZD_FUZZ_LITTLE "]",
        .data_type = "float16",
        .rank = 1,
        .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
