/* Fuzzes core/codec/numcodecs/codec_lzma: streams of every format, dictionaries that lie. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define LZMA(configuration) "{'name':'numcodecs.lzma','configuration':" configuration "}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE "," LZMA("{'preset':1}") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "['bytes'," LZMA("{'format':2,'preset':0}") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {300}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," LZMA("{'format':3,'filters':[{'id':33,'preset':0}]}") "]",
        .data_type = "float64",
        .rank = 1,
        .shape = {512}},
    {.codecs = "['bytes'," LZMA("{'format':3,'filters':[{'id':3,'dist':2},{'id':4},{'id':"
                                "4611686018427387905,'preset':0}]}") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {1}},
    {.codecs = "['bytes'," LZMA("{'preset':0}") "," LZMA("{'preset':0,'check':0}") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
