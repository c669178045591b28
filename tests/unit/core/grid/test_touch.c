/* Facts about core/grid/touch, against brute force. */
#include "core/grid/touch.h"

#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define N_CASES 3000

static void random_case(struct zd_grid *grid, struct zd_selection *selection, uint32_t rank)
{
    *grid = (struct zd_grid){.rank = rank};
    *selection = (struct zd_selection){.rank = rank};
    for (uint32_t d = 0; d < rank; d++) {
        grid->shape[d] = 1 + zd_unit_random() % 20;
        grid->chunk[d] = 1 + zd_unit_random() % 7;
        struct zd_axis *axis = &selection->axis[d];
        const int64_t stride = 1 + (int64_t)(zd_unit_random() % 9);
        axis->start = zd_unit_random() % grid->shape[d];
        axis->step = zd_unit_random() % 2 == 0 ? stride : -stride;
        const uint64_t room = axis->step > 0 ? grid->shape[d] - 1 - axis->start : axis->start;
        axis->count = 1 + zd_unit_random() % (room / (uint64_t)stride + 1);
        if (axis->count == 1) {
            axis->step = 1;
        }
    }
}

static uint64_t coordinate(const struct zd_axis *axis, uint64_t i)
{
    return (uint64_t)((int64_t)axis->start + (int64_t)i * axis->step);
}

static uint64_t chunk_at(const struct zd_grid *grid, uint64_t x)
{
    uint64_t index = 0;
    for (struct zd_cell cell = zd_unit_cell(grid, 0, 0); x >= cell.origin + cell.edge;) {
        cell = zd_unit_cell(grid, 0, ++index);
    }
    return index;
}

START_TEST(touched_chunks_are_numbered_as_the_result_meets_them)
{
    for (int n = 0; n < N_CASES; n++) {
        struct zd_grid grid;
        struct zd_selection selection;
        random_case(&grid, &selection, 1);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        const struct zd_axis *axis = &selection.axis[0];
        struct zd_touch touch = zd_touch_of(&grid, &selection, 0);
        uint64_t number = 0;
        for (uint64_t i = 0; i < axis->count; i++) {
            const uint64_t chunk = chunk_at(&grid, coordinate(axis, i));
            const bool is_new = i == 0 || chunk != chunk_at(&grid, coordinate(axis, i - 1));
            number += i > 0 && is_new;
            ck_assert_uint_eq(zd_touch_number(&touch, chunk), number);
            if (zd_unit_random() % 4 == 0) { /* any order will do */
                const uint64_t first = chunk_at(&grid, coordinate(axis, 0));
                ck_assert_uint_eq(zd_touch_number(&touch, first), 0);
            }
            if (is_new) {
                ck_assert_uint_eq(zd_touch_first(&touch, number), i);
            }
        }
        ck_assert_uint_eq(touch.n, number + 1);
        ck_assert_uint_eq(zd_touch_first(&touch, touch.n), axis->count);
    }
}
END_TEST

START_TEST(touched_chunks_at_the_end_of_64_bits)
{
    const struct zd_grid grid = {.rank = 1, .shape = {UINT64_MAX}, .chunk = {UINT64_C(1) << 63}};
    const struct zd_selection selection = {
        .rank = 1, .axis = {{.start = UINT64_MAX - 1, .count = UINT64_MAX, .step = -1}}};
    struct zd_touch touch = zd_touch_of(&grid, &selection, 0);
    ck_assert_uint_eq(touch.n, 2);
    ck_assert_uint_eq(zd_touch_first(&touch, 1), (UINT64_C(1) << 63) - 1);
    ck_assert_uint_eq(zd_touch_number(&touch, 0), 1);
}
END_TEST

START_TEST(no_chunk_of_an_empty_axis_is_touched)
{
    const struct zd_grid grid = {.rank = 1, .shape = {5}, .chunk = {2}};
    const struct zd_selection selection = {.rank = 1, .axis = {{.step = 1}}};
    const struct zd_touch touch = zd_touch_of(&grid, &selection, 0);
    ck_assert_uint_eq(touch.n, 0);
    ck_assert_uint_eq(zd_touch_first(&touch, 0), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, touched_chunks_are_numbered_as_the_result_meets_them);
    tcase_add_test(tests, touched_chunks_at_the_end_of_64_bits);
    tcase_add_test(tests, no_chunk_of_an_empty_axis_is_touched);
}
