/* The chunks that a selection touches, numbered: without a list, along one dimension at a time.
 *
 * Where chunks differ in length, a step may skip some of them and not others: then the axis is
 * walked, from one run of equal chunks that it touches to the next. */
#include "core/grid/touch.h"

#include "core/base/num.h"

/* Positions of the result side by side whose elements are in chunks of one length. */
struct stretch {
    uint64_t first; /* position */
    uint64_t last;
    uint64_t origin; /* of the first of those chunks in the grid, elements */
    uint64_t edge;
};

static uint64_t chunk_of(const struct zd_touch *touch, uint64_t position)
{
    return zd_edges_cell_at(touch->edges, touch->chunk, zd_axis_at(&touch->axis, position)).index;
}

/* The one that begins there, as the result goes. */
static struct stretch stretch_at(const struct zd_touch *touch, uint64_t position)
{
    const struct zd_edge_axis *edges = touch->edges;
    const uint64_t x = zd_axis_at(&touch->axis, position);
    const struct zd_edge_run *run = zd_edges_run_at(edges, x);
    const uint64_t length = zd_edges_count(edges, run) * run->edge;
    const uint64_t from = x - run->origin;
    const uint64_t ahead = touch->axis.step < 0 ? from : length - 1 - from;
    const uint64_t n_more = zd_min_u64(ahead / touch->stride, touch->axis.count - 1 - position);
    return (struct stretch){
        .first = position, .last = position + n_more, .origin = run->origin, .edge = run->edge};
}

/* The chunk of a stretch that has the element of a position, counted from the first in the grid. */
static uint64_t cell_in(
    const struct zd_touch *touch, const struct stretch *stretch, uint64_t position)
{
    return (zd_axis_at(&touch->axis, position) - stretch->origin) / stretch->edge;
}

/* Touched chunks from the first position of a stretch to another one, both included. */
static uint64_t count_to(
    const struct zd_touch *touch, const struct stretch *stretch, uint64_t position)
{
    if (touch->stride >= stretch->edge) {
        return position - stretch->first + 1;
    }
    const uint64_t first = cell_in(touch, stretch, stretch->first);
    const uint64_t last = cell_in(touch, stretch, position);
    return (first < last ? last - first : first - last) + 1;
}

static uint64_t count_all(const struct zd_touch *touch)
{
    uint64_t n = 0;
    for (uint64_t at = 0; at < touch->axis.count;) {
        const struct stretch stretch = stretch_at(touch, at);
        n += count_to(touch, &stretch, stretch.last);
        at = stretch.last + 1;
    }
    return n;
}

/* ---- lists ---- */

uint64_t zd_touch_list_run(const struct zd_grid *grid, uint32_t dim, const struct zd_axis *axis,
    uint64_t position, int64_t *ret_step)
{
    const uint64_t *list = axis->list + position;
    const uint64_t n_left = axis->is_joint ? 1 : axis->count - position;
    const struct zd_cell cell = zd_grid_cell_at(grid, dim, list[0]);
    uint64_t n = 1;
    *ret_step = 1;
    if (n_left == 1 || list[1] == list[0] || list[1] - cell.origin >= cell.edge) {
        return 1;
    }
    const uint64_t step = list[1] - list[0]; /* a negative one wraps */
    while (n < n_left && list[n] - list[n - 1] == step && list[n] - cell.origin < cell.edge) {
        n++;
    }
    *ret_step = (int64_t)step;
    return n;
}

static void touch_list(struct zd_touch *touch, const struct zd_grid *grid, uint32_t dim)
{
    for (uint64_t at = 0; at < touch->axis.count; touch->n++) {
        int64_t step;
        const uint64_t n = zd_touch_list_run(grid, dim, &touch->axis, at, &step);
        touch->per_chunk_max = zd_max_u64(touch->per_chunk_max, n);
        at += n;
    }
}

struct zd_touch zd_touch_of(
    const struct zd_grid *grid, const struct zd_selection *selection, uint32_t dim)
{
    struct zd_touch touch = {
        .axis = selection->axis[dim], .chunk = grid->chunk[dim], .edges = zd_grid_edges(grid, dim)};
    touch.stride = zd_axis_stride(&touch.axis);
    touch.per_chunk_max = 1;
    if (touch.axis.count == 0) {
        return touch;
    }
    if (touch.axis.list != NULL) {
        touch_list(&touch, grid, dim);
        return touch;
    }
    if (touch.stride >= touch.chunk) {
        touch.n = touch.axis.count;
        return touch;
    }
    touch.per_chunk_max = zd_min_u64(touch.axis.count, zd_div_up(touch.chunk, touch.stride));
    touch.is_mixed = touch.edges != NULL && touch.stride > touch.edges->shortest;
    if (touch.is_mixed) {
        touch.n = count_all(&touch);
        return touch;
    }
    const uint64_t first = chunk_of(&touch, 0);
    const uint64_t last = chunk_of(&touch, touch.axis.count - 1);
    touch.n = (first < last ? last - first : first - last) + 1;
    return touch;
}

/* How far the axis walks from its start to the near edge of a chunk that lies ahead of it. */
static uint64_t way_to(const struct zd_touch *touch, const struct zd_cell *cell)
{
    const uint64_t begin = cell->origin;
    if (touch->axis.step > 0) {
        return begin <= touch->axis.start ? 0 : begin - touch->axis.start;
    }
    uint64_t end; /* the chunk's last element; past 2^64 it lies behind the start anyway */
    if (ckd_add(&end, begin, cell->edge - 1) || end >= touch->axis.start) {
        return 0;
    }
    return touch->axis.start - end;
}

/* The first position in the chunk of that number, which is touched. */
static uint64_t position_of(const struct zd_touch *touch, uint64_t index)
{
    const struct zd_cell cell = zd_edges_cell_of(touch->edges, touch->chunk, index);
    return zd_div_up(way_to(touch, &cell), touch->stride);
}

/* The position where touched chunk `i` of a mixed axis begins. */
static uint64_t walk_to(const struct zd_touch *touch, uint64_t i)
{
    struct stretch stretch = stretch_at(touch, 0);
    uint64_t n_before = 0;
    uint64_t n = count_to(touch, &stretch, stretch.last);
    while (n_before + n <= i) {
        n_before += n;
        stretch = stretch_at(touch, stretch.last + 1);
        n = count_to(touch, &stretch, stretch.last);
    }
    const uint64_t n_left = i - n_before;
    if (touch->stride >= stretch.edge || n_left == 0) {
        return stretch.first + n_left;
    }
    const uint64_t first = chunk_of(touch, stretch.first);
    return position_of(touch, touch->axis.step < 0 ? first - n_left : first + n_left);
}

uint64_t zd_touch_first(const struct zd_touch *touch, uint64_t i)
{
    if (i >= touch->n) {
        return touch->axis.count;
    }
    if (touch->is_mixed) {
        return walk_to(touch, i);
    }
    if (touch->stride >= touch->chunk) {
        return i;
    }
    const uint64_t first = chunk_of(touch, 0);
    return position_of(touch, touch->axis.step < 0 ? first - i : first + i);
}

/* The number of the touched chunk where a position of a mixed axis is; the next one is likely to be
 * asked for at a later position. */
static uint64_t number_at(struct zd_touch *touch, uint64_t position)
{
    if (position < touch->near_position) {
        touch->near_position = 0;
        touch->near_number = 0;
    }
    struct stretch stretch = stretch_at(touch, touch->near_position);
    while (stretch.last < position) {
        touch->near_number += count_to(touch, &stretch, stretch.last);
        touch->near_position = stretch.last + 1;
        stretch = stretch_at(touch, touch->near_position);
    }
    return touch->near_number + count_to(touch, &stretch, position) - 1;
}

uint64_t zd_touch_number(struct zd_touch *touch, uint64_t index)
{
    assert(touch->n > 0 && touch->axis.list == NULL);
    uint64_t number;
    if (touch->is_mixed) {
        number = number_at(touch, position_of(touch, index));
    } else if (touch->stride >= touch->chunk) {
        number = position_of(touch, index);
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
