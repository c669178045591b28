/* Fuzzes core/codec/numcodecs/codec_categorize: numbers of labels, and of none. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define CATEGORIZE(labels, astype)                                                                 \
    "{'name':'numcodecs.categorize','configuration':{'labels':[" labels "],"                       \
    "'astype':'" astype "'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" CATEGORIZE("'a','','bc'", "|u1") ",'bytes']",
        .data_type = "string",
        .rank = 1,
        .shape = {5},
        .is_lossy = true, /* 0 and the number of the empty label */
        .may_refuse = true},
    {.codecs = "[" CATEGORIZE("'a','b'", "<i2") "," ZD_FUZZ_LITTLE "]",
        .data_type = "string",
        .rank = 2,
        .shape = {2, 3},
        .may_refuse = true},
    {.codecs = "[" CATEGORIZE("", "<u4") "," ZD_FUZZ_LITTLE "]",
        .data_type = "string",
        .rank = 0,
        .may_refuse = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
