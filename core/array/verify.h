/* Whether encoded bytes are a chunk: all of them, and nothing else. No I/O. */
#ifndef ZD_CORE_ARRAY_VERIFY_H
#define ZD_CORE_ARRAY_VERIFY_H

#include "core/array/layout.h"
#include "core/dialect/written.h"

/** Findings of a verification; zeroed before. */
struct zd_verified {
    struct zd_written *written; /* in: gets all elements; borrowed, or NULL */
    uint64_t n_empty;           /* out: chunks of the last level that are all fill value */
    uint64_t n_full;            /* out: the others */
};

/**
 * Decode a chunk of a level and forget its elements: a shard index by index and chunk by chunk, so
 * that no more than one chunk of the last level is held.
 *
 * @param index       of the chunk in that level's grid
 * @param encoded     borrowed
 * @param decoded_max bytes to decode at the most, indexes included: chunks of a shard may share
 *                    their bytes, so that a small one could take for ever
 * @param verified    counts the chunks found, also on failure
 * @retval ZD_CORRUPT
 * @retval ZD_TOO_LARGE facts limit, requested
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_verify_chunk(const struct zd_layout *layout, uint32_t level, const uint64_t *index,
    struct zd_buf *encoded, uint64_t decoded_max, struct zd_verified *verified,
    struct zd_error *err);

#endif
