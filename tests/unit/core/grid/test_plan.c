/* Facts about core/grid/plan. */
#include "core/grid/plan.h"

#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define N_RANDOM_CASES 5000

/* Marks the elements of a part, and checks each against the selection. */
static void take_part(const struct zd_grid *grid, const struct zd_selection *selection,
    const struct zd_part *part, uint8_t *taken)
{
    uint64_t n_elements = 1;
    for (uint32_t d = 0; d < grid->rank; d++) {
        ck_assert_uint_ge(part->count[d], 1);
        ck_assert(part->count[d] > 1 || part->step[d] == 1);
        n_elements *= part->count[d];
    }
    ck_assert_int_eq(zd_grid_check(grid, part->chunk, NULL), ZD_OK);
    for (uint64_t i = 0; i < n_elements; i++) {
        uint64_t left = i;
        uint64_t place = 0;
        uint64_t scale = 1;
        for (uint32_t d = grid->rank; d-- > 0;) {
            const uint64_t at = left % part->count[d];
            left /= part->count[d];
            const uint64_t in_chunk = part->from[d] + at * (uint64_t)part->step[d];
            const struct zd_cell cell = zd_unit_cell(grid, d, part->chunk[d]);
            ck_assert_uint_lt(in_chunk, cell.edge);
            const uint64_t x = cell.origin + in_chunk;
            ck_assert_uint_lt(x, grid->shape[d]);
            ck_assert_uint_eq(x, zd_axis_at(&selection->axis[d], part->to[d] + at));
            place += (part->to[d] + at) * scale;
            scale *= selection->axis[d].count;
        }
        ck_assert_uint_lt(place, ZD_UNIT_ELEMENTS_MAX);
        ck_assert_uint_eq(taken[place], 0);
        taken[place] = 1;
    }
}

static bool is_after(uint32_t rank, const uint64_t *a, const uint64_t *b)
{
    uint32_t d = 0;
    while (d < rank && a[d] == b[d]) {
        d++;
    }
    return d < rank && a[d] > b[d];
}

static void check_cover(const struct zd_grid *grid, const struct zd_part *part)
{
    bool covers = true;
    bool covers_inside = true;
    struct zd_selection selection;
    zd_plan_part_selection(grid, part, &selection);
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_cell cell = zd_unit_cell(grid, d, part->chunk[d]);
        covers = covers && part->count[d] == cell.edge;
        covers_inside =
            covers_inside && part->count[d] == zd_min_u64(cell.edge, grid->shape[d] - cell.origin);
        ck_assert_uint_eq(selection.axis[d].start, cell.origin + part->from[d]);
    }
    ck_assert_int_eq(zd_plan_part_covers(grid, part), covers);
    ck_assert_int_eq(zd_plan_part_covers_inside(grid, part), covers_inside);
}

START_TEST(random_plans_take_every_element_once_in_order)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct zd_grid grid;
        struct zd_selection selection;
        uint64_t room[ZD_UNIT_RANK_MAX][ZD_UNIT_SIDE_MAX];
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        if (round % 4 == 0) {
            zd_unit_random_lists(&grid, &selection, room);
        }
        uint8_t taken[ZD_UNIT_ELEMENTS_MAX] = {0};
        struct zd_plan plan;
        zd_plan_init(&plan, &grid, &selection);
        struct zd_part part = {0};
        struct zd_part last = {0};
        uint64_t n_parts = 0;
        for (; zd_plan_next(&plan, &part); n_parts++) {
            check_cover(&grid, &part);
            ck_assert(n_parts == 0 || is_after(grid.rank, part.to, last.to));
            take_part(&grid, &selection, &part, taken);
            last = part;
        }
        ck_assert(!zd_plan_next(&plan, &part));
        uint64_t n_elements = 0;
        ck_assert(!zd_selection_overflows(&selection, &n_elements));
        for (uint64_t i = 0; i < n_elements; i++) {
            ck_assert_uint_eq(taken[i], 1);
        }
        uint64_t n_told = 0;
        ck_assert(!zd_plan_overflows(&grid, &selection, &n_told));
        ck_assert_uint_eq(n_told, n_parts);
    }
}
END_TEST

#define TOP UINT64_MAX

/* A single dimension; the plan must end, whatever the sizes. */
static const struct edge_fact {
    uint64_t shape;
    uint64_t chunk;
    uint64_t start;
    uint64_t count;
    int64_t step;
    uint64_t n_parts;
    uint64_t last_chunk;
    uint64_t last_from;
} edge_facts[] = {
    {0, 1, 0, 0, 1, 0, 0, 0}, {0, TOP, 0, 0, 1, 0, 0, 0}, {1, 1, 0, 1, 1, 1, 0, 0},
    {1, TOP, 0, 1, INT64_MAX, 1, 0, 0}, {10, TOP, 9, 10, -1, 1, 0, 9},
    {10, TOP, 9, 1, -INT64_MAX, 1, 0, 9}, {TOP, TOP, 0, TOP, 1, 1, 0, 0},
    {TOP, TOP - 1, 0, TOP, 1, 2, 1, 0}, {TOP, TOP, TOP - 1, TOP, -1, 1, 0, TOP - 1},
    {TOP, 1, 0, 3, INT64_MAX, 3, TOP - 1, 0}, {TOP, 1, TOP - 1, 3, -INT64_MAX, 3, 0, 0},
    {TOP, 2, 0, 3, INT64_MAX, 3, TOP / 2, 0}, {TOP, INT64_MAX, 0, 3, INT64_MAX, 3, 2, 0},
    {TOP, UINT64_C(1) << 63, 0, 3, INT64_MAX, 2, 1, INT64_MAX - 1},
    {TOP, 1, TOP - 1, 1, 1, 1, TOP - 1, 0}, {TOP, 3, TOP - 4, 4, 1, 2, TOP / 3 - 1, 0},
    {100, 10, 0, 10, 10, 10, 9, 0}, /* a step of one chunk */
    {100, 10, 0, 10, 11, 10, 9, 9}, /* limit + 1 */
    {100, 10, 0, 12, 9, 10, 9, 0},  /* limit - 1 */
    {100, 10, 99, 4, -30, 4, 0, 9}, /* chunks are skipped backwards too */
};

START_TEST(plans_at_the_edges_of_64_bits_end)
{
    const struct edge_fact *fact = &edge_facts[_i];
    const struct zd_grid grid = {.rank = 1, .shape = {fact->shape}, .chunk = {fact->chunk}};
    const struct zd_selection selection = {
        .rank = 1, .axis = {{.start = fact->start, .count = fact->count, .step = fact->step}}};
    uint64_t n_told = TOP;
    ck_assert(!zd_plan_overflows(&grid, &selection, &n_told));
    ck_assert_uint_eq(n_told, fact->n_parts);
    struct zd_plan plan;
    zd_plan_init(&plan, &grid, &selection);
    struct zd_part part = {0};
    uint64_t n_parts = 0;
    uint64_t n_elements = 0;
    while (zd_plan_next(&plan, &part)) {
        ck_assert_uint_lt(n_parts, fact->n_parts);
        ck_assert_uint_eq(part.to[0], n_elements);
        n_parts++;
        n_elements += part.count[0];
    }
    ck_assert_uint_eq(n_parts, fact->n_parts);
    ck_assert_uint_eq(n_elements, fact->count);
    ck_assert_uint_eq(part.chunk[0], fact->last_chunk);
    ck_assert_uint_eq(part.from[0], fact->last_from);
}
END_TEST

START_TEST(a_plan_of_rank_0_has_one_part)
{
    const struct zd_grid grid = {.rank = 0};
    const struct zd_selection selection = {.rank = 0};
    struct zd_plan plan;
    struct zd_part part = {0};
    zd_plan_init(&plan, &grid, &selection);
    ck_assert(zd_plan_next(&plan, &part));
    ck_assert(!zd_plan_next(&plan, &part));
    uint64_t n_parts = 0;
    ck_assert(!zd_plan_overflows(&grid, &selection, &n_parts));
    ck_assert_uint_eq(n_parts, 1);
}
END_TEST

START_TEST(part_counts_beyond_64_bits_are_told)
{
    const struct zd_grid grid = {.rank = 2, .shape = {TOP, 2}, .chunk = {1, 1}};
    struct zd_selection selection;
    zd_selection_whole(2, grid.shape, &selection);
    uint64_t n_parts = 0;
    ck_assert(zd_plan_overflows(&grid, &selection, &n_parts));
    selection.axis[1].count = 1;
    ck_assert(!zd_plan_overflows(&grid, &selection, &n_parts));
    ck_assert_uint_eq(n_parts, TOP);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, random_plans_take_every_element_once_in_order);
    tcase_add_loop_test(tests, plans_at_the_edges_of_64_bits_end, 0, ZD_COUNT_OF(edge_facts));
    tcase_add_test(tests, a_plan_of_rank_0_has_one_part);
    tcase_add_test(tests, part_counts_beyond_64_bits_are_told);
}
