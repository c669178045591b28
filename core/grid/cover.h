/* Covering a selection by smaller ones that begin and end with chunks. */
#ifndef ZD_CORE_GRID_COVER_H
#define ZD_CORE_GRID_COVER_H

#include "core/grid/touch.h"

/** Limits of a piece, and the cost of a chunk. */
struct zd_cover_limits {
    uint64_t elements_max; /* of one piece */
    uint64_t chunks_max;   /* that one piece touches */
    /* Smaller chunks inside a chunk of the grid, per dimension: those are counted; NULL = none. */
    const uint64_t *ratio;
};

/** An iterator over the pieces, in C order of the result. No allocation. */
struct zd_cover {
    struct zd_selection whole;
    struct zd_touch touch[ZD_RANK_MAX];
    uint64_t n_per_piece[ZD_RANK_MAX]; /* touched chunks of one piece, per dimension; >= 1 */
    uint64_t next[ZD_RANK_MAX];        /* touched chunk where the next piece begins */
    bool done;
};

/**
 * Begin: the outer dimensions are cut first, so that pieces are as long as can be in the inner
 * ones.
 *
 * @param selection not empty; copied
 * @return false when the elements of one chunk are more than a piece may have
 * Thread: any.
 */
bool zd_cover_init(struct zd_cover *cover, const struct zd_grid *grid,
    const struct zd_selection *selection, const struct zd_cover_limits *limits);

/** How many pieces there are; UINT64_MAX when that does not fit. */
uint64_t zd_cover_count(const struct zd_cover *cover);

/** The next piece; false when there is none left. */
bool zd_cover_next(struct zd_cover *cover, struct zd_selection *ret_piece);

#endif
