/* Fuzzes core/codec/core/codec_sharding_indexed: indexes at either end, with and without checksum,
 * shards within shards. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define ZSTD          "{'name':'zstd','configuration':{'level':1,'checksum':false}}"
#define ORDER         "{'name':'transpose','configuration':{'order':[1,0]}}"
#define PLAIN_INDEX   "[" ZD_FUZZ_LITTLE "]"
#define CHECKED_INDEX "[" ZD_FUZZ_LITTLE ",'crc32c']"
#define SHARD(shape, codecs, index, location)                                                      \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':" shape ",'codecs':[" codecs        \
    "],'index_codecs':" index ",'index_location':'" location "'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" SHARD("[8,2]", ZD_FUZZ_LITTLE, PLAIN_INDEX, "end") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "[" SHARD("[8,2]", ZD_FUZZ_LITTLE, PLAIN_INDEX, "start") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "[" SHARD("[4]", "'bytes'," ZSTD, CHECKED_INDEX, "start") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64}},
    {.codecs = "[" SHARD("[4]", "'bytes'," ZSTD, PLAIN_INDEX, "end") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64}},
    {.codecs = "[" SHARD(
         "[4,4]", SHARD("[2,2]", ZD_FUZZ_BIG, PLAIN_INDEX, "start"), PLAIN_INDEX, "end") "]",
        .data_type = "int32",
        .rank = 2,
        .shape = {8, 4}},
    {.codecs = "[" ORDER "," SHARD("[2,8]", ORDER "," ZD_FUZZ_LITTLE, CHECKED_INDEX, "end") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
