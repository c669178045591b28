/* Facts about core/grid/calendar: what NumPy says of the same ticks. */
#include "core/grid/calendar.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct fact {
    enum zd_dtype_unit unit;
    uint32_t scale;
    int64_t ticks;
    const char *date; /* NULL: there is none */
} facts[] = {
    {ZD_DTYPE_YEARS, 1, 0, "1970"},
    {ZD_DTYPE_YEARS, 1, -1970, "0000"},
    {ZD_DTYPE_YEARS, 1, -1971, "-0001"},
    {ZD_DTYPE_YEARS, 1, 8030, "10000"},
    {ZD_DTYPE_YEARS, 100, -3, "1670"},
    {ZD_DTYPE_YEARS, 1, INT64_MAX - 1970, "9223372036854775807"},
    {ZD_DTYPE_YEARS, 1, INT64_MAX - 1969, NULL},
    {ZD_DTYPE_YEARS, 1, INT64_MIN + 1, "-9223372036854773837"},
    {ZD_DTYPE_YEARS, 2, INT64_MAX / 2 + 1, NULL},
    {ZD_DTYPE_MONTHS, 1, 0, "1970-01"},
    {ZD_DTYPE_MONTHS, 1, -1, "1969-12"},
    {ZD_DTYPE_MONTHS, 3, 5, "1971-04"},
    {ZD_DTYPE_WEEKS, 1, -1, "1969-12-25"},
    {ZD_DTYPE_WEEKS, 1, 1, "1970-01-08"},
    {ZD_DTYPE_DAYS, 1, 59, "1970-03-01"},
    {ZD_DTYPE_DAYS, 1, 11016, "2000-02-29"},
    {ZD_DTYPE_DAYS, 1, 11017, "2000-03-01"},
    {ZD_DTYPE_DAYS, 1, -25509, "1900-02-28"},
    {ZD_DTYPE_DAYS, 1, -25508, "1900-03-01"},
    {ZD_DTYPE_DAYS, 1, -719468, "0000-03-01"},
    {ZD_DTYPE_DAYS, 1, -719469, "0000-02-29"},
    {ZD_DTYPE_DAYS, 1, -719529, "-0001-12-31"},
    {ZD_DTYPE_DAYS, 1, 2932896, "9999-12-31"},
    {ZD_DTYPE_HOURS, 1, -1, "1969-12-31T23"},
    {ZD_DTYPE_MINUTES, 1, 1440, "1970-01-02T00:00"},
    {ZD_DTYPE_SECONDS, 1, 951827696, "2000-02-29T12:34:56"},
    {ZD_DTYPE_SECONDS, 1, -1, "1969-12-31T23:59:59"},
    {ZD_DTYPE_MILLISECONDS, 1, -1, "1969-12-31T23:59:59.999"},
    {ZD_DTYPE_MICROSECONDS, 10, 1, "1970-01-01T00:00:00.000010"},
    {ZD_DTYPE_MICROSECONDS, 10, -1, "1969-12-31T23:59:59.999990"},
    {ZD_DTYPE_NANOSECONDS, 1, INT64_MAX, "2262-04-11T23:47:16.854775807"},
    {ZD_DTYPE_NANOSECONDS, 1, INT64_MIN + 1, "1677-09-21T00:12:43.145224193"},
    {ZD_DTYPE_NANOSECONDS, 1000000007, -1, "1969-12-31T23:59:58.999999993"},
    {ZD_DTYPE_ATTOSECONDS, 1, -1, "1969-12-31T23:59:59.999999999999999999"},
    {ZD_DTYPE_ATTOSECONDS, 1, INT64_MAX, "1970-01-01T00:00:09.223372036854775807"},
};

static struct zd_dtype dtype_of(enum zd_dtype_unit unit, uint32_t scale)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_of_ticks("numpy.datetime64", unit, scale, &dtype), ZD_OK);
    return dtype;
}

START_TEST(tick_is_the_date_that_numpy_says)
{
    const struct fact *fact = &facts[_i];
    const struct zd_dtype dtype = dtype_of(fact->unit, fact->scale);
    ZD_SCOPED_TEXT(date, 100);
    ck_assert_int_eq(zd_calendar_add(&dtype, fact->ticks, &date), fact->date != NULL);
    ck_assert_str_eq(date.at, fact->date == NULL ? "" : fact->date);
}
END_TEST

/* Years of more than 15 digits are written, not read. */
START_TEST(date_is_read_as_the_tick_that_it_was)
{
    const struct fact *fact = &facts[_i];
    const struct zd_dtype dtype = dtype_of(fact->unit, fact->scale);
    int64_t ticks = 0;
    if (fact->date != NULL && strspn(fact->date, "-0123456789") < 16) {
        ck_assert_msg(zd_calendar_read(&dtype, zd_span_of(fact->date), &ticks), "%s", fact->date);
        ck_assert_int_eq(ticks, fact->ticks);
    }
}
END_TEST

START_TEST(every_tick_comes_back)
{
    for (uint32_t i = 0; i < 20000; i++) {
        const enum zd_dtype_unit unit = (enum zd_dtype_unit)zd_unit_random() % ZD_DTYPE_GENERIC;
        const uint32_t scale = 1 + (uint32_t)zd_unit_random() % 60;
        const struct zd_dtype dtype = dtype_of(unit, scale);
        const int64_t limit = INT64_MAX >> (zd_unit_random() % 63);
        const int64_t wanted = (int64_t)zd_unit_random() % limit / 61;
        int64_t found = 0;
        ZD_SCOPED_TEXT(date, 100);
        if (zd_calendar_add(&dtype, wanted, &date) && strspn(date.at, "-0123456789") < 16) {
            ck_assert_msg(zd_calendar_read(&dtype, zd_text_span(&date), &found), "%s", date.at);
            ck_assert_msg(found == wanted, "%s", date.at);
        }
    }
}
END_TEST

static const struct other_fact {
    enum zd_dtype_unit unit;
    const char *date;
    bool is_read;
    int64_t ticks;
} others[] = {
    {ZD_DTYPE_SECONDS, "1970-01-01", true, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T00:01Z", true, 60},
    {ZD_DTYPE_SECONDS, "+1970-01-01T00:00:01.000000000000000000", true, 1},
    {ZD_DTYPE_DAYS, "1971", true, 365},
    {ZD_DTYPE_YEARS, "1971-01-01T00:00:00.0Z", true, 1},
    {ZD_DTYPE_YEARS, "1971-02", false, 0},
    {ZD_DTYPE_MONTHS, "1971-02-02", false, 0},
    {ZD_DTYPE_DAYS, "1971-02-02T01", false, 0},
    {ZD_DTYPE_WEEKS, "1970-01-02", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T00:00:00.1", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T00:00:00.", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T00:00:00.0000000000000000000", false, 0},
    {ZD_DTYPE_SECONDS, "", false, 0},
    {ZD_DTYPE_SECONDS, "197", false, 0},
    {ZD_DTYPE_SECONDS, "1970-", false, 0},
    {ZD_DTYPE_SECONDS, "1970-13", false, 0},
    {ZD_DTYPE_SECONDS, "1970-00", false, 0},
    {ZD_DTYPE_SECONDS, "1970-02-29", false, 0},
    {ZD_DTYPE_SECONDS, "1900-02-29", false, 0},
    {ZD_DTYPE_SECONDS, "2000-02-30", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01 00:00", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T24", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T23:59:60", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01-01T00:00+01:00", false, 0},
    {ZD_DTYPE_SECONDS, "1970-01Z", false, 0},
    {ZD_DTYPE_SECONDS, "1000000000000001", false, 0},
    {ZD_DTYPE_SECONDS, "99999999999999999999999999", false, 0},
    {ZD_DTYPE_SECONDS, "1000000000000", false, 0}, /* the seconds do not fit */
    {ZD_DTYPE_NANOSECONDS, "2262-04-11T23:47:16.854775808", false, 0},
    {ZD_DTYPE_NANOSECONDS, "1677-09-21T00:12:43.145224192", false, 0}, /* NaT */
    {ZD_DTYPE_GENERIC, "1970", false, 0},
};

START_TEST(other_dates_are_read_where_a_tick_begins)
{
    const struct other_fact *fact = &others[_i];
    const struct zd_dtype dtype = dtype_of(fact->unit, 1);
    int64_t ticks = 0;
    ck_assert_msg(zd_calendar_read(&dtype, zd_span_of(fact->date), &ticks) == fact->is_read, "%s",
        fact->date);
    ck_assert_int_eq(ticks, fact->ticks);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, tick_is_the_date_that_numpy_says, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, date_is_read_as_the_tick_that_it_was, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, every_tick_comes_back);
    tcase_add_loop_test(tests, other_dates_are_read_where_a_tick_begins, 0, ZD_COUNT_OF(others));
}
