/* Fuzzes core/codec/numcodecs/codec_astype: any numbers, and what they are cast to. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define ASTYPE(encode, decode)                                                                     \
    "{'name':'numcodecs.astype','configuration':{'encode_dtype':'" encode                          \
    "','decode_dtype':'" decode "'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ASTYPE("<f4", "<i8") "," ZD_FUZZ_LITTLE "]",
        .data_type = "int64",
        .rank = 2,
        .shape = {16, 6},
        .is_lossy = true},
    {.codecs = "[" ASTYPE("<f8", "<u2") "," ZD_FUZZ_BIG "]",
        .data_type = "uint16",
        .rank = 1,
        .shape = {600},
        .is_lossy = true},
    {.codecs = "[" ASTYPE("|b1", "<f2") ",'bytes']",
        .data_type = "float16",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
    {.codecs = "[" ASTYPE("<u8", "<f8") "," ZD_FUZZ_LITTLE "]",
        .data_type = "float64",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
    {.codecs = "[" ASTYPE("<u4", "<i4") "," ZD_FUZZ_LITTLE "]",
        .data_type = "int32",
        .rank = 1,
        .shape = {30}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
