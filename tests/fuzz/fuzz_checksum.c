/* Fuzzes core/codec/checksum by its codecs: no byte may change unseen. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define AT_END "{'name':'numcodecs.adler32','configuration':{'location':'end'}}"

static struct zd_fuzz_chain rows[] = {
    {.codecs = "[" ZD_FUZZ_LITTLE ",'numcodecs.crc32']",
        .data_type = "uint16",
        .rank = 2,
        .shape = {16, 6},
        .is_checked = true},
    {.codecs = "['bytes'," AT_END "]",
        .data_type = "uint8",
        .rank = 1,
        .shape = {1},
        .is_checked = true},
    {.codecs = "['bytes','numcodecs.fletcher32','numcodecs.jenkins_lookup3']",
        .data_type = "uint8",
        .rank = 1,
        .shape = {5001},
        .is_checked = true},
    {.codecs = "['bytes','numcodecs.zlib','numcodecs.adler32']",
        .data_type = "uint8",
        .rank = 1,
        .shape = {64},
        .is_checked = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
