/* The chunk grid: which chunk holds which elements. */
#include "core/grid/grid.h"

#include <inttypes.h>

#include "core/base/num.h"

uint64_t zd_grid_count(const struct zd_grid *grid, uint32_t dim)
{
    assert(dim < grid->rank);
    return zd_div_up(grid->shape[dim], grid->chunk[dim]);
}

bool zd_grid_overflows(const struct zd_grid *grid, uint64_t *ret_n_chunks)
{
    uint64_t count[ZD_RANK_MAX];
    for (uint32_t d = 0; d < grid->rank; d++) {
        count[d] = zd_grid_count(grid, d);
    }
    return zd_product(ret_n_chunks, count, grid->rank);
}

enum zd_status zd_grid_check(
    const struct zd_grid *grid, const uint64_t *index, struct zd_error *err)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        const uint64_t n_chunks = zd_grid_count(grid, d);
        if (index[d] < n_chunks) {
            continue;
        }
        const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
            "chunk index %" PRIu64 " of dimension %" PRIu32 ": the grid has %" PRIu64
            " chunks there",
            index[d], d, n_chunks);
        zd_fact_dim(err, d);
        zd_fact_index(err, (int64_t)zd_min_u64(index[d], INT64_MAX));
        zd_fact_size(err, n_chunks);
        return status;
    }
    return ZD_OK;
}

uint64_t zd_grid_locate(const struct zd_grid *grid, uint32_t dim, uint64_t x)
{
    assert(x < grid->shape[dim]);
    return x / grid->chunk[dim];
}

uint64_t zd_grid_origin(const struct zd_grid *grid, uint32_t dim, uint64_t index)
{
    assert(index < zd_grid_count(grid, dim));
    return index * grid->chunk[dim];
}

bool zd_grid_chunk_overflows(const struct zd_grid *grid, uint64_t *ret_n_elements)
{
    return zd_product(ret_n_elements, grid->chunk, grid->rank);
}
