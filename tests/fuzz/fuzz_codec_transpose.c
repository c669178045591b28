/* Fuzzes core/codec/core/codec_transpose: permuted axes, one after the other too. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define ORDER(axes) "{'name':'transpose','configuration':{'order':[" axes "]}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ORDER("1,0") "," ZD_FUZZ_LITTLE "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {3, 5}},
    {.codecs = "[" ORDER("2,0,1") "," ZD_FUZZ_BIG "]",
        .data_type = "float32",
        .rank = 3,
        .shape = {7, 2, 9}},
    {.codecs = "[" ORDER("2,0,1") "," ORDER("0,2,1") "," ZD_FUZZ_LITTLE "]",
        .data_type = "complex128",
        .rank = 3,
        .shape = {1, 6, 4}},
    {.codecs = "[" ORDER("3,2,1,0") ",'bytes']",
        .data_type = "r24",
        .rank = 4,
        .shape = {2, 3, 1, 5}},
    {.codecs = "[" ORDER("") ",'bytes']", .data_type = "int8", .rank = 0},
    {.codecs = "[" ORDER("1,0") "," ZD_FUZZ_BIG "]",
        .data_type = "int64",
        .rank = 2,
        .shape = {64, 65}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
