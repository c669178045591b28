/* Facts about core/grid/cf_calendar: what cftime says of the same dates. */
#include "core/grid/cf_calendar.h"

#include "tests/support/unit.h"

static const struct fact {
    enum zd_cf_calendar calendar;
    int64_t year;
    uint32_t month;
    uint32_t day;
    bool is_there;
    int64_t days; /* since 1970-01-01 in that calendar */
} facts[] = {
    {ZD_CF_STANDARD, 1582, 10, 4, true, -141428},
    {ZD_CF_STANDARD, 1582, 10, 5, false, 0},
    {ZD_CF_STANDARD, 1582, 10, 14, false, 0},
    {ZD_CF_STANDARD, 1582, 10, 15, true, -141427},
    {ZD_CF_STANDARD, 1, 1, 1, true, -719164},
    {ZD_CF_STANDARD, 0, 12, 31, false, 0},
    {ZD_CF_STANDARD, -1, 12, 31, true, -719165},
    {ZD_CF_STANDARD, 2000, 2, 29, true, 11016},
    {ZD_CF_STANDARD, 1900, 2, 29, false, 0},
    {ZD_CF_STANDARD, 1900, 3, 1, true, -25508},
    {ZD_CF_STANDARD, 2001, 2, 30, false, 0},
    {ZD_CF_STANDARD, 2000, 12, 31, true, 11322},
    {ZD_CF_STANDARD, -4713, 6, 7, true, -2440430},
    {ZD_CF_STANDARD, 9999, 12, 30, true, 2932895},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1582, 10, 4, true, -141438},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1582, 10, 5, true, -141437},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1582, 10, 14, true, -141428},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1582, 10, 15, true, -141427},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1, 1, 1, true, -719162},
    {ZD_CF_PROLEPTIC_GREGORIAN, 0, 12, 31, true, -719163},
    {ZD_CF_PROLEPTIC_GREGORIAN, -1, 12, 31, true, -719529},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2000, 2, 29, true, 11016},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1900, 2, 29, false, 0},
    {ZD_CF_PROLEPTIC_GREGORIAN, 1900, 3, 1, true, -25508},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2001, 2, 30, false, 0},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2000, 12, 31, true, 11322},
    {ZD_CF_PROLEPTIC_GREGORIAN, -4713, 6, 7, true, -2440758},
    {ZD_CF_PROLEPTIC_GREGORIAN, 9999, 12, 30, true, 2932895},
    {ZD_CF_JULIAN, 1582, 10, 4, true, -141441},
    {ZD_CF_JULIAN, 1582, 10, 5, true, -141440},
    {ZD_CF_JULIAN, 1582, 10, 14, true, -141431},
    {ZD_CF_JULIAN, 1582, 10, 15, true, -141430},
    {ZD_CF_JULIAN, 1, 1, 1, true, -719177},
    {ZD_CF_JULIAN, 0, 12, 31, false, 0},
    {ZD_CF_JULIAN, -1, 12, 31, true, -719178},
    {ZD_CF_JULIAN, 2000, 2, 29, true, 11016},
    {ZD_CF_JULIAN, 1900, 2, 29, true, -25509},
    {ZD_CF_JULIAN, 1900, 3, 1, true, -25508},
    {ZD_CF_JULIAN, 2001, 2, 30, false, 0},
    {ZD_CF_JULIAN, 2000, 12, 31, true, 11322},
    {ZD_CF_JULIAN, -4713, 6, 7, true, -2440443},
    {ZD_CF_JULIAN, 9999, 12, 30, true, 2932955},
    {ZD_CF_NOLEAP, 1582, 10, 4, true, -141344},
    {ZD_CF_NOLEAP, 1582, 10, 5, true, -141343},
    {ZD_CF_NOLEAP, 1582, 10, 14, true, -141334},
    {ZD_CF_NOLEAP, 1582, 10, 15, true, -141333},
    {ZD_CF_NOLEAP, 1, 1, 1, true, -718685},
    {ZD_CF_NOLEAP, 0, 12, 31, true, -718686},
    {ZD_CF_NOLEAP, -1, 12, 31, true, -719051},
    {ZD_CF_NOLEAP, 2000, 2, 29, false, 0},
    {ZD_CF_NOLEAP, 1900, 2, 29, false, 0},
    {ZD_CF_NOLEAP, 1900, 3, 1, true, -25491},
    {ZD_CF_NOLEAP, 2001, 2, 30, false, 0},
    {ZD_CF_NOLEAP, 2000, 12, 31, true, 11314},
    {ZD_CF_NOLEAP, -4713, 6, 7, true, -2439138},
    {ZD_CF_NOLEAP, 9999, 12, 30, true, 2930948},
    {ZD_CF_ALL_LEAP, 1582, 10, 4, true, -141731},
    {ZD_CF_ALL_LEAP, 1582, 10, 5, true, -141730},
    {ZD_CF_ALL_LEAP, 1582, 10, 14, true, -141721},
    {ZD_CF_ALL_LEAP, 1582, 10, 15, true, -141720},
    {ZD_CF_ALL_LEAP, 1, 1, 1, true, -720654},
    {ZD_CF_ALL_LEAP, 0, 12, 31, true, -720655},
    {ZD_CF_ALL_LEAP, -1, 12, 31, true, -721021},
    {ZD_CF_ALL_LEAP, 2000, 2, 29, true, 11039},
    {ZD_CF_ALL_LEAP, 1900, 2, 29, true, -25561},
    {ZD_CF_ALL_LEAP, 1900, 3, 1, true, -25560},
    {ZD_CF_ALL_LEAP, 2001, 2, 30, false, 0},
    {ZD_CF_ALL_LEAP, 2000, 12, 31, true, 11345},
    {ZD_CF_ALL_LEAP, -4713, 6, 7, true, -2445820},
    {ZD_CF_ALL_LEAP, 9999, 12, 30, true, 2938978},
    {ZD_CF_360_DAY, 1582, 10, 4, true, -139407},
    {ZD_CF_360_DAY, 1582, 10, 5, true, -139406},
    {ZD_CF_360_DAY, 1582, 10, 14, true, -139397},
    {ZD_CF_360_DAY, 1582, 10, 15, true, -139396},
    {ZD_CF_360_DAY, 1, 1, 1, true, -708840},
    {ZD_CF_360_DAY, 0, 12, 31, false, 0},
    {ZD_CF_360_DAY, -1, 12, 31, false, 0},
    {ZD_CF_360_DAY, 2000, 2, 29, true, 10858},
    {ZD_CF_360_DAY, 1900, 2, 29, true, -25142},
    {ZD_CF_360_DAY, 1900, 3, 1, true, -25140},
    {ZD_CF_360_DAY, 2001, 2, 30, true, 11219},
    {ZD_CF_360_DAY, 2000, 12, 31, false, 0},
    {ZD_CF_360_DAY, -4713, 6, 7, true, -2405724},
    {ZD_CF_360_DAY, 9999, 12, 30, true, 2890799},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2000, 0, 1, false, 0},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2000, 13, 1, false, 0},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2000, 1, 0, false, 0},
    {ZD_CF_PROLEPTIC_GREGORIAN, 2000, UINT32_MAX, UINT32_MAX, false, 0},
    {ZD_CF_360_DAY, ZD_CF_YEAR_MAX + 1, 1, 1, false, 0},
    {ZD_CF_360_DAY, INT64_MIN, 1, 1, false, 0},
};

START_TEST(day_is_what_cftime_says)
{
    const struct fact *fact = &facts[_i];
    const struct zd_cf_date epoch = {.year = 1970, .month = 1, .day = 1};
    const struct zd_cf_date date = {.year = fact->year, .month = fact->month, .day = fact->day};
    int64_t from = 0;
    int64_t days = 0;
    ck_assert(zd_cf_calendar_days(fact->calendar, &epoch, &from));
    ck_assert_int_eq(zd_cf_calendar_days(fact->calendar, &date, &days), fact->is_there);
    ck_assert_int_eq(days - (fact->is_there ? from : 0), fact->days);
}
END_TEST

/* Each day of a calendar has a date, which leads back to the day, and follows the date before. */
START_TEST(every_day_has_its_date)
{
    const enum zd_cf_calendar calendar = (enum zd_cf_calendar)_i;
    struct zd_cf_date before = zd_cf_calendar_date(calendar, -145001);
    for (int64_t days = -145000; days < 20000; days++) {
        const struct zd_cf_date date = zd_cf_calendar_date(calendar, days);
        int64_t same = 0;
        ck_assert(zd_cf_calendar_days(calendar, &date, &same));
        ck_assert_int_eq(same, days);
        if (date.day != before.day + 1 && date.day != 15) {
            const struct zd_cf_date next =
                zd_cf_calendar_next(calendar, &before, before.month != 12);
            ck_assert_int_eq(next.year, date.year);
            ck_assert_int_eq(next.month, date.month);
            ck_assert_int_eq(next.day, date.day);
        }
        before = date;
    }
}
END_TEST

START_TEST(every_moment_has_its_date)
{
    for (uint32_t i = 0; i < 60000; i++) {
        const enum zd_cf_calendar calendar = (enum zd_cf_calendar)(i % (ZD_CF_360_DAY + 1));
        const int64_t days = (int64_t)(zd_unit_random() % 60000000000000) - 30000000000000;
        const zd_i128 wanted =
            (zd_i128)days * ZD_CF_SECONDS_A_DAY * ZD_CF_AS_A_SECOND +
            (zd_i128)(zd_unit_random() % ZD_CF_SECONDS_A_DAY) * ZD_CF_AS_A_SECOND +
            (zd_i128)(zd_unit_random() % (uint64_t)ZD_CF_AS_A_SECOND);
        struct zd_cf_date date;
        zd_i128 found = 0;
        ck_assert(zd_cf_calendar_date_of(calendar, wanted, &date));
        ck_assert(zd_cf_calendar_moment(calendar, &date, &found));
        ck_assert(found == wanted);
    }
}
END_TEST

START_TEST(moment_beyond_all_years_has_no_date)
{
    struct zd_cf_date date;
    ck_assert(!zd_cf_calendar_date_of(ZD_CF_STANDARD, (zd_i128)1 << 126, &date));
    ck_assert(!zd_cf_calendar_date_of(ZD_CF_STANDARD, -((zd_i128)1 << 126), &date));
}
END_TEST

static const struct name_fact {
    const char *name;
    bool is_found;
    enum zd_cf_calendar calendar;
} names[] = {
    {"", true, ZD_CF_STANDARD},
    {"Gregorian", true, ZD_CF_STANDARD},
    {"365_day", true, ZD_CF_NOLEAP},
    {"366_DAY", true, ZD_CF_ALL_LEAP},
    {"360_day", true, ZD_CF_360_DAY},
    {"360_days", false, ZD_CF_STANDARD},
    {"none", false, ZD_CF_STANDARD},
    {"a name that is longer than any calendar has", false, ZD_CF_STANDARD},
};

START_TEST(calendar_is_found_by_its_name)
{
    enum zd_cf_calendar calendar = ZD_CF_STANDARD;
    ck_assert_int_eq(
        zd_cf_calendar_find(zd_span_of(names[_i].name), &calendar), names[_i].is_found);
    ck_assert_int_eq(calendar, names[_i].calendar);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, day_is_what_cftime_says, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, every_day_has_its_date, 0, ZD_CF_360_DAY + 1);
    tcase_add_test(tests, every_moment_has_its_date);
    tcase_add_test(tests, moment_beyond_all_years_has_no_date);
    tcase_add_loop_test(tests, calendar_is_found_by_its_name, 0, ZD_COUNT_OF(names));
}
