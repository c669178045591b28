/* Fuzzes core/codec/numcodecs/codec_fixedscaleoffset: any numbers, and what they become. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define FSO(offset, scale, dtype, astype)                                                          \
    "{'name':'numcodecs.fixedscaleoffset','configuration':{'offset':" offset ",'scale':" scale     \
    ",'dtype':'" dtype "','astype':'" astype "'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" FSO("10", "0.1", "<f8", "<i2") "," ZD_FUZZ_LITTLE "]",
        .data_type = "float64",
        .rank = 2,
        .shape = {16, 6},
        .is_lossy = true},
    {.codecs = "[" FSO("-3.5", "1e-300", "<f4", "<f2") "," ZD_FUZZ_BIG "]",
        .data_type = "float32",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
    {.codecs = "[" FSO("1", "3", "<i8", "<u8") "," ZD_FUZZ_LITTLE "]",
        .data_type = "int64",
        .rank = 1,
        .shape = {30},
        .is_lossy = true},
    {.codecs = "[" FSO("1", "1", "<i4", "<i4") "," ZD_FUZZ_LITTLE "]",
        .data_type = "int32",
        .rank = 1,
        .shape = {600}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
