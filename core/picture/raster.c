/* Elements into the cells of a picture.
 *
 * Rows are widened to double, a lot of columns at a time. Those of one row of cells are added up
 * column by column, which the compiler does for several columns at once, and only then the columns
 * of each cell. An element that lies in two cells counts in each by its share. */
#include "core/picture/raster.h"

#include <math.h>
#include <string.h>

#include "core/base/num.h"

/* Columns of one row of cells, added up. */
struct sums {
    double value[ZD_RASTER_LOT];
    double weight[ZD_RASTER_LOT];
    uint64_t n;
};

uint64_t zd_raster_bytes(const struct zd_scale *y, const struct zd_scale *x, uint32_t n_channels)
{
    const bool has_weights = !zd_scale_is_exact(y) || !zd_scale_is_exact(x);
    uint64_t bytes = (has_weights ? 2 : 1) * sizeof(double) * (uint64_t)n_channels;
    return ckd_mul(&bytes, bytes, y->n_cells) || ckd_mul(&bytes, bytes, x->n_cells) ? UINT64_MAX
                                                                                    : bytes;
}

enum zd_status zd_raster_init(struct zd_raster *raster, struct zd_error *err)
{
    const uint64_t bytes = zd_raster_bytes(&raster->y, &raster->x, raster->n_channels);
    const bool has_weights = !zd_scale_is_exact(&raster->y) || !zd_scale_is_exact(&raster->x);
    raster->value = bytes > SIZE_MAX / 2 ? NULL : zd_alloc((size_t)bytes);
    if (raster->value == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the cells of a picture");
    }
    raster->n_cells = raster->y.n_cells * raster->x.n_cells * raster->n_channels;
    raster->weight = has_weights ? raster->value + raster->n_cells : NULL;
    zd_raster_clear(raster);
    return ZD_OK;
}

void zd_raster_done(struct zd_raster *raster)
{
    zd_free(raster->value);
    *raster = (struct zd_raster){0};
}

void zd_raster_clear(struct zd_raster *raster)
{
    raster->has_base = false;
    raster->base = 0;
    if (raster->weight != NULL) {
        memset(raster->value, 0, 2 * raster->n_cells * sizeof *raster->value);
    }
}

double zd_raster_number(const struct zd_dtype *dtype, const void *element)
{
    if (zd_element_is_nan(dtype, element)) {
        return (double)NAN;
    }
    if (zd_dtype_is_float(dtype)) {
        return zd_element_f64(dtype, element);
    }
    const bool is_signed = dtype->kind == ZD_DTYPE_INT || zd_dtype_is_ticks(dtype);
    return is_signed ? (double)zd_element_i64(dtype, element)
                     : (double)zd_element_u64(dtype, element);
}

/* The common types have loops of their own. */
#define WIDEN(type)                                                                                \
    do {                                                                                           \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            type element;                                                                          \
            memcpy(&element, from + i * sizeof element, sizeof element);                           \
            to[i] = (double)element;                                                               \
        }                                                                                          \
    } while (0)

void zd_raster_numbers(const struct zd_dtype *dtype, const uint8_t *from, uint64_t n, double *to)
{
    const bool is_number = dtype->n_low_bits == 0 && dtype->small == NULL;
    const uint32_t bytes = is_number ? dtype->bytes : 0;
    if (dtype->kind == ZD_DTYPE_FLOAT && bytes == 4) {
        WIDEN(float);
    } else if (dtype->kind == ZD_DTYPE_FLOAT && bytes == 8) {
        WIDEN(double);
    } else if (dtype->kind == ZD_DTYPE_UINT && bytes == 1) {
        WIDEN(uint8_t);
    } else if (dtype->kind == ZD_DTYPE_UINT && bytes == 2) {
        WIDEN(uint16_t);
    } else if (dtype->kind == ZD_DTYPE_INT && bytes == 1) {
        WIDEN(int8_t);
    } else if (dtype->kind == ZD_DTYPE_INT && bytes == 2) {
        WIDEN(int16_t);
    } else if (dtype->kind == ZD_DTYPE_INT && bytes == 4) {
        WIDEN(int32_t);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            to[i] = zd_raster_number(dtype, from + i * dtype->bytes);
        }
    }
}

/* Sums are of distances to the first value, so that equal values have exactly that mean. */
static void choose_base(struct zd_raster *raster, const double *value, uint64_t n)
{
    for (uint64_t i = 0; !raster->has_base && i < n; i++) {
        raster->has_base = isfinite(value[i]) != 0;
        raster->base = raster->has_base ? value[i] : 0;
    }
}

/* Add a row of n columns; NaN counts nothing. */
static void add_row(struct sums *sums, const double *value, double base, double weight)
{
    for (uint64_t i = 0; i < sums->n; i++) {
        const bool counts = value[i] == value[i];
        sums->value[i] += counts ? (value[i] - base) * weight : 0;
        sums->weight[i] += counts ? weight : 0;
    }
}

/* Give the columns to their cells. @param x of the first column @param channel of them all */
static void flush(
    struct zd_raster *raster, uint64_t cell_y, uint64_t x, struct sums *sums, uint32_t channel)
{
    const struct zd_scale *scale = &raster->x;
    const uint64_t row = cell_y * scale->n_cells;
    uint64_t cell = zd_scale_cell(scale, x);
    for (uint64_t i = 0; i < sums->n;) {
        const uint64_t from = (x + i) * scale->den;
        const uint64_t cell_end = (cell + 1) * scale->num;
        const uint64_t at = (row + cell) * raster->n_channels + channel;
        if (from + scale->den <= cell_end) {
            raster->value[at] += sums->value[i] * (double)scale->den;
            raster->weight[at] += sums->weight[i] * (double)scale->den;
            i++;
            cell += from + scale->den == cell_end;
            continue;
        }
        const double before = (double)(cell_end - from);
        const double after = (double)(from + scale->den - cell_end);
        raster->value[at] += sums->value[i] * before;
        raster->weight[at] += sums->weight[i] * before;
        raster->value[at + raster->n_channels] += sums->value[i] * after;
        raster->weight[at + raster->n_channels] += sums->weight[i] * after;
        i++;
        cell++;
    }
    memset(sums->value, 0, sums->n * sizeof *sums->value);
    memset(sums->weight, 0, sums->n * sizeof *sums->weight);
}

/* Widen one channel of a row of a box, columns x .. x + n - 1; both are counted in the box. */
static void widen_row(const struct zd_raster *raster, const struct zd_raster_box *box,
    const uint8_t *row, uint64_t x, uint64_t n, uint32_t channel, double *to)
{
    if (box->n_channels == 1) {
        zd_raster_numbers(&raster->dtype, row + x * raster->dtype.bytes, n, to);
        return;
    }
    for (uint64_t i = 0; i < n; i++) { /* uint8 */
        to[i] = (double)row[(x + i) * box->n_channels + channel];
    }
}

/* Columns x .. x + n - 1 of one channel; both are counted in the box. */
static void add_columns(struct zd_raster *raster, const struct zd_raster_box *box,
    const uint8_t *elements, uint64_t x, uint64_t n, uint32_t channel)
{
    const uint64_t row_bytes = box->n_x * box->n_channels * raster->dtype.bytes;
    const struct zd_scale *scale = &raster->y;
    struct sums sums = {.n = n};
    double value[ZD_RASTER_LOT];
    uint64_t cell = zd_scale_cell(scale, box->y);
    for (uint64_t y = 0; y < box->n_y; y++) {
        const uint64_t from = (box->y + y) * scale->den;
        const uint64_t cell_end = (cell + 1) * scale->num;
        const bool is_split = from + scale->den > cell_end;
        widen_row(raster, box, elements + y * row_bytes, x, n, channel, value);
        choose_base(raster, value, n);
        add_row(&sums, value, raster->base, (double)(is_split ? cell_end - from : scale->den));
        if (from + scale->den < cell_end) {
            continue;
        }
        flush(raster, cell, box->x + x, &sums, box->channel + channel);
        cell++;
        if (is_split) {
            add_row(&sums, value, raster->base, (double)(from + scale->den - cell_end));
        }
    }
    if (cell < scale->n_cells) {
        flush(raster, cell, box->x + x, &sums, box->channel + channel);
    }
}

/* Each element is a cell. */
static void put(struct zd_raster *raster, const struct zd_raster_box *box, const uint8_t *elements)
{
    const uint64_t row_bytes = box->n_x * box->n_channels * raster->dtype.bytes;
    for (uint64_t y = 0; y < box->n_y; y++) {
        const uint8_t *row = elements + y * row_bytes;
        double *to =
            raster->value + ((box->y + y) * raster->x.n_cells + box->x) * raster->n_channels;
        if (box->n_channels == raster->n_channels) {
            zd_raster_numbers(&raster->dtype, row, box->n_x * box->n_channels, to);
            continue;
        }
        for (uint64_t i = 0; i < box->n_x * box->n_channels; i++) { /* uint8 */
            to[i / box->n_channels * raster->n_channels + box->channel + i % box->n_channels] =
                (double)row[i];
        }
    }
}

void zd_raster_add(
    struct zd_raster *raster, const struct zd_raster_box *box, const uint8_t *elements)
{
    if (raster->weight == NULL) {
        put(raster, box, elements);
        return;
    }
    for (uint64_t x = 0; x < box->n_x; x += ZD_RASTER_LOT) {
        const uint64_t n = zd_min_u64(box->n_x - x, ZD_RASTER_LOT);
        for (uint32_t channel = 0; channel < box->n_channels; channel++) {
            add_columns(raster, box, elements, x, n, channel);
        }
    }
}

/* The same number for a row of cells, of which so much is covered. */
static void fill_row(struct zd_raster *raster, const struct zd_raster_box *box, uint64_t cell_y,
    double value, double weight)
{
    const struct zd_scale *scale = &raster->x;
    const uint64_t last = zd_scale_cell(scale, box->x + box->n_x - 1) + 1;
    for (uint64_t x = zd_scale_cell(scale, box->x); x <= last && x < scale->n_cells; x++) {
        const double share = weight * (double)zd_scale_overlap(scale, box->x, box->x + box->n_x, x);
        for (uint32_t channel = 0; channel < box->n_channels && share > 0; channel++) {
            const uint64_t at =
                (cell_y * scale->n_cells + x) * raster->n_channels + box->channel + channel;
            if (raster->weight == NULL) {
                raster->value[at] = value;
                continue;
            }
            raster->value[at] += (value - raster->base) * share;
            raster->weight[at] += share;
        }
    }
}

void zd_raster_add_fill(
    struct zd_raster *raster, const struct zd_raster_box *box, const void *element)
{
    const struct zd_scale *scale = &raster->y;
    const double value = zd_raster_number(&raster->dtype, element);
    const uint64_t last = zd_scale_cell(scale, box->y + box->n_y - 1) + 1;
    if (isnan(value) && raster->weight != NULL) {
        return;
    }
    choose_base(raster, &value, 1);
    for (uint64_t y = zd_scale_cell(scale, box->y); y <= last && y < scale->n_cells; y++) {
        const uint64_t covered = zd_scale_overlap(scale, box->y, box->y + box->n_y, y);
        if (covered > 0) {
            fill_row(raster, box, y, value, (double)covered);
        }
    }
}

void zd_raster_settle(struct zd_raster *raster, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; raster->weight != NULL && i < end; i++) {
        const double mean = raster->value[i] / raster->weight[i]; /* 0 / 0 is NaN */
        raster->value[i] = raster->base + mean;
    }
}
