/* Facts about core/extension/extension_skip_empty_chunks. */
#include "core/extension/extension.h"

#include "tests/support/extension.h"
#include "tests/support/unit.h"

static const struct zd_unit_extension_fact facts[] = {
    {"int16", "['example.skip_empty_chunks']", NULL, NULL},
    {"int16", "[{'name':'example.skip_empty_chunks'}]", NULL, NULL},
    {"int16", "[{'name':'example.skip_empty_chunks','must_understand':false}]", NULL, NULL},
    {"int16", "[{'name':'example.skip_empty_chunks','configuration':{}}]", NULL, NULL},
    {"int16", "['example.skip_empty_chunks','example.skip_empty_chunks']", NULL, NULL},
    {"int16", "[{'name':'example.skip_empty_chunks','configuration':{'yes':true}}]",
        "unknown_member", "/0/configuration/yes"},
};

START_TEST(document_is_judged)
{
    zd_unit_check_extension(&facts[_i]);
}
END_TEST

START_TEST(array_says_that_empty_chunks_are_not_stored)
{
    ZD_AUTO(zd_meta) skips = zd_unit_extended_array("int16", "['example.skip_empty_chunks']");
    ck_assert(skips->view.skips_empty);
    ZD_AUTO(zd_meta)
    other =
        zd_unit_extended_array("int16", "[{'name':'example.template','configuration':{'axis':0}}]");
    ck_assert(!other->view.skips_empty);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, array_says_that_empty_chunks_are_not_stored);
}
