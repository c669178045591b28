/* Fuzzes core/codec/vlen: counts and lengths that lie, text that is none, alone and within shards.
 */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define SHARD(codecs)                                                                              \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[2],'codecs':[" codecs              \
    "],'index_codecs':[" ZD_FUZZ_LITTLE "]}}"

#define ARRAY(dtype) "[{'name':'numcodecs.vlen-array','configuration':{'dtype':'" dtype "'}}]"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "['vlen-utf8']", .data_type = "string", .rank = 1, .shape = {3}},
    {.codecs = "['vlen-bytes']", .data_type = "bytes", .rank = 1, .shape = {3}},
    {.codecs = "['vlen-utf8']", .data_type = "string", .rank = 0},
    {.codecs = "[{'name':'transpose','configuration':{'order':[1,0]}},'vlen-bytes']",
        .data_type = "bytes",
        .rank = 2,
        .shape = {2, 3}},
    {.codecs = "[" SHARD("'vlen-utf8'") ",{'name':'gzip','configuration':{'level':1}}]",
        .data_type = "string",
        .rank = 1,
        .shape = {6}},
    {.codecs = "[" SHARD("'vlen-bytes'") "]", .data_type = "bytes", .rank = 1, .shape = {6}},
    {.codecs = "['vlen-utf8']", .data_type = "string", .rank = 1, .shape = {0}},
    {.codecs = ARRAY("<i4"),
        .data_type = "v2.list.int32",
        .rank = 1,
        .shape = {3},
        .may_refuse = true},
    {.codecs = ARRAY(">c8"),
        .data_type = "v2.list.complex64",
        .rank = 1,
        .shape = {2},
        .may_refuse = true},
    {.codecs = ARRAY("|b1"), .data_type = "v2.list.bool", .rank = 0, .is_lossy = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
