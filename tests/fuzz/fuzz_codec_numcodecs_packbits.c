/* Fuzzes core/codec/numcodecs/codec_numcodecs_packbits: any bits, whole bytes or not. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "['numcodecs.packbits','bytes']", .data_type = "bool", .rank = 1, .shape = {64}},
    {.codecs = "['numcodecs.packbits','bytes']", .data_type = "bool", .rank = 1, .shape = {1}},
    {.codecs = "['numcodecs.packbits','bytes']", .data_type = "bool", .rank = 1, .shape = {37}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
