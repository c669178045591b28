/* Fuzzes core/codec/core/codec_scale_offset: any numbers, shifted and scaled. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define SCALE_OFFSET(configuration)                                                                \
    "[{'name':'scale_offset','configuration':" configuration "}," ZD_FUZZ_LITTLE "]"

static struct zd_fuzz_chain rows[] = {
    {.codecs = SCALE_OFFSET("{'offset':5,'scale':0.1}"),
        .data_type = "float64",
        .rank = 2,
        .shape = {16, 6},
        .is_lossy = true,
        .may_refuse = true},
    {.codecs = SCALE_OFFSET("{'scale':1e30}"),
        .data_type = "float32",
        .rank = 1,
        .shape = {64},
        .is_lossy = true,
        .may_refuse = true},
    {.codecs = SCALE_OFFSET("{'offset':-7,'scale':3}"),
        .data_type = "int32",
        .rank = 1,
        .shape = {12},
        .may_refuse = true},
    {.codecs = SCALE_OFFSET("{'scale':-1}"),
        .data_type = "int64",
        .rank = 1,
        .shape = {20},
        .may_refuse = true},
    {.codecs = SCALE_OFFSET("{'offset':-7,'scale':-3}"),
        .data_type = "int16",
        .rank = 1,
        .shape = {20},
        .may_refuse = true},
    {.codecs = SCALE_OFFSET("{'scale':3}"),
        .data_type = "uint64",
        .rank = 1,
        .shape = {5},
        .may_refuse = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
