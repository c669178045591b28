/* Whole chunks: decode and encode. */
#ifndef ZD_CORE_ARRAY_CHUNK_H
#define ZD_CORE_ARRAY_CHUNK_H

#include "core/array/layout.h"

/**
 * Decode one chunk of a level.
 *
 * @param level    of zd_layout_open, as all here; borrowed
 * @param stored   bytes as the store returned them; borrowed
 * @param ret_data elements in C order of the array's axes, the chunk's shape, little-endian;
 * owned
 * @retval ZD_CORRUPT
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_chunk_decode(const struct zd_level *level, struct zd_buf *stored,
    struct zd_buf **ret_data, struct zd_error *err);

/** The same of a chunk of the last level, by its index in that level's grid. */
ZD_RESULT zd_chunk_decode_leaf(const struct zd_layout *layout, const uint64_t *index,
    struct zd_buf *stored, struct zd_buf **ret_data, struct zd_error *err);

/**
 * Whether having that run of a chunk of the last level alone is cheaper than the whole chunk: it is
 * less than half of it, and decoding it, where that is needed, takes less than half the time. The
 * layout is linear, or has parts.
 * @param index of the chunk
 * @param run   as returned by zd_layout_span
 * Thread: any.
 */
bool zd_chunk_part_pays(
    const struct zd_layout *layout, const uint64_t *index, struct zd_byte_range run);

/**
 * Decode that run of a chunk alone, for zd_block_gather. The layout has parts.
 * @param ret_bytes run.len bytes; owned
 * @retval as zd_chunk_decode
 * Thread: any.
 */
ZD_RESULT zd_chunk_decode_part(const struct zd_level *level, struct zd_buf *stored,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err);

/** Encode one chunk, its padding included. @retval ZD_UNSUPPORTED a codec was dropped on read */
ZD_RESULT zd_chunk_encode(const struct zd_level *level, struct zd_buf *data,
    struct zd_buf **ret_stored, struct zd_error *err);

/** A whole chunk of the fill value, owned; NULL without memory. */
struct zd_buf *zd_chunk_of_fill(const struct zd_level *level, const struct zd_meta *meta);

/** Whether every element equals the fill value, bit by bit. */
bool zd_chunk_is_fill(const struct zd_buf *data, uint64_t n_elements, const struct zd_meta *meta);

#endif
