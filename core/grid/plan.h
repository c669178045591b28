/* A plan: the chunks that a selection touches, and which elements of each go where in the result.
 */
#ifndef ZD_CORE_GRID_PLAN_H
#define ZD_CORE_GRID_PLAN_H

#include "core/grid/grid.h"

/** The contribution of a chunk: a strided box of the chunk for a dense box of the result. */
struct zd_part {
    uint64_t chunk[ZD_RANK_MAX]; /* index in the grid */
    uint64_t from[ZD_RANK_MAX];  /* first element in the chunk, per dimension */
    int64_t step[ZD_RANK_MAX];   /* in the chunk, elements; may be negative; 1 where count is 1 */
    uint64_t count[ZD_RANK_MAX]; /* elements taken, per dimension; >= 1 */
    uint64_t to[ZD_RANK_MAX]; /* first element in the result box (all rank dimensions, dropped ones
                                 have length 1) */
};

/** An iterator over the parts, in C order of the result. No allocation. */
struct zd_plan {
    const struct zd_grid *grid;           /* borrowed */
    const struct zd_selection *selection; /* borrowed */
    uint64_t
        next[ZD_RANK_MAX]; /* per dimension: position in the result where the next part begins */
    bool done;
};

/** Begin; grid and selection have the same rank and stay unchanged while the plan is used. Thread:
 * any. */
void zd_plan_init(
    struct zd_plan *plan, const struct zd_grid *grid, const struct zd_selection *selection);

/** The next part; false when there is none left (at once, when the selection is empty). */
bool zd_plan_next(struct zd_plan *plan, struct zd_part *ret_part);

/** How many parts there are; true when that does not fit 64 bits. As long as zd_touch_of takes. */
bool zd_plan_overflows(
    const struct zd_grid *grid, const struct zd_selection *selection, uint64_t *ret_n_parts);

/** Whether a part has every element of its chunk; no two of its elements are the same. */
bool zd_plan_part_covers(const struct zd_grid *grid, const struct zd_part *part);

/** Whether it has every element of its chunk that lies within the array. */
bool zd_plan_part_covers_inside(const struct zd_grid *grid, const struct zd_part *part);

/** The elements of the array that a part has. */
void zd_plan_part_selection(
    const struct zd_grid *grid, const struct zd_part *part, struct zd_selection *ret_selection);

#endif
