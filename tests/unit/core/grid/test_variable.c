/* Facts about core/grid/variable. */
#include "core/grid/variable.h"

#include <string.h>

#include "tests/support/unit.h"

#define N 5

static void put_words(uint8_t *elements)
{
    static const char *const words[N] = {"one", "", "three", "three", "one"};
    for (uint64_t i = 0; i < N; i++) {
        zd_variable_put(elements, i, zd_span_of(words[i]));
    }
    zd_variable_put(elements, 3, zd_variable_at(elements, 2));
}

START_TEST(packed_elements_borrow_nothing)
{
    uint8_t elements[N * ZD_VARIABLE_BYTES];
    struct zd_buf *packed = NULL;
    put_words(elements);
    ck_assert_int_eq(zd_variable_pack(elements, N, 11, &packed, NULL), ZD_OK);
    ck_assert_uint_eq(packed->len, sizeof elements + strlen("onethreeone")); /* one is shared */
    for (uint64_t i = 0; i < N; i++) {
        const struct zd_span bytes = zd_variable_at(packed->data, i);
        ck_assert(zd_span_equal(bytes, zd_variable_at(elements, i)));
        ck_assert(bytes.len == 0 || (bytes.ptr >= packed->data + sizeof elements &&
                                        bytes.ptr + bytes.len <= packed->data + packed->len));
    }
    zd_buf_unref(packed);
}
END_TEST

START_TEST(a_packed_file_has_a_limit)
{
    uint8_t elements[N * ZD_VARIABLE_BYTES];
    struct zd_buf *packed = NULL;
    struct zd_error err = {0};
    put_words(elements);
    ck_assert_int_eq(zd_variable_pack(elements, N, 10, &packed, &err), ZD_TOO_LARGE);
    ck_assert_uint_eq(err.facts.limit, 10);
    ck_assert_uint_eq(err.facts.requested, 11);
    zd_variable_put(elements, 0, (struct zd_span){.ptr = elements, .len = SIZE_MAX});
    ck_assert_int_eq(zd_variable_pack(elements, N, SIZE_MAX - 1, &packed, &err), ZD_TOO_LARGE);
}
END_TEST

START_TEST(lengths_get_their_bytes_in_order)
{
    uint8_t elements[N * ZD_VARIABLE_BYTES];
    struct zd_buf *packed = NULL;
    static const char *const words[N] = {"one", "", "three", "three", "one"};
    for (uint64_t i = 0; i < N; i++) {
        zd_variable_put(elements, i, (struct zd_span){.len = strlen(words[i])});
    }
    ck_assert_int_eq(
        zd_variable_join(elements, N, zd_span_of("onethreethreeone"), &packed, NULL), ZD_OK);
    for (uint64_t i = 0; i < N; i++) {
        ck_assert(zd_span_is(zd_variable_at(packed->data, i), words[i]));
    }
    zd_buf_unref(packed);
    ck_assert_int_eq(zd_variable_join(elements, 0, (struct zd_span){0}, &packed, NULL), ZD_OK);
    ck_assert_uint_eq(packed->len, 0);
    zd_buf_unref(packed);
}
END_TEST

static enum zd_status pack(void *context)
{
    struct zd_buf *packed = NULL;
    ZD_TRY(zd_variable_pack(context, N, SIZE_MAX, &packed, NULL));
    zd_buf_unref(ZD_TAKE(packed));
    const uint8_t none[ZD_VARIABLE_BYTES] = {0};
    ZD_TRY(zd_variable_join(none, 1, (struct zd_span){0}, &packed, NULL));
    zd_buf_unref(packed);
    uint8_t *element = zd_variable_new(zd_span_of("one"));
    const enum zd_status status = element == NULL ? ZD_NO_MEMORY : ZD_OK;
    zd_free(element);
    return status;
}

START_TEST(short_memory_is_said_so)
{
    uint8_t elements[N * ZD_VARIABLE_BYTES];
    put_words(elements);
    zd_unit_with_failing_memory(pack, elements);
}
END_TEST

START_TEST(a_new_element_has_its_bytes_behind_it)
{
    uint8_t *element = zd_variable_new(zd_span_of("one"));
    ck_assert(zd_span_is(zd_variable_at(element, 0), "one"));
    ck_assert_ptr_eq(zd_variable_at(element, 0).ptr, element + ZD_VARIABLE_BYTES);
    zd_free(element);
    element = zd_variable_new((struct zd_span){0});
    ck_assert_uint_eq(zd_variable_at(element, 0).len, 0);
    zd_free(element);
}
END_TEST

static const struct {
    uint64_t n_elements;
    uint64_t extra;
    uint64_t bytes_max;
    uint64_t n;
} counts[] = {
    {0, 0, 100, 0},
    {5, 0, 100, 5},
    {5, 0, 16, 5},
    {5, 0, 15, 4},
    {5, 1, 13, 3},
    {5, 0, 3, 2},
    {5, 0, 2, 1}, /* at least one */
    {5, 0, 0, 1},
    {5, UINT64_MAX, UINT64_MAX, 1},
};

START_TEST(so_many_elements_have_so_many_bytes)
{
    uint8_t elements[N * ZD_VARIABLE_BYTES];
    put_words(elements);
    ck_assert_uint_eq(
        zd_variable_count(elements, counts[_i].n_elements, counts[_i].extra, counts[_i].bytes_max),
        counts[_i].n);
}
END_TEST

static const uint64_t ceilings[][2] = {
    {0, 4 << 20},
    {1, 4 << 20},
    {1024, 4 << 20},
    {1025, UINT64_C(1025) * 4096},
    {1 << 14, 64 << 20},
    {(1 << 14) + 1, 64 << 20},
    {UINT64_MAX, 64 << 20},
};

START_TEST(a_chunk_has_a_ceiling)
{
    ck_assert_uint_eq(zd_variable_bytes_max(ceilings[_i][0]), ceilings[_i][1]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, packed_elements_borrow_nothing);
    tcase_add_test(tests, a_packed_file_has_a_limit);
    tcase_add_test(tests, lengths_get_their_bytes_in_order);
    tcase_add_test(tests, short_memory_is_said_so);
    tcase_add_test(tests, a_new_element_has_its_bytes_behind_it);
    tcase_add_loop_test(tests, so_many_elements_have_so_many_bytes, 0, ZD_COUNT_OF(counts));
    tcase_add_loop_test(tests, a_chunk_has_a_ceiling, 0, ZD_COUNT_OF(ceilings));
}
