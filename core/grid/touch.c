/* The chunks that a selection touches, numbered: without a list, along one dimension at a time. */
#include "core/grid/touch.h"

#include "core/base/num.h"

static uint64_t chunk_of(const struct zd_touch *touch, uint64_t position)
{
    return zd_axis_at(&touch->axis, position) / touch->chunk;
}

struct zd_touch zd_touch_of(
    const struct zd_grid *grid, const struct zd_selection *selection, uint32_t dim)
{
    struct zd_touch touch = {.axis = selection->axis[dim], .chunk = grid->chunk[dim]};
    touch.stride = zd_axis_stride(&touch.axis);
    touch.per_chunk_max = 1;
    if (touch.axis.count == 0) {
        return touch;
    }
    if (touch.stride >= touch.chunk) {
        touch.n = touch.axis.count;
        return touch;
    }
    const uint64_t first = chunk_of(&touch, 0);
    const uint64_t last = chunk_of(&touch, touch.axis.count - 1);
    touch.n = (first < last ? last - first : first - last) + 1;
    touch.per_chunk_max = zd_min_u64(touch.axis.count, zd_div_up(touch.chunk, touch.stride));
    return touch;
}

/* How far the axis walks from its start to the near edge of a chunk that lies ahead of it. */
static uint64_t way_to(const struct zd_touch *touch, uint64_t index)
{
    const uint64_t begin = index * touch->chunk;
    if (touch->axis.step > 0) {
        return begin <= touch->axis.start ? 0 : begin - touch->axis.start;
    }
    uint64_t end; /* the chunk's last element; past 2^64 it lies behind the start anyway */
    if (ckd_add(&end, begin, touch->chunk - 1) || end >= touch->axis.start) {
        return 0;
    }
    return touch->axis.start - end;
}

uint64_t zd_touch_first(const struct zd_touch *touch, uint64_t i)
{
    if (i >= touch->n) {
        return touch->axis.count;
    }
    if (touch->stride >= touch->chunk) {
        return i;
    }
    const uint64_t first = chunk_of(touch, 0);
    const uint64_t index = touch->axis.step < 0 ? first - i : first + i;
    return zd_div_up(way_to(touch, index), touch->stride);
}

uint64_t zd_touch_number(const struct zd_touch *touch, uint64_t index)
{
    assert(touch->n > 0);
    uint64_t number;
    if (touch->stride >= touch->chunk) {
        number = zd_div_up(way_to(touch, index), touch->stride);
    } else {
        const uint64_t first = chunk_of(touch, 0);
        number = touch->axis.step < 0 ? first - index : index - first;
    }
    assert(number < touch->n);
    return number;
}

uint64_t zd_touch_row_elements(const struct zd_grid *grid, const struct zd_selection *selection)
{
    uint64_t row = 1;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_touch touch = zd_touch_of(grid, selection, d);
        row *= row > 1 ? touch.axis.count : touch.per_chunk_max; /* at most all elements */
    }
    return row;
}
