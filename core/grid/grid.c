/* The chunk grid: which chunk holds which elements. */
#include "core/grid/grid.h"

#include <inttypes.h>

#include "core/base/num.h"

uint64_t zd_grid_count(const struct zd_grid *grid, uint32_t dim)
{
    assert(dim < grid->rank);
    const struct zd_edge_axis *axis = zd_grid_edges(grid, dim);
    return axis == NULL ? zd_div_up(grid->shape[dim], grid->chunk[dim]) : axis->n_chunks;
}

uint64_t zd_grid_count_inside(const struct zd_grid *grid, uint32_t dim)
{
    const uint64_t shape = grid->shape[dim];
    return shape == 0 ? 0 : zd_grid_cell_at(grid, dim, shape - 1).index + 1;
}

const uint64_t *zd_grid_chunk_shape(
    const struct zd_grid *grid, const uint64_t *index, uint64_t space[ZD_RANK_MAX])
{
    if (grid->edges == NULL) {
        return grid->chunk;
    }
    for (uint32_t d = 0; d < grid->rank; d++) {
        space[d] = zd_grid_cell_of(grid, d, index[d]).edge;
    }
    return space;
}

bool zd_grid_agree(const struct zd_grid *a, const struct zd_grid *b)
{
    assert(a->rank == b->rank);
    for (uint32_t d = 0; d < a->rank; d++) {
        const struct zd_edge_axis *of_a = zd_grid_edges(a, d);
        const struct zd_edge_axis *of_b = zd_grid_edges(b, d);
        bool is_same = a->chunk[d] == b->chunk[d];
        if (of_a != NULL && of_b != NULL) {
            is_same = zd_edges_agree(of_a, of_b);
        } else if (of_a != NULL || of_b != NULL) {
            is_same =
                of_a == NULL ? zd_edges_are(of_b, a->chunk[d]) : zd_edges_are(of_a, b->chunk[d]);
        }
        if (!is_same) {
            return false;
        }
    }
    return true;
}

bool zd_grid_overflows(const struct zd_grid *grid, uint64_t *ret_n_chunks)
{
    uint64_t count[ZD_RANK_MAX];
    for (uint32_t d = 0; d < grid->rank; d++) {
        count[d] = zd_grid_count(grid, d);
    }
    return zd_product_overflows(ret_n_chunks, count, grid->rank);
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
            "chunk index %" PRIu64 " of dimension %" PRIu32
            " is out of bounds: the grid has %" PRIu64 " chunks along it",
            index[d], d, n_chunks);
        zd_fact_dim(err, d);
        zd_fact_index(err, (int64_t)zd_min_u64(index[d], INT64_MAX));
        zd_fact_size(err, n_chunks);
        return status;
    }
    return ZD_OK;
}

bool zd_grid_chunk_overflows(const struct zd_grid *grid, uint64_t *ret_n_elements)
{
    return zd_product_overflows(ret_n_elements, grid->chunk, grid->rank);
}
