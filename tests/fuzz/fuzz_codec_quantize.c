/* Fuzzes core/codec/numcodecs/codec_quantize: any numbers, and what they become. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define QUANTIZE(digits, dtype, astype)                                                            \
    "{'name':'numcodecs.quantize','configuration':{'digits':" digits ",'dtype':'" dtype            \
    "','astype':'" astype "'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" QUANTIZE("2", "<f8", "<f8") "," ZD_FUZZ_LITTLE "]",
        .data_type = "float64",
        .rank = 2,
        .shape = {16, 6},
        .is_lossy = true},
    {.codecs = "[" QUANTIZE("-300", "<f4", "<f2") "," ZD_FUZZ_BIG "]",
        .data_type = "float32",
        .rank = 1,
        .shape = {600},
        .is_lossy = true},
    {.codecs = "[" QUANTIZE("300", "<f2", "<f8") "," ZD_FUZZ_LITTLE "]",
        .data_type = "float16",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
