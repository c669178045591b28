/* Random small grids and selections, for checks against brute force. */
#include "tests/support/geometry.h"

#include "tests/support/unit.h"

static struct zd_axis random_axis(uint64_t shape)
{
    if (shape > 0 && zd_unit_random() % 5 == 0) {
        return (struct zd_axis){
            .start = zd_unit_random() % shape, .count = 1, .step = 1, .dropped = true};
    }
    const int64_t stride = 1 + (int64_t)(zd_unit_random() % 5);
    const uint64_t count_max = zd_div_up(shape, (uint64_t)stride);
    const bool is_empty = count_max == 0 || zd_unit_random() % 50 == 0;
    if (is_empty) {
        return (struct zd_axis){.step = 1};
    }
    const uint64_t count = 1 + zd_unit_random() % count_max;
    const uint64_t extent = (count - 1) * (uint64_t)stride + 1;
    const uint64_t least = zd_unit_random() % (shape - extent + 1);
    const bool backwards = zd_unit_random() % 2 == 0;
    return (struct zd_axis){
        .start = backwards ? least + extent - 1 : least,
        .count = count,
        .step = backwards ? -stride : stride,
    };
}

void zd_unit_random_case(struct zd_grid *ret_grid, struct zd_selection *ret_selection)
{
    struct zd_grid grid = {.rank = (uint32_t)(zd_unit_random() % (ZD_UNIT_RANK_MAX + 1))};
    struct zd_selection selection = {.rank = grid.rank};
    for (uint32_t d = 0; d < grid.rank; d++) {
        const bool is_empty = zd_unit_random() % 50 == 0;
        grid.shape[d] = is_empty ? 0 : 1 + zd_unit_random() % ZD_UNIT_SIDE_MAX;
        grid.chunk[d] = 1 + zd_unit_random() % (ZD_UNIT_SIDE_MAX + 2);
        selection.axis[d] = random_axis(grid.shape[d]);
    }
    *ret_grid = grid;
    *ret_selection = selection;
}

/* Make as many edges as the shape needs, or more. */
static void random_axis_edges(struct zd_grid *grid, struct zd_edges *edges, uint32_t dim)
{
    const struct zd_edge_axis *axis = &edges->axis[dim];
    const uint64_t n_surplus = zd_unit_random() % 8 == 0 ? 2 : 0;
    for (uint64_t i = 0; axis->extent < grid->shape[dim] || i < n_surplus; i++) {
        const uint64_t edge = 1 + zd_unit_random() % (ZD_UNIT_SIDE_MAX - 2);
        ck_assert_int_eq(zd_edges_add(edges, dim, edge, 1 + zd_unit_random() % 3), ZD_OK);
    }
    ck_assert_int_eq(zd_edges_add(edges, dim, 1, 0), ZD_OK);
    grid->chunk[dim] = zd_max_u64(axis->longest, 1);
}

struct zd_edges *zd_unit_random_edges(struct zd_grid *grid)
{
    if (zd_unit_random() % 2 == 0) {
        return NULL;
    }
    struct zd_edges *edges = zd_edges_new();
    ck_assert_ptr_nonnull(edges);
    for (uint32_t d = 0; d < grid->rank; d++) {
        if (zd_unit_random() % 4 != 0) {
            random_axis_edges(grid, edges, d);
        }
    }
    grid->edges = edges;
    return edges;
}

void zd_unit_random_lists(const struct zd_grid *grid, struct zd_selection *selection,
    uint64_t room[ZD_UNIT_RANK_MAX][ZD_UNIT_SIDE_MAX])
{
    for (uint32_t d = 0; d < selection->rank; d++) {
        struct zd_axis *axis = &selection->axis[d];
        if (axis->count == 0 || axis->dropped || zd_unit_random() % 2 == 0) {
            continue;
        }
        for (uint64_t i = 0; i < axis->count; i++) {
            const uint64_t next = i == 0 ? 0 : room[d][i - 1] + 1;
            room[d][i] = (zd_unit_random() % 2 == 0 ? next : zd_unit_random()) % grid->shape[d];
        }
        *axis =
            (struct zd_axis){.start = room[d][0], .count = axis->count, .step = 1, .list = room[d]};
    }
}

struct zd_cell zd_unit_cell(const struct zd_grid *grid, uint32_t dim, uint64_t index)
{
    struct zd_cell cell = {.index = index};
    const struct zd_edge_axis *axis = grid->edges == NULL ? NULL : &grid->edges->axis[dim];
    for (uint64_t i = 0; i <= index; i++) {
        cell.origin += cell.edge;
        cell.edge = grid->chunk[dim];
        for (size_t r = 0; axis != NULL && axis->is_irregular && r < axis->n_runs; r++) {
            cell.edge = axis->run[r].first <= i ? axis->run[r].edge : cell.edge;
        }
    }
    return cell;
}

void zd_unit_coordinates(const struct zd_selection *selection, uint64_t i, uint64_t *ret_x)
{
    for (uint32_t d = selection->rank; d-- > 0;) {
        const struct zd_axis *axis = &selection->axis[d];
        const uint64_t at = i % axis->count;
        const int64_t x = axis->list != NULL ? (int64_t)axis->list[at]
                                             : (int64_t)axis->start + (int64_t)at * axis->step;
        ck_assert_int_ge(x, 0);
        ret_x[d] = (uint64_t)x;
        i /= axis->count;
    }
}
