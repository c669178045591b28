/* Facts about core/array/scatter. */
#include "core/array/scatter.h"

#include <string.h>

#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define N_RANDOM_CASES 600

static const char *const types[] = {
    "uint8", "uint16", "r24", "float32", "r40", "int64", "complex64", "complex128", "r96"};

static struct zd_buf *random_bytes(size_t len)
{
    struct zd_buf *buf = zd_buf_new(len);
    ck_assert_ptr_nonnull(buf);
    buf->len = len;
    for (size_t i = 0; i < len; i++) {
        buf->data[i] = (uint8_t)zd_unit_random();
    }
    return buf;
}

static struct zd_buf *new_chunk(
    const struct zd_grid *grid, const struct zd_part *part, const struct zd_dtype *dtype)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < grid->rank; d++) {
        n *= zd_unit_cell(grid, d, part->chunk[d]).edge;
    }
    return random_bytes(n * dtype->bytes);
}

/* Where an element of a part is in its chunk and in the block, in C order of the part. */
static void find_element(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, uint64_t i, uint64_t *ret_in_chunk, uint64_t *ret_in_block)
{
    uint64_t at[ZD_RANK_MAX];
    for (uint32_t d = grid->rank; d-- > 0;) {
        at[d] = i % part->count[d];
        i /= part->count[d];
    }
    *ret_in_chunk = 0;
    *ret_in_block = 0;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const uint64_t x = part->from[d] + at[d] * (uint64_t)part->step[d];
        *ret_in_chunk = *ret_in_chunk * zd_unit_cell(grid, d, part->chunk[d]).edge + x;
        *ret_in_block = *ret_in_block * block->shape[d] + part->to[d] + at[d];
    }
}

static uint64_t count_of(const struct zd_part *part, uint32_t rank)
{
    uint64_t n = 0;
    ck_assert(!zd_product_overflows(&n, part->count, rank));
    return n;
}

/* The part's elements are the source's, and all others are what they were. */
static void check_part(const struct zd_block *block, const struct zd_part *part,
    const struct zd_grid *grid, const struct zd_buf *before, const struct zd_buf *after)
{
    const size_t bytes = block->dtype.bytes;
    ZD_AUTO(zd_buf) expected = zd_buf_copy(zd_buf_span(before));
    ck_assert_ptr_nonnull(expected);
    for (uint64_t i = 0; i < count_of(part, grid->rank); i++) {
        uint64_t in_chunk;
        uint64_t in_block;
        find_element(block, part, grid, i, &in_chunk, &in_block);
        memcpy(expected->data + in_chunk * bytes, block->data + in_block * bytes, bytes);
    }
    ck_assert_mem_eq(after->data, expected->data, expected->len);
}

START_TEST(random_blocks_are_scattered)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct zd_grid grid;
        struct zd_selection selection;
        struct zd_dtype dtype;
        uint64_t n = 0;
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        ck_assert_int_eq(zd_dtype_find(types[_i], &dtype), ZD_OK);
        ck_assert(!zd_selection_overflows(&selection, &n));
        ZD_AUTO(zd_buf) elements = random_bytes(n * dtype.bytes);
        const struct zd_block block = zd_block_of(&selection, &dtype, elements->data);
        const struct zd_source source = zd_scatter_source_of_block(&block);
        struct zd_plan plan;
        struct zd_part part;
        zd_plan_init(&plan, &grid, &selection);
        while (zd_plan_next(&plan, &part)) {
            ZD_AUTO(zd_buf) before = new_chunk(&grid, &part, &dtype);
            ZD_AUTO(zd_buf) after = zd_buf_copy(zd_buf_span(before));
            ck_assert_ptr_nonnull(after);
            zd_scatter_block(&source, &part, &grid, after->data);
            check_part(&block, &part, &grid, before, after);
        }
    }
}
END_TEST

START_TEST(an_element_goes_everywhere)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct zd_grid grid;
        struct zd_selection selection;
        struct zd_dtype dtype;
        uint64_t n = 0;
        zd_unit_random_case(&grid, &selection);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&grid);
        ck_assert_int_eq(zd_dtype_find(types[_i], &dtype), ZD_OK);
        ck_assert(!zd_selection_overflows(&selection, &n));
        ZD_AUTO(zd_buf) element = random_bytes(dtype.bytes);
        ZD_AUTO(zd_buf) elements = zd_buf_new(n * dtype.bytes);
        ck_assert_ptr_nonnull(elements);
        zd_dtype_fill(&dtype, elements->data, element->data, n);
        const struct zd_block block = zd_block_of(&selection, &dtype, elements->data);
        const struct zd_source source =
            zd_scatter_source_of_element(grid.rank, &dtype, element->data);
        struct zd_plan plan;
        struct zd_part part;
        zd_plan_init(&plan, &grid, &selection);
        while (zd_plan_next(&plan, &part)) {
            ZD_AUTO(zd_buf) before = new_chunk(&grid, &part, &dtype);
            ZD_AUTO(zd_buf) after = zd_buf_copy(zd_buf_span(before));
            ck_assert_ptr_nonnull(after);
            zd_scatter_block(&source, &part, &grid, after->data);
            check_part(&block, &part, &grid, before, after);
        }
    }
}
END_TEST

/* Bools are scattered as they are read. */
START_TEST(a_scattered_bool_is_0_or_1)
{
    const struct zd_grid grid = {.rank = 1, .shape = {4}, .chunk = {4}};
    const struct zd_part part = {.from = {3}, .step = {-1}, .count = {3}};
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find("bool", &dtype), ZD_OK);
    uint8_t elements[] = {0, 2, 255};
    struct zd_block block = {.data = elements, .rank = 1, .shape = {3}, .dtype = dtype};
    const struct zd_source source = zd_scatter_source_of_block(&block);
    uint8_t chunk[] = {1, 1, 1, 1};
    zd_scatter_block(&source, &part, &grid, chunk);
    const uint8_t expected[] = {1, 1, 1, 0};
    ck_assert_mem_eq(chunk, expected, sizeof expected);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, random_blocks_are_scattered, 0, ZD_COUNT_OF(types));
    tcase_add_loop_test(tests, an_element_goes_everywhere, 0, ZD_COUNT_OF(types));
    tcase_add_test(tests, a_scattered_bool_is_0_or_1);
}
