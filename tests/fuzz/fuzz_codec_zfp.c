/* Fuzzes core/codec/core/codec_zfp, codec_zfpy and zfp_stream: any streams, with a header or
 * without. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define ZFP(configuration)  "[{'name':'zfp','configuration':" configuration "}]"
#define ZFPY(configuration) "[{'name':'numcodecs.zfpy','configuration':" configuration "}]"

static struct zd_fuzz_chain rows[] = {
    {.codecs = ZFP("{'mode':'reversible'}"), .data_type = "int64", .rank = 1, .shape = {20}},
    {.codecs = ZFP("{'mode':'reversible'}"), .data_type = "float64", .rank = 3, .shape = {2, 5, 4}},
    {.codecs = ZFP("{'mode':'fixed_rate','rate':9.5}"),
        .data_type = "float32",
        .rank = 2,
        .shape = {7, 9},
        .is_lossy = true},
    {.codecs = ZFP("{'mode':'expert','minbits':3,'maxbits':32,'maxprec':64,'minexp':-1100}"),
        .data_type = "float64",
        .rank = 4,
        .shape = {2, 1, 5, 3},
        .is_lossy = true},
    {.codecs = ZFP("{'mode':'fixed_precision','precision':9}"),
        .data_type = "uint16",
        .rank = 2,
        .shape = {7, 9},
        .is_lossy = true},
    {.codecs = ZFPY("{'mode':5}"), .data_type = "float64", .rank = 2, .shape = {7, 9}},
    {.codecs = ZFPY("{'mode':4,'tolerance':0.5}"),
        .data_type = "float32",
        .rank = 2,
        .shape = {7, 9},
        .is_lossy = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
