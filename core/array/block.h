/* Elements from chunks into the block that a slice answers with. */
#ifndef ZD_CORE_ARRAY_BLOCK_H
#define ZD_CORE_ARRAY_BLOCK_H

#include "core/array/layout.h"

/** A dense box of elements in C order: what a band of a slice becomes. */
struct zd_block {
    uint8_t *data; /* n_elements * dtype.bytes; borrowed */
    uint32_t rank; /* of the array: dropped dimensions have length 1 */
    uint64_t shape[ZD_RANK_MAX];
    struct zd_dtype dtype;
};

/** The block that a selection's result fills. */
struct zd_block zd_block_of(
    const struct zd_selection *selection, const struct zd_dtype *dtype, uint8_t *data);

/** Say that zd_block_copy will be called with the same: what it reads first comes nearer meanwhile.
 * Thread: any. */
void zd_block_prefetch(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, const struct zd_buf *chunk);

/** Copy a part from a decoded chunk of the grid that the part was planned with. Thread: any; pure
 * work. */
void zd_block_copy(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, const struct zd_buf *chunk);

/** Fill a part with the fill value: its chunk is absent. */
void zd_block_fill(const struct zd_block *block, const struct zd_part *part, const void *fill);

/**
 * Copy a part from the bytes that zd_layout_span named.
 * @param span  the bytes of that run, exactly
 */
void zd_block_gather(const struct zd_block *block, const struct zd_part *part,
    const struct zd_layout *layout, struct zd_span span);

#endif
