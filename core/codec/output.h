/* The output of a decoder whose decoded size shows only at the end of the stream. It takes as much
 * as was expected and no more. */
#ifndef ZD_CORE_CODEC_OUTPUT_H
#define ZD_CORE_CODEC_OUTPUT_H

#include "core/codec/codec.h"

/** Begin with zd_output_init; zd_output_done releases what was not taken. */
struct zd_output {
    const char *codec;             /* its name, for texts; static */
    const struct zd_repr *decoded; /* what is expected; borrowed */
    struct zd_buf *bytes;          /* what there is so far; owned */
    uint8_t beyond;                /* where the first byte goes that was not expected */
};

/**
 * Begin. A bound that is no exact size may be far above what the input becomes: then the memory
 * grows with what is decoded.
 *
 * @param encoded_bytes how long the input is
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_output_init(struct zd_output *output, const char *codec, const struct zd_repr *decoded,
    size_t encoded_bytes, struct zd_error *err);
void zd_output_done(struct zd_output *output);

/**
 * Where the next bytes go: never empty. When all that was expected is there, it is one byte, which
 * lets the decoder come to its end, or shows that it has more.
 *
 * @param ret_room  borrowed until the next call
 * @param ret_bytes >= 1
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_output_room(
    struct zd_output *output, uint8_t **ret_room, size_t *ret_bytes, struct zd_error *err);

/**
 * So many bytes were put there.
 * @retval ZD_CORRUPT one more than expected
 */
ZD_RESULT zd_output_add(struct zd_output *output, size_t n_bytes, struct zd_error *err);

/**
 * The end.
 * @param ret_decoded owned
 * @retval ZD_CORRUPT another size than expected
 */
ZD_RESULT zd_output_take(
    struct zd_output *output, struct zd_buf **ret_decoded, struct zd_error *err);

#endif
