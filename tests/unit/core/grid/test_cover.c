/* Facts about core/grid/cover, on random cases. */
#include "core/grid/cover.h"

#include "core/grid/plan.h"
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

/* Every piece is within the limits, and counts are right. */
static void check_piece(const struct zd_grid *grid, const struct zd_selection *piece,
    const struct zd_cover_limits *limits, uint64_t *covered)
{
    uint64_t n;
    ck_assert(!zd_selection_overflows(piece, &n));
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_le(n, limits->elements_max);
    *covered += n;
    ck_assert(!zd_plan_overflows(grid, piece, &n));
    ck_assert_uint_le(n, limits->chunks_max);
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_axis *axis = &piece->axis[d];
        ck_assert_uint_lt(coordinate(axis, axis->count - 1), grid->shape[d]);
    }
}

START_TEST(pieces_cover_the_whole_within_the_limits)
{
    for (int n = 0; n < N_CASES; n++) {
        struct zd_grid grid;
        struct zd_selection selection;
        random_case(&grid, &selection, 1 + (uint32_t)(zd_unit_random() % 3));
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        const struct zd_cover_limits limits = {
            .elements_max = 1 + zd_unit_random() % 200,
            .chunks_max = 1 + zd_unit_random() % 20,
        };
        struct zd_cover cover;
        if (!zd_cover_init(&cover, &grid, &selection, &limits)) {
            continue;
        }
        const uint64_t n_pieces = zd_cover_count(&cover);
        uint64_t n_elements;
        uint64_t covered = 0;
        uint64_t found = 0;
        struct zd_selection piece;
        while (zd_cover_next(&cover, &piece)) {
            check_piece(&grid, &piece, &limits, &covered);
            found++;
        }
        ck_assert(!zd_selection_overflows(&selection, &n_elements));
        ck_assert_uint_eq(covered, n_elements);
        ck_assert_uint_eq(found, n_pieces);
    }
}
END_TEST

START_TEST(pieces_end_with_chunks)
{
    const struct zd_grid grid = {.rank = 2, .shape = {10, 100}, .chunk = {3, 100}};
    struct zd_selection selection;
    zd_selection_whole(2, grid.shape, &selection);
    const struct zd_cover_limits limits = {.elements_max = 700, .chunks_max = 100};
    struct zd_cover cover;
    ck_assert(zd_cover_init(&cover, &grid, &selection, &limits));
    struct zd_selection piece;
    ck_assert(zd_cover_next(&cover, &piece));
    ck_assert_uint_eq(piece.axis[0].count, 6);
    ck_assert(zd_cover_next(&cover, &piece));
    ck_assert_uint_eq(piece.axis[0].start, 6);
    ck_assert_uint_eq(piece.axis[0].count, 4);
    ck_assert(!zd_cover_next(&cover, &piece));
}
END_TEST

START_TEST(a_cover_of_huge_arrays_is_counted_not_listed)
{
    const struct zd_grid grid = {
        .rank = 2, .shape = {UINT64_MAX, UINT64_MAX}, .chunk = {1, UINT64_C(1) << 20}};
    struct zd_selection selection;
    zd_selection_whole(2, grid.shape, &selection);
    const struct zd_cover_limits limits = {.elements_max = 1 << 20, .chunks_max = 1};
    struct zd_cover cover;
    ck_assert(zd_cover_init(&cover, &grid, &selection, &limits));
    ck_assert_uint_eq(zd_cover_count(&cover), UINT64_MAX);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, pieces_cover_the_whole_within_the_limits);
    tcase_add_test(tests, pieces_end_with_chunks);
    tcase_add_test(tests, a_cover_of_huge_arrays_is_counted_not_listed);
}
