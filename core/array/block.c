/* Elements from chunks into the block that a slice answers with: one strided copy for all, with
 * the dimensions merged as far as memory allows and the innermost run specialised. */
#include "core/array/block.h"

#include <string.h>

#include "core/base/num.h"
#include "core/codec/strided.h"

/* A strided copy. Steps are in bytes. Every count is at least 2, but for a lone run of 1. */
struct copy {
    uint8_t *to;
    const uint8_t *from;
    const struct zd_dtype *dtype;
    bool is_swapped;
    bool is_raw_bool; /* bytes as they are stored, of which any but 0 is true */
    uint32_t n_dims;  /* >= 1; the last one is the run */
    uint64_t count[ZD_RANK_MAX];
    int64_t to_step[ZD_RANK_MAX];
    int64_t from_step[ZD_RANK_MAX];
};

struct zd_block zd_block_of(
    const struct zd_selection *selection, const struct zd_dtype *dtype, uint8_t *data)
{
    struct zd_block block = {.data = data, .rank = selection->rank, .dtype = *dtype};
    for (uint32_t d = 0; d < selection->rank; d++) {
        block.shape[d] = selection->axis[d].count;
    }
    return block;
}

/* One more dimension inside those there are; merged with the last one where both sides allow. */
static void add_dim(struct copy *copy, uint64_t count, int64_t to_step, int64_t from_step)
{
    if (copy->n_dims > 0) {
        const uint32_t last = copy->n_dims - 1;
        if (copy->to_step[last] == (int64_t)count * to_step &&
            copy->from_step[last] == (int64_t)count * from_step) {
            copy->count[last] *= count;
            copy->to_step[last] = to_step;
            copy->from_step[last] = from_step;
            return;
        }
    }
    copy->count[copy->n_dims] = count;
    copy->to_step[copy->n_dims] = to_step;
    copy->from_step[copy->n_dims] = from_step;
    copy->n_dims++;
}

/* The copy of a part to its place; from_stride is in bytes per element of the chunk. */
static struct copy plan_copy(const struct zd_block *block, const struct zd_part *part,
    const uint8_t *from, const uint64_t from_stride[ZD_RANK_MAX])
{
    struct copy copy = {.to = block->data, .from = from, .dtype = &block->dtype};
    uint64_t to_stride[ZD_RANK_MAX];
    zd_strided_dense(block->rank, block->shape, block->dtype.bytes, to_stride);
    for (uint32_t d = 0; d < block->rank; d++) {
        assert(part->to[d] + part->count[d] <= block->shape[d]);
        copy.to += part->to[d] * to_stride[d];
        if (part->count[d] > 1) {
            add_dim(&copy, part->count[d], (int64_t)to_stride[d],
                (int64_t)from_stride[d] * part->step[d]);
        }
    }
    if (copy.n_dims == 0) {
        add_dim(&copy, 1, block->dtype.bytes, block->dtype.bytes);
    }
    return copy;
}

/* Inlined with a constant `bytes`, so that each element is one move. */
static inline void copy_elements(
    uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, uint64_t n, size_t bytes)
{
    for (int64_t i = 0; i < (int64_t)n; i++) {
        memcpy(to + i * to_step, from + i * from_step, bytes);
    }
}

static void copy_strided(const struct copy *copy, uint8_t *to, const uint8_t *from, uint32_t dim)
{
    const uint64_t n = copy->count[dim];
    const int64_t to_step = copy->to_step[dim];
    const int64_t from_step = copy->from_step[dim];
    switch (copy->dtype->bytes) {
    case 1:
        copy_elements(to, to_step, from, from_step, n, 1);
        return;
    case 2:
        copy_elements(to, to_step, from, from_step, n, 2);
        return;
    case 4:
        copy_elements(to, to_step, from, from_step, n, 4);
        return;
    case 8:
        copy_elements(to, to_step, from, from_step, n, 8);
        return;
    case 16:
        copy_elements(to, to_step, from, from_step, n, 16);
        return;
    default:
        copy_elements(to, to_step, from, from_step, n, copy->dtype->bytes);
    }
}

static void swap_run(const struct copy *copy, uint8_t *to, uint32_t dim)
{
    if (copy->to_step[dim] == copy->dtype->bytes) {
        zd_dtype_swap(copy->dtype, to, to, copy->count[dim]);
        return;
    }
    for (int64_t i = 0; i < (int64_t)copy->count[dim]; i++) {
        uint8_t *element = to + i * copy->to_step[dim];
        zd_dtype_swap(copy->dtype, element, element, 1);
    }
}

/* Reference 5.1.1; the codec does the same where chunks are decoded whole. */
static void settle_bools(const struct copy *copy, uint8_t *to, uint32_t dim)
{
    for (int64_t i = 0; i < (int64_t)copy->count[dim]; i++) {
        uint8_t *element = to + i * copy->to_step[dim];
        *element = *element != 0;
    }
}

static void copy_run(const struct copy *copy, uint8_t *to, const uint8_t *from)
{
    const uint32_t dim = copy->n_dims - 1;
    const int64_t bytes = copy->dtype->bytes;
    const bool is_dense = copy->to_step[dim] == bytes;
    if (is_dense && copy->from_step[dim] == bytes) {
        memcpy(to, from, copy->count[dim] * copy->dtype->bytes);
    } else if (is_dense && copy->from_step[dim] == 0) {
        zd_dtype_fill(copy->dtype, to, from, copy->count[dim]);
    } else {
        copy_strided(copy, to, from, dim);
    }
    if (copy->is_swapped) {
        swap_run(copy, to, dim);
    }
    if (copy->is_raw_bool) {
        settle_bools(copy, to, dim);
    }
}

/* An odometer over the outer dimensions, one run at each position. */
static void run_copy(const struct copy *copy)
{
    uint64_t at[ZD_RANK_MAX] = {0};
    int64_t to = 0;
    int64_t from = 0;
    bool more = true;
    while (more) {
        copy_run(copy, copy->to + to, copy->from + from);
        more = false;
        for (uint32_t d = copy->n_dims - 1; d-- > 0 && !more;) {
            to += copy->to_step[d];
            from += copy->from_step[d];
            more = ++at[d] < copy->count[d];
            if (!more) {
                to -= copy->to_step[d] * (int64_t)copy->count[d];
                from -= copy->from_step[d] * (int64_t)copy->count[d];
                at[d] = 0;
            }
        }
    }
}

void zd_block_copy(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, const struct zd_buf *chunk)
{
    assert(grid->rank == block->rank);
    uint64_t stride[ZD_RANK_MAX];
    zd_strided_dense(grid->rank, grid->chunk, block->dtype.bytes, stride);
    const uint8_t *from = chunk->data;
    for (uint32_t d = 0; d < grid->rank; d++) {
        from += part->from[d] * stride[d];
    }
    const struct copy copy = plan_copy(block, part, from, stride);
    run_copy(&copy);
}

void zd_block_fill(const struct zd_block *block, const struct zd_part *part, const void *fill)
{
    const uint64_t stride[ZD_RANK_MAX] = {0}; /* every element comes from the same place */
    const struct copy copy = plan_copy(block, part, fill, stride);
    run_copy(&copy);
}

void zd_block_gather(const struct zd_block *block, const struct zd_part *part,
    const struct zd_layout *layout, struct zd_span span)
{
    const struct zd_byte_range run = zd_layout_span(layout, part);
    assert(span.len == run.len);
    uint64_t offset = 0; /* of the part's first element in the chunk */
    for (uint32_t d = 0; d < block->rank; d++) {
        offset += part->from[d] * layout->stride[d];
    }
    struct copy copy = plan_copy(block, part, span.ptr + (offset - run.first), layout->stride);
    copy.is_swapped = layout->is_swapped;
    copy.is_raw_bool = block->dtype.kind == ZD_DTYPE_BOOL;
    run_copy(&copy);
}
