/* The chunk grid: which chunk holds which elements. Integers only. */
#ifndef ZD_CORE_GRID_GRID_H
#define ZD_CORE_GRID_GRID_H

#include "core/grid/selection.h"

/** A regular grid over an array (Zarr v3, regular chunk grid). By value. */
struct zd_grid {
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX]; /* of the array, elements */
    uint64_t chunk[ZD_RANK_MAX]; /* of a chunk, elements; each >= 1 */
};

/** Chunks along one dimension: ceil(shape / chunk). */
uint64_t zd_grid_count(const struct zd_grid *grid, uint32_t dim);

/** Chunks in all; true when that does not fit 64 bits. */
bool zd_grid_overflows(const struct zd_grid *grid, uint64_t *ret_n_chunks);

/** Whether the chunk index[0 .. rank) lies inside. @retval ZD_OUT_OF_BOUNDS facts dim, index, size
 * (in chunks) */
ZD_RESULT zd_grid_check(const struct zd_grid *grid, const uint64_t *index, struct zd_error *err);

/** The chunk that holds coordinate x of a dimension, and where that chunk begins. */
uint64_t zd_grid_locate(const struct zd_grid *grid, uint32_t dim, uint64_t x);
uint64_t zd_grid_origin(const struct zd_grid *grid, uint32_t dim, uint64_t index);

/** Elements of a whole chunk; true when that does not fit 64 bits. */
bool zd_grid_chunk_overflows(const struct zd_grid *grid, uint64_t *ret_n_elements);

#endif
