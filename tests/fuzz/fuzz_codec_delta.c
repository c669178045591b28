/* Fuzzes core/codec/numcodecs/codec_delta: any integers, and what they become. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define DELTA(dtype) "{'name':'numcodecs.delta','configuration':{'dtype':'" dtype "'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" DELTA("<i2") "," ZD_FUZZ_LITTLE "]",
        .data_type = "int16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "[" DELTA("|u1") ",'bytes']", .data_type = "uint8", .rank = 1, .shape = {1}},
    {.codecs = "[" DELTA(">u8") "," ZD_FUZZ_BIG "]",
        .data_type = "uint64",
        .rank = 1,
        .shape = {300}},
    {.codecs = "[" DELTA("<i4") "," DELTA("<i4") "," ZD_FUZZ_LITTLE "]",
        .data_type = "int32",
        .rank = 1,
        .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
