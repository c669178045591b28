/* Fuzzes core/codec/core/codec_cast_value: any numbers, rounded and bounded in every way. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define CAST(configuration)                                                                        \
    "[{'name':'cast_value','configuration':{'data_type':" configuration "}}," ZD_FUZZ_LITTLE "]"

static struct zd_fuzz_chain rows[] = {
    {.codecs = CAST("'int16','out_of_range':'clamp','rounding':'nearest-away'"),
        .data_type = "float64",
        .rank = 2,
        .shape = {16, 6},
        .is_lossy = true,
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'uint64','out_of_range':'wrap','rounding':'towards-zero'"),
        .data_type = "float32",
        .rank = 1,
        .shape = {30},
        .is_lossy = true,
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'float16','rounding':'towards-positive','out_of_range':'clamp'"),
        .data_type = "float64",
        .rank = 1,
        .shape = {600},
        .is_lossy = true,
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'float32','rounding':'towards-negative'"),
        .data_type = "int64",
        .rank = 1,
        .shape = {30},
        .is_lossy = true,
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'float32','rounding':'nearest-away'"),
        .data_type = "uint64",
        .rank = 1,
        .shape = {30},
        .is_lossy = true,
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'int8'"),
        .data_type = "uint32",
        .rank = 1,
        .shape = {30},
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'uint16','scalar_map':{'encode':[['NaN',65535],['Infinity',9]],'decode':[["
                    "65535,'NaN'],[7,'-Infinity']]}"),
        .data_type = "float16",
        .rank = 1,
        .shape = {40},
        .is_lossy = true,
        .has_zero_fill = true,
        .may_refuse = true},
    {.codecs = CAST("'uint64','out_of_range':'wrap'"),
        .data_type = "int64",
        .rank = 1,
        .shape = {30}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
