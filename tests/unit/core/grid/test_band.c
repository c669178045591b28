/* Facts about core/grid/band. */
#include "core/grid/band.h"

#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define N_RANDOM_CASES 5000

/* The band's elements are those of the whole from band->first on. */
static void check_band(const struct zd_selection *whole, const struct zd_band *band)
{
    ck_assert_uint_eq(band->selection.rank, whole->rank);
    for (uint32_t d = 0; d < whole->rank; d++) {
        ck_assert_int_eq(band->selection.axis[d].dropped, whole->axis[d].dropped);
    }
    uint64_t n_elements = 0;
    ck_assert(!zd_selection_overflows(&band->selection, &n_elements));
    ck_assert_uint_eq(n_elements, band->n_elements);
    for (uint64_t i = 0; i < n_elements; i++) {
        uint64_t x[ZD_RANK_MAX];
        uint64_t want[ZD_RANK_MAX];
        zd_unit_coordinates(&band->selection, i, x);
        zd_unit_coordinates(whole, band->first + i, want);
        for (uint32_t d = 0; d < whole->rank; d++) {
            ck_assert_uint_eq(x[d], want[d]);
        }
    }
}

START_TEST(random_bands_follow_each_other)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct zd_grid grid;
        struct zd_selection selection;
        uint64_t room[ZD_UNIT_RANK_MAX][ZD_UNIT_SIDE_MAX];
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        uint64_t n_elements = 0;
        if (round % 4 == 0) {
            zd_unit_random_lists(&grid, &selection, room);
        }
        ck_assert(!zd_selection_overflows(&selection, &n_elements));
        const uint64_t end =
            zd_unit_random() % 2 ? n_elements : zd_unit_random() % (n_elements + 1);
        const uint64_t begin = zd_unit_random() % 2 ? 0 : zd_unit_random() % (end + 1);
        const uint64_t n_max = 1 + zd_unit_random() % (2 * n_elements + 1);
        struct zd_bands bands;
        zd_bands_init(&bands, &grid, &selection, begin, end, n_max);
        uint64_t at = begin;
        struct zd_band band;
        while (zd_bands_next(&bands, &band)) {
            ck_assert_uint_eq(band.first, at);
            ck_assert_uint_ge(band.n_elements, 1);
            ck_assert_uint_le(band.n_elements, n_max);
            check_band(&selection, &band);
            at += band.n_elements;
        }
        ck_assert_uint_eq(at, end);
    }
}
END_TEST

/* Elements of the largest row of chunks: what a band must hold so that none is cut. */
static uint64_t chunk_row_elements(const struct zd_grid *grid, const struct zd_selection *selection)
{
    uint64_t most = 0;
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, grid, selection);
    while (zd_plan_next(&plan, &part)) {
        most = zd_max_u64(most, part.count[0]);
    }
    for (uint32_t d = 1; d < grid->rank; d++) {
        most *= selection->axis[d].count;
    }
    return most;
}

START_TEST(no_chunk_is_needed_twice_when_its_row_fits)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct zd_grid grid;
        struct zd_selection selection;
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        uint64_t n_elements = 0;
        ck_assert(!zd_selection_overflows(&selection, &n_elements));
        if (grid.rank == 0 || n_elements == 0) {
            continue;
        }
        const uint64_t n_max = chunk_row_elements(&grid, &selection) + zd_unit_random() % 3;
        uint64_t n_parts = 0;
        ck_assert(!zd_plan_overflows(&grid, &selection, &n_parts));
        struct zd_bands bands;
        struct zd_band band;
        uint64_t n_band_parts = 0;
        zd_bands_init(&bands, &grid, &selection, 0, n_elements, n_max);
        while (zd_bands_next(&bands, &band)) {
            uint64_t n = 0;
            ck_assert(!zd_plan_overflows(&grid, &band.selection, &n));
            n_band_parts += n;
        }
        ck_assert_uint_eq(n_band_parts, n_parts);
    }
}
END_TEST

/* Shape 100 x 1000 in chunks of 10 x 100, all of it: the lengths of the first bands. */
static const struct cut_fact {
    uint64_t begin;
    uint64_t end;
    uint64_t n_elements_max;
    uint64_t n_elements[4];
} cut_facts[] = {
    {0, 100000, 100000, {100000}},
    {0, 100000, UINT64_MAX, {100000}},
    {0, 100000, 10000, {10000, 10000, 10000, 10000}},
    {0, 100000, 19999, {10000, 10000, 10000, 10000}}, /* a row of chunks, not almost two */
    {0, 100000, 20000, {20000, 20000, 20000, 20000}},
    {0, 100000, 7000, {7000, 3000, 7000, 3000}}, /* no boundary in reach, then one */
    {0, 100000, 250, {200, 200, 200, 200}},      /* within a row: at chunk columns */
    {0, 100000, 99, {99, 1, 99, 1}},
    {0, 100000, 1, {1, 1, 1, 1}},
    {999, 100000, 50000, {1, 49000, 50000, 0}}, /* a range may begin anywhere */
    {500, 1700, 50000, {500, 700}},
    {0, 0, 1, {0}},
    {100000, 100000, 1, {0}},
};

START_TEST(bands_end_where_chunks_do)
{
    const struct cut_fact *fact = &cut_facts[_i];
    const struct zd_grid grid = {.rank = 2, .shape = {100, 1000}, .chunk = {10, 100}};
    struct zd_selection selection;
    zd_selection_whole(2, grid.shape, &selection);
    struct zd_bands bands;
    zd_bands_init(&bands, &grid, &selection, fact->begin, fact->end, fact->n_elements_max);
    for (size_t i = 0; i < ZD_COUNT_OF(fact->n_elements); i++) {
        struct zd_band band = {0};
        ck_assert_int_eq(zd_bands_next(&bands, &band), fact->n_elements[i] > 0);
        ck_assert_uint_eq(band.n_elements, fact->n_elements[i]);
        if (fact->n_elements[i] == 0) {
            break;
        }
    }
}
END_TEST

/* A dimension of 2^64-1 elements, walked forwards and backwards. */
static const struct edge_fact {
    uint64_t chunk;
    uint64_t n_elements_max;
    uint64_t first;
    uint64_t second;
} edge_facts[] = {
    {1, UINT64_MAX, UINT64_MAX, 0},
    {1, UINT64_MAX - 1, UINT64_MAX - 1, 1},
    {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1, 1},
    {UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_C(1) << 63, INT64_MAX},
};

START_TEST(bands_at_the_edges_of_64_bits_end)
{
    const struct edge_fact *fact = &edge_facts[_i];
    const struct zd_grid grid = {.rank = 1, .shape = {UINT64_MAX}, .chunk = {fact->chunk}};
    struct zd_selection selection;
    zd_selection_whole(1, grid.shape, &selection);
    struct zd_bands bands;
    struct zd_band band = {0};
    zd_bands_init(&bands, &grid, &selection, 0, UINT64_MAX, fact->n_elements_max);
    ck_assert(zd_bands_next(&bands, &band));
    ck_assert_uint_eq(band.n_elements, fact->first);
    ck_assert_int_eq(zd_bands_next(&bands, &band), fact->second > 0);
    ck_assert(fact->second == 0 || band.n_elements == fact->second);
    ck_assert(!zd_bands_next(&bands, &band));

    selection.axis[0] = (struct zd_axis){.start = UINT64_MAX - 1, .count = UINT64_MAX, .step = -1};
    zd_bands_init(&bands, &grid, &selection, 0, UINT64_MAX, fact->n_elements_max);
    uint64_t n_elements = 0;
    while (zd_bands_next(&bands, &band)) {
        n_elements += band.n_elements;
    }
    ck_assert_uint_eq(n_elements, UINT64_MAX);
}
END_TEST

#define N_POINTS 20

/* Each point has one part, at its place in the result. */
static void check_points(const struct zd_grid *grid, const struct zd_band *band,
    uint64_t points[ZD_UNIT_RANK_MAX][N_POINTS])
{
    struct zd_plan plan;
    struct zd_part part;
    uint64_t n_parts = 0;
    uint64_t n_told = 0;
    zd_plan_init(&plan, grid, &band->selection);
    for (; zd_plan_next(&plan, &part); n_parts++) {
        for (uint32_t d = 0; d < grid->rank; d++) {
            const struct zd_cell cell = zd_unit_cell(grid, d, part.chunk[d]);
            ck_assert_uint_eq(part.count[d], 1);
            ck_assert_uint_eq(part.to[d], d == 0 ? n_parts : 0);
            ck_assert_uint_eq(cell.origin + part.from[d], points[d][band->first + n_parts]);
        }
    }
    ck_assert_uint_eq(n_parts, band->n_elements);
    ck_assert(!zd_plan_overflows(grid, &band->selection, &n_told));
    ck_assert_uint_eq(n_told, n_parts);
}

START_TEST(points_are_taken_one_by_one)
{
    for (int round = 0; round < N_RANDOM_CASES / 10; round++) {
        struct zd_grid grid;
        struct zd_selection selection;
        uint64_t points[ZD_UNIT_RANK_MAX][N_POINTS];
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        bool is_empty = grid.rank == 0;
        for (uint32_t d = 0; d < grid.rank; d++) {
            is_empty = is_empty || grid.shape[d] == 0;
            for (size_t i = 0; i < N_POINTS; i++) {
                points[d][i] = zd_unit_random() % zd_max_u64(grid.shape[d], 1);
            }
            selection.axis[d] = (struct zd_axis){.start = points[d][0],
                .count = d == 0 ? N_POINTS : 1,
                .step = 1,
                .list = points[d],
                .dropped = d > 0,
                .is_joint = true};
        }
        struct zd_bands bands;
        struct zd_band band;
        uint64_t n = 0;
        zd_bands_init(
            &bands, &grid, &selection, 0, is_empty ? 0 : N_POINTS, 1 + zd_unit_random() % N_POINTS);
        for (; zd_bands_next(&bands, &band); n += band.n_elements) {
            ck_assert_uint_eq(band.first, n);
            check_points(&grid, &band, points);
        }
        ck_assert_uint_eq(n, is_empty ? 0 : N_POINTS);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, points_are_taken_one_by_one);
    tcase_add_test(tests, random_bands_follow_each_other);
    tcase_add_test(tests, no_chunk_is_needed_twice_when_its_row_fits);
    tcase_add_loop_test(tests, bands_end_where_chunks_do, 0, ZD_COUNT_OF(cut_facts));
    tcase_add_loop_test(tests, bands_at_the_edges_of_64_bits_end, 0, ZD_COUNT_OF(edge_facts));
}
