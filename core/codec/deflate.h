/* Shared by the codecs of DEFLATE (RFC 1951): libdeflate's decoders, and the sizes of their output.
 * Thread: any. */
#ifndef ZD_CORE_CODEC_DEFLATE_H
#define ZD_CORE_CODEC_DEFLATE_H

#include <libdeflate.h>

#include "core/codec/codec.h"

/** A decoder, given back after use; NULL: no memory. */
struct libdeflate_decompressor *zd_deflate_take_decoder(void);
void zd_deflate_give_decoder(struct libdeflate_decompressor *decoder);

/** The most that so many bytes become, and no more than was expected: a bound that is no exact size
 * may be far above. */
uint64_t zd_deflate_room(const struct zd_repr *decoded, size_t encoded_bytes);

#endif
