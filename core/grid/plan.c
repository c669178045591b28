/* A plan: an odometer over the chunks that a selection touches. */
#include "core/grid/plan.h"

#include "core/base/num.h"

void zd_plan_init(
    struct zd_plan *plan, const struct zd_grid *grid, const struct zd_selection *selection)
{
    assert(grid->rank == selection->rank);
    *plan = (struct zd_plan){.grid = grid, .selection = selection};
    for (uint32_t d = 0; d < selection->rank; d++) {
        plan->done = plan->done || selection->axis[d].count == 0;
    }
}

/* What one dimension of the next part is. */
static void plan_axis(const struct zd_plan *plan, uint32_t dim, struct zd_part *part)
{
    const struct zd_axis *axis = &plan->selection->axis[dim];
    const uint64_t stride = zd_axis_stride(axis);
    const uint64_t chunk = plan->grid->chunk[dim];
    const uint64_t to = plan->next[dim];
    const uint64_t x = zd_axis_at(axis, to);
    const uint64_t from = x % chunk;
    const uint64_t ahead = axis->step < 0 ? from : chunk - 1 - from;
    const uint64_t n_more = zd_min_u64(ahead / stride, axis->count - 1 - to);
    part->chunk[dim] = x / chunk;
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
        const struct zd_axis *axis = &selection->axis[d];
        const uint64_t chunk = grid->chunk[d];
        if (axis->count == 0 || zd_axis_stride(axis) >= chunk) {
            n_parts[d] = axis->count; /* no two elements share a chunk */
            continue;
        }
        /* A step shorter than a chunk cannot skip one. */
        const uint64_t first = axis->start / chunk;
        const uint64_t last = zd_axis_at(axis, axis->count - 1) / chunk;
        n_parts[d] = 1 + zd_max_u64(first, last) - zd_min_u64(first, last);
    }
    return zd_product(ret_n_parts, n_parts, grid->rank);
}

/* Where a chunk begins, which may be outside the array: an inner one of a shard at its edge. */
static uint64_t origin_of(const struct zd_grid *grid, uint32_t dim, uint64_t index)
{
    return index * grid->chunk[dim];
}

bool zd_plan_part_covers_inside(const struct zd_grid *grid, const struct zd_part *part)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        const uint64_t origin = origin_of(grid, d, part->chunk[d]);
        const uint64_t n_inside = origin < grid->shape[d] ? grid->shape[d] - origin : 0;
        if (part->count[d] < zd_min_u64(grid->chunk[d], n_inside)) {
            return false;
        }
    }
    return true;
}

bool zd_plan_part_covers(const struct zd_grid *grid, const struct zd_part *part)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        if (part->count[d] < grid->chunk[d]) {
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
            .start = origin_of(grid, d, part->chunk[d]) + part->from[d],
            .count = part->count[d],
            .step = part->step[d],
        };
    }
}
