/* Facts about core/extension/extension_multiscale_arrays. */
#include "core/extension/extension.h"

#include "tests/support/extension.h"
#include "tests/support/unit.h"

#define LEVELS(list)                                                                               \
    "[{'name':'example.multiscale-arrays','configuration':{'multiscale':{'datasets':" list "}}}]"
#define AT_LIST "/0/configuration/multiscale/datasets"

static const struct zd_unit_extension_fact facts[] = {
    {NULL, LEVELS("['s0','s1']"), NULL, NULL},
    {NULL, LEVELS("['a/s0','b/c/s1']"), NULL, NULL},
    {NULL, LEVELS("[]"), "out_of_range", AT_LIST},
    {NULL, LEVELS("['s0','']"), "out_of_range", AT_LIST "/1"},
    {NULL, LEVELS("['s0',1]"), "wrong_type", AT_LIST "/1"},
    {NULL, LEVELS("['/s0']"), "bad_path", AT_LIST "/0"},
    {NULL, LEVELS("['s0/']"), "bad_path", AT_LIST "/0"},
    {NULL, LEVELS("['s0','..']"), "bad_path", AT_LIST "/1"},
    {NULL, LEVELS("['a/./b']"), "bad_path", AT_LIST "/0"},
    {NULL, LEVELS("['a//b']"), "bad_path", AT_LIST "/0"},
    {NULL, LEVELS("5"), "wrong_type", AT_LIST},
    {NULL, "[{'name':'example.multiscale-arrays','configuration':{}}]", "missing_member",
        "/0/configuration/multiscale"},
    {NULL, "['example.multiscale-arrays']", "missing_member", "/0/configuration/multiscale"},
};

START_TEST(document_is_judged)
{
    zd_unit_check_extension(&facts[_i]);
}
END_TEST

START_TEST(group_has_levels)
{
    ZD_AUTO(zd_meta) meta = zd_unit_extended_group(LEVELS("['s0','b/s1']"));
    ck_assert_uint_eq(meta->view.n_levels, 2);
    ck_assert_str_eq(meta->view.level[0], "s0");
    ck_assert_str_eq(meta->view.level[1], "b/s1");
    ck_assert_ptr_null(zd_extension_find("example.multiscale-arrays", true));
}
END_TEST

static const struct zd_choice_level levels[] = {
    {.is_array = true, .is_counted = true, .n_elements = 10000},
    {.is_array = false, .is_counted = true, .n_elements = 5000}, /* missing */
    {.is_array = true, .is_counted = true, .n_elements = 2500},
    {.is_array = true, .is_counted = false}, /* the slice is outside */
    {.is_array = true, .is_counted = true, .n_elements = 100},
};

static const struct choice_fact {
    bool has_number;
    uint64_t number;
    uint64_t n_elements_max;
    enum zd_status status;
    uint32_t level;
} choices[] = {
    {true, 0, 0, ZD_OK, 0},
    {true, 4, 0, ZD_OK, 4},
    {true, 1, 0, ZD_OK, 1}, /* as it was named: whoever reads it says what is wrong */
    {true, 5, 0, ZD_OUT_OF_BOUNDS, 0},
    {true, UINT64_MAX, 0, ZD_OUT_OF_BOUNDS, 0},
    {false, 0, UINT64_MAX, ZD_OK, 0},
    {false, 0, 10000, ZD_OK, 0},
    {false, 0, 9999, ZD_OK, 2},
    {false, 0, 2499, ZD_OK, 4},
    {false, 0, 100, ZD_OK, 4},
    {false, 0, 99, ZD_TOO_LARGE, 0},
};

START_TEST(level_is_chosen)
{
    const struct choice_fact *fact = &choices[_i];
    ZD_AUTO(zd_meta) meta = zd_unit_extended_group(LEVELS("['a','b','c','d','e']"));
    const struct zd_choice choice = {
        .has_number = fact->has_number,
        .number = fact->number,
        .n_elements_max = fact->n_elements_max,
        .level = levels,
        .n_levels = ZD_COUNT_OF(levels),
    };
    struct zd_error err = {0};
    uint32_t level = 0;
    ck_assert_int_eq(zd_applied_select(&meta->applied, &choice, &level, &err), fact->status);
    ck_assert_uint_eq(level, fact->level);
    if (fact->status == ZD_TOO_LARGE) {
        ck_assert_uint_eq(err.facts.limit, 99);
        ck_assert_uint_eq(err.facts.requested, 100);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, group_has_levels);
    tcase_add_loop_test(tests, level_is_chosen, 0, ZD_COUNT_OF(choices));
}
