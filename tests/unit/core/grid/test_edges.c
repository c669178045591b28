/* Facts about core/grid/edges and grids that have them. */
#include "core/grid/edges.h"

#include "core/grid/grid.h"
#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define TOP      UINT64_MAX
#define RUNS_MAX 4
#define N_CASES  2000

/* Edges and their counts, one after the other, and what adding the last of them says. */
static const struct sum_fact {
    uint64_t run[RUNS_MAX][2];
    enum zd_status last;
    size_t n_runs;
    uint64_t n_chunks;
    uint64_t extent;
    uint64_t common;
} sum_facts[] = {
    {{{1, 0}}, ZD_OK, 0, 0, 0, 0}, /* no chunks at all */
    {{{1, 1}}, ZD_OK, 1, 1, 1, 1},
    {{{4, 1}, {4, 2}, {4, 3}}, ZD_OK, 1, 6, 24, 4}, /* neighbours are one run */
    {{{4, 1}, {6, 0}, {4, 1}}, ZD_OK, 1, 2, 8, 4},
    {{{4, 1}, {6, 1}, {4, 1}}, ZD_OK, 3, 3, 14, 2},
    {{{9, 2}, {6, 1}, {12, 1}}, ZD_OK, 3, 4, 36, 3},
    {{{1, UINT64_C(1) << 60}}, ZD_OK, 1, UINT64_C(1) << 60, UINT64_C(1) << 60, 1}, /* not a list */
    {{{1, TOP}}, ZD_OK, 1, TOP, TOP, 1},
    {{{TOP, 1}}, ZD_OK, 1, 1, TOP, TOP},
    {{{1, TOP}, {1, 1}}, ZD_TOO_LARGE, 1, TOP, TOP, 1},
    {{{1, TOP}, {2, 1}}, ZD_TOO_LARGE, 1, TOP, TOP, 1},
    {{{5, 1}, {UINT64_C(1) << 32, UINT64_C(1) << 32}}, ZD_TOO_LARGE, 1, 1, 5, 5},
    {{{TOP, TOP}}, ZD_TOO_LARGE, 0, 0, 0, 0},
};

START_TEST(runs_are_added_up)
{
    const struct sum_fact *fact = &sum_facts[_i];
    ZD_AUTO(zd_edges) edges = zd_edges_new();
    ck_assert_ptr_nonnull(edges);
    enum zd_status status = ZD_OK;
    for (size_t i = 0; i < RUNS_MAX && fact->run[i][0] > 0; i++) {
        ck_assert_int_eq(status, ZD_OK);
        status = zd_edges_add(edges, 3, fact->run[i][0], fact->run[i][1]);
    }
    const struct zd_edge_axis *axis = &edges->axis[3];
    ck_assert_int_eq(status, fact->last);
    ck_assert(axis->is_irregular);
    ck_assert_uint_eq(axis->n_runs, fact->n_runs);
    ck_assert_uint_eq(axis->n_chunks, fact->n_chunks);
    ck_assert_uint_eq(axis->extent, fact->extent);
    ck_assert_uint_eq(zd_edges_common(axis), fact->common);
    if (axis->extent > 0) {
        const struct zd_edge_run *last = zd_edges_run_at(axis, axis->extent - 1);
        ck_assert_ptr_eq(last, &axis->run[axis->n_runs - 1]);
        ck_assert_ptr_eq(zd_edges_run_of(axis, axis->n_chunks - 1), last);
    }
}
END_TEST

START_TEST(more_runs_than_the_limit_are_refused)
{
    ZD_AUTO(zd_edges) edges = zd_edges_new();
    ck_assert_ptr_nonnull(edges);
    for (uint64_t i = 0; i < ZD_EDGE_RUNS_MAX; i++) {
        ck_assert_int_eq(zd_edges_add(edges, 0, 1 + i % 2, 1), ZD_OK);
    }
    ck_assert_int_eq(zd_edges_add(edges, 0, 2, 1), ZD_OK); /* the last one goes on */
    ck_assert_int_eq(zd_edges_add(edges, 0, 1, 1), ZD_UNSUPPORTED);
    ck_assert_uint_eq(edges->axis[0].n_chunks, ZD_EDGE_RUNS_MAX + 1);
}
END_TEST

START_TEST(cells_are_those_that_are_counted_one_by_one)
{
    for (int n = 0; n < N_CASES; n++) {
        struct zd_grid grid;
        struct zd_selection selection;
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        for (uint32_t d = 0; d < grid.rank; d++) {
            uint64_t x = 0;
            for (uint64_t i = 0; i < zd_grid_count(&grid, d); i++) {
                const struct zd_cell cell = zd_unit_cell(&grid, d, i);
                for (; x < cell.origin + cell.edge; x++) {
                    const struct zd_cell at = zd_grid_cell_at(&grid, d, x);
                    ck_assert_uint_eq(at.index, i);
                    ck_assert_uint_eq(at.origin, cell.origin);
                    ck_assert_uint_eq(at.edge, cell.edge);
                }
                ck_assert_uint_eq(zd_grid_cell_of(&grid, d, i).origin, cell.origin);
                ck_assert_uint_eq(zd_grid_cell_of(&grid, d, i).edge, cell.edge);
                ck_assert_int_eq(i < zd_grid_count_inside(&grid, d), cell.origin < grid.shape[d]);
                ck_assert_uint_le(cell.edge, grid.chunk[d]);
            }
            ck_assert_uint_ge(x, grid.shape[d]);
        }
    }
}
END_TEST

/* Edges of two dimensions; 0 ends them. A single one with a minus is the length of all. */
static const struct agree_fact {
    int64_t a[RUNS_MAX];
    int64_t b[RUNS_MAX];
    bool agree;
} agree_facts[] = {
    {{1, 2, 3}, {1, 2, 3}, true},
    {{1, 2}, {1, 2, 3}, true}, /* one goes on */
    {{1, 2, 2}, {1, 2, 2, 2}, true},
    {{1, 2, 2, 2}, {1, 2, 2, 3}, false},
    {{1, 2}, {1, 3}, false},
    {{1, 2, 2}, {1, 2, 3}, false},
    {{1, 1, 2}, {1, 2}, false},
    {{2}, {1, 1}, false},
    {{0}, {5}, true},
    {{-4}, {4, 4, 4}, true},
    {{-4}, {4, 4, 3}, false},
    {{-4}, {-4}, true},
    {{-4}, {-5}, false},
};

static struct zd_edges *edges_of(const int64_t *edge, struct zd_grid *grid)
{
    *grid = (struct zd_grid){.rank = 1, .chunk = {1}};
    if (edge[0] < 0) {
        grid->chunk[0] = (uint64_t)-edge[0];
        return NULL;
    }
    struct zd_edges *edges = zd_edges_new();
    ck_assert_ptr_nonnull(edges);
    ck_assert_int_eq(zd_edges_add(edges, 0, 1, 0), ZD_OK);
    for (size_t i = 0; i < RUNS_MAX && edge[i] > 0; i++) {
        ck_assert_int_eq(zd_edges_add(edges, 0, (uint64_t)edge[i], 1), ZD_OK);
    }
    grid->edges = edges;
    return edges;
}

START_TEST(grids_agree_as_far_as_both_go)
{
    const struct agree_fact *fact = &agree_facts[_i];
    struct zd_grid a;
    struct zd_grid b;
    ZD_AUTO(zd_edges) of_a = edges_of(fact->a, &a);
    ZD_AUTO(zd_edges) of_b = edges_of(fact->b, &b);
    ck_assert_int_eq(zd_grid_agree(&a, &b), fact->agree);
    ck_assert_int_eq(zd_grid_agree(&b, &a), fact->agree);
}
END_TEST

static enum zd_status add_with_little_memory(void *context)
{
    (void)context;
    ZD_AUTO(zd_edges) edges = zd_edges_new();
    for (uint64_t i = 0; edges != NULL && i < 20; i++) {
        ZD_TRY(zd_edges_add(edges, 1, 1 + i, 1));
    }
    return edges == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(failing_memory_fails_cleanly)
{
    zd_unit_with_failing_memory(add_with_little_memory, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, runs_are_added_up, 0, ZD_COUNT_OF(sum_facts));
    tcase_add_test(tests, more_runs_than_the_limit_are_refused);
    tcase_add_test(tests, cells_are_those_that_are_counted_one_by_one);
    tcase_add_loop_test(tests, grids_agree_as_far_as_both_go, 0, ZD_COUNT_OF(agree_facts));
    tcase_add_test(tests, failing_memory_fails_cleanly);
}
