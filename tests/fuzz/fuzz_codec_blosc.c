/* Fuzzes core/codec/core/codec_blosc: headers that lie, blocks that point anywhere, every
 * compressor and filter. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define BLOSC(cname, shuffle, typesize, blocksize)                                                 \
    "{'name':'blosc','configuration':{'cname':'" cname "','clevel':1,'shuffle':'" shuffle          \
    "','typesize':" typesize ",'blocksize':" blocksize "}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE "," BLOSC("lz4", "shuffle", "2", "0") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "['bytes'," BLOSC("blosclz", "noshuffle", "1", "0") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {1}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," BLOSC("lz4", "bitshuffle", "8", "1024") "]",
        .data_type = "float64",
        .rank = 1,
        .shape = {1000}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," BLOSC("zstd", "shuffle", "4", "512") "]",
        .data_type = "float32",
        .rank = 2,
        .shape = {32, 33}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," BLOSC("zlib", "shuffle", "2", "256") "]",
        .data_type = "int16",
        .rank = 1,
        .shape = {999}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," BLOSC("blosclz", "shuffle", "4", "1024") "]",
        .data_type = "int32",
        .rank = 1,
        .shape = {4096}},
    {.codecs = "['bytes'," BLOSC("lz4hc", "noshuffle", "1", "128") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {1000}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
