/* Facts about core/base/decimal. */
#include "core/base/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/half.h"
#include "tests/support/unit.h"

#define N_RANDOM 20000

static const struct float_fact {
    double value;
    unsigned bits;
    const char *text;
} float_facts[] = {
    {0.0, 64, "0.0"},
    {-0.0, 64, "-0.0"},
    {-0.0, 32, "-0.0"},
    {1, 64, "1.0"},
    {-1, 16, "-1.0"},
    {0.1, 64, "0.1"},
    {0.1 + 0.2, 64, "0.30000000000000004"},
    {(double)0.1F, 32, "0.1"},
    {(double)0.1F, 64, "0.10000000149011612"},
    {0.0999755859375, 16, "0.1"},
    {100, 64, "100.0"},
    {1e15, 64, "1000000000000000.0"},
    {9007199254740993.0, 64, "9007199254740992.0"},
    {1e16, 64, "1e+16"},
    {1.5e16, 64, "1.5e+16"},
    {1e22, 64, "1e+22"},
    {1e300, 64, "1e+300"},
    {1.7976931348623157e308, 64, "1.7976931348623157e+308"},
    {0.001, 64, "0.001"},
    {0.00001, 64, "0.00001"},
    {0.000001, 64, "1e-6"},
    {1.5e-7, 64, "1.5e-7"},
    {5e-324, 64, "5e-324"}, /* the least subnormal */
    {2.2250738585072014e-308, 64, "2.2250738585072014e-308"},
    {0x1p-149, 32, "1e-45"},
    {0x1p-24, 16, "6e-8"},
    {65504, 16, "65500.0"},
    {(double)3.4028234663852886e38F, 32, "3.4028235e+38"},
    {16777216, 32, "16777216.0"},
    {(double)9.96921e36F, 32, "9.96921e+36"},
    {9.969209968386869e+36, 64, "9.969209968386869e+36"},
    {1013.25, 32, "1013.25"},
    {999999, 32, "999999.0"},
    {1000000, 32, "1000000.0"},
    {9.999999e9, 64, "9999999000.0"},
};

START_TEST(floats_have_their_shortest_form)
{
    const struct float_fact *fact = &float_facts[_i];
    ZD_SCOPED_TEXT(text, 100);
    ck_assert_int_eq(zd_decimal_add(&text, fact->value, fact->bits), ZD_OK);
    ck_assert_str_eq(text.at, fact->text);
}
END_TEST

static double value_of_bits(uint64_t random, unsigned bits)
{
    float narrow;
    double wide;
    const uint32_t low = (uint32_t)random;
    switch (bits) {
    case 16:
        return (double)zd_half_to_float((uint16_t)random);
    case 32:
        memcpy(&narrow, &low, sizeof narrow);
        return (double)narrow;
    default:
        memcpy(&wide, &random, sizeof wide);
        return wide;
    }
}

static double read_as(const char *text, unsigned bits)
{
    switch (bits) {
    case 16:
        return (double)zd_half_to_float(zd_half_from_double(strtod(text, NULL)));
    case 32:
        return (double)strtof(text, NULL);
    default:
        return strtod(text, NULL);
    }
}

static int count_digits(const char *text)
{
    char digits[64];
    int n = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0')) {
            digits[n++] = *text;
        }
    }
    while (n > 0 && digits[n - 1] == '0') {
        n--;
    }
    return n;
}

/* printf with one digit more each time: slow, and right. */
static int fewest_digits(double value, unsigned bits)
{
    char text[64];
    int n = 1;
    do {
        snprintf(text, sizeof text, "%.*e", n - 1, value);
    } while (read_as(text, bits) != value && n++ < 17);
    return count_digits(text);
}

static void check(double value, unsigned bits)
{
    if (!isfinite(value)) {
        return;
    }
    ZD_SCOPED_TEXT(text, 100);
    ck_assert_int_eq(zd_decimal_add(&text, value, bits), ZD_OK);
    ck_assert_msg(read_as(text.at, bits) == value, "%a as %s", value, text.at);
    ck_assert_msg(count_digits(text.at) == fewest_digits(value, bits), "%a (%u bits) as %s", value,
        bits, text.at);
}

START_TEST(any_bits_read_back_from_the_fewest_digits)
{
    for (int i = 0; i < N_RANDOM; i++) {
        const uint64_t random = zd_unit_random();
        check(value_of_bits(random, 32), 32);
        check(value_of_bits(random, 64), 64);
        check((double)(float)((double)(int32_t)random / 65536.0), 32);
        check((double)(int32_t)random / 100.0, 64);
        check((double)(float)((double)(int32_t)random / 100.0), 32);
    }
}
END_TEST

START_TEST(every_half_reads_back_from_the_fewest_digits)
{
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        const float value = zd_half_to_float((uint16_t)half);
        check((double)value, 16);
        if (!isnan(value)) {
            ck_assert_uint_eq(zd_half_from_double((double)value), half);
        }
    }
}
END_TEST

static const struct half_fact {
    double value;
    uint16_t half;
} half_facts[] = {
    {65504, 0x7BFF},
    {65519.99, 0x7BFF},
    {65520, 0x7C00}, /* half way: to even, which is infinity */
    {-65520, 0xFC00},
    {1e300, 0x7C00},
    {(double)INFINITY, 0x7C00},
    {1 + 0x1p-11, 0x3C00},           /* half way, down to even */
    {1 + 3 * 0x1p-11, 0x3C02},       /* half way, up to even */
    {1 + 0x1p-11 + 0x1p-40, 0x3C01}, /* rounded once, not by way of float */
    {2 - 0x1p-12, 0x4000},           /* carries into the exponent */
    {0x1p-14 - 0x1p-26, 0x0400},     /* a subnormal that becomes normal */
    {0x1p-24, 0x0001},
    {0x1p-25, 0x0000},
    {0x1.8p-24, 0x0002},
    {-0.0, 0x8000},
};

START_TEST(halves_round_half_to_even)
{
    ck_assert_uint_eq(zd_half_from_double(half_facts[_i].value), half_facts[_i].half);
}
END_TEST

START_TEST(nan_stays_nan_in_a_half)
{
    ck_assert_uint_eq(zd_half_from_double((double)NAN), 0x7E00);
    ck_assert(isnan(zd_half_to_float(0x7E01)));
}
END_TEST

START_TEST(the_locale_changes_nothing)
{
    /* Where the locale is not installed, this says nothing. */
    setlocale(LC_ALL, "de_DE.UTF-8");
    ZD_SCOPED_TEXT(text, 100);
    ck_assert_int_eq(zd_decimal_add(&text, 0.1 + 0.2, 64), ZD_OK);
    ck_assert_str_eq(text.at, "0.30000000000000004");
}
END_TEST

static enum zd_status add(void *context)
{
    ZD_SCOPED_TEXT(text, 100);
    return zd_decimal_add(&text, *(const double *)context, 64);
}

START_TEST(short_memory_is_said_so)
{
    double value = 0.1;
    zd_unit_with_failing_memory(add, &value);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, floats_have_their_shortest_form, 0, ZD_COUNT_OF(float_facts));
    tcase_add_test(tests, any_bits_read_back_from_the_fewest_digits);
    tcase_add_test(tests, every_half_reads_back_from_the_fewest_digits);
    tcase_add_loop_test(tests, halves_round_half_to_even, 0, ZD_COUNT_OF(half_facts));
    tcase_add_test(tests, nan_stays_nan_in_a_half);
    tcase_add_test(tests, the_locale_changes_nothing);
    tcase_add_test(tests, short_memory_is_said_so);
}
