/* A dimension of a selection. */
#ifndef ZD_CORE_GRID_AXIS_H
#define ZD_CORE_GRID_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The elements start, start + step, ... (count of them), or those of a list. */
struct zd_axis {
    uint64_t start; /* of the first element; 0 when count is 0 */
    uint64_t count;
    int64_t step;   /* not 0, never INT64_MIN; negative walks backwards; 1 when count is 0 or the
                       dimension is dropped, as it was asked when count is 1 */
    uint64_t slack; /* how far the range reaches past its last element, as it was asked: only
                       zd_selection_add looks at it, and 0 is always right */
    const uint64_t *list; /* count of them, in any order; borrowed; start is the first, step 1 and
                             slack 0. NULL: no list */
    bool dropped;         /* an integer index: count is 1 and the result has no such dimension */
    bool is_joint; /* all dimensions have lists, of points: position i of the first one, which is
                      the only one that is not dropped, means element i of each list. The others
                      count 1 */
};

/** Coordinate of element i of an axis; i < count, of the first one where points are joint. */
static inline uint64_t zd_axis_at(const struct zd_axis *axis, uint64_t i)
{
    /* Unsigned arithmetic wraps: a negative step subtracts. */
    return axis->list != NULL ? axis->list[i] : axis->start + i * (uint64_t)axis->step;
}

/** The distance between neighbours, whatever the direction. */
static inline uint64_t zd_axis_stride(const struct zd_axis *axis)
{
    return axis->step < 0 ? 0 - (uint64_t)axis->step : (uint64_t)axis->step;
}

#endif
