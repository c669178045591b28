/* Query parameters, fact by fact. */
#include "server/http/params.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static const char *const allowed[] = {"slice", "format", "x", NULL};

static const struct {
    const char *query;
    enum zd_status status;
    const char *names; /* name=value; of each parameter */
} queries[] = {
    {"", ZD_OK, ""}, {"slice=0:1", ZD_OK, "slice=0:1;"},
    {"slice=0%3A1,%2e%2E%2E", ZD_OK, "slice=0:1,...;"}, {"x=a+b%2Bc", ZD_OK, "x=a b+c;"},
    {"x", ZD_OK, "x=;"}, {"x=", ZD_OK, "x=;"}, {"x=a=b", ZD_OK, "x=a=b;"},
    {"&&x=1&", ZD_OK, "x=1;"}, {"x=1&format=npy", ZD_OK, "x=1;format=npy;"},
    {"%78=1", ZD_OK, "x=1;"}, {"x=%C3%A9", ZD_OK, "x=\xc3\xa9;"}, {"y=1", ZD_INVALID, NULL},
    {"=1", ZD_INVALID, NULL}, {"x=1&x=1", ZD_INVALID, NULL}, {"x=%", ZD_INVALID, NULL},
    {"x=%4", ZD_INVALID, NULL}, {"x=%zz", ZD_INVALID, NULL}, {"x=%00", ZD_INVALID, NULL},
    {"x=%ff", ZD_INVALID, NULL}, {"x=%ed%a0%80", ZD_INVALID, NULL}, /* a surrogate */
};

static void spell(const struct zd_params *params, struct zd_text *text)
{
    for (uint32_t i = 0; i < params->n; i++) {
        zd_text_addf(text, "%s=%s;", params->name[i], (const char *)params->value[i].ptr);
    }
}

START_TEST(queries_are_taken_apart)
{
    struct zd_error err = {0};
    struct zd_params params;
    const enum zd_status status =
        zd_params_parse(zd_span_of(queries[_i].query), allowed, NULL, &params, &err);
    ck_assert_msg(status == queries[_i].status, "%s: %s", queries[_i].query, err.text);
    if (status == ZD_OK) {
        ZD_SCOPED_TEXT(text, 1024);
        spell(&params, &text);
        ck_assert_str_eq(text.at, queries[_i].names);
        zd_params_done(&params);
    }
}
END_TEST

START_TEST(a_refused_parameter_is_named)
{
    struct zd_error err = {0};
    struct zd_params params;
    ck_assert_int_eq(
        zd_params_parse(zd_span_of("foo=1"), allowed, NULL, &params, &err), ZD_INVALID);
    ck_assert(err.facts.set & ZD_FACT_NAME);
    ck_assert_str_eq(err.facts.name, "foo");
}
END_TEST

START_TEST(without_a_list_everything_is_accepted)
{
    struct zd_params params;
    ck_assert_int_eq(
        zd_params_parse(zd_span_of("a=1&a=2&b=%zz&c=3"), NULL, NULL, &params, NULL), ZD_OK);
    ZD_SCOPED_TEXT(text, 1024);
    spell(&params, &text);
    ck_assert_str_eq(text.at, "a=1;a=2;c=3;");
    zd_params_done(&params);
}
END_TEST

START_TEST(more_parameters_than_fit_are_refused)
{
    ZD_SCOPED_TEXT(query, 1024);
    const char *names[ZD_PARAMS_MAX + 2] = {0};
    char name[ZD_PARAMS_MAX + 1][8];
    for (uint32_t i = 0; i <= ZD_PARAMS_MAX; i++) {
        snprintf(name[i], sizeof name[i], "p%u", i);
        names[i] = name[i];
    }
    struct zd_params params;
    for (uint32_t i = 0; i < ZD_PARAMS_MAX; i++) {
        zd_text_addf(&query, "p%u&", i);
    }
    ck_assert_int_eq(zd_params_parse(zd_text_span(&query), names, NULL, &params, NULL), ZD_OK);
    ck_assert_uint_eq(params.n, ZD_PARAMS_MAX);
    zd_params_done(&params);
    zd_text_addf(&query, "p%u", ZD_PARAMS_MAX);
    ck_assert_int_eq(zd_params_parse(zd_text_span(&query), names, NULL, &params, NULL), ZD_INVALID);
}
END_TEST

START_TEST(typed_readings_know_their_bounds)
{
    static const char *const names[] = {"flag", "n", "word", "bare", "big", NULL};
    static const char *const words[] = {"auto", "live", NULL};
    struct zd_params params;
    struct zd_error err = {0};
    bool flag = false;
    uint64_t n = 0;
    uint32_t choice = 9;
    ck_assert_int_eq(
        zd_params_parse(zd_span_of("flag=1&n=7&word=live&bare&big=18446744073709551615"), names,
            NULL, &params, NULL),
        ZD_OK);
    ck_assert_int_eq(zd_params_flag(&params, "flag", false, &flag, &err), ZD_OK);
    ck_assert(flag);
    ck_assert_int_eq(zd_params_flag(&params, "bare", false, &flag, &err), ZD_OK);
    ck_assert(flag);
    ck_assert_int_eq(zd_params_flag(&params, "absent", false, &flag, &err), ZD_OK);
    ck_assert(!flag);
    ck_assert_int_eq(zd_params_flag(&params, "n", false, &flag, &err), ZD_INVALID);
    ck_assert_int_eq(
        zd_params_u64(&params, "n", (struct zd_params_range){1, 0, 7}, &n, &err), ZD_OK);
    ck_assert_uint_eq(n, 7);
    ck_assert_int_eq(
        zd_params_u64(&params, "n", (struct zd_params_range){1, 0, 6}, &n, &err), ZD_INVALID);
    ck_assert_int_eq(
        zd_params_u64(&params, "n", (struct zd_params_range){1, 8, 9}, &n, &err), ZD_INVALID);
    ck_assert_int_eq(
        zd_params_u64(&params, "absent", (struct zd_params_range){5, 0, 6}, &n, &err), ZD_OK);
    ck_assert_uint_eq(n, 5);
    ck_assert_int_eq(
        zd_params_u64(&params, "big", (struct zd_params_range){1, 0, UINT64_MAX}, &n, &err), ZD_OK);
    ck_assert_uint_eq(n, UINT64_MAX);
    ck_assert_int_eq(
        zd_params_u64(&params, "word", (struct zd_params_range){1, 0, 6}, &n, &err), ZD_INVALID);
    ck_assert_int_eq(zd_params_choice(&params, "word", words, &choice, &err), ZD_OK);
    ck_assert_uint_eq(choice, 1);
    ck_assert_int_eq(zd_params_choice(&params, "n", words, &choice, &err), ZD_INVALID);
    ck_assert_str_eq(err.facts.expected, "auto or live");
    zd_params_done(&params);
}
END_TEST

static enum zd_status parse_some(void *context)
{
    (void)context;
    struct zd_params params;
    ZD_TRY(zd_params_parse(zd_span_of("x=1&slice=2"), allowed, NULL, &params, NULL));
    zd_params_done(&params);
    return ZD_OK;
}

START_TEST(missing_memory_is_reported)
{
    zd_unit_with_failing_memory(parse_some, NULL);
}
END_TEST

START_TEST(some_parameters_may_repeat)
{
    static const char *const names[] = {"sel", "x", NULL};
    static const char *const repeats[] = {"sel", NULL};
    struct zd_params params;
    ck_assert_int_eq(
        zd_params_parse(zd_span_of("sel=a&x=1&sel=b"), names, repeats, &params, NULL), ZD_OK);
    ck_assert_uint_eq(params.n, 3);
    ck_assert(zd_span_is(params.value[0], "a") && zd_span_is(params.value[2], "b"));
    zd_params_done(&params);
    ck_assert_int_eq(
        zd_params_parse(zd_span_of("x=1&x=2"), names, repeats, &params, NULL), ZD_INVALID);
    ck_assert_int_eq(
        zd_params_parse(zd_span_of("sel=1&sel=2"), names, NULL, &params, NULL), ZD_INVALID);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, some_parameters_may_repeat);
    tcase_add_loop_test(tests, queries_are_taken_apart, 0, ZD_COUNT_OF(queries));
    tcase_add_test(tests, a_refused_parameter_is_named);
    tcase_add_test(tests, without_a_list_everything_is_accepted);
    tcase_add_test(tests, more_parameters_than_fit_are_refused);
    tcase_add_test(tests, typed_readings_know_their_bounds);
    tcase_add_test(tests, missing_memory_is_reported);
}
