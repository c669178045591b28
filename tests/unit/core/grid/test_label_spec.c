/* Facts about core/grid/label_spec. */
#include "core/grid/label_spec.h"

#include "tests/support/unit.h"

static const struct fact {
    const char *text;
    enum zd_status status;
    enum zd_label_method method;
    const char *tolerance; /* NULL: none */
    const char *first;     /* NULL: open */
    const char *last;
    uint64_t step;
} facts[] = {
    {"12.5", ZD_OK, ZD_LABEL_EXACT, NULL, "12.5", NULL, 1},
    {" -3 ", ZD_OK, ZD_LABEL_EXACT, NULL, "-3", NULL, 1},
    {"", ZD_OK, ZD_LABEL_EXACT, NULL, "", NULL, 1}, /* whether a value may be empty its type says */
    {"2001-01-01T00:00", ZD_OK, ZD_LABEL_EXACT, NULL, "2001-01-01T00:00", NULL, 1},
    {"nearest::5", ZD_OK, ZD_LABEL_NEAREST, NULL, "5", NULL, 1},
    {"nearest:0.5:5", ZD_OK, ZD_LABEL_NEAREST, "0.5", "5", NULL, 1},
    {"nearest:PT3H:2001-01-01T00:30", ZD_OK, ZD_LABEL_NEAREST, "PT3H", "2001-01-01T00:30", NULL, 1},
    {" nearest : 3 h : 5 ", ZD_OK, ZD_LABEL_NEAREST, "3 h", "5", NULL, 1},
    {"ffill::5", ZD_OK, ZD_LABEL_FFILL, NULL, "5", NULL, 1},
    {"bfill::5", ZD_OK, ZD_LABEL_BFILL, NULL, "5", NULL, 1},
    {"nearest:5", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"ffill:1:5", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"nearer::5", ZD_OK, ZD_LABEL_EXACT, NULL, "nearer::5", NULL, 1},
    {"1/2", ZD_OK, ZD_LABEL_INTERVAL, NULL, "1", "2", 1},
    {"1/2/3", ZD_OK, ZD_LABEL_INTERVAL, NULL, "1", "2", 3},
    {"../2", ZD_OK, ZD_LABEL_INTERVAL, NULL, NULL, "2", 1},
    {"1/..", ZD_OK, ZD_LABEL_INTERVAL, NULL, "1", NULL, 1},
    {"../../9223372036854775807", ZD_OK, ZD_LABEL_INTERVAL, NULL, NULL, NULL, INT64_MAX},
    {" 2001 / 2002 ", ZD_OK, ZD_LABEL_INTERVAL, NULL, "2001", "2002", 1},
    {"nearest::1/2", ZD_OK, ZD_LABEL_NEAREST, NULL, "1/2", NULL, 1}, /* no number, in the end */
    {"1/2/0", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"1/2/-1", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"1/2/9223372036854775808", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"1/2/3/4", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"/2", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"1/", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"/", ZD_INVALID, 0, NULL, NULL, NULL, 0},
    {"1/2/", ZD_INVALID, 0, NULL, NULL, NULL, 0},
};

static void check_text(struct zd_span found, const char *expected)
{
    ck_assert((found.ptr == NULL) == (expected == NULL));
    ck_assert(expected == NULL || zd_span_is(found, expected));
}

START_TEST(spec_is_parsed)
{
    const struct fact *fact = &facts[_i];
    struct zd_label_spec spec;
    struct zd_error err = {0};
    ck_assert_msg(zd_label_spec_parse(zd_span_of(fact->text), &spec, &err) == fact->status,
        "%s: %s", fact->text, err.text);
    if (fact->status != ZD_OK) {
        ck_assert_str_eq(err.facts.name, "sel");
        ck_assert_uint_eq(
            err.facts.set & (ZD_FACT_EXPECTED | ZD_FACT_FOUND), ZD_FACT_EXPECTED | ZD_FACT_FOUND);
        return;
    }
    ck_assert_int_eq(spec.method, fact->method);
    ck_assert_uint_eq(spec.step, fact->step);
    check_text(spec.tolerance, fact->tolerance);
    check_text(spec.first, fact->first);
    check_text(spec.last, fact->last);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, spec_is_parsed, 0, ZD_COUNT_OF(facts));
}
