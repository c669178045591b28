/* Facts about core/extension/extension_tiered_storage. */
#include "core/extension/extension.h"

#include "tests/support/extension.h"
#include "tests/support/unit.h"

#define SLOW(list) "[{'name':'example.tiered-storage','configuration':{'slow-arrays':" list "}}]"
#define AT_LIST    "/0/configuration/slow-arrays"

static const struct zd_unit_extension_fact facts[] = {
    {NULL, SLOW("['a','b/c']"), NULL, NULL},
    {NULL, SLOW("[]"), NULL, NULL},
    {NULL, SLOW("['']"), "out_of_range", AT_LIST "/0"},
    {NULL, SLOW("['a',5]"), "wrong_type", AT_LIST "/1"},
    {NULL, SLOW("['../a']"), "bad_path", AT_LIST "/0"},
    {NULL, SLOW("'a'"), "wrong_type", AT_LIST},
    {NULL, "['example.tiered-storage']", "missing_member", AT_LIST},
};

START_TEST(document_is_judged)
{
    zd_unit_check_extension(&facts[_i]);
}
END_TEST

static const struct {
    const char *path;
    bool is_slow;
} listings[] = {
    {"a", true},
    {"b/c", true},
    {"b", false},
    {"b/c/d", false},
    {"c", false},
    {"A", false},
    {"", false},
};

START_TEST(group_says_which_arrays_are_slow)
{
    ZD_AUTO(zd_meta) meta = zd_unit_extended_group(SLOW("['a','b/c']"));
    struct zd_listing listing = {0};
    zd_applied_listing(&meta->applied, listings[_i].path, &listing);
    ck_assert_int_eq(listing.tier != NULL, listings[_i].is_slow);
    if (listings[_i].is_slow) {
        ck_assert_str_eq(listing.tier, "slow");
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, group_says_which_arrays_are_slow, 0, ZD_COUNT_OF(listings));
}
