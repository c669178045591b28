/* Fuzzes core/codec/core/codec_gzip: streams of any kind, members one after the other, lengths that
 * lie.
 */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define GZIP(level) "{'name':'gzip','configuration':{'level':" level "}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE "," GZIP("1") "]",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6}},
    {.codecs = "['bytes'," GZIP("0") "]", .data_type = "uint8", .rank = 1, .shape = {1}},
    {.codecs = "[" ZD_FUZZ_LITTLE "," GZIP("9") "]",
        .data_type = "float64",
        .rank = 1,
        .shape = {4096}},
    {.codecs = "['bytes'," GZIP("1") "," GZIP("6") "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
