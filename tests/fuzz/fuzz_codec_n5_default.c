/* Fuzzes core/codec/n5/codec_n5_default: headers of any kind, bodies of any compressor behind them.
 */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define REVERSAL(order) "{'name':'transpose','configuration':{'order':" order "}}"
#define BLOCK(codecs)   "{'name':'n5_default','configuration':{'codecs':[" codecs "]}}"
#define OF(codecs)      "[" BLOCK(codecs) "]"

static struct zd_fuzz_chain rows[] = {
    {.codecs = OF(REVERSAL("[2,1,0]") "," ZD_FUZZ_BIG),
        .data_type = "uint16",
        .rank = 3,
        .shape = {3, 4, 5},
        .is_n5 = true},
    {.codecs = OF(REVERSAL("[1,0]") ",'bytes',{'name':'gzip','configuration':{'level':1}}"),
        .data_type = "uint8",
        .rank = 2,
        .shape = {16, 9},
        .is_n5 = true},
    {.codecs = OF(REVERSAL("[1,0]") "," ZD_FUZZ_BIG ",'numcodecs.lz4'"),
        .data_type = "float64",
        .rank = 2,
        .shape = {16, 9},
        .is_n5 = true},
    {.codecs = OF(REVERSAL("[0]") "," ZD_FUZZ_BIG ",'n5.lz4'"),
        .data_type = "int32",
        .rank = 1,
        .shape = {100}},
    {.codecs = OF(REVERSAL("[]") "," ZD_FUZZ_BIG), .data_type = "int64"},
    {.codecs = "[" REVERSAL("[1,0]") "," BLOCK(REVERSAL("[1,0]") "," ZD_FUZZ_BIG) "]",
        .data_type = "uint32",
        .rank = 2,
        .shape = {7, 5},
        .is_n5 = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
