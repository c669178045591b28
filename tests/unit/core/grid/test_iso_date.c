/* Facts about core/grid/iso_date. */
#include "core/grid/iso_date.h"

#include "tests/support/unit.h"

static const struct fact {
    const char *text;
    const char *first; /* the first moment that it means; NULL: it is no date */
    const char *end;   /* the first moment after it */
} facts[] = {
    {"2001", "2001-01-01T00:00:00", "2002-01-01T00:00:00"},
    {"2001-02", "2001-02-01T00:00:00", "2001-03-01T00:00:00"},
    {"2001-12", "2001-12-01T00:00:00", "2002-01-01T00:00:00"},
    {"2000-02-29", "2000-02-29T00:00:00", "2000-03-01T00:00:00"},
    {"2001-02-03T04", "2001-02-03T04:00:00", "2001-02-03T05:00:00"},
    {"2001-02-03T04:05", "2001-02-03T04:05:00", "2001-02-03T04:06:00"},
    {"2001-02-03 04:05:59", "2001-02-03T04:05:59", "2001-02-03T04:06:00"},
    {"2001-02-03T04:05:06Z", "2001-02-03T04:05:06", "2001-02-03T04:05:07"},
    {"2001-02-03T04:05:06.5", "2001-02-03T04:05:06.5", "2001-02-03T04:05:06.501"},
    {"2001-02-03T04:05:06.1234", "2001-02-03T04:05:06.1234", "2001-02-03T04:05:06.123401"},
    {"2001-02-03T04:05:06.123456789", "2001-02-03T04:05:06.123456789",
        "2001-02-03T04:05:06.12345679"},
    {"2001-02-03T00:00+01:30", "2001-02-02T22:30:00", "2001-02-02T22:31:00"},
    {"2001-02-03T00:00-0130", "2001-02-03T01:30:00", "2001-02-03T01:31:00"},
    {"-0001-12-31", "-0001-12-31T00:00:00", "0000-01-01T00:00:00"},
    {"+12345", "+12345-01-01T00:00:00", "+12346-01-01T00:00:00"},
    {"", NULL, NULL},
    {"1", NULL, NULL},
    {"200", NULL, NULL},
    {"20010203", NULL, NULL},
    {"12345", NULL, NULL},
    {"2001-2-3", NULL, NULL},
    {"2001-", NULL, NULL},
    {"2001-02-30", NULL, NULL},
    {"2001-02-03T", NULL, NULL},
    {"2001-02-03T24", NULL, NULL},
    {"2001-02-03T23:60", NULL, NULL},
    {"2001-02-03T23:59:60", NULL, NULL},
    {"2001-02-03T23:59:00.", NULL, NULL},
    {"2001-02-03T23:59:00.0000000000000000000", NULL, NULL},
    {"2001-02-03T00:00+19", NULL, NULL},
    {"2001-02-03Z", NULL, NULL},
    {"2001-02T04", NULL, NULL},
    {"2001-02-03T04 ", NULL, NULL},
    {"+999999999999", NULL, NULL},
    {"+9999999999999999999999", NULL, NULL},
};

static void check_moment(zd_i128 moment, const char *wanted)
{
    struct zd_cf_date date;
    ZD_SCOPED_TEXT(text, 64);
    ck_assert(zd_cf_calendar_date_of(ZD_CF_PROLEPTIC_GREGORIAN, moment, &date));
    zd_iso_date_add(&date, &text);
    ck_assert_str_eq(text.at, wanted);
}

START_TEST(date_means_a_period)
{
    const struct fact *fact = &facts[_i];
    struct zd_iso_date date;
    zd_i128 first = 0;
    zd_i128 end = 0;
    const bool is_read = zd_iso_date_read(zd_span_of(fact->text), &date) &&
                         zd_iso_date_period(&date, ZD_CF_PROLEPTIC_GREGORIAN, &first, &end);
    ck_assert_msg(is_read == (fact->first != NULL), "%s", fact->text);
    if (is_read) {
        check_moment(first, fact->first);
        check_moment(end, fact->end);
    }
}
END_TEST

static const struct loose_fact {
    const char *text;
    const char *first;
} loose[] = {
    {"1-1-1", "0001-01-01T00:00:00"},
    {" 2001-2-3 ", "2001-02-03T00:00:00"},
    {"20010203", "2001-02-03T00:00:00"},
    {"2001", "2001-01-01T00:00:00"},
    {"2001-2-3 6", "2001-02-03T06:00:00"},
    {"2001-02-03, 6:7", "2001-02-03T06:07:00"},
    {"1900-01-01 00:00:0.0", "1900-01-01T00:00:00"},
    {"2001-02-03T04:05:06Z", "2001-02-03T04:05:06"},
    {"2001-02-03 04:05:06 UTC", "2001-02-03T04:05:06"},
    {"2001-02-03 04:05 GMT", "2001-02-03T04:05:00"},
    {"2001-02-03 00:00 -6", "2001-02-03T06:00:00"},
    {"2001-02-03 00:00:00 +5:30", "2001-02-02T18:30:00"},
    {"2001-02-03 +01:00", "2001-02-02T23:00:00"},
    {"-4712-01-01 12:00", "-4712-01-01T12:00:00"},
    {"2001-02-03 noon", NULL},
    {"2001-02-03 00:00 EST", NULL},
    {"2001-02-03 00:00 +99", NULL},
    {"2001-002-03", NULL},
    {"yesterday", NULL},
    {"", NULL},
};

START_TEST(date_of_units_is_read)
{
    const struct loose_fact *fact = &loose[_i];
    struct zd_iso_date date;
    zd_i128 first = 0;
    zd_i128 end = 0;
    const bool is_read = zd_iso_date_read_loose(zd_span_of(fact->text), &date) &&
                         zd_iso_date_period(&date, ZD_CF_PROLEPTIC_GREGORIAN, &first, &end);
    ck_assert_msg(is_read == (fact->first != NULL), "%s", fact->text);
    if (is_read) {
        check_moment(first, fact->first);
    }
}
END_TEST

static const struct duration_fact {
    const char *text;
    bool is_read;
    int64_t ms;
} durations[] = {
    {"PT3H", true, 10800000},
    {"P1DT12H", true, 129600000},
    {"P2W", true, 1209600000},
    {"PT0.5S", true, 500},
    {"PT1.5M", true, 90000},
    {"3h", true, 10800000},
    {"90 minutes", true, 5400000},
    {"1.5 days", true, 129600000},
    {"1D", true, 86400000},
    {"0s", true, 0},
    {"250ms", true, 250},
    {"", false, 0},
    {"P", false, 0},
    {"PT", false, 0},
    {"P1H", false, 0},
    {"PT1D", false, 0},
    {"PT1S1M", false, 0},
    {"P1Y", false, 0},
    {"P1M", false, 0},
    {"3", false, 0},
    {"3 months", false, 0},
    {"-3h", false, 0},
    {"h", false, 0},
    {"1000000000000000 weeks", false, 0},
    {"99999999999999999999h", false, 0},
};

START_TEST(duration_is_read)
{
    const struct duration_fact *fact = &durations[_i];
    zd_i128 found = 0;
    ck_assert_msg(zd_iso_date_read_duration(zd_span_of(fact->text), &found) == fact->is_read, "%s",
        fact->text);
    ck_assert_msg(found == (zd_i128)fact->ms * (ZD_CF_AS_A_SECOND / 1000), "%s", fact->text);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, date_means_a_period, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, date_of_units_is_read, 0, ZD_COUNT_OF(loose));
    tcase_add_loop_test(tests, duration_is_read, 0, ZD_COUNT_OF(durations));
}
