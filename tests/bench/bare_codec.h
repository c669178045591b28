/* The compressors without zarrd: what a decode costs at least. */
#ifndef ZD_TESTS_BENCH_BARE_CODEC_H
#define ZD_TESTS_BENCH_BARE_CODEC_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Decode one stored chunk with nothing but the library's own call.
 *
 * @param codec  raw, lz4 (a blosc frame), zstd, gzip, zlib, lz4_block, bz2, xz, crc32 or adler32
 * @param ret    decoded_len bytes
 * @return whether exactly decoded_len bytes came out
 */
bool zd_bare_decode(
    const char *codec, const void *stored, size_t stored_len, void *ret, size_t decoded_len);

#endif
