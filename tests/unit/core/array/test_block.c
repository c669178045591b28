/* Facts about core/array/block. */
#include "core/array/block.h"

#include <string.h>

#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define N_RANDOM_CASES 600
#define ELEMENT_MAX    16

static const char *const types[] = {
    "uint8", "uint16", "r24", "float32", "r40", "int64", "complex64", "complex128", "r96"};

/* An array in memory, and the block that parts of its chunks fill. */
struct scene {
    struct zd_grid grid;
    struct zd_selection selection;
    struct zd_dtype dtype;
    uint8_t *array; /* all elements in C order */
    struct zd_buf *result;
    struct zd_block block;
    uint64_t n_elements; /* of the result */
};

static void scene_init(struct scene *scene, const char *type)
{
    zd_unit_random_case(&scene->grid, &scene->selection);
    ck_assert_int_eq(zd_dtype_find(type, &scene->dtype), ZD_OK);
    uint64_t n_all = 0;
    ck_assert(!zd_product_overflows(&n_all, scene->grid.shape, scene->grid.rank));
    scene->array = zd_alloc(n_all * scene->dtype.bytes);
    ck_assert_ptr_nonnull(scene->array);
    for (size_t i = 0; i < n_all * scene->dtype.bytes; i++) {
        scene->array[i] = (uint8_t)zd_unit_random();
    }
    ck_assert(!zd_selection_overflows(&scene->selection, &scene->n_elements));
    scene->result = zd_buf_new(scene->n_elements * scene->dtype.bytes);
    ck_assert_ptr_nonnull(scene->result);
    scene->block = zd_block_of(&scene->selection, &scene->dtype, scene->result->data);
}

static void scene_done(struct scene *scene)
{
    zd_free(scene->array);
    zd_buf_unref(scene->result);
}

static uint8_t *element_at(const struct scene *scene, const uint64_t *x)
{
    uint64_t i = 0;
    for (uint32_t d = 0; d < scene->grid.rank; d++) {
        i = i * scene->grid.shape[d] + x[d];
    }
    return scene->array + i * scene->dtype.bytes;
}

static uint64_t count_in(const struct zd_grid *grid, const uint64_t *chunk)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < grid->rank; d++) {
        n *= zd_unit_cell(grid, d, chunk[d]).edge;
    }
    return n;
}

/* Where the i-th element (C order) of a chunk is in the array; NULL where the chunk overhangs. */
static uint8_t *chunk_element(
    const struct scene *scene, const uint64_t *chunk, uint64_t i, uint64_t *ret_in_chunk)
{
    uint64_t x[ZD_RANK_MAX];
    bool inside = true;
    for (uint32_t d = scene->grid.rank; d-- > 0;) {
        const struct zd_cell cell = zd_unit_cell(&scene->grid, d, chunk[d]);
        ret_in_chunk[d] = i % cell.edge;
        i /= cell.edge;
        x[d] = cell.origin + ret_in_chunk[d];
        inside = inside && x[d] < scene->grid.shape[d];
    }
    return inside ? element_at(scene, x) : NULL;
}

/* A chunk with its elements `stride` bytes apart, in reversed byte order when swapped. */
static struct zd_buf *make_chunk(
    const struct scene *scene, const uint64_t *chunk, const uint64_t *stride, bool is_swapped)
{
    const uint64_t n_elements = count_in(&scene->grid, chunk);
    struct zd_buf *buf = zd_buf_new(n_elements * scene->dtype.bytes);
    ck_assert_ptr_nonnull(buf);
    buf->len = n_elements * scene->dtype.bytes;
    memset(buf->data, 0xcc, buf->len);
    for (uint64_t i = 0; i < n_elements; i++) {
        uint64_t in_chunk[ZD_RANK_MAX];
        const uint8_t *element = chunk_element(scene, chunk, i, in_chunk);
        uint64_t offset = 0;
        for (uint32_t d = 0; d < scene->grid.rank; d++) {
            offset += in_chunk[d] * stride[d];
        }
        if (element != NULL && is_swapped) {
            zd_dtype_swap(&scene->dtype, buf->data + offset, element, 1);
        } else if (element != NULL) {
            memcpy(buf->data + offset, element, scene->dtype.bytes);
        }
    }
    return buf;
}

static void strides_of(
    const struct scene *scene, const uint64_t *chunk, const uint32_t *order, uint64_t *ret_stride)
{
    uint64_t stride = scene->dtype.bytes;
    for (uint32_t i = scene->grid.rank; i-- > 0;) {
        ret_stride[order[i]] = stride;
        stride *= zd_unit_cell(&scene->grid, order[i], chunk[order[i]]).edge;
    }
}

/* 0, 1, 2 ... */
static void plain_order(uint32_t rank, uint32_t *ret_order)
{
    for (uint32_t i = 0; i < rank; i++) {
        ret_order[i] = i;
    }
}

static void random_order(uint32_t rank, uint32_t *ret_order)
{
    plain_order(rank, ret_order);
    for (uint32_t i = rank; i > 1; i--) {
        const uint32_t other = (uint32_t)(zd_unit_random() % i);
        const uint32_t held = ret_order[other];
        ret_order[other] = ret_order[i - 1];
        ret_order[i - 1] = held;
    }
}

static void check_result(const struct scene *scene)
{
    for (uint64_t i = 0; i < scene->n_elements; i++) {
        uint64_t x[ZD_RANK_MAX];
        zd_unit_coordinates(&scene->selection, i, x);
        ck_assert_mem_eq(
            scene->result->data + i * scene->dtype.bytes, element_at(scene, x), scene->dtype.bytes);
    }
}

/* The array has the fill value wherever the chunk lies. */
static void erase_chunk(const struct scene *scene, const uint64_t *chunk, const uint8_t *fill)
{
    const uint64_t n_elements = count_in(&scene->grid, chunk);
    for (uint64_t i = 0; i < n_elements; i++) {
        uint64_t in_chunk[ZD_RANK_MAX];
        uint8_t *element = chunk_element(scene, chunk, i, in_chunk);
        if (element != NULL) {
            memcpy(element, fill, scene->dtype.bytes);
        }
    }
}

START_TEST(random_blocks_are_copied_and_filled)
{
    const uint8_t fills[2][ELEMENT_MAX] = {
        {0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct scene scene;
        scene_init(&scene, types[_i]);
        ZD_AUTO(zd_edges) edges = zd_unit_random_edges(&scene.grid);
        uint32_t order[ZD_RANK_MAX];
        uint64_t stride[ZD_RANK_MAX];
        plain_order(scene.grid.rank, order);
        struct zd_plan plan;
        struct zd_part part;
        zd_plan_init(&plan, &scene.grid, &scene.selection);
        while (zd_plan_next(&plan, &part)) {
            if (zd_unit_random() % 4 == 0) {
                const uint8_t *fill = fills[zd_unit_random() % 2];
                erase_chunk(&scene, part.chunk, fill);
                zd_block_fill(&scene.block, &part, fill);
                continue;
            }
            strides_of(&scene, part.chunk, order, stride);
            ZD_AUTO(zd_buf) chunk = make_chunk(&scene, part.chunk, stride, false);
            zd_block_copy(&scene.block, &part, &scene.grid, chunk);
        }
        check_result(&scene);
        scene_done(&scene);
    }
}
END_TEST

START_TEST(random_blocks_are_gathered_from_their_spans)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        struct scene scene;
        scene_init(&scene, types[_i]);
        struct zd_meta meta = {.grid = scene.grid, .dtype = scene.dtype};
        struct zd_layout layout = {.meta = &meta, .n_levels = 1, .is_linear = true};
        layout.level[0].grid = scene.grid;
        layout.is_swapped = zd_unit_random() % 2 == 0;
        const uint64_t origin[ZD_RANK_MAX] = {0};
        uint32_t order[ZD_RANK_MAX];
        random_order(scene.grid.rank, order);
        strides_of(&scene, origin, order, layout.stride);
        struct zd_plan plan;
        struct zd_part part;
        zd_plan_init(&plan, &scene.grid, &scene.selection);
        while (zd_plan_next(&plan, &part)) {
            ZD_AUTO(zd_buf)
            chunk = make_chunk(&scene, part.chunk, layout.stride, layout.is_swapped);
            const struct zd_byte_range run = zd_layout_span(&layout, &part);
            ck_assert_uint_le(run.first + run.len, chunk->len);
            /* Memory of exactly that length: the sanitizers see a step beyond it. */
            ZD_AUTO(zd_buf)
            span = zd_buf_copy((struct zd_span){.ptr = chunk->data + run.first, .len = run.len});
            ck_assert_ptr_nonnull(span);
            zd_block_gather(&scene.block, &part, &layout, zd_buf_span(span));
        }
        check_result(&scene);
        scene_done(&scene);
    }
}
END_TEST

/* A point and a whole chunk of the same stored bytes agree. */
START_TEST(a_gathered_bool_is_0_or_1)
{
    const uint64_t shape[] = {2, 3};
    struct zd_selection selection;
    ck_assert_int_eq(zd_selection_parse(zd_span_of(":,::2"), 2, shape, &selection, NULL), ZD_OK);
    struct zd_meta meta = {.grid = {.rank = 2, .shape = {2, 3}, .chunk = {2, 3}}};
    ck_assert_int_eq(zd_dtype_find("bool", &meta.dtype), ZD_OK);
    struct zd_layout layout = {.meta = &meta, .n_levels = 1, .is_linear = true, .stride = {3, 1}};
    layout.level[0].grid = meta.grid;
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, &meta.grid, &selection);
    ck_assert(zd_plan_next(&plan, &part));
    ZD_AUTO(zd_buf) stored = zd_unit_hex("00ff02 01ff00");
    uint8_t found[4];
    const struct zd_block block = zd_block_of(&selection, &meta.dtype, found);
    zd_block_gather(&block, &part, &layout, zd_buf_span(stored));
    const uint8_t expected[] = {0, 1, 1, 0};
    ck_assert_mem_eq(found, expected, sizeof expected);
}
END_TEST

START_TEST(a_block_has_length_1_where_a_dimension_is_dropped)
{
    const uint64_t shape[] = {4, 5, 6};
    struct zd_selection selection;
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of("1:3,4,::-1"), 3, shape, &selection, NULL), ZD_OK);
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find("int16", &dtype), ZD_OK);
    const struct zd_block block = zd_block_of(&selection, &dtype, NULL);
    ck_assert_uint_eq(block.rank, 3);
    ck_assert_uint_eq(block.shape[0], 2);
    ck_assert_uint_eq(block.shape[1], 1);
    ck_assert_uint_eq(block.shape[2], 6);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, random_blocks_are_copied_and_filled, 0, ZD_COUNT_OF(types));
    tcase_add_loop_test(tests, random_blocks_are_gathered_from_their_spans, 0, ZD_COUNT_OF(types));
    tcase_add_test(tests, a_gathered_bool_is_0_or_1);
    tcase_add_test(tests, a_block_has_length_1_where_a_dimension_is_dropped);
}
