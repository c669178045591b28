/* Elements of a slice that is written into the chunks that it touches. */
#include "core/array/scatter.h"

#include "core/base/num.h"
#include "core/codec/strided.h"

struct zd_source zd_scatter_source_of_block(const struct zd_block *block)
{
    struct zd_source source = {.data = block->data, .rank = block->rank, .dtype = block->dtype};
    uint64_t stride[ZD_RANK_MAX];
    zd_strided_dense(block->rank, block->shape, block->dtype.bytes, stride);
    for (uint32_t d = 0; d < block->rank; d++) {
        source.stride[d] = (int64_t)stride[d];
    }
    return source;
}

struct zd_source zd_scatter_source_of_element(
    uint32_t rank, const struct zd_dtype *dtype, const uint8_t *element)
{
    return (struct zd_source){.data = element, .rank = rank, .dtype = *dtype};
}

/* Settle the chunk's former elements. */
static void settle(
    const struct zd_dtype *dtype, const uint64_t *shape, uint32_t rank, uint8_t *chunk)
{
    uint64_t n = 0;
    const bool overflows = zd_product_overflows(&n, shape, rank);
    assert(!overflows);
    (void)overflows;
    zd_dtype_settle(dtype, chunk, n);
}

/* The target is walked upwards, so that a negative step walks the source downwards. */
void zd_scatter_block(const struct zd_source *source, const struct zd_part *part,
    const struct zd_grid *grid, uint8_t *chunk)
{
    assert(grid->rank == source->rank);
    struct zd_strided box = {.rank = source->rank, .run_bytes = source->dtype.bytes};
    uint64_t stride[ZD_RANK_MAX];
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(grid, part->chunk, space);
    zd_strided_dense(grid->rank, shape, source->dtype.bytes, stride);
    uint8_t *to = chunk;
    const uint8_t *from = source->data;
    for (uint32_t d = 0; d < source->rank; d++) {
        const bool is_reversed = part->step[d] < 0;
        const uint64_t step = is_reversed ? 0 - (uint64_t)part->step[d] : (uint64_t)part->step[d];
        const uint64_t last = part->count[d] - 1;
        box.count[d] = part->count[d];
        box.to[d] = step * stride[d];
        box.from[d] = is_reversed ? -source->stride[d] : source->stride[d];
        to += (is_reversed ? part->from[d] - last * step : part->from[d]) * stride[d];
        from += (int64_t)(is_reversed ? part->to[d] + last : part->to[d]) * source->stride[d];
    }
    zd_strided_fold(&box);
    zd_strided_copy(&box, to, from);
    if (zd_dtype_is_loose(&source->dtype)) {
        settle(&source->dtype, shape, grid->rank, chunk);
    }
}
