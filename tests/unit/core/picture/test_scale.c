/* Facts about core/picture/scale. */
#include "core/picture/scale.h"

#include "tests/support/unit.h"

#define N_RANDOM 2000

static const struct {
    uint64_t n_elements;
    uint64_t n_pixels;
    enum zd_status status;
} sizes[] = {
    {1, 1, ZD_OK},
    {1, UINT64_C(1) << 30, ZD_OK},
    {UINT64_C(1) << 62, 1, ZD_OK},
    {UINT64_MAX / 2 - 1, 1, ZD_OK},
    {UINT64_MAX / 2, 1, ZD_TOO_LARGE}, /* the end of the second cell counts, too */
    {UINT64_MAX, 1, ZD_TOO_LARGE},
    {1, UINT64_MAX, ZD_TOO_LARGE},
    {UINT64_C(1) << 32, UINT64_C(1) << 32, ZD_TOO_LARGE},
    {UINT64_C(1) << 32, (UINT64_C(1) << 32) - 2, ZD_OK},
};

START_TEST(products_fit)
{
    struct zd_scale scale;
    ck_assert_int_eq(
        zd_scale_to(sizes[_i].n_elements, sizes[_i].n_pixels, &scale), sizes[_i].status);
    if (sizes[_i].status == ZD_OK) {
        ck_assert_uint_eq(zd_scale_cell(&scale, sizes[_i].n_elements - 1), scale.n_cells - 1);
        ck_assert_uint_eq(
            zd_scale_cell_of_pixel(&scale, sizes[_i].n_pixels - 1), scale.n_cells - 1);
    }
}
END_TEST

static const struct {
    uint64_t n_elements;
    uint64_t factor;
    uint64_t n_cells;
} blocks[] = {
    {10, 1, 10},
    {10, 3, 4},
    {10, 10, 1},
    {10, 11, 1},
    {1, UINT64_C(1) << 62, 1},
    {UINT64_C(1) << 62, 2, UINT64_C(1) << 61},
};

START_TEST(blocks_have_a_smaller_last_one)
{
    const struct zd_scale scale = zd_scale_blocks(blocks[_i].n_elements, blocks[_i].factor);
    const uint64_t last = blocks[_i].n_cells - 1;
    ck_assert_uint_eq(scale.n_cells, blocks[_i].n_cells);
    ck_assert_uint_eq(scale.n_pixels, blocks[_i].n_cells);
    ck_assert_uint_eq(zd_scale_overlap(&scale, 0, blocks[_i].n_elements, last),
        blocks[_i].n_elements - last * blocks[_i].factor);
    ck_assert_int_eq(zd_scale_is_exact(&scale), blocks[_i].factor == 1);
}
END_TEST

/* Every element is shared out whole, and its first part lies where it begins. */
static void check_shares(const struct zd_scale *scale)
{
    for (uint64_t i = 0; i < scale->n_elements; i++) {
        uint64_t sum = 0;
        uint64_t first = UINT64_MAX;
        for (uint64_t cell = 0; cell < scale->n_cells; cell++) {
            const uint64_t part = zd_scale_overlap(scale, i, i + 1, cell);
            first = part > 0 && first == UINT64_MAX ? cell : first;
            sum += part;
        }
        ck_assert_uint_eq(sum, scale->den);
        ck_assert_uint_eq(first, zd_scale_cell(scale, i));
    }
}

/* Cells are equally large, but for the last of blocks. */
static void check_cells(const struct zd_scale *scale)
{
    for (uint64_t cell = 0; cell < scale->n_cells; cell++) {
        const uint64_t part = zd_scale_overlap(scale, 0, scale->n_elements, cell);
        ck_assert(part == scale->num || (cell + 1 == scale->n_cells && part < scale->num));
    }
}

/* Pixels show cells in order, none is left out, and each shows the one that its middle is in. */
static void check_pixels(const struct zd_scale *scale)
{
    for (uint64_t pixel = 0; pixel < scale->n_pixels; pixel++) {
        const uint64_t cell = zd_scale_cell_of_pixel(scale, pixel);
        const uint64_t middle = (2 * pixel + 1) * scale->n_cells;
        ck_assert_uint_eq(cell, middle / (2 * scale->n_pixels));
    }
}

START_TEST(random_scales_agree_with_their_definition)
{
    for (int i = 0; i < N_RANDOM; i++) {
        const uint64_t n = 1 + zd_unit_random() % 40;
        struct zd_scale scale = zd_scale_blocks(n, 1 + zd_unit_random() % 45);
        check_shares(&scale);
        check_cells(&scale);
        ck_assert_int_eq(zd_scale_to(n, 1 + zd_unit_random() % 90, &scale), ZD_OK);
        check_shares(&scale);
        check_cells(&scale);
        check_pixels(&scale);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, products_fit, 0, ZD_COUNT_OF(sizes));
    tcase_add_loop_test(tests, blocks_have_a_smaller_last_one, 0, ZD_COUNT_OF(blocks));
    tcase_add_test(tests, random_scales_agree_with_their_definition);
}
