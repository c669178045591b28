/* Fuzzes core/codec/core/codec_conditional: headers of every length, codecs applied or not. */
#include "core/base/num.h"
#include "tests/fuzz/decode.h"

#define OF(codecs) "['bytes',{'name':'conditional','configuration':{'codecs':[" codecs "]}}]"
#define CRC_9                                                                                      \
    "'crc32c','numcodecs.zlib','crc32c','crc32c','crc32c','crc32c','crc32c','crc32c','crc32c'"

static struct zd_fuzz_chain rows[] = {
    {.codecs = OF("'numcodecs.zlib'"), .data_type = "uint8", .rank = 2, .shape = {16, 12}},
    {.codecs = OF("'crc32c','numcodecs.base64'"), .data_type = "uint8", .rank = 1, .shape = {7}},
    {.codecs = OF(CRC_9), .data_type = "uint8", .rank = 1, .shape = {64}},
    {.codecs = OF("{'name':'conditional','configuration':{'codecs':['numcodecs.shuffle',"
                  "'numcodecs.lz4'],'header_bits':24}},'numcodecs.bz2'"),
        .data_type = "uint8",
        .rank = 1,
        .shape = {4096}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    zd_fuzz_decode(rows, ZD_COUNT_OF(rows), (struct zd_span){.ptr = data, .len = len});
    return 0;
}
