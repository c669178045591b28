/* The chunks that a selection touches, numbered: without a list, along one dimension at a time. */
#ifndef ZD_CORE_GRID_TOUCH_H
#define ZD_CORE_GRID_TOUCH_H

#include "core/grid/grid.h"

/** Along one dimension: the touched chunks in the order in which the result meets them. By value.
 */
struct zd_touch {
    struct zd_axis axis;
    const struct zd_edge_axis *edges; /* of the grid; borrowed; NULL: all chunks have that length */
    uint64_t stride;                  /* |axis.step| */
    uint64_t chunk;                   /* elements, of the longest; >= 1 */
    uint64_t n;                       /* touched chunks; 0 when the axis is empty */
    uint64_t per_chunk_max;           /* positions of the result in one chunk, at most; >= 1 */
    bool is_mixed; /* the stride is longer than some chunks, and shorter than others */
    uint64_t
        near_position; /* where zd_touch_number goes on in a mixed axis, and the number there */
    uint64_t near_number;
};

/**
 * The elements of a list from a position on that are in one chunk and equally far apart: one part
 * of a plan. Of points it is one.
 * @param ret_step between them; 1 when it is one
 * @return how many
 */
uint64_t zd_touch_list_run(const struct zd_grid *grid, uint32_t dim, const struct zd_axis *axis,
    uint64_t position, int64_t *ret_step);

/** Count the chunks that a dimension of a selection touches. It is as fast as one division. A list
 * is walked, and its runs are counted; in a mixed axis it takes a step for each run of equal chunks
 * that is touched. @param grid only its edges are borrowed */
struct zd_touch zd_touch_of(
    const struct zd_grid *grid, const struct zd_selection *selection, uint32_t dim);

/** The position in the result where touched chunk `i` begins; the axis' count when i is n. Not of
 * lists. */
uint64_t zd_touch_first(const struct zd_touch *touch, uint64_t i);

/** The number of the touched chunk `index` (of the grid, touched: asserted), not of a list. In a
 * mixed axis fast when it follows the one asked for before. */
uint64_t zd_touch_number(struct zd_touch *touch, uint64_t index);

/** The elements of one row of touched chunks, the unit in which a result is made in C order. The
 * selection's element count fits 64 bits. */
uint64_t zd_touch_row_elements(const struct zd_grid *grid, const struct zd_selection *selection);

#endif
