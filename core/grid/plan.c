/* A plan: an odometer over the chunks that a selection touches. */
#include "core/grid/plan.h"

#include "core/base/num.h"
#include "core/grid/touch.h"

void zd_plan_init(
    struct zd_plan *plan, const struct zd_grid *grid, const struct zd_selection *selection)
{
    assert(grid->rank == selection->rank);
    *plan = (struct zd_plan){.grid = grid, .selection = selection};
    for (uint32_t d = 0; d < selection->rank; d++) {
        plan->done = plan->done || selection->axis[d].count == 0;
    }
}

/* The same of a list. */
static void plan_list(const struct zd_plan *plan, uint32_t dim, struct zd_part *part)
{
    const struct zd_axis *axis = &plan->selection->axis[dim];
    const uint64_t to = plan->next[dim];
    const uint64_t position = axis->is_joint ? plan->next[0] : to;
    const uint64_t x = axis->list[position];
    const struct zd_cell cell = zd_grid_cell_at(plan->grid, dim, x);
    part->chunk[dim] = cell.index;
    part->from[dim] = x - cell.origin;
    part->count[dim] = zd_touch_list_run(plan->grid, dim, axis, position, &part->step[dim]);
    part->to[dim] = to;
}

/* Plan a dimension of the next part. */
static void plan_axis(const struct zd_plan *plan, uint32_t dim, struct zd_part *part)
{
    const struct zd_axis *axis = &plan->selection->axis[dim];
    if (axis->list != NULL) {
        plan_list(plan, dim, part);
        return;
    }
    const uint64_t stride = zd_axis_stride(axis);
    const uint64_t to = plan->next[dim];
    const uint64_t x = zd_axis_at(axis, to);
    const struct zd_cell cell = zd_grid_cell_at(plan->grid, dim, x);
    const uint64_t from = x - cell.origin;
    const uint64_t ahead = axis->step < 0 ? from : cell.edge - 1 - from;
    const uint64_t n_more = zd_min_u64(ahead / stride, axis->count - 1 - to);
    part->chunk[dim] = cell.index;
    part->from[dim] = from;
    part->step[dim] = n_more == 0 ? 1 : axis->step;
    part->count[dim] = n_more + 1;
    part->to[dim] = to;
}

bool zd_plan_next(struct zd_plan *plan, struct zd_part *ret_part)
{
    if (plan->done) {
        return false;
    }
    const uint32_t rank = plan->grid->rank;
    for (uint32_t d = 0; d < rank; d++) {
        plan_axis(plan, d, ret_part);
    }
    plan->done = true;
    for (uint32_t d = rank; d-- > 0 && plan->done;) {
        plan->next[d] += ret_part->count[d];
        if (plan->next[d] < plan->selection->axis[d].count) {
            plan->done = false;
        } else {
            plan->next[d] = 0;
        }
    }
    return true;
}

bool zd_plan_overflows(
    const struct zd_grid *grid, const struct zd_selection *selection, uint64_t *ret_n_parts)
{
    assert(grid->rank == selection->rank);
    uint64_t n_parts[ZD_RANK_MAX];
    for (uint32_t d = 0; d < grid->rank; d++) {
        n_parts[d] = zd_touch_of(grid, selection, d).n;
    }
    return zd_product_overflows(ret_n_parts, n_parts, grid->rank);
}

bool zd_plan_part_covers_inside(const struct zd_grid *grid, const struct zd_part *part)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_cell cell = zd_grid_cell_of(grid, d, part->chunk[d]);
        const uint64_t n_inside = cell.origin < grid->shape[d] ? grid->shape[d] - cell.origin : 0;
        if (part->count[d] < zd_min_u64(cell.edge, n_inside)) {
            return false;
        }
    }
    return true;
}

bool zd_plan_part_covers(const struct zd_grid *grid, const struct zd_part *part)
{
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(grid, part->chunk, space);
    for (uint32_t d = 0; d < grid->rank; d++) {
        if (part->count[d] < shape[d]) {
            return false;
        }
    }
    return true;
}

void zd_plan_part_selection(
    const struct zd_grid *grid, const struct zd_part *part, struct zd_selection *ret_selection)
{
    *ret_selection = (struct zd_selection){.rank = grid->rank};
    for (uint32_t d = 0; d < grid->rank; d++) {
        ret_selection->axis[d] = (struct zd_axis){
            .start = zd_grid_cell_of(grid, d, part->chunk[d]).origin + part->from[d],
            .count = part->count[d],
            .step = part->step[d],
        };
    }
}
