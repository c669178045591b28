/* Bands: a selection cut into pieces that follow each other in the result, so that it can be made
 * bit by bit. */
#ifndef ZD_CORE_GRID_BAND_H
#define ZD_CORE_GRID_BAND_H

#include "core/grid/plan.h"

/** A piece: a selection whose result is a contiguous run of the whole result in C order. */
struct zd_band {
    struct zd_selection
        selection;       /* same rank; no dimension dropped that the whole keeps, and the reverse */
    uint64_t first;      /* position of its first element in the whole result */
    uint64_t n_elements; /* >= 1 */
};

/** An iterator over the bands that cover elements [begin, end) of the result. No allocation. */
struct zd_bands {
    const struct zd_grid *grid;           /* borrowed */
    const struct zd_selection *selection; /* borrowed; its element count fits 64 bits */
    uint64_t next;                        /* position in the result */
    uint64_t end;                         /* one past the last position */
    uint64_t n_elements_max;              /* of one band */
};

/**
 * Begin. A band holds at most n_elements_max elements, and ends at a boundary of chunk rows where
 * one is within reach, so that no chunk is needed by two bands when that can be avoided. The whole
 * result: begin 0, end the element count.
 *
 * @param n_elements_max >= 1
 * Thread: any.
 */
void zd_bands_init(struct zd_bands *bands, const struct zd_grid *grid,
    const struct zd_selection *selection, uint64_t begin, uint64_t end, uint64_t n_elements_max);

/** The next band; false when there is none left. */
bool zd_bands_next(struct zd_bands *bands, struct zd_band *ret_band);

#endif
