/* Facts about core/base/status. */
#include "core/base/status.h"

#include <string.h>

#include "tests/support/unit.h"

START_TEST(an_error_tells_what_happened_and_forgets_the_last)
{
    struct zd_error err = {0};
    ck_assert_int_eq(zd_fail(&err, ZD_CORRUPT, "chunk %d", 7), ZD_CORRUPT);
    zd_fact_dim(&err, 2);
    zd_fact_index(&err, -5);
    zd_fact_size(&err, UINT64_MAX);
    zd_fact_limit(&err, 10, 11);
    zd_fact_position(&err, 3);
    zd_fact_pointer(&err, "/a");
    zd_fact_expected(&err, "%s", "b");
    zd_fact_found(&err, "%d", 1);
    zd_fact_name(&err, "c");
    ck_assert_str_eq(err.text, "chunk 7");
    ck_assert_int_eq(err.status, ZD_CORRUPT);
    ck_assert_uint_eq(err.facts.set, 2 * ZD_FACT_NAME - 1); /* every one */
    ck_assert_int_eq(err.facts.index, -5);
    ck_assert_uint_eq(err.facts.limit, 10);
    ck_assert_uint_eq(err.facts.requested, 11);

    ck_assert_int_eq(zd_fail(&err, ZD_INVALID, "other"), ZD_INVALID);
    ck_assert_uint_eq(err.facts.set, 0);
}
END_TEST

START_TEST(long_texts_are_cut)
{
    char text[2 * ZD_ERROR_TEXT_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct zd_error err = {0};
    ck_assert_int_eq(zd_fail(&err, ZD_INVALID, "%s", text), ZD_INVALID);
    ck_assert_uint_eq(strlen(err.text), ZD_ERROR_TEXT_BYTES - 1);
    zd_fact_pointer(&err, text);
    zd_fact_found(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.facts.pointer), ZD_FACT_TEXT_BYTES - 1);
    ck_assert_uint_eq(strlen(err.facts.found), ZD_FACT_TEXT_BYTES - 1);
}
END_TEST

START_TEST(nobody_need_listen)
{
    ck_assert_int_eq(zd_fail(NULL, ZD_STORE, "x"), ZD_STORE);
    zd_fact_dim(NULL, 0);
    zd_fact_index(NULL, 0);
    zd_fact_size(NULL, 0);
    zd_fact_limit(NULL, 0, 0);
    zd_fact_position(NULL, 0);
    zd_fact_pointer(NULL, "");
    zd_fact_expected(NULL, "%s", "");
    zd_fact_found(NULL, "%s", "");
    zd_fact_name(NULL, "");
    zd_fact_retry(NULL, 0);
}
END_TEST

START_TEST(every_status_has_its_own_name)
{
    for (int i = ZD_OK; i <= ZD_INTERNAL; i++) {
        ck_assert_str_ne(zd_status_name((enum zd_status)i), "unknown");
        for (int j = ZD_OK; j < i; j++) {
            ck_assert_str_ne(zd_status_name((enum zd_status)i), zd_status_name((enum zd_status)j));
        }
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, an_error_tells_what_happened_and_forgets_the_last);
    tcase_add_test(tests, long_texts_are_cut);
    tcase_add_test(tests, nobody_need_listen);
    tcase_add_test(tests, every_status_has_its_own_name);
}
