/* Shared by the codecs of DEFLATE. */
#include "core/codec/deflate.h"

#include "core/base/num.h"
#include "core/codec/spare.h"

/* The most that DEFLATE makes of a byte: 4 codes of 2 bits for 258 bytes each (RFC 1951, 3.2.5). */
#define EXPANSION_MAX 1032U

static struct zd_spares decoders; /* struct libdeflate_decompressor */

struct libdeflate_decompressor *zd_deflate_take_decoder(void)
{
    struct libdeflate_decompressor *decoder = zd_spares_take(&decoders);
    return decoder == NULL ? libdeflate_alloc_decompressor() : decoder;
}

void zd_deflate_give_decoder(struct libdeflate_decompressor *decoder)
{
    libdeflate_free_decompressor(zd_spares_give(&decoders, decoder));
}

uint64_t zd_deflate_room(const struct zd_repr *decoded, size_t encoded_bytes)
{
    uint64_t most;
    if (decoded->size_is_exact || ckd_mul(&most, (uint64_t)encoded_bytes, EXPANSION_MAX)) {
        return decoded->size;
    }
    return zd_min_u64(decoded->size, most);
}
