/* Fuzzes core/codec/core/codec_reshape: what other codecs do to the new dimensions. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[{'name':'reshape','configuration':{'shape':[[0,1],-1]}},{'name':'transpose','"
               "configuration':{'order':[1,0]}}," ZD_FUZZ_LITTLE "]",
        .data_type = "int16",
        .rank = 3,
        .shape = {2, 3, 4}},
    {.codecs =
            "[{'name':'reshape','configuration':{'shape':[6]}},{'name':'sharding_indexed','"
            "configuration':{'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" ZD_FUZZ_LITTLE
            "]}}]",
        .data_type = "uint8",
        .rank = 2,
        .shape = {2, 3}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
