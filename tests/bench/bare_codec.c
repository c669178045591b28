/* The compressors without zarrd: what a decode costs at least. */
#include "tests/bench/bare_codec.h"

#include <blosc.h>
#include <bzlib.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <string.h>
#include <zstd.h>

#define CHECKSUM_BYTES 4U

typedef bool (*decoder)(const void *stored, size_t stored_len, void *ret, size_t decoded_len);

static bool decode_raw(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    memcpy(ret, stored, stored_len < decoded_len ? stored_len : decoded_len);
    return stored_len == decoded_len;
}

static bool decode_blosc(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    (void)stored_len;
    return blosc_decompress_ctx(stored, ret, decoded_len, 1) == (int)decoded_len;
}

static bool decode_zstd(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    static ZSTD_DCtx *context; /* one for the whole run, as any loop over chunks would */
    if (context == NULL) {
        context = ZSTD_createDCtx();
    }
    return context != NULL &&
           ZSTD_decompressDCtx(context, ret, decoded_len, stored, stored_len) == decoded_len;
}

static struct libdeflate_decompressor *inflater(void)
{
    static struct libdeflate_decompressor *one;
    if (one == NULL) {
        one = libdeflate_alloc_decompressor();
    }
    return one;
}

static bool decode_gzip(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    return inflater() != NULL && libdeflate_gzip_decompress(inflater(), stored, stored_len, ret,
                                     decoded_len, NULL) == LIBDEFLATE_SUCCESS;
}

static bool decode_zlib(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    return inflater() != NULL && libdeflate_zlib_decompress(inflater(), stored, stored_len, ret,
                                     decoded_len, NULL) == LIBDEFLATE_SUCCESS;
}

/* numcodecs: the size is in front. */
static bool decode_lz4_block(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    return LZ4_decompress_safe((const char *)stored + 4, ret, (int)stored_len - 4,
               (int)decoded_len) == (int)decoded_len;
}

static bool decode_bz2(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    unsigned n = (unsigned)decoded_len;
    return BZ2_bzBuffToBuffDecompress(ret, &n, (char *)stored, (unsigned)stored_len, 0, 0) ==
               BZ_OK &&
           n == decoded_len;
}

static bool decode_xz(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    uint64_t memory = UINT64_MAX;
    size_t at = 0;
    size_t n = 0;
    return lzma_stream_buffer_decode(
               &memory, 0, NULL, stored, &at, stored_len, ret, &n, decoded_len) == LZMA_OK &&
           n == decoded_len;
}

/* numcodecs: the checksum is in front. */
static bool decode_checked(
    const void *stored, size_t stored_len, void *ret, size_t decoded_len, uint32_t checksum)
{
    uint32_t expected;
    memcpy(&expected, stored, CHECKSUM_BYTES);
    return checksum == expected && decode_raw((const char *)stored + CHECKSUM_BYTES,
                                       stored_len - CHECKSUM_BYTES, ret, decoded_len);
}

static bool decode_crc32(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    return decode_checked(stored, stored_len, ret, decoded_len,
        libdeflate_crc32(0, (const char *)stored + CHECKSUM_BYTES, stored_len - CHECKSUM_BYTES));
}

static bool decode_adler32(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    return decode_checked(stored, stored_len, ret, decoded_len,
        libdeflate_adler32(1, (const char *)stored + CHECKSUM_BYTES, stored_len - CHECKSUM_BYTES));
}

static const struct {
    const char *codec;
    decoder decode;
} decoders[] = {
    {"copy", decode_raw}, /* of any bytes as long as the chunk: the least that a decode costs */
    {"raw", decode_raw},
    {"lz4", decode_blosc},
    {"zstd", decode_zstd},
    {"gzip", decode_gzip},
    {"zlib", decode_zlib},
    {"lz4_block", decode_lz4_block},
    {"bz2", decode_bz2},
    {"xz", decode_xz},
    {"crc32", decode_crc32},
    {"adler32", decode_adler32},
};

bool zd_bare_decode(
    const char *codec, const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    for (size_t i = 0; i < sizeof decoders / sizeof decoders[0]; i++) {
        if (strcmp(decoders[i].codec, codec) == 0) {
            return decoders[i].decode(stored, stored_len, ret, decoded_len);
        }
    }
    return false;
}
