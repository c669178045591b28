/* Facts about server/http/html: no text leaves its element or its attribute. */
#include "server/http/html.h"

#include "tests/support/unit.h"

START_TEST(what_has_a_meaning_is_escaped)
{
    ZD_SCOPED_TEXT(page, 64);
    zd_html_add(&page, "<a b=\"1\">&amp;\xc3\xa9");
    ck_assert_str_eq(page.at, "&lt;a b=&quot;1&quot;&gt;&amp;amp;\xc3\xa9");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, what_has_a_meaning_is_escaped);
}
