/* Copying a box of elements between two memories in which its axes lie differently.
 *
 * The last axis is the one that neighbours in the target. When another axis neighbours in the
 * source, as in a transposition, the two are walked in square tiles, so that every cache line that
 * is fetched is used up before it leaves the cache. */
#include "core/codec/strided.h"

#include <string.h>

#include "core/base/num.h"

#define TILE 32U

void zd_strided_dense(
    uint32_t rank, const uint64_t *shape, uint64_t element_bytes, uint64_t ret_stride[ZD_RANK_MAX])
{
    uint64_t stride = element_bytes;
    for (uint32_t i = rank; i-- > 0;) {
        ret_stride[i] = stride;
        stride *= shape[i];
    }
}

static void drop_single_axes(struct zd_strided *box)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < box->rank; i++) {
        if (box->count[i] != 1) {
            box->count[rank] = box->count[i];
            box->to[rank] = box->to[i];
            box->from[rank] = box->from[i];
            rank++;
        }
    }
    box->rank = rank;
}

/* Two neighbouring axes are one when stepping along the first is stepping over all of the second,
 * on both sides. */
static void merge_axes(struct zd_strided *box)
{
    uint32_t last = 0; /* of the axes kept */
    for (uint32_t i = 1; i < box->rank; i++) {
        if (box->to[last] == box->to[i] * box->count[i] &&
            box->from[last] == box->from[i] * (int64_t)box->count[i]) {
            box->count[last] *= box->count[i];
        } else {
            last++;
            box->count[last] = box->count[i];
        }
        box->to[last] = box->to[i];
        box->from[last] = box->from[i];
    }
    box->rank = box->rank == 0 ? 0 : last + 1;
}

void zd_strided_fold(struct zd_strided *box)
{
    drop_single_axes(box);
    merge_axes(box);
    const uint32_t rank = box->rank;
    const int64_t run_bytes = (int64_t)box->run_bytes;
    if (rank > 0 && box->to[rank - 1] == box->run_bytes && box->from[rank - 1] == run_bytes) {
        box->run_bytes *= box->count[rank - 1];
        box->rank = rank - 1;
    }
}

/* Two axes: `row` neighbours in the source, `column` in the target. */
struct plane {
    uint64_t rows;
    uint64_t columns;
    uint64_t to_row;
    uint64_t to_column;
    int64_t from_row;
    int64_t from_column;
};

static uint64_t distance(int64_t step)
{
    return step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
}

/* Copy a tile of a plane. Inlined with a constant run_bytes, so that copying a run is one
 * instruction.
 */
static inline void copy_runs(
    const struct plane *tile, uint64_t run_bytes, uint8_t *to, const uint8_t *from)
{
    const int64_t n_columns = (int64_t)tile->columns;
    for (int64_t row = 0; row < (int64_t)tile->rows; row++) {
        uint8_t *out = to + row * (int64_t)tile->to_row;
        const uint8_t *in = from + row * tile->from_row;
        for (int64_t column = 0; column < n_columns; column++) {
            memcpy(out + column * (int64_t)tile->to_column, in + column * tile->from_column,
                run_bytes);
        }
    }
}

/* The same where columns neighbour in the target, which is a constant too. */
static inline void copy_dense_runs(
    const struct plane *tile, uint64_t run_bytes, uint8_t *to, const uint8_t *from)
{
    struct plane dense = *tile;
    dense.to_column = run_bytes;
    copy_runs(&dense, run_bytes, to, from);
}

static inline void copy_tile_of(
    const struct plane *tile, uint64_t run_bytes, uint8_t *to, const uint8_t *from)
{
    if (tile->to_column == run_bytes) {
        copy_dense_runs(tile, run_bytes, to, from);
    } else {
        copy_runs(tile, run_bytes, to, from);
    }
}

static void copy_tile(
    const struct plane *tile, uint64_t run_bytes, uint8_t *to, const uint8_t *from)
{
    switch (run_bytes) {
    case 1:
        copy_tile_of(tile, 1, to, from);
        return;
    case 2:
        copy_tile_of(tile, 2, to, from);
        return;
    case 4:
        copy_tile_of(tile, 4, to, from);
        return;
    case 8:
        copy_tile_of(tile, 8, to, from);
        return;
    case 16:
        copy_tile_of(tile, 16, to, from);
        return;
    default:
        copy_runs(tile, run_bytes, to, from);
    }
}

static void copy_plane(
    const struct plane *plane, uint64_t run_bytes, uint8_t *to, const uint8_t *from)
{
    if (distance(plane->from_column) <= distance(plane->from_row)) {
        copy_tile(plane, run_bytes, to, from); /* no transposition: row by row */
        return;
    }
    struct plane tile = *plane;
    for (uint64_t row = 0; row < plane->rows; row += TILE) {
        tile.rows = zd_min_u64(TILE, plane->rows - row);
        for (uint64_t column = 0; column < plane->columns; column += TILE) {
            tile.columns = zd_min_u64(TILE, plane->columns - column);
            copy_tile(&tile, run_bytes, to + row * plane->to_row + column * plane->to_column,
                from + (int64_t)row * plane->from_row + (int64_t)column * plane->from_column);
        }
    }
}

/* The axis that lies closest in the source, before the last one. */
static uint32_t closest_axis(const struct zd_strided *box)
{
    uint32_t closest = box->rank - 2;
    for (uint32_t i = 0; i + 1 < box->rank; i++) {
        if (distance(box->from[i]) < distance(box->from[closest])) {
            closest = i;
        }
    }
    return closest;
}

static struct plane plane_of(const struct zd_strided *box, uint32_t row_axis)
{
    const uint32_t last = box->rank - 1;
    return (struct plane){
        .rows = row_axis == last ? 1 : box->count[row_axis],
        .columns = box->count[last],
        .to_row = box->to[row_axis],
        .to_column = box->to[last],
        .from_row = box->from[row_axis],
        .from_column = box->from[last],
    };
}

void zd_strided_copy(const struct zd_strided *box, uint8_t *to, const uint8_t *from)
{
    if (box->rank == 0) {
        memcpy(to, from, box->run_bytes);
        return;
    }
    const uint32_t last = box->rank - 1;
    const uint32_t row_axis = box->rank == 1 ? last : closest_axis(box);
    const struct plane plane = plane_of(box, row_axis);
    uint64_t at[ZD_RANK_MAX] = {0}; /* along the axes outside the plane */
    uint32_t axis;
    do {
        copy_plane(&plane, box->run_bytes, to, from);
        for (axis = last; axis-- > 0;) {
            if (axis == row_axis) {
                continue;
            }
            to += box->to[axis];
            from += box->from[axis];
            if (++at[axis] < box->count[axis]) {
                break;
            }
            to -= box->to[axis] * box->count[axis];
            from -= box->from[axis] * (int64_t)box->count[axis];
            at[axis] = 0;
        }
    } while (axis < last);
}
