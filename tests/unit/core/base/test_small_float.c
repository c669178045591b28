/* Facts about core/base/small_float: every code of every format. */
#include "core/base/small_float.h"

#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct fact {
    struct zd_small_float format;
    uint32_t n_bits;
    double greatest;
    double least; /* above 0 */
} facts[] = {
    {{8, 7, 127, ZD_SMALL_FLOAT_IEEE}, 16, 0x1.FEp127, 0x1p-133},
    {{3, 4, 3, ZD_SMALL_FLOAT_IEEE}, 8, 15.5, 0x1p-6},
    {{4, 3, 7, ZD_SMALL_FLOAT_IEEE}, 8, 240, 0x1p-9},
    {{4, 3, 11, ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO}, 8, 30, 0x1p-13},
    {{4, 3, 8, ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO}, 8, 240, 0x1p-10},
    {{5, 2, 15, ZD_SMALL_FLOAT_IEEE}, 8, 57344, 0x1p-16},
    {{5, 2, 16, ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO}, 8, 57344, 0x1p-17},
    {{8, 0, 127, ZD_SMALL_FLOAT_POWERS}, 8, 0x1p127, 0x1p-127},
    {{2, 3, 1, ZD_SMALL_FLOAT_FINITE}, 6, 7.5, 0.125},
    {{3, 2, 3, ZD_SMALL_FLOAT_FINITE}, 6, 28, 0.0625},
    {{2, 1, 1, ZD_SMALL_FLOAT_FINITE}, 4, 6, 0.5},
    {{5, 10, 15, ZD_SMALL_FLOAT_IEEE}, 16, 65504, 0x1p-24},
};

START_TEST(format_has_its_range)
{
    const struct fact *fact = &facts[_i];
    const uint32_t first = fact->format.specials == ZD_SMALL_FLOAT_POWERS ? 0 : 1;
    ck_assert_uint_eq(zd_small_float_bits(&fact->format), fact->n_bits);
    ck_assert_double_eq(zd_small_float_greatest(&fact->format), fact->greatest);
    ck_assert_double_eq(zd_small_float_value(&fact->format, first), fact->least);
}
END_TEST

START_TEST(every_code_comes_back_from_its_value_and_its_float)
{
    const struct zd_small_float *format = &facts[_i].format;
    uint32_t nan = 0;
    const bool has_nan = zd_small_float_nan(format, &nan);
    for (uint32_t code = 0; code < UINT32_C(1) << facts[_i].n_bits; code++) {
        const double value = zd_small_float_value(format, code);
        uint32_t again = 0;
        uint32_t float_bits = zd_small_float_widen(format, code);
        float wide;
        memcpy(&wide, &float_bits, sizeof wide);
        ck_assert(isnan(value) ? isnan(wide) : (double)wide == value);
        ck_assert(zd_small_float_narrow(format, float_bits, &again));
        ck_assert_msg(again == code, "%x became %x", code, again);
        ck_assert(zd_small_float_nearest(format, value, &again));
        ck_assert_uint_eq(again, isnan(value) ? nan : code);
        ck_assert(has_nan || !isnan(value));
    }
}
END_TEST

/* Between neighbours: the nearer one, and of two the even one. */
START_TEST(nearest_is_the_nearer_neighbour)
{
    const struct zd_small_float *format = &facts[_i].format;
    const bool has_zero = format->specials != ZD_SMALL_FLOAT_POWERS;
    for (uint32_t code = 0; zd_small_float_value(format, code) < facts[_i].greatest; code++) {
        const double low = zd_small_float_value(format, code);
        const double high = zd_small_float_value(format, code + 1);
        const double middle = (low + high) / 2;
        uint32_t found = 0;
        ck_assert(zd_small_float_nearest(format, nextafter(middle, low), &found));
        ck_assert_uint_eq(found, code);
        ck_assert(zd_small_float_nearest(format, nextafter(middle, high), &found));
        ck_assert_uint_eq(found, code + 1);
        ck_assert(zd_small_float_nearest(format, middle, &found));
        ck_assert_uint_eq(found, code % 2 == 0 ? code : code + 1);
        if (has_zero) {
            ck_assert(zd_small_float_nearest(format, -nextafter(middle, high), &found));
            ck_assert_double_eq(zd_small_float_value(format, found), -high);
        }
    }
}
END_TEST

START_TEST(beyond_the_greatest_is_an_infinity_or_nothing)
{
    const struct zd_small_float *format = &facts[_i].format;
    uint32_t infinity = 0;
    uint32_t found = 0;
    const bool has_infinity = zd_small_float_infinity(format, &infinity);
    const double beyond[] = {2 * facts[_i].greatest, INFINITY, 0x1p1023};
    for (size_t i = 0; i < ZD_COUNT_OF(beyond); i++) {
        ck_assert_int_eq(zd_small_float_nearest(format, beyond[i], &found), has_infinity);
        ck_assert(!has_infinity || found == infinity);
    }
    ck_assert(!has_infinity || isinf(zd_small_float_value(format, infinity)));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, format_has_its_range, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(
        tests, every_code_comes_back_from_its_value_and_its_float, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, nearest_is_the_nearer_neighbour, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(
        tests, beyond_the_greatest_is_an_infinity_or_nothing, 0, ZD_COUNT_OF(facts));
}
