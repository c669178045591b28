/* Elements of a slice that is written into the chunks that it touches: the inverse of
 * core/array/block. */
#ifndef ZD_CORE_ARRAY_SCATTER_H
#define ZD_CORE_ARRAY_SCATTER_H

#include "core/array/block.h"

/** Elements to be written, laid out in whatever way; little-endian. By value. */
struct zd_source {
    const uint8_t *data;         /* the element at position 0 of every dimension; borrowed */
    uint32_t rank;               /* of the array: dropped dimensions have length 1 */
    int64_t stride[ZD_RANK_MAX]; /* bytes between neighbours; 0 in all: one element for all */
    struct zd_dtype dtype;
};

/** The elements of a dense block in C order. */
struct zd_source zd_scatter_source_of_block(const struct zd_block *block);

/** A source that gives the same element for every place. */
struct zd_source zd_scatter_source_of_element(
    uint32_t rank, const struct zd_dtype *dtype, const uint8_t *element);

/**
 * Copy a part to a decoded chunk of the grid that the part was planned with: part->to says where
 * its elements are in the source. Booleans that are neither 0 nor 1 become 1.
 *
 * @param chunk elements in C order, the chunk's shape; the caller's alone
 * Thread: any; pure work.
 */
void zd_scatter_block(const struct zd_source *source, const struct zd_part *part,
    const struct zd_grid *grid, uint8_t *chunk);

#endif
