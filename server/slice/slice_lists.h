/* Lists of indices, and points: what `slice` and `points` of a body may ask for besides ranges.
 * Thread: loop. */
#ifndef ZD_SLICE_SLICE_LISTS_H
#define ZD_SLICE_SLICE_LISTS_H

#include "core/base/json.h"
#include "core/grid/selection.h"

/** A list in place of an item of `slice`. */
struct zd_slice_list {
    uint64_t item;  /* which one: its text is ":" */
    uint64_t first; /* of the numbers */
    uint64_t n;
};

/** All of them. */
struct zd_slice_lists {
    struct zd_slice_list list[ZD_RANK_MAX]; /* n of them */
    uint32_t n;
    bool has_points;
    uint32_t points_rank; /* numbers of each point */
    uint64_t n_points;
    int64_t *number; /* as they were sent: those of a list, or of a dimension of the points, side by
                        side; owned */
    uint64_t n_numbers;
    uint64_t *place; /* room for what they mean: as the client counts, and behind all of that in the
                        stored array; owned */
};

void zd_slice_lists_done(struct zd_slice_lists *lists); /* accepts a zeroed one */

/** Whether there is anything. */
static inline bool zd_slice_lists_exist(const struct zd_slice_lists *lists)
{
    return lists->n > 0 || lists->has_points;
}

/**
 * Add a list.
 * @param json an array
 * @param at   where it is in the body
 * @param item which item it stands for
 * @retval ZD_INVALID an element is no integer, or there are too many lists; fact pointer
 */
ZD_RESULT zd_slice_lists_add(struct zd_slice_lists *lists, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t item, struct zd_error *err);

/** Set the points. @param json any value @retval ZD_INVALID it is no list of lists of integers, all
 * equally long; fact pointer */
ZD_RESULT zd_slice_lists_add_points(struct zd_slice_lists *lists, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err);

/** The array that indices are judged against, as its client counts. */
struct zd_slice_lists_array {
    uint32_t rank;
    const uint64_t *shape;
    const uint64_t *origin; /* of that in the stored array; NULL: it is the stored array */
};

/**
 * Put them into a selection that was parsed.
 *
 * @param slice the text of `slice`
 * @param asked changed; it borrows from the lists until the next call
 * @retval ZD_INVALID       points of another rank
 * @retval ZD_OUT_OF_BOUNDS facts dim, index, size
 */
ZD_RESULT zd_slice_lists_apply(const struct zd_slice_lists *lists, struct zd_span slice,
    const struct zd_slice_lists_array *array, struct zd_selection *asked, struct zd_error *err);

/** Make the lists of a copy of that selection those of the stored array. */
void zd_slice_lists_store(const struct zd_slice_lists *lists, struct zd_selection *stored);

#endif
