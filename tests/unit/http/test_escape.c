/* Text for URLs and for HTML, fact by fact. */
#include "server/http/escape.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *raw;
    enum zd_status status;
    const char *decoded;
} paths[] = {
    {"", ZD_OK, ""}, {"a/b", ZD_OK, "a/b"},
    {"a%20b+c", ZD_OK, "a b+c"}, /* a plus is a plus in a path */
    {"%2B%2b", ZD_OK, "++"}, {"%25", ZD_OK, "%"}, {"%2541", ZD_OK, "%41"}, /* once */
    {"%e2%82%ac", ZD_OK, "\xe2\x82\xac"}, {".zarray", ZD_OK, ".zarray"},
    {"a%2Fb", ZD_INVALID, NULL}, {"a%5cb", ZD_INVALID, NULL}, {"a\\b", ZD_INVALID, NULL},
    {"a%00", ZD_INVALID, NULL}, {"a%0a", ZD_INVALID, NULL}, {"a%7f", ZD_INVALID, NULL},
    {"a\x01", ZD_INVALID, NULL}, {"a%", ZD_INVALID, NULL}, {"a%4", ZD_INVALID, NULL},
    {"a%g0", ZD_INVALID, NULL}, {"%c3", ZD_INVALID, NULL},
    {"%c0%af", ZD_INVALID, NULL}, /* an overlong slash */
};

START_TEST(paths_are_decoded_once)
{
    char to[64];
    size_t len = 0;
    const enum zd_status status =
        zd_escape_percent_decode(zd_span_of(paths[_i].raw), to, &len, NULL);
    ck_assert_msg(status == paths[_i].status, "%s: %s", paths[_i].raw, zd_status_name(status));
    if (status == ZD_OK) {
        ck_assert_str_eq(to, paths[_i].decoded);
        ck_assert_uint_eq(len, strlen(paths[_i].decoded));
    }
}
END_TEST

START_TEST(paths_are_encoded_for_links)
{
    ZD_SCOPED_TEXT(text, 256);
    ck_assert_int_eq(zd_escape_percent_encode(zd_span_of("a b/~c\xc3\xa9%?#"), &text), ZD_OK);
    ck_assert_str_eq(text.at, "a%20b/~c%C3%A9%25%3F%23");
}
END_TEST

START_TEST(special_characters_are_escaped)
{
    ZD_SCOPED_TEXT(page, 64);
    zd_escape_html(&page, "<a b=\"1\">&amp;\xc3\xa9");
    ck_assert_str_eq(page.at, "&lt;a b=&quot;1&quot;&gt;&amp;amp;\xc3\xa9");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, paths_are_decoded_once, 0, ZD_COUNT_OF(paths));
    tcase_add_test(tests, paths_are_encoded_for_links);
    tcase_add_test(tests, special_characters_are_escaped);
}
