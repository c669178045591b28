/* Random small grids and selections, for checks against brute force. */
#ifndef ZD_TESTS_SUPPORT_GEOMETRY_H
#define ZD_TESTS_SUPPORT_GEOMETRY_H

#include "core/grid/grid.h"

#define ZD_UNIT_RANK_MAX     4
#define ZD_UNIT_SIDE_MAX     8
#define ZD_UNIT_ELEMENTS_MAX 4096 /* ZD_UNIT_SIDE_MAX ^ ZD_UNIT_RANK_MAX */

/**
 * A grid of rank 0 to ZD_UNIT_RANK_MAX with sides of at most ZD_UNIT_SIDE_MAX (seldom 0) and chunks
 * that may be larger, and a selection of it: any start, step and direction, dropped dimensions,
 * seldom empty.
 */
void zd_unit_random_case(struct zd_grid *ret_grid, struct zd_selection *ret_selection);

/**
 * Give some dimensions of a grid chunks that differ, with surplus ones beyond the shape, seldom;
 * half of the grids stay as they are.
 * @return what the grid borrows from now on; owned; NULL: nothing
 */
struct zd_edges *zd_unit_random_edges(struct zd_grid *grid);

/** Make some dimensions of a selection lists of any elements. @param room they borrow from it */
void zd_unit_random_lists(const struct zd_grid *grid, struct zd_selection *selection,
    uint64_t room[ZD_UNIT_RANK_MAX][ZD_UNIT_SIDE_MAX]);

/** A chunk along one dimension, counted one by one. */
struct zd_cell zd_unit_cell(const struct zd_grid *grid, uint32_t dim, uint64_t index);

/** Coordinates [0 .. rank) of the i-th element of a selection's result, in the array. */
void zd_unit_coordinates(const struct zd_selection *selection, uint64_t i, uint64_t *ret_x);

#endif
