/* Facts about core/store/contract/path. */
#include "core/store/contract/path.h"

#include "tests/support/unit.h"

/* In pre-order: each comes before all that follow. */
static const char *const ordered[] = {
    "",
    "A",
    "a",
    "a/b",
    "a/b/c",
    "a/ba",
    "a b", /* a space is less than '/', yet what is below "a" comes first */
    "a-b",
    "a-b/c",
    "ab",
    "b",
    "\xc3\xa9",
};

START_TEST(paths_compare_in_pre_order)
{
    for (size_t i = 0; i < ZD_COUNT_OF(ordered); i++) {
        const int order = zd_path_compare(ordered[_i], ordered[i]);
        const int expected = _i<(int)i ? -1 : _i>(int) i;
        ck_assert_msg((order > 0) - (order < 0) == expected, "'%s' and '%s' give %d", ordered[_i],
            ordered[i], order);
    }
}
END_TEST

START_TEST(below_means_strictly_below)
{
    ck_assert(zd_path_is_below("a", ""));
    ck_assert(zd_path_is_below("a/b", "a"));
    ck_assert(!zd_path_is_below("", ""));
    ck_assert(!zd_path_is_below("a", "a"));
    ck_assert(!zd_path_is_below("ab", "a"));
    ck_assert(!zd_path_is_below("a", "a/b"));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, paths_compare_in_pre_order, 0, ZD_COUNT_OF(ordered));
    tcase_add_test(tests, below_means_strictly_below);
}
