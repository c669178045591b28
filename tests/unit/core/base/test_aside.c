/* The operator reads asides, and clients do not. */
#include "core/base/aside.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *text;
    const char *told;
    const char *dropped;
} cases[] = {
    {"", "", ""},
    {"plain", "plain", "plain"},
    {"it redirects" ZD_ASIDE(" to host") " (302)", "it redirects to host (302)",
        "it redirects (302)"},
    {ZD_ASIDE("a") "b" ZD_ASIDE("c"), "abc", "b"},
    {ZD_ASIDE(""), "", ""},
    {"a\x0e"
     "cut off",
        "acut off", "a"},
    {"a\x0e"
     "b\x0e"
     "c\x0f"
     "d",
        "abcd", "ad"},
    {"a\x0f"
     "b",
        "ab", "ab"},
};

START_TEST(an_aside_is_told_or_dropped)
{
    char text[64];
    memcpy(text, cases[_i].text, strlen(cases[_i].text) + 1);
    zd_aside_tell(text);
    ck_assert_str_eq(text, cases[_i].told);
    memcpy(text, cases[_i].text, strlen(cases[_i].text) + 1);
    zd_aside_drop(text);
    ck_assert_str_eq(text, cases[_i].dropped);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_aside_is_told_or_dropped, 0, ZD_COUNT_OF(cases));
}
