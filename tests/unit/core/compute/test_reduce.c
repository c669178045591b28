/* Elements reduced to one of each cell: types, sums, what is missing. */
#include "core/compute/reduce.h"

#include <math.h>
#include <string.h>

#include "tests/support/unit.h"

static struct zd_reduce reduce_of(enum zd_reduce_op op, const char *name, uint64_t n_cells)
{
    struct zd_reduce reduce;
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find(name, &dtype), ZD_OK);
    ck_assert_int_eq(zd_reduce_plan(&reduce, op, &dtype, true, NULL), ZD_OK);
    ck_assert_int_eq(zd_reduce_init(&reduce, n_cells, NULL), ZD_OK);
    zd_reduce_clear(&reduce, n_cells);
    return reduce;
}

START_TEST(float64_is_added_up_without_loss)
{
    double element[3000];
    double found;
    const uint64_t n_added = 3000;
    uint64_t place;
    for (size_t i = 0; i < 3000; i++) {
        element[i] = i % 3 == 0 ? 1e16 : i % 3 == 1 ? 1 : -1e16;
    }
    struct zd_reduce all = reduce_of(ZD_REDUCE_SUM, "float64", 1);
    zd_reduce_add_all(&all, 0, (const uint8_t *)element, 3000);
    ck_assert(zd_reduce_finish(&all, 0, 1, &n_added, (uint8_t *)&found, &place));
    ck_assert_double_eq(found, 1000);
    zd_reduce_clear(&all, 1);
    for (size_t i = 0; i < 3000; i++) {
        zd_reduce_add_each(&all, 0, (const uint8_t *)&element[i], 1);
    }
    ck_assert(zd_reduce_finish(&all, 0, 1, &n_added, (uint8_t *)&found, &place));
    ck_assert_double_eq(found, 1000);
    zd_reduce_done(&all);
}
END_TEST

START_TEST(a_sum_that_does_not_fit_is_found)
{
    const int64_t element[] = {INT64_MAX, INT64_MAX, -INT64_MAX, 1, INT64_MAX, 1};
    const uint64_t n_added[] = {3, 3};
    int64_t found[2];
    uint64_t place = 0;
    struct zd_reduce reduce = reduce_of(ZD_REDUCE_SUM, "int64", 2);
    zd_reduce_add_all(&reduce, 0, (const uint8_t *)element, 3);
    zd_reduce_add_all(&reduce, 1, (const uint8_t *)(element + 3), 3);
    ck_assert(!zd_reduce_finish(&reduce, 0, 2, n_added, (uint8_t *)found, &place));
    ck_assert_uint_eq(place, 1);
    ck_assert_int_eq(found[0], INT64_MAX); /* in between it did not fit either */
    zd_reduce_done(&reduce);
}
END_TEST

/* The types that results have. */
static const struct {
    enum zd_reduce_op op;
    const char *from;
    const char *to; /* NULL: refused */
} types[] = {
    {ZD_REDUCE_MEAN, "float32", "float32"},
    {ZD_REDUCE_MEAN, "float16", "float64"},
    {ZD_REDUCE_MEAN, "float64", "float64"},
    {ZD_REDUCE_MEAN, "int8", "float64"},
    {ZD_REDUCE_MEAN, "bool", "float64"},
    {ZD_REDUCE_STD, "float32", "float32"},
    {ZD_REDUCE_VAR, "uint64", "float64"},
    {ZD_REDUCE_SUM, "float16", "float32"},
    {ZD_REDUCE_SUM, "float32", "float32"},
    {ZD_REDUCE_SUM, "float64", "float64"},
    {ZD_REDUCE_SUM, "int8", "int64"},
    {ZD_REDUCE_SUM, "uint8", "uint64"},
    {ZD_REDUCE_SUM, "bool", "int64"},
    {ZD_REDUCE_SUM, "bfloat16", "float32"},
    {ZD_REDUCE_MIN, "float16", "float16"},
    {ZD_REDUCE_MAX, "bool", "bool"},
    {ZD_REDUCE_MAX, "int4", "int8"},
    {ZD_REDUCE_COUNT, "float32", "int64"},
    {ZD_REDUCE_MEAN, "complex64", NULL},
    {ZD_REDUCE_COUNT, "complex64", NULL},
    {ZD_REDUCE_MIN, "r8", NULL},
    {ZD_REDUCE_MAX, "string", NULL},
};

START_TEST(results_have_their_types)
{
    struct zd_reduce reduce;
    struct zd_dtype from;
    ck_assert_int_eq(zd_dtype_find(types[_i].from, &from), ZD_OK);
    const enum zd_status status = zd_reduce_plan(&reduce, types[_i].op, &from, true, NULL);
    ck_assert_int_eq(status, types[_i].to == NULL ? ZD_UNSUPPORTED : ZD_OK);
    if (status == ZD_OK) {
        ck_assert_str_eq(reduce.to.name, types[_i].to);
    }
}
END_TEST

/* Results for {NaN, 2, inf, -1} and for no element. */
static const struct {
    enum zd_reduce_op op;
    bool skips_nan;
    double result;
    double of_nothing;
} specials[] = {
    {ZD_REDUCE_MIN, true, -1, NAN},
    {ZD_REDUCE_MAX, true, INFINITY, NAN},
    {ZD_REDUCE_MEAN, true, INFINITY, NAN},
    {ZD_REDUCE_SUM, true, INFINITY, 0},
    {ZD_REDUCE_STD, true, NAN, NAN},
    {ZD_REDUCE_MIN, false, NAN, NAN},
    {ZD_REDUCE_MAX, false, NAN, NAN},
    {ZD_REDUCE_MEAN, false, NAN, NAN},
    {ZD_REDUCE_SUM, false, NAN, 0},
    {ZD_REDUCE_VAR, false, NAN, NAN},
};

static void assert_same(double found, double expected)
{
    ck_assert(isnan(expected) ? isnan(found) : found == expected);
}

START_TEST(nan_and_infinities_are_what_numpy_makes_of_them)
{
    static const double element[] = {NAN, 2, INFINITY, -1};
    const uint64_t n_added[] = {4, 4, 0};
    double found[3];
    uint64_t place;
    struct zd_reduce reduce;
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find("float64", &dtype), ZD_OK);
    ck_assert_int_eq(
        zd_reduce_plan(&reduce, specials[_i].op, &dtype, specials[_i].skips_nan, NULL), ZD_OK);
    ck_assert_int_eq(zd_reduce_init(&reduce, 3, NULL), ZD_OK);
    zd_reduce_clear(&reduce, 3);
    zd_reduce_add_all(&reduce, 0, (const uint8_t *)element, 4);
    for (size_t i = 0; i < 4; i++) {
        zd_reduce_add_each(&reduce, 1, (const uint8_t *)&element[i], 1);
    }
    ck_assert(zd_reduce_finish(&reduce, 0, 3, n_added, (uint8_t *)found, &place));
    assert_same(found[0], specials[_i].result);
    assert_same(found[1], specials[_i].result);
    assert_same(found[2], specials[_i].of_nothing);
    zd_reduce_done(&reduce);
}
END_TEST

START_TEST(extremes_of_ticks_leave_nat_out)
{
    static const int64_t element[] = {7, ZD_DTYPE_NAT, -3, ZD_DTYPE_NAT};
    static const uint64_t n_added[] = {4, 4, 1};
    int64_t found[3];
    uint64_t place;
    struct zd_reduce reduce;
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_of_ticks("numpy.datetime64", ZD_DTYPE_NANOSECONDS, 1, &dtype), ZD_OK);
    ck_assert_int_eq(zd_reduce_plan(&reduce, ZD_REDUCE_SUM, &dtype, true, NULL), ZD_UNSUPPORTED);
    ck_assert_int_eq(zd_reduce_plan(&reduce, ZD_REDUCE_MIN, &dtype, _i == 0, NULL), ZD_OK);
    ck_assert_int_eq(zd_reduce_init(&reduce, 3, NULL), ZD_OK);
    zd_reduce_clear(&reduce, 3);
    zd_reduce_add_all(&reduce, 0, (const uint8_t *)element, 4);
    for (size_t i = 0; i < 4; i++) {
        zd_reduce_add_each(&reduce, 1, (const uint8_t *)&element[i], 1);
    }
    zd_reduce_add_all(&reduce, 2, (const uint8_t *)&element[1], 1);
    ck_assert(zd_reduce_finish(&reduce, 0, 3, n_added, (uint8_t *)found, &place));
    ck_assert_int_eq(found[0], _i == 0 ? -3 : ZD_DTYPE_NAT);
    ck_assert_int_eq(found[1], _i == 0 ? -3 : ZD_DTYPE_NAT);
    ck_assert_int_eq(found[2], ZD_DTYPE_NAT); /* nothing is left */
    zd_reduce_done(&reduce);
}
END_TEST

static enum zd_status take(void *context)
{
    struct zd_reduce reduce;
    struct zd_dtype dtype;
    (void)context;
    ck_assert_int_eq(zd_dtype_find("float64", &dtype), ZD_OK);
    ck_assert_int_eq(zd_reduce_plan(&reduce, ZD_REDUCE_STD, &dtype, true, NULL), ZD_OK);
    const enum zd_status status = zd_reduce_init(&reduce, 10, NULL);
    zd_reduce_done(&reduce);
    return status;
}

START_TEST(memory_may_fail)
{
    struct zd_reduce reduce;
    struct zd_dtype dtype;
    zd_unit_with_failing_memory(take, NULL);
    ck_assert_int_eq(zd_dtype_find("float64", &dtype), ZD_OK);
    ck_assert_int_eq(zd_reduce_plan(&reduce, ZD_REDUCE_STD, &dtype, true, NULL), ZD_OK);
    ck_assert_int_eq(zd_reduce_init(&reduce, UINT64_MAX, NULL), ZD_NO_MEMORY);
    zd_reduce_done(&reduce);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, float64_is_added_up_without_loss);
    tcase_add_test(tests, a_sum_that_does_not_fit_is_found);
    tcase_add_loop_test(tests, results_have_their_types, 0, ZD_COUNT_OF(types));
    tcase_add_loop_test(
        tests, nan_and_infinities_are_what_numpy_makes_of_them, 0, ZD_COUNT_OF(specials));
    tcase_add_loop_test(tests, extremes_of_ticks_leave_nat_out, 0, 2); /* skipped, and not */
    tcase_add_test(tests, memory_may_fail);
}
