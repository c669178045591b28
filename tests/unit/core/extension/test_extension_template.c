/* Facts about core/extension/extension_template. */
#include "core/extension/extension.h"

#include "tests/support/extension.h"
#include "tests/support/unit.h"

static const struct zd_unit_extension_fact facts[] = {
    {"int16", "[{'name':'example.template','configuration':{'axis':0}}]", NULL, NULL},
    {"int16", "[{'name':'example.template','configuration':{'axis':1}}]", NULL, NULL},
    {"int16", "[{'name':'example.template','configuration':{'axis':2}}]", "out_of_range",
        "/0/configuration/axis"},
    {"int16", "[{'name':'example.template','configuration':{'axis':18446744073709551615}}]",
        "out_of_range", "/0/configuration/axis"},
    {"int16", "[{'name':'example.template','configuration':{'axis':-1}}]", "out_of_range",
        "/0/configuration/axis"},
    {"int16", "[{'name':'example.template','configuration':{'axis':'x'}}]", "wrong_type",
        "/0/configuration/axis"},
    {"int16", "['example.template']", "missing_member", "/0/configuration/axis"},
    {"int16",
        "[{'name':'example.template','configuration':{'axis':0}},"
        "{'name':'example.template','configuration':{'axis':1}}]",
        "duplicate", "/1"},
};

START_TEST(document_is_judged)
{
    zd_unit_check_extension(&facts[_i]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged, 0, ZD_COUNT_OF(facts));
}
