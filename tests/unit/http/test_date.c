/* The dates of HTTP, fact by fact. */
#include "server/http/date.h"

#include "tests/support/unit.h"

#define DATE    "Sun, 06 Nov 1994 08:49:37 GMT"
#define DATE_S  784111777
#define DATE_MS (DATE_S * INT64_C(1000))

static const struct {
    const char *text;
    bool is_date;
    int64_t seconds;
} dates[] = {
    {DATE, true, DATE_S},
    {"Sunday, 06-Nov-94 08:49:37 GMT", true, DATE_S},
    {"Sun Nov  6 08:49:37 1994", true, DATE_S},
    {"Sun Nov 16 08:49:37 1994", true, DATE_S + 10 * 86400},
    {"Thu, 01 Jan 1970 00:00:00 GMT", true, 0},
    {"Tuesday, 19-Jan-38 03:14:08 GMT", true, INT64_C(2147483648)},
    {"Fri, 31 Dec 9999 23:59:59 GMT", true, INT64_C(253402300799)},
    {"Sun, 06 Nov 1994 08:49:37", false, 0},
    {"Sun, 06 Nov 1994 24:49:37 GMT", false, 0},
    {"Sun, 6 Nov 1994 08:49:37 GMT", false, 0},
    {"Sun, 00 Nov 1994 08:49:37 GMT", false, 0},
    {"Sun, 06 Nou 1994 08:49:37 GMT", false, 0},
    {"Tue, 29 Feb 2000 00:00:00 GMT", true, INT64_C(951782400)},
    {"Thu, 29 Feb 1900 00:00:00 GMT", false, 0}, /* no leap year */
    {"Mon, 31 Apr 2000 00:00:00 GMT", false, 0},
    {"Sat, 31 Dec 2016 23:59:60 GMT", true, INT64_C(1483228800)}, /* a leap second */
    {"Sun Nov  6 08:49:97 1994", false, 0},
    {"Sun, 06 nov 1994 08:49:37 GMT", false, 0},
    {DATE " ", false, 0},
    {"784111777", false, 0},
    {"", false, 0},
};

START_TEST(dates_of_three_forms_are_read)
{
    int64_t seconds = 0;
    const bool is_date = zd_date_parse(dates[_i].text, &seconds);
    ck_assert_msg(is_date == dates[_i].is_date, "%s", dates[_i].text);
    ck_assert_int_eq(seconds, dates[_i].seconds);
}
END_TEST

START_TEST(dates_are_written_as_imf_fixdate)
{
    char text[ZD_DATE_BYTES];
    zd_date_format(text, DATE_MS + 999);
    ck_assert_str_eq(text, DATE);
    zd_date_format(text, 0);
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    zd_date_format(text, -1);
    ck_assert_str_eq(text, "Wed, 31 Dec 1969 23:59:59 GMT");
    zd_date_format(text, INT64_C(-50000000000000)); /* the year has three digits */
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    zd_date_format(text, INT64_MAX);
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    zd_date_format(text, INT64_MIN);
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, dates_of_three_forms_are_read, 0, ZD_COUNT_OF(dates));
    tcase_add_test(tests, dates_are_written_as_imf_fixdate);
}
