/* Boxes of elements into cells. */
#include "core/compute/cells.h"

#include "tests/support/unit.h"

#define RANK      3
#define SIDE_MAX  40
#define BLOCK_MAX 20
#define N_RANDOM  200
#define N_MAX     (SIDE_MAX * SIDE_MAX * SIDE_MAX)

/* Empty cells of sums. */
static struct zd_reduce sums_of(const char *name, uint64_t n_cells)
{
    struct zd_reduce reduce;
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find(name, &dtype), ZD_OK);
    ck_assert_int_eq(zd_reduce_plan(&reduce, ZD_REDUCE_SUM, &dtype, true, NULL), ZD_OK);
    ck_assert_int_eq(zd_reduce_init(&reduce, n_cells, NULL), ZD_OK);
    zd_reduce_clear(&reduce, n_cells);
    return reduce;
}

/* A random box within the cells that it has. @return how many elements it has */
static uint64_t random_box(struct zd_cells *cells, uint64_t *ret_n_cells)
{
    uint64_t n = 1;
    *ret_n_cells = 1;
    *cells = (struct zd_cells){.rank = RANK};
    for (uint32_t d = RANK; d-- > 0;) {
        struct zd_cells_dim *dim = &cells->dim[d];
        const uint64_t kind = zd_unit_random() % 4;
        dim->count = 1 + zd_unit_random() % (zd_unit_random() % 3 == 0 ? 2 : SIDE_MAX);
        dim->block = kind == 0 ? ZD_CELLS_ALL : kind == 1 ? 1 : 1 + zd_unit_random() % BLOCK_MAX;
        dim->first = dim->block == ZD_CELLS_ALL || zd_unit_random() % 2 == 0
                         ? 0
                         : zd_unit_random() % SIDE_MAX;
        dim->stride = *ret_n_cells;
        *ret_n_cells *= dim->block == ZD_CELLS_ALL
                            ? 1
                            : (dim->first + dim->count - 1) / dim->block + 1 + zd_unit_random() % 2;
        n *= dim->count;
    }
    return n;
}

/* The cell of an element of a box, by its number. */
static uint64_t cell_of(const struct zd_cells *cells, uint64_t i)
{
    uint64_t cell = 0;
    for (uint32_t d = RANK; d-- > 0;) {
        const struct zd_cells_dim *dim = &cells->dim[d];
        const uint64_t at = i % dim->count;
        i /= dim->count;
        cell += dim->block == ZD_CELLS_ALL ? 0 : (dim->first + at) / dim->block * dim->stride;
    }
    return cell;
}

START_TEST(random_boxes_are_added_to_the_cells_of_their_elements)
{
    static int16_t element[N_MAX];
    struct zd_cells cells;
    uint64_t n_cells;
    uint64_t cell;
    for (uint32_t round = 0; round < N_RANDOM; round++) {
        const uint64_t n = random_box(&cells, &n_cells);
        struct zd_reduce reduce = sums_of("int16", n_cells);
        int64_t *expected = zd_alloc_zero(n_cells, sizeof *expected);
        for (uint64_t i = 0; i < n; i++) {
            element[i] = (int16_t)zd_unit_random();
            expected[cell_of(&cells, i)] += element[i];
        }
        ck_assert(zd_cells_add(&cells, &reduce, NULL, (const uint8_t *)element, &cell));
        for (uint64_t i = 0; i < n_cells; i++) {
            const uint64_t n_added = 1;
            int64_t found;
            ck_assert(zd_reduce_finish(&reduce, i, 1, &n_added, (uint8_t *)&found, &cell));
            ck_assert_int_eq(found, expected[i]);
        }
        zd_free(expected);
        zd_reduce_done(&reduce);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, random_boxes_are_added_to_the_cells_of_their_elements);
}
