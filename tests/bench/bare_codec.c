/* The compressors without zarrd: what a decode costs at least. */
#include "tests/bench/bare_codec.h"

#include <blosc.h>
#include <string.h>
#include <zstd.h>

static size_t decode_zstd(const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    static ZSTD_DCtx *context; /* one for the whole run, as any loop over chunks would */
    if (context == NULL) {
        context = ZSTD_createDCtx();
    }
    return context == NULL ? 0 : ZSTD_decompressDCtx(context, ret, decoded_len, stored, stored_len);
}

bool zd_bare_decode(
    const char *codec, const void *stored, size_t stored_len, void *ret, size_t decoded_len)
{
    if (strcmp(codec, "lz4") == 0) {
        return blosc_decompress_ctx(stored, ret, decoded_len, 1) == (int)decoded_len;
    }
    if (strcmp(codec, "zstd") == 0) {
        return decode_zstd(stored, stored_len, ret, decoded_len) == decoded_len;
    }
    memcpy(ret, stored, stored_len < decoded_len ? stored_len : decoded_len);
    return stored_len == decoded_len;
}
