/* server/request/dependence: notes of the headers that an answer depends on. */
#include "server/request/dependence.h"

#include <string.h>

#include "server/request/request.h"
#include "tests/support/unit.h"

START_TEST(reading_a_header_notes_it)
{
    struct zd_request req = {.sent_accept = "text/html"};
    ck_assert_uint_eq(zd_dependence_of(&req), 0);
    ck_assert_str_eq(zd_dependence_accept(&req), "text/html");
    ck_assert_uint_eq(zd_dependence_of(&req), ZD_DEPENDENCE_ACCEPT);
    ck_assert_ptr_null(zd_dependence_accept_encoding(&req)); /* another client may send it */
    ck_assert_uint_eq(zd_dependence_of(&req), ZD_DEPENDENCE_ACCEPT | ZD_DEPENDENCE_ACCEPT_ENCODING);
}
END_TEST

START_TEST(an_answer_whose_head_is_made_still_depends_on_what_was_noted)
{
    struct zd_request req = {.is_answered = false};
    zd_dependence_note(&req, ZD_DEPENDENCE_ORIGIN | ZD_DEPENDENCE_HOST);
    req.is_answered = true;
    zd_dependence_note(&req, ZD_DEPENDENCE_HOST);
    ck_assert_uint_eq(zd_dependence_of(&req), ZD_DEPENDENCE_ORIGIN | ZD_DEPENDENCE_HOST);
}
END_TEST

START_TEST(each_bit_has_the_name_of_its_header)
{
    ck_assert_uint_eq(ZD_DEPENDENCE_X_FORWARDED_PREFIX, 1U << (ZD_DEPENDENCE_N - 1));
    for (uint32_t i = 0; i + 1 < ZD_DEPENDENCE_N; i++) {
        ck_assert_int_lt(strcmp(zd_dependence_name(i), zd_dependence_name(i + 1)), 0);
    }
    ck_assert_str_eq(zd_dependence_name(0), "Accept");
    ck_assert_str_eq(zd_dependence_name(ZD_DEPENDENCE_N - 1), "X-Forwarded-Prefix");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, reading_a_header_notes_it);
    tcase_add_test(tests, an_answer_whose_head_is_made_still_depends_on_what_was_noted);
    tcase_add_test(tests, each_bit_has_the_name_of_its_header);
}
