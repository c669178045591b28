/* Fuzzes core/codec/numcodecs/codec_msgpack2: lists that are none, lengths of every width. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "['numcodecs.msgpack2']",
        .data_type = "string",
        .rank = 2,
        .shape = {2, 2},
        .may_refuse = true},
    {.codecs = "['numcodecs.msgpack2']", .data_type = "string", .rank = 0, .may_refuse = true},
    {.codecs = "['numcodecs.msgpack2']",
        .data_type = "string",
        .rank = 1,
        .shape = {0},
        .may_refuse = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
