/* Facts about core/grid/cf_time. */
#include "core/grid/cf_time.h"

#include <math.h>

#include "tests/support/unit.h"

static const struct fact {
    const char *units;
    const char *calendar;
    enum zd_status status;
    int64_t value;
    const char *date; /* of the value */
} facts[] = {
    {"days since 2001-01-01", "", ZD_OK, 59, "2001-03-01T00:00:00"},
    {"days since 2001-01-01", "360_day", ZD_OK, 59, "2001-02-30T00:00:00"},
    {"days since 2000-01-01", "noleap", ZD_OK, 59, "2000-03-01T00:00:00"},
    {"days since 2001-01-01", "all_leap", ZD_OK, 59, "2001-02-29T00:00:00"},
    {"days since 1582-10-04", "standard", ZD_OK, 1, "1582-10-15T00:00:00"},
    {"days since 1582-10-04", "proleptic_gregorian", ZD_OK, 1, "1582-10-05T00:00:00"},
    {"days since 1582-10-04", "julian", ZD_OK, 1, "1582-10-05T00:00:00"},
    {"Hours Since 1900-01-01 00:00:0.0", "gregorian", ZD_OK, 1051896, "2020-01-01T00:00:00"},
    {"hr since 2000-1-1 6:00 +1", "", ZD_OK, -1, "2000-01-01T04:00:00"},
    {"  seconds   since  1970-01-01T00:00:00Z", "", ZD_OK, -1, "1969-12-31T23:59:59"},
    {"msec since 1970-01-01", "", ZD_OK, 1, "1970-01-01T00:00:00.001"},
    {"ns since 1970-01-01", "", ZD_OK, INT64_MAX, "2262-04-11T23:47:16.854775807"},
    {"weeks since 1970-01-01", "", ZD_OK, 1, "1970-01-08T00:00:00"},
    {"months since 2000-01-31", "360_day", ZD_INVALID, 0, NULL},
    {"months since 2000-01-30", "360_day", ZD_OK, 2, "2000-03-30T00:00:00"},
    {"common_years since 2000-01-01", "365_day", ZD_OK, 3, "2003-01-01T00:00:00"},
    {"days since 0000-01-01", "noleap", ZD_OK, 366, "0001-01-02T00:00:00"},
    {"days since 0000-01-01", "standard", ZD_INVALID, 0, NULL}, /* it has no year 0 */
    {"days since -0001-12-31", "standard", ZD_OK, 1, "0001-01-01T00:00:00"},
    {"days since 1582-10-10", "standard", ZD_INVALID, 0, NULL},
    {"days since 2001-02-29", "", ZD_INVALID, 0, NULL},
    {"days since 99999999999999-01-01", "", ZD_INVALID, 0, NULL},
    {"days since 999999999999-01-01", "", ZD_INVALID, 0, NULL},
    {"days since the flood", "", ZD_INVALID, 0, NULL},
    {"days since 2001-01-01", "martian", ZD_INVALID, 0, NULL},
    {"days since 2001-01-01", "none", ZD_INVALID, 0, NULL},
    {"months since 2001-01-01", "", ZD_UNSUPPORTED, 0, NULL},
    {"years since 2001-01-01", "", ZD_UNSUPPORTED, 0, NULL},
    {"metres since 2001-01-01", "", ZD_UNSUPPORTED, 0, NULL},
    {"days", "", ZD_UNSUPPORTED, 0, NULL},
    {"", "", ZD_UNSUPPORTED, 0, NULL},
};

START_TEST(number_is_a_date)
{
    const struct fact *fact = &facts[_i];
    struct zd_cf_time time;
    struct zd_error err = {0};
    zd_i128 moment;
    ZD_SCOPED_TEXT(date, 64);
    ck_assert_msg(zd_cf_time_parse(zd_span_of(fact->units), zd_span_of(fact->calendar), &time,
                      &err) == fact->status,
        "%s: %s", fact->units, err.text);
    if (fact->status != ZD_OK) {
        ck_assert(err.text[0] != '\0');
        return;
    }
    ck_assert(zd_cf_time_of_i64(&time, fact->value, &moment));
    ck_assert(zd_cf_time_add(time.calendar, moment, &date));
    ck_assert_str_eq(date.at, fact->date);
}
END_TEST

static struct zd_cf_time time_of(const char *units)
{
    struct zd_cf_time time;
    ck_assert_int_eq(zd_cf_time_parse(zd_span_of(units), zd_span_of(""), &time, NULL), ZD_OK);
    return time;
}

/* Quotients that Python's fractions give. */
static const struct ratio_fact {
    const char *units;
    int64_t seconds;
    double number;
} ratios[] = {
    {"days since 1970-01-01", 3600, 0.041666666666666664},
    {"days since 1970-01-01", 1, 1.1574074074074073e-05},
    {"days since 1970-01-01", -7, -8.101851851851852e-05},
    {"days since 1970-01-01", 86399, 0.999988425925926},
    {"days since 1970-01-01", 3155680800, 36524.083333333336},
    {"hours since 1970-01-01", 7, 0.0019444444444444444},
    {"hours since 1970-01-01", 0, 0},
};

START_TEST(moment_of_a_float_is_as_exact_as_the_float)
{
    const struct ratio_fact *fact = &ratios[_i];
    const struct zd_cf_time time = time_of(fact->units);
    const zd_i128 moment = (zd_i128)fact->seconds * ZD_CF_AS_A_SECOND;
    zd_i128 again;
    ck_assert(zd_cf_time_of_f64(&time, fact->number, &again));
    ck_assert(again - moment < ZD_CF_AS_A_SECOND / 1000000 &&
              moment - again < ZD_CF_AS_A_SECOND / 1000000); /* as exact as the float */
}
END_TEST

START_TEST(float_that_is_no_time_is_refused)
{
    static const double numbers[] = {
        (double)NAN, (double)INFINITY, (double)-INFINITY, 1e300, -1e19};
    const struct zd_cf_time time = time_of("days since 1970-01-01");
    zd_i128 moment = 7;
    ck_assert(!zd_cf_time_of_f64(&time, numbers[_i], &moment));
    ck_assert(moment == 7);
}
END_TEST

START_TEST(number_too_far_away_is_refused)
{
    struct zd_cf_time time;
    zd_i128 moment = 7;
    ck_assert_int_eq(zd_cf_time_parse(zd_span_of("common_years since 2000-01-01"),
                         zd_span_of("noleap"), &time, NULL),
        ZD_OK);
    ck_assert(!zd_cf_time_of_i64(&time, INT64_MIN, &moment));
    ck_assert(!zd_cf_time_of_u64(&time, UINT64_MAX, &moment));
    ck_assert(moment == 7);
}
END_TEST

START_TEST(moment_is_in_nanoseconds_where_they_fit)
{
    int64_t ns = 0;
    ck_assert(zd_cf_time_ns((zd_i128)INT64_MAX * 1000000000 + 999999999, &ns));
    ck_assert(ns == INT64_MAX);
    ck_assert(!zd_cf_time_ns(((zd_i128)INT64_MAX + 1) * 1000000000, &ns));
    ck_assert(zd_cf_time_ns(-1, &ns));
    ck_assert(ns == -1); /* rounded down */
    ck_assert(zd_cf_time_ns((zd_i128)(INT64_MIN + 1) * 1000000000, &ns));
    ck_assert(!zd_cf_time_ns((zd_i128)INT64_MIN * 1000000000, &ns)); /* NaT */
}
END_TEST

START_TEST(ticks_are_times)
{
    struct zd_dtype dtype;
    struct zd_cf_time time;
    zd_i128 moment;
    ZD_SCOPED_TEXT(date, 64);
    ck_assert_int_eq(zd_dtype_of_ticks("numpy.datetime64", ZD_DTYPE_HOURS, 6, &dtype), ZD_OK);
    ck_assert(zd_cf_time_of_ticks(&dtype, &time));
    ck_assert(zd_cf_time_of_i64(&time, 5, &moment));
    ck_assert(zd_cf_time_add(time.calendar, moment, &date));
    ck_assert_str_eq(date.at, "1970-01-02T06:00:00");
    ck_assert_int_eq(zd_dtype_of_ticks("numpy.datetime64", ZD_DTYPE_MONTHS, 1, &dtype), ZD_OK);
    ck_assert(!zd_cf_time_of_ticks(&dtype, &time));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, number_is_a_date, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, moment_of_a_float_is_as_exact_as_the_float, 0, ZD_COUNT_OF(ratios));
    tcase_add_loop_test(tests, float_that_is_no_time_is_refused, 0, 5);
    tcase_add_test(tests, number_too_far_away_is_refused);
    tcase_add_test(tests, moment_is_in_nanoseconds_where_they_fit);
    tcase_add_test(tests, ticks_are_times);
}
