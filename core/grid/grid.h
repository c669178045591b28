/* The chunk grid: which chunk holds which elements. Integers only. */
#ifndef ZD_CORE_GRID_GRID_H
#define ZD_CORE_GRID_GRID_H

#include "core/grid/edges.h"

/** A grid over an array (Zarr v3, regular chunk grid; registry, rectilinear). By value. */
struct zd_grid {
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];  /* of the array, elements */
    uint64_t chunk[ZD_RANK_MAX];  /* of a chunk, elements; each >= 1; where the edges say otherwise
                                     no chunk is longer */
    const struct zd_edges *edges; /* of chunks that differ, at least as many as the array needs;
                                     borrowed; NULL: none do */
};

/** The edges of the chunks of a dimension; NULL: all chunks have one length. */
static inline const struct zd_edge_axis *zd_grid_edges(const struct zd_grid *grid, uint32_t dim)
{
    return grid->edges != NULL && grid->edges->axis[dim].is_irregular ? &grid->edges->axis[dim]
                                                                      : NULL;
}

/** The chunk that holds coordinate x, inside the array or in the part of a chunk outside it. */
static inline struct zd_cell zd_grid_cell_at(const struct zd_grid *grid, uint32_t dim, uint64_t x)
{
    return zd_edges_cell_at(zd_grid_edges(grid, dim), grid->chunk[dim], x);
}

/** The chunk of that number, which may be outside the array: an inner one of a shard at its edge.
 */
static inline struct zd_cell zd_grid_cell_of(
    const struct zd_grid *grid, uint32_t dim, uint64_t index)
{
    return zd_edges_cell_of(zd_grid_edges(grid, dim), grid->chunk[dim], index);
}

/** Chunks along one dimension: ceil(shape / chunk); as many as there are edges, where those say. */
uint64_t zd_grid_count(const struct zd_grid *grid, uint32_t dim);

/** The number of chunks that overlap the array. */
uint64_t zd_grid_count_inside(const struct zd_grid *grid, uint32_t dim);

/** The shape of one chunk, rank entries. @param space used where it is not grid->chunk */
const uint64_t *zd_grid_chunk_shape(
    const struct zd_grid *grid, const uint64_t *index, uint64_t space[ZD_RANK_MAX]);

/** Whether a chunk of the one that lies inside the other is a chunk of the other, too. The shapes
 * of the arrays do not count; the ranks are equal. */
bool zd_grid_agree(const struct zd_grid *a, const struct zd_grid *b);

/** Chunks in all; true when that does not fit 64 bits. */
bool zd_grid_overflows(const struct zd_grid *grid, uint64_t *ret_n_chunks);

/** Whether the chunk index[0 .. rank) lies inside. @retval ZD_OUT_OF_BOUNDS facts dim, index, size
 * (in chunks) */
ZD_RESULT zd_grid_check(const struct zd_grid *grid, const uint64_t *index, struct zd_error *err);

/** Elements of a whole chunk, the largest; true when that does not fit 64 bits. */
bool zd_grid_chunk_overflows(const struct zd_grid *grid, uint64_t *ret_n_elements);

#endif
