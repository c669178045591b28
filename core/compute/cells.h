/* Boxes of elements into the cells that they are reduced to. Thread: any. */
#ifndef ZD_CORE_COMPUTE_CELLS_H
#define ZD_CORE_COMPUTE_CELLS_H

#include "core/compute/cf_decode.h"
#include "core/compute/reduce.h"
#include "core/grid/selection.h"

#define ZD_CELLS_ALL UINT64_MAX /* elements: those of a dimension that is taken away */

/** A dimension of a box. Element i of it lies in cell (first + i) / block, which are `stride` cells
 * apart. */
struct zd_cells_dim {
    uint64_t count;
    uint64_t first;
    uint64_t block; /* >= 1; ZD_CELLS_ALL: one cell has all of them, and first is 0 */
    uint64_t stride;
};

/** Which cells a box has. The last dimension that is not taken away has the stride 1. */
struct zd_cells {
    uint32_t rank;
    struct zd_cells_dim dim[ZD_RANK_MAX];
};

/**
 * Add the elements of a box to their cells.
 *
 * @param decode   how they are decoded first; NULL: they are as they are
 * @param elements in C order, at any address
 * @param ret_cell a cell that has an element which cannot be decoded, when there is one
 * @return false when there is one
 */
bool zd_cells_add(const struct zd_cells *cells, struct zd_reduce *reduce,
    const struct zd_cf_decode *decode, const uint8_t *elements, uint64_t *ret_cell);

#endif
