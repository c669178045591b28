/* Elements into the cells of a picture: the mean over the area of each. Thread: any. */
#ifndef ZD_CORE_PICTURE_RASTER_H
#define ZD_CORE_PICTURE_RASTER_H

#include "core/grid/element.h"
#include "core/picture/scale.h"

#define ZD_RASTER_LOT 512 /* columns that are added at once */

/**
 * Cells, in C order: rows, columns, channels. Elements of any order of chunks are added to them;
 * NaN and NaT are left out. Starts zeroed.
 */
struct zd_raster {
    struct zd_dtype dtype; /* of the elements: ordered */
    struct zd_scale y;
    struct zd_scale x;
    uint32_t n_channels; /* 1, or 3 or 4 of uint8 */
    uint64_t n_cells;    /* of all channels together */
    double *value;       /* of zd_raster_settle on: NaN where nothing was added; until then sums */
    double *weight;      /* of what was added to a sum; NULL: each cell is one element */
    double base;         /* what all sums are less */
    bool has_base;
};

/** A box of elements: rows y .. y + n_y - 1, columns x .. x + n_x - 1, and some channels. */
struct zd_raster_box {
    uint64_t y;
    uint64_t x;
    uint64_t n_y; /* >= 1, as the next two */
    uint64_t n_x;
    uint32_t n_channels;
    uint32_t channel; /* the first */
};

/** An element as a number: NaN when it is missing. @param dtype ordered */
double zd_raster_number(const struct zd_dtype *dtype, const void *element);

/** The same for n elements in a row, at any address. */
void zd_raster_numbers(const struct zd_dtype *dtype, const uint8_t *from, uint64_t n, double *to);

/** The bytes that its cells take; UINT64_MAX: more than 64 bits can say. */
uint64_t zd_raster_bytes(const struct zd_scale *y, const struct zd_scale *x, uint32_t n_channels);

/**
 * Make the cells.
 * @param raster dtype, y, x and n_channels are set
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_raster_init(struct zd_raster *raster, struct zd_error *err);
void zd_raster_done(struct zd_raster *raster); /* accepts a zeroed one */

/** Forget all elements: each is added once after that, and before zd_raster_settle. */
void zd_raster_clear(struct zd_raster *raster);

/** Add a box. @param elements of it, in C order; at any address */
void zd_raster_add(
    struct zd_raster *raster, const struct zd_raster_box *box, const uint8_t *elements);

/** Add a box of elements that are all the same. @param element one of them, of one channel */
void zd_raster_add_fill(
    struct zd_raster *raster, const struct zd_raster_box *box, const void *element);

/** Make values of some cells. @param first, end of n_cells */
void zd_raster_settle(struct zd_raster *raster, uint64_t first, uint64_t end);

#endif
