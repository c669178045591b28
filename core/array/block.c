/* Elements from chunks into the block that a slice answers with. */
#include "core/array/block.h"

#include "core/base/num.h"
#include "core/codec/strided.h"

struct zd_block zd_block_of(
    const struct zd_selection *selection, const struct zd_dtype *dtype, uint8_t *data)
{
    struct zd_block block = {.data = data, .rank = selection->rank, .dtype = *dtype};
    for (uint32_t d = 0; d < selection->rank; d++) {
        block.shape[d] = selection->axis[d].count;
    }
    return block;
}

/* The first byte of a part's place in the block. */
static uint8_t *place_of(
    const struct zd_block *block, const struct zd_part *part, const uint64_t to_stride[ZD_RANK_MAX])
{
    uint8_t *to = block->data;
    for (uint32_t d = 0; d < block->rank; d++) {
        assert(part->to[d] + part->count[d] <= block->shape[d]);
        to += part->to[d] * to_stride[d];
    }
    return to;
}

/* Copies a part to its place; from_stride is in bytes per element of the chunk. */
static void copy_part(const struct zd_block *block, const struct zd_part *part, const uint8_t *from,
    const uint64_t from_stride[ZD_RANK_MAX])
{
    struct zd_strided box = {.rank = block->rank, .run_bytes = block->dtype.bytes};
    zd_strided_dense(block->rank, block->shape, block->dtype.bytes, box.to);
    uint8_t *to = place_of(block, part, box.to);
    for (uint32_t d = 0; d < block->rank; d++) {
        box.count[d] = part->count[d];
        box.from[d] = (int64_t)from_stride[d] * part->step[d];
    }
    zd_strided_fold(&box);
    zd_strided_copy(&box, to, from);
}

/* The operation on a run of elements of the block. */
enum touch_up {
    FILL,
    SWAP,
    SETTLE, /* bytes as they are stored; the codec does the same where chunks are decoded whole */
};

static void touch_run(
    const struct zd_dtype *dtype, enum touch_up what, const void *fill, uint8_t *to, uint64_t n)
{
    switch (what) {
    case FILL:
        zd_dtype_fill(dtype, to, fill, n);
        return;
    case SWAP:
        zd_dtype_swap(dtype, to, to, n);
        return;
    case SETTLE:
        zd_dtype_settle(dtype, to, n);
        return;
    }
}

/* Runs of a part's place: as long as it goes through whole rows of the block. */
static uint64_t run_of(const struct zd_block *block, const struct zd_part *part, uint32_t *ret_dim)
{
    uint64_t n = 1;
    uint32_t dim = block->rank;
    bool is_whole = true;
    while (dim > 0 && is_whole) {
        dim--;
        n *= part->count[dim];
        is_whole = part->count[dim] == block->shape[dim];
    }
    *ret_dim = dim;
    return n;
}

/* An odometer over the dimensions outside the runs. */
static void touch_part(
    const struct zd_block *block, const struct zd_part *part, enum touch_up what, const void *fill)
{
    uint64_t stride[ZD_RANK_MAX];
    uint64_t at[ZD_RANK_MAX] = {0};
    uint32_t n_outer;
    zd_strided_dense(block->rank, block->shape, block->dtype.bytes, stride);
    const uint64_t n = run_of(block, part, &n_outer);
    uint8_t *to = place_of(block, part, stride);
    bool more = true;
    while (more) {
        touch_run(&block->dtype, what, fill, to, n);
        more = false;
        for (uint32_t d = n_outer; d-- > 0 && !more;) {
            to += stride[d];
            more = ++at[d] < part->count[d];
            if (!more) {
                to -= stride[d] * part->count[d];
                at[d] = 0;
            }
        }
    }
}

/* The offset of the part's first element in its chunk. */
static uint64_t offset_in(
    const struct zd_part *part, uint32_t rank, const uint64_t stride[ZD_RANK_MAX])
{
    uint64_t offset = 0;
    for (uint32_t d = 0; d < rank; d++) {
        offset += part->from[d] * stride[d];
    }
    return offset;
}

void zd_block_copy(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, const struct zd_buf *chunk)
{
    assert(grid->rank == block->rank);
    uint64_t space[ZD_RANK_MAX];
    uint64_t stride[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(grid, part->chunk, space);
    zd_strided_dense(grid->rank, shape, block->dtype.bytes, stride);
    copy_part(block, part, chunk->data + offset_in(part, grid->rank, stride), stride);
}

void zd_block_prefetch(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, const struct zd_buf *chunk)
{
    uint64_t space[ZD_RANK_MAX];
    uint64_t stride[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(grid, part->chunk, space);
    zd_strided_dense(grid->rank, shape, block->dtype.bytes, stride);
    zd_prefetch(chunk->data + offset_in(part, grid->rank, stride));
}

void zd_block_fill(const struct zd_block *block, const struct zd_part *part, const void *fill)
{
    touch_part(block, part, FILL, fill);
}

void zd_block_gather(const struct zd_block *block, const struct zd_part *part,
    const struct zd_layout *layout, struct zd_span span)
{
    const struct zd_byte_range run = zd_layout_span(layout, part);
    assert(span.len == run.len);
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *stride = zd_layout_strides(layout, part->chunk, space);
    const uint64_t offset = offset_in(part, block->rank, stride);
    copy_part(block, part, span.ptr + (offset - run.first), stride);
    if (layout->is_swapped) {
        touch_part(block, part, SWAP, NULL);
    }
    if (zd_dtype_is_loose(&block->dtype)) {
        touch_part(block, part, SETTLE, NULL);
    }
}
