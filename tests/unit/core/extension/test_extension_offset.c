/* Facts about core/extension/extension_offset. */
#include "core/extension/extension.h"

#include "tests/support/extension.h"
#include "tests/support/unit.h"

#define OFFSET(list) "[{'name':'example.offset','configuration':{'offset':" list "}}]"

static const struct zd_unit_extension_fact facts[] = {
    {"int16", OFFSET("[0,0]"), NULL, NULL},
    {"int16", OFFSET("[1,2]"), NULL, NULL},
    {"int16", OFFSET("[10,20]"), NULL, NULL}, /* nothing remains, which is a shape */
    {"int16", OFFSET("[10,21]"), "out_of_range", "/0/configuration/offset/1"},
    {"int16", OFFSET("[18446744073709551615,0]"), "out_of_range", "/0/configuration/offset/0"},
    {"int16", OFFSET("[-1,0]"), "out_of_range", "/0/configuration/offset/0"},
    {"int16", OFFSET("[1.0,0]"), "wrong_type", "/0/configuration/offset/0"},
    {"int16", OFFSET("[1]"), "rank_mismatch", "/0/configuration/offset"},
    {"int16", OFFSET("[1,2,3]"), "rank_mismatch", "/0/configuration/offset"},
    {"int16", OFFSET("5"), "wrong_type", "/0/configuration/offset"},
    {"int16", "['example.offset']", "missing_member", "/0/configuration/offset"},
    {"int16", "[{'name':'example.offset','configuration':{'offset':[1,2],'by':1}}]",
        "unknown_member", "/0/configuration/by"},
    {"int16",
        "[{'name':'example.offset','must_understand':false,'configuration':{'offset':[1,2]}}]",
        "must_understand_false", "/0/must_understand"},
    {"int16",
        "[{'name':'example.offset','configuration':{'offset':[1,2]}},"
        "{'name':'example.offset','configuration':{'offset':[1,2]}}]",
        "duplicate", "/1"},
};

START_TEST(document_is_judged)
{
    zd_unit_check_extension(&facts[_i]);
}
END_TEST

START_TEST(clients_see_what_lies_behind_the_origin)
{
    ZD_AUTO(zd_meta) meta = zd_unit_extended_array("int16", OFFSET("[3,20]"));
    uint64_t shape[ZD_RANK_MAX];
    ck_assert(meta->view.has_origin);
    ck_assert_uint_eq(meta->view.origin[0], 3);
    ck_assert_uint_eq(meta->view.origin[1], 20);
    zd_meta_shape(meta, shape);
    ck_assert_uint_eq(shape[0], 7);
    ck_assert_uint_eq(shape[1], 0);
}
END_TEST

START_TEST(group_has_no_offset)
{
    ck_assert_ptr_null(zd_extension_find("example.offset", false));
    ck_assert_ptr_nonnull(zd_extension_find("example.offset", true));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, clients_see_what_lies_behind_the_origin);
    tcase_add_test(tests, group_has_no_offset);
}
