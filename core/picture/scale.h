/* A dimension of a picture: the map from elements to pixels. Thread: any. */
#ifndef ZD_CORE_PICTURE_SCALE_H
#define ZD_CORE_PICTURE_SCALE_H

#include "core/base/status.h"

/**
 * Elements in order, and the cells that they are added to: element j covers [j * den, (j + 1) *
 * den), cell i [i * num, (i + 1) * num), and num >= den: an element lies in two cells at the most.
 * Cells are pixels, unless the picture is larger than what it shows: then each is an element.
 */
struct zd_scale {
    uint64_t n_elements; /* >= 1 */
    uint64_t n_cells;    /* >= 1 */
    uint64_t n_pixels;   /* >= n_cells */
    uint64_t num;
    uint64_t den;
};

/**
 * So many pixels, whatever the number of elements: equal parts of them.
 * @param n_elements, n_pixels >= 1
 * @retval ZD_TOO_LARGE their product does not fit 64 bits
 */
ZD_RESULT zd_scale_to(uint64_t n_elements, uint64_t n_pixels, struct zd_scale *ret_scale);

/** A pixel for each block of `factor` elements; the last block may be smaller.
 * @param n_elements, factor >= 1, and together they fit 64 bits */
struct zd_scale zd_scale_blocks(uint64_t n_elements, uint64_t factor);

/** Whether each cell is one element. */
static inline bool zd_scale_is_exact(const struct zd_scale *scale)
{
    return scale->num == scale->den;
}

/** The cell in which an element begins. */
static inline uint64_t zd_scale_cell(const struct zd_scale *scale, uint64_t element)
{
    return element * scale->den / scale->num;
}

/** How much of the elements first .. end - 1 lies in a cell, in parts of 1 / den elements. */
uint64_t zd_scale_overlap(
    const struct zd_scale *scale, uint64_t first, uint64_t end, uint64_t cell);

/** The cell that a pixel shows: the nearest. */
uint64_t zd_scale_cell_of_pixel(const struct zd_scale *scale, uint64_t pixel);

#endif
