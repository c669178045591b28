/* Facts about core/grid/summary. */
#include "core/grid/summary.h"

#include <math.h>
#include <string.h>

#include "tests/support/unit.h"

#define N_RANDOM 2000

static struct zd_summary summary_of(const char *dtype, const void *fill, bool drops_fill)
{
    struct zd_summary summary;
    struct zd_summary_config config = {
        .fill = fill, .drops_fill = drops_fill, .wants_moments = true};
    ck_assert_int_eq(zd_dtype_find(dtype, &config.dtype), ZD_OK);
    zd_summary_init(&summary, &config);
    return summary;
}

static const struct fact {
    const char *dtype;
    size_t n;
    const void *elements;
    const void *fill;
    uint64_t count;
    uint64_t n_nan;
    uint64_t n_fill;
    double min;
    double max;
    double mean;
    double std;
} facts[] = {
    {"int8", 3, (const int8_t[]){-128, 127, 1}, (const int8_t[]){0}, 3, 0, 0, -128, 127, 0,
        104.10571550111935},
    {"int8", 3, (const int8_t[]){-128, 127, 0}, (const int8_t[]){0}, 2, 0, 1, -128, 127, -0.5,
        127.5},
    {"uint16", 4, (const uint16_t[]){65535, 0, 1, 1}, (const uint16_t[]){1}, 2, 0, 2, 0, 65535,
        32767.5, 32767.5},
    {"bool", 4, (const uint8_t[]){1, 1, 1, 0}, (const uint8_t[]){0}, 3, 0, 1, 1, 1, 1, 0},
    {"float32", 4, (const float[]){1, NAN, 3, 7}, (const float[]){7}, 2, 1, 1, 1, 3, 2, 1},
    {"float64", 2, (const double[]){-0.0, 1}, (const double[]){0}, 1, 0, 1, 1, 1, 1, 0},
    {"float64", 2, (const double[]){INFINITY, 1}, (const double[]){0}, 2, 0, 0, 1, INFINITY,
        INFINITY, NAN},
    {"float64", 2, (const double[]){INFINITY, -INFINITY}, (const double[]){0}, 2, 0, 0, -INFINITY,
        INFINITY, NAN, NAN},
    {"float16", 3, (const uint16_t[]){0x3c00, 0x7e00, 0xc000}, (const uint16_t[]){0}, 2, 1, 0, -2,
        1, -0.5, 1.5},
    {"float32", 2, (const uint32_t[]){0x7fc00000, 0x7fc00001}, (const uint32_t[]){0x7fc00001}, 0, 1,
        1, 0, 0, 0, 0},
};

static double value_of(const struct zd_dtype *dtype, const void *element)
{
    switch (dtype->kind) {
    case ZD_DTYPE_FLOAT:
        return zd_element_f64(dtype, element);
    case ZD_DTYPE_INT:
        return (double)zd_element_i64(dtype, element);
    default:
        return (double)zd_element_u64(dtype, element);
    }
}

static void assert_same(double found, double expected)
{
    ck_assert_msg(found == expected || (isnan(found) && isnan(expected)) ||
                      fabs(found - expected) <= 1e-14 * fabs(expected),
        "%.17g, expected %.17g", found, expected);
}

START_TEST(elements_are_summed_up)
{
    const struct fact *fact = &facts[_i];
    struct zd_summary summary = summary_of(fact->dtype, fact->fill, true);
    zd_summary_add(&summary, fact->elements, fact->n);
    ck_assert_uint_eq(summary.count, fact->count);
    ck_assert_uint_eq(summary.n_nan, fact->n_nan);
    ck_assert_uint_eq(summary.n_fill, fact->n_fill);
    if (fact->count > 0) {
        ck_assert(value_of(&summary.dtype, summary.min) == fact->min);
        ck_assert(value_of(&summary.dtype, summary.max) == fact->max);
        assert_same(zd_summary_mean(&summary), fact->mean);
        assert_same(zd_summary_std(&summary), fact->std);
    }
}
END_TEST

START_TEST(order_is_that_of_the_data_type)
{
    struct zd_dtype i64;
    struct zd_dtype u64;
    ck_assert_int_eq(zd_dtype_find("int64", &i64), ZD_OK);
    ck_assert_int_eq(zd_dtype_find("uint64", &u64), ZD_OK);
    /* A double takes them for equal. */
    const int64_t a = INT64_MAX;
    const int64_t b = INT64_MAX - 1;
    const uint64_t minus_one = UINT64_MAX;
    ck_assert_int_gt(zd_element_compare(&i64, &a, &b), 0);
    ck_assert_int_lt(zd_element_compare(&i64, &minus_one, &b), 0);
    ck_assert_int_gt(zd_element_compare(&u64, &minus_one, &b), 0);
    ck_assert_int_eq(zd_element_compare(&u64, &b, &b), 0);
}
END_TEST

START_TEST(types_without_an_order_are_known)
{
    static const char *const without[] = {"complex64", "complex128", "r8", "r128"};
    struct zd_dtype dtype;
    for (size_t i = 0; i < ZD_COUNT_OF(without); i++) {
        ck_assert_int_eq(zd_dtype_find(without[i], &dtype), ZD_OK);
        ck_assert(!zd_dtype_is_ordered(&dtype));
    }
    ck_assert_int_eq(zd_dtype_find("float16", &dtype), ZD_OK);
    ck_assert(zd_dtype_is_ordered(&dtype));
}
END_TEST

START_TEST(fill_value_counts_unless_it_is_dropped)
{
    const int32_t fill = 7;
    struct zd_summary kept = summary_of("int32", &fill, false);
    struct zd_summary left_out = summary_of("int32", &fill, true);
    zd_summary_add_fill(&kept, 1000000);
    zd_summary_add_fill(&left_out, 1000000);
    zd_summary_add(&kept, (const int32_t[]){7, 1000007}, 2);
    ck_assert_uint_eq(kept.count, 1000002);
    ck_assert_uint_eq(kept.n_fill, 1000001);
    assert_same(zd_summary_mean(&kept), 7 + 1e6 / 1000002);
    ck_assert_uint_eq(left_out.count, 0);
    ck_assert_uint_eq(left_out.n_fill, 1000000);
}
END_TEST

/* However they are cut into parts: against sums in long double, of numbers whose differences are
 * small and exact. */
START_TEST(parts_are_joined_without_loss)
{
    const int64_t fill = 0;
    const int64_t base = INT64_C(1) << 60;
    int64_t element[N_RANDOM];
    long double sum = 0;
    long double squares = 0;
    for (size_t i = 0; i < N_RANDOM; i++) {
        element[i] = base + (int64_t)(zd_unit_random() % 1000);
        sum += (long double)(element[i] - base);
    }
    const long double mean = sum / N_RANDOM;
    for (size_t i = 0; i < N_RANDOM; i++) {
        const long double distance = (long double)(element[i] - base) - mean;
        squares += distance * distance;
    }
    struct zd_summary all = summary_of("int64", &fill, false);
    for (size_t i = 0; i < N_RANDOM;) {
        const size_t n = (size_t)zd_min_u64(1 + zd_unit_random() % 300, N_RANDOM - i);
        struct zd_summary part = summary_of("int64", &fill, false);
        zd_summary_add(&part, element + i, n);
        zd_summary_join(&all, &part);
        i += n;
    }
    ck_assert_uint_eq(all.count, N_RANDOM);
    assert_same(zd_summary_mean(&all), (double)((long double)base + mean));
    assert_same(zd_summary_std(&all), (double)sqrtl(squares / N_RANDOM));
}
END_TEST

START_TEST(elements_may_be_at_any_address)
{
    uint8_t bytes[1 + 3 * sizeof(double)];
    const double values[] = {3, 1, 2};
    const double fill = 0;
    memcpy(bytes + 1, values, sizeof values);
    struct zd_summary summary = summary_of("float64", &fill, false);
    zd_summary_add(&summary, bytes + 1, 3);
    ck_assert(zd_element_f64(&summary.dtype, summary.min) == 1);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, elements_are_summed_up, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, order_is_that_of_the_data_type);
    tcase_add_test(tests, types_without_an_order_are_known);
    tcase_add_test(tests, fill_value_counts_unless_it_is_dropped);
    tcase_add_test(tests, parts_are_joined_without_loss);
    tcase_add_test(tests, elements_may_be_at_any_address);
}
