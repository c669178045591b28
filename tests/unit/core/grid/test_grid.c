/* Facts about core/grid/grid. */
#include "core/grid/grid.h"

#include "tests/support/unit.h"

static const struct count_fact {
    uint64_t shape;
    uint64_t chunk;
    uint64_t n_chunks;
} count_facts[] = {
    {0, 1, 0},
    {0, UINT64_MAX, 0},
    {1, 1, 1},
    {1, UINT64_MAX, 1},
    {10, 10, 1},
    {11, 10, 2},
    {9, 10, 1},
    {UINT64_MAX, 1, UINT64_MAX},
    {UINT64_MAX, 2, UINT64_C(1) << 63},
    {UINT64_MAX, UINT64_MAX - 1, 2},
    {UINT64_MAX, UINT64_MAX, 1},
};

START_TEST(chunks_along_a_dimension_are_rounded_up)
{
    const struct count_fact *fact = &count_facts[_i];
    const struct zd_grid grid = {.rank = 1, .shape = {fact->shape}, .chunk = {fact->chunk}};
    ck_assert_uint_eq(zd_grid_count(&grid, 0), fact->n_chunks);
    uint64_t n_chunks = 7;
    ck_assert(!zd_grid_overflows(&grid, &n_chunks));
    ck_assert_uint_eq(n_chunks, fact->n_chunks);
    if (fact->shape == 0) {
        return;
    }
    ck_assert_uint_eq(zd_grid_cell_at(&grid, 0, 0).index, 0);
    ck_assert_uint_eq(zd_grid_cell_at(&grid, 0, fact->shape - 1).index, fact->n_chunks - 1);
    ck_assert_uint_eq(zd_grid_cell_of(&grid, 0, 0).origin, 0);
    ck_assert_uint_lt(zd_grid_cell_of(&grid, 0, fact->n_chunks - 1).origin, fact->shape);
}
END_TEST

START_TEST(an_array_of_rank_0_has_one_chunk_of_one_element)
{
    const struct zd_grid grid = {.rank = 0};
    uint64_t n = 0;
    ck_assert(!zd_grid_overflows(&grid, &n));
    ck_assert_uint_eq(n, 1);
    ck_assert(!zd_grid_chunk_overflows(&grid, &n));
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(zd_grid_check(&grid, NULL, NULL), ZD_OK);
}
END_TEST

START_TEST(products_beyond_64_bits_are_told)
{
    const uint64_t half = UINT64_C(1) << 32;
    struct zd_grid grid = {.rank = 2, .shape = {half, half}, .chunk = {1, 1}};
    uint64_t n = 0;
    ck_assert(zd_grid_overflows(&grid, &n));
    grid.shape[1] = half - 1;
    ck_assert(!zd_grid_overflows(&grid, &n));
    ck_assert_uint_eq(n, half * (half - 1));
    grid.shape[1] = 0;
    ck_assert(!zd_grid_overflows(&grid, &n));
    ck_assert_uint_eq(n, 0);
    grid.chunk[0] = half;
    grid.chunk[1] = half;
    ck_assert(zd_grid_chunk_overflows(&grid, &n));
}
END_TEST

START_TEST(a_chunk_outside_the_grid_is_named)
{
    const struct zd_grid grid = {.rank = 2, .shape = {10, 20}, .chunk = {5, 7}};
    ck_assert_int_eq(zd_grid_check(&grid, (uint64_t[]){1, 2}, NULL), ZD_OK);
    struct zd_error err = {0};
    ck_assert_int_eq(zd_grid_check(&grid, (uint64_t[]){1, 3}, &err), ZD_OUT_OF_BOUNDS);
    ck_assert_uint_eq(err.facts.dim, 1);
    ck_assert_int_eq(err.facts.index, 3);
    ck_assert_uint_eq(err.facts.size, 3);
    ck_assert_int_eq(zd_grid_check(&grid, (uint64_t[]){UINT64_MAX, 0}, &err), ZD_OUT_OF_BOUNDS);
    ck_assert_uint_eq(err.facts.dim, 0);
    ck_assert_int_eq(err.facts.index, INT64_MAX);
    ck_assert_uint_eq(err.facts.size, 2);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, chunks_along_a_dimension_are_rounded_up, 0, ZD_COUNT_OF(count_facts));
    tcase_add_test(tests, an_array_of_rank_0_has_one_chunk_of_one_element);
    tcase_add_test(tests, products_beyond_64_bits_are_told);
    tcase_add_test(tests, a_chunk_outside_the_grid_is_named);
}
