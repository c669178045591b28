/* Origins of web pages. */
#include "server/http/origin.h"

#include "tests/support/unit.h"

static const struct {
    const char *origin;
    const char *list;
    bool is_listed;
} lists[] = {
    {"https://a.example", "", false},
    {"https://a.example", "   ", false},
    {"https://a.example", "https://a.example", true},
    {"HTTPS://A.example", " https://b.example  https://a.example ", true},
    {"https://a.example", "https://a.example:443", false},
    {"https://a.example:443", "https://a.example", false}, /* browsers leave the default port out */
    {"https://a.example.evil", "https://a.example", false},
    {"https://a", "https://a.example", false},
    {"http://a.example", "https://a.example", false},
    {"null", "https://a.example", false},
    {"null", "*", true},
    {"", "https://a.example", false},
};

START_TEST(an_origin_is_listed_as_a_whole)
{
    ck_assert_int_eq(zd_origin_is_listed(lists[_i].origin, lists[_i].list), lists[_i].is_listed);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_origin_is_listed_as_a_whole, 0, ZD_COUNT_OF(lists));
}
