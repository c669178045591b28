/* Conditional requests, ranges and dates, fact by fact. */
#include "server/http/conditions.h"

#include "tests/support/unit.h"

#define DATE    "Sun, 06 Nov 1994 08:49:37 GMT"
#define DATE_S  784111777
#define DATE_MS (DATE_S * INT64_C(1000))
#define LATER   "Sun, 06 Nov 1994 08:49:38 GMT"
#define EARLIER "Sun, 06 Nov 1994 08:49:36 GMT"
#define ETAG    "\"a1-7\""

static const struct {
    struct zd_conditions conditions;
    bool is_reading;
    enum zd_status verdict;
} judgements[] = {
    {{0}, true, ZD_OK},
    {{.if_none_match = "\"a1-7\""}, true, ZD_NOT_MODIFIED},
    {{.if_none_match = "\"a1-7\""}, false, ZD_PRECONDITION},
    {{.if_none_match = "a1-7"}, true, ZD_NOT_MODIFIED},       /* unquoted: accepted */
    {{.if_none_match = "W/\"a1-7\""}, true, ZD_NOT_MODIFIED}, /* weak comparison */
    {{.if_none_match = "\"x\", \"a1-7\""}, true, ZD_NOT_MODIFIED},
    {{.if_none_match = "\"x,\" ,, \"a1-7\""}, true, ZD_NOT_MODIFIED},
    {{.if_none_match = "x,a1-7"}, true, ZD_NOT_MODIFIED},
    {{.if_none_match = "*"}, true, ZD_NOT_MODIFIED},
    {{.if_none_match = " * "}, true, ZD_NOT_MODIFIED},
    {{.if_none_match = "*"}, false, ZD_PRECONDITION},
    {{.if_none_match = "\"\""}, true, ZD_OK}, /* the empty tag matches nothing */
    {{.if_none_match = ""}, true, ZD_OK},
    {{.if_none_match = "\"a1-"}, true, ZD_OK},
    {{.if_none_match = "\"A1-7\""}, true, ZD_OK},
    {{.if_match = "\"a1-7\""}, true, ZD_OK},
    {{.if_match = "a1-7"}, true, ZD_OK},
    {{.if_match = "*"}, false, ZD_OK},
    {{.if_match = "\"x\""}, true, ZD_PRECONDITION},
    {{.if_match = "W/\"a1-7\""}, true, ZD_PRECONDITION}, /* strong comparison */
    {{.if_match = ""}, true, ZD_PRECONDITION},
    {{.if_modified_since = DATE}, true, ZD_NOT_MODIFIED},
    {{.if_modified_since = LATER}, true, ZD_NOT_MODIFIED},
    {{.if_modified_since = EARLIER}, true, ZD_OK},
    {{.if_modified_since = DATE}, false, ZD_OK}, /* for GET and HEAD only */
    {{.if_modified_since = "yesterday"}, true, ZD_OK},
    {{.if_unmodified_since = DATE}, true, ZD_OK},
    {{.if_unmodified_since = EARLIER}, true, ZD_PRECONDITION},
    {{.if_unmodified_since = "yesterday"}, true, ZD_OK},
    /* If-Match comes before If-Unmodified-Since, If-None-Match before If-Modified-Since */
    {{.if_match = ETAG, .if_unmodified_since = EARLIER}, true, ZD_OK},
    {{.if_none_match = "\"x\"", .if_modified_since = LATER}, true, ZD_OK},
    {{.if_none_match = ETAG, .if_modified_since = EARLIER}, true, ZD_NOT_MODIFIED},
    {{.if_match = "\"x\"", .if_none_match = ETAG}, true, ZD_PRECONDITION},
    {{.if_match = ETAG, .if_none_match = ETAG}, true, ZD_NOT_MODIFIED},
};

START_TEST(conditions_are_judged_in_order)
{
    const struct zd_conditions *conditions = &judgements[_i].conditions;
    const enum zd_status verdict =
        zd_conditions_judge(conditions, judgements[_i].is_reading, ETAG, DATE_MS + 999);
    ck_assert_msg(verdict == judgements[_i].verdict, "row %d: %s", _i, zd_status_name(verdict));
}
END_TEST

START_TEST(without_validators_only_stars_match)
{
    const struct zd_conditions star = {.if_none_match = "*"};
    const struct zd_conditions empty = {.if_none_match = "\"\""};
    const struct zd_conditions since = {.if_modified_since = LATER};
    const struct zd_conditions match = {.if_match = "\"x\""};
    ck_assert_int_eq(zd_conditions_judge(&star, true, "", 0), ZD_NOT_MODIFIED);
    ck_assert_int_eq(zd_conditions_judge(&empty, true, "", 0), ZD_OK);
    ck_assert_int_eq(zd_conditions_judge(&since, true, "", 0), ZD_OK);
    ck_assert_int_eq(zd_conditions_judge(&match, true, "", 0), ZD_PRECONDITION);
}
END_TEST

static const struct {
    struct zd_conditions conditions;
    bool names_state;
} guesses[] = {
    {{0}, false},
    {{.if_match = "*"}, false},
    {{.if_none_match = "*"}, false},
    {{.if_match = "*", .if_none_match = "*"}, false},
    {{.if_modified_since = DATE, .range = "bytes=0-1"}, false}, /* of GET and HEAD alone */
    {{.if_match = ETAG}, true},
    {{.if_match = ""}, true},
    {{.if_match = "*, \"a1-7\""}, true},
    {{.if_match = "\"*\""}, true}, /* a tag that is a star */
    {{.if_none_match = ETAG}, true},
    {{.if_match = "*", .if_none_match = ETAG}, true},
    {{.if_unmodified_since = DATE}, true},
};

START_TEST(a_star_asks_for_existence_alone)
{
    ck_assert_int_eq(zd_conditions_name_state(&guesses[_i].conditions), guesses[_i].names_state);
}
END_TEST

#define CODED "\"a1-7-gzip\""

static const struct {
    struct zd_conditions conditions;
    enum zd_status of_present;
    enum zd_status of_absent;
} changes[] = {
    {{0}, ZD_OK, ZD_OK},
    {{.if_match = ETAG}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "a1-7"}, ZD_OK, ZD_PRECONDITION}, /* unquoted: accepted */
    {{.if_match = CODED}, ZD_OK, ZD_PRECONDITION},  /* as a client with gzip was given it */
    {{.if_match = "a1-7-gzip"}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "\"x\", \"a1-7\""}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "x,,  a1-7"}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "W/\"x\", \"a1-7-gzip\""}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "*"}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = " * "}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "\"*\""}, ZD_PRECONDITION, ZD_PRECONDITION}, /* a tag that is a star */
    {{.if_match = "W/\"a1-7\""}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_match = "W/\"x\", W/\"a1-7\""}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_match = "\"\""}, ZD_PRECONDITION, ZD_PRECONDITION}, /* matches nothing */
    {{.if_match = ""}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_match = "\"a1-8\""}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_match = "\"A1-7\""}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_none_match = "*"}, ZD_PRECONDITION, ZD_OK},
    {{.if_none_match = ETAG}, ZD_PRECONDITION, ZD_OK},
    {{.if_none_match = "a1-7"}, ZD_PRECONDITION, ZD_OK},
    {{.if_none_match = CODED}, ZD_PRECONDITION, ZD_OK},
    {{.if_none_match = "W/\"a1-7\""}, ZD_PRECONDITION, ZD_OK}, /* weak comparison */
    {{.if_none_match = "\"x\", W/\"a1-7-gzip\""}, ZD_PRECONDITION, ZD_OK},
    {{.if_none_match = "\"x\""}, ZD_OK, ZD_OK},
    {{.if_none_match = "\"\""}, ZD_OK, ZD_OK},
    {{.if_modified_since = DATE}, ZD_OK, ZD_OK}, /* for GET and HEAD only */
    {{.if_unmodified_since = DATE}, ZD_OK, ZD_OK},
    {{.if_unmodified_since = LATER}, ZD_OK, ZD_OK},
    {{.if_unmodified_since = EARLIER}, ZD_PRECONDITION, ZD_OK},
    {{.if_unmodified_since = "yesterday"}, ZD_OK, ZD_OK},
    /* If-Match comes before If-Unmodified-Since; If-None-Match counts besides */
    {{.if_match = ETAG, .if_unmodified_since = EARLIER}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = "\"x\"", .if_unmodified_since = LATER}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_match = ETAG, .if_none_match = "\"x\""}, ZD_OK, ZD_PRECONDITION},
    {{.if_match = ETAG, .if_none_match = "*"}, ZD_PRECONDITION, ZD_PRECONDITION},
    {{.if_unmodified_since = LATER, .if_none_match = "*"}, ZD_PRECONDITION, ZD_OK},
};

/* Nothing is stored, but readers get a tag. */
static const struct {
    struct zd_conditions conditions;
    enum zd_status verdict;
} absences[] = {
    {{.if_match = ETAG}, ZD_OK},
    {{.if_match = "\"x\""}, ZD_PRECONDITION},
    {{.if_match = "*"}, ZD_PRECONDITION},
    {{.if_none_match = ETAG}, ZD_OK},
    {{.if_none_match = "*"}, ZD_OK},
    {{.if_match = ETAG, .if_none_match = "*"}, ZD_OK},
};

START_TEST(if_match_may_name_what_is_absent_when_readers_get_a_tag_for_it)
{
    static const char *const etag[] = {ETAG};
    const struct zd_validators now = {.etag = etag, .n_etags = 1, .absent_has_tag = true};
    ck_assert_int_eq(
        zd_conditions_judge_write(&absences[_i].conditions, &now), absences[_i].verdict);
}
END_TEST

START_TEST(conditions_of_changes_hold_or_do_not)
{
    static const char *const etag[] = {ETAG, CODED};
    const struct zd_conditions *conditions = &changes[_i].conditions;
    const struct zd_validators present = {
        .etag = etag, .n_etags = 2, .mtime_ms = DATE_MS + 999, .exists = true};
    const struct zd_validators absent = {.exists = false};
    const enum zd_status of_present = zd_conditions_judge_write(conditions, &present);
    const enum zd_status of_absent = zd_conditions_judge_write(conditions, &absent);
    ck_assert_msg(
        of_present == changes[_i].of_present, "row %d: %s", _i, zd_status_name(of_present));
    ck_assert_msg(
        of_absent == changes[_i].of_absent, "row %d, absent: %s", _i, zd_status_name(of_absent));
}
END_TEST

static const struct {
    const char *range;
    const char *if_range;
    uint64_t length;
    enum zd_range_answer answer;
    uint64_t first;
    uint64_t len;
} ranges[] = {
    {NULL, NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=0-0", NULL, 10, ZD_RANGE_PART, 0, 1},
    {"bytes=0-9", NULL, 10, ZD_RANGE_PART, 0, 10}, /* the whole is a part too */
    {"bytes=0-10", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=9-", NULL, 10, ZD_RANGE_PART, 9, 1},
    {"bytes=10-", NULL, 10, ZD_RANGE_OUTSIDE, 0, 0},
    {"bytes=0-", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=-1", NULL, 10, ZD_RANGE_PART, 9, 1},
    {"bytes=-10", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=-11", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=-0", NULL, 10, ZD_RANGE_OUTSIDE, 0, 0},
    {"bytes=0-", NULL, 0, ZD_RANGE_OUTSIDE, 0, 0},
    {"bytes=-1", NULL, 0, ZD_RANGE_OUTSIDE, 0, 0},
    {"BYTES=1-2", NULL, 10, ZD_RANGE_PART, 1, 2},
    {"bytes= 1-2 ", NULL, 10, ZD_RANGE_PART, 1, 2},
    {"bytes=00-01", NULL, 10, ZD_RANGE_PART, 0, 2},
    {"bytes=2-1", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=0-1,3-4", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=0-1,", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=-", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=1", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=a-b", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=1-2x", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=+1-2", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"items=0-1", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"", NULL, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=0-18446744073709551615", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=0-18446744073709551616", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=18446744073709551616-", NULL, 10, ZD_RANGE_OUTSIDE, 0, 0},
    {"bytes=-18446744073709551616", NULL, 10, ZD_RANGE_PART, 0, 10},
    {"bytes=0-", NULL, UINT64_MAX, ZD_RANGE_PART, 0, UINT64_MAX},
    {"bytes=1-2", "\"a1-7\"", 10, ZD_RANGE_PART, 1, 2},
    {"bytes=1-2", "a1-7", 10, ZD_RANGE_PART, 1, 2},
    {"bytes=1-2", "W/\"a1-7\"", 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=1-2", "\"x\"", 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=1-2", DATE, 10, ZD_RANGE_NONE, 0, 0}, /* a date is weak, RFC 9110, 8.8.2.2 */
    {"bytes=1-2", LATER, 10, ZD_RANGE_NONE, 0, 0},
    {"bytes=10-", "\"x\"", 10, ZD_RANGE_NONE, 0, 0},
};

START_TEST(a_range_is_resolved_against_a_length)
{
    const struct zd_conditions conditions = {
        .range = ranges[_i].range, .if_range = ranges[_i].if_range};
    uint64_t first = 0;
    uint64_t len = 0;
    const enum zd_range_answer answer =
        zd_conditions_range(&conditions, ranges[_i].length, ETAG, &first, &len);
    ck_assert_msg(answer == ranges[_i].answer, "%s: answer %d", ranges[_i].range, (int)answer);
    ck_assert_uint_eq(first, ranges[_i].first);
    ck_assert_uint_eq(len, ranges[_i].len);
}
END_TEST

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
    const bool is_date = zd_conditions_parse_date(dates[_i].text, &seconds);
    ck_assert_msg(is_date == dates[_i].is_date, "%s", dates[_i].text);
    ck_assert_int_eq(seconds, dates[_i].seconds);
}
END_TEST

START_TEST(dates_are_written_as_imf_fixdate)
{
    char text[ZD_DATE_BYTES];
    zd_conditions_format_date(text, DATE_MS + 999);
    ck_assert_str_eq(text, DATE);
    zd_conditions_format_date(text, 0);
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    zd_conditions_format_date(text, -1);
    ck_assert_str_eq(text, "Wed, 31 Dec 1969 23:59:59 GMT");
    zd_conditions_format_date(text, INT64_C(-50000000000000)); /* the year has three digits */
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    zd_conditions_format_date(text, INT64_MAX);
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    zd_conditions_format_date(text, INT64_MIN);
    ck_assert_str_eq(text, "Thu, 01 Jan 1970 00:00:00 GMT");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, if_match_may_name_what_is_absent_when_readers_get_a_tag_for_it, 0,
        (int)ZD_COUNT_OF(absences));
    tcase_add_loop_test(tests, conditions_are_judged_in_order, 0, ZD_COUNT_OF(judgements));
    tcase_add_loop_test(tests, conditions_of_changes_hold_or_do_not, 0, ZD_COUNT_OF(changes));
    tcase_add_test(tests, without_validators_only_stars_match);
    tcase_add_loop_test(tests, a_star_asks_for_existence_alone, 0, ZD_COUNT_OF(guesses));
    tcase_add_loop_test(tests, a_range_is_resolved_against_a_length, 0, ZD_COUNT_OF(ranges));
    tcase_add_loop_test(tests, dates_of_three_forms_are_read, 0, ZD_COUNT_OF(dates));
    tcase_add_test(tests, dates_are_written_as_imf_fixdate);
}
