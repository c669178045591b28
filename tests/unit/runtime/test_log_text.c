/* A text of strangers commands no terminal and breaks no line; its value survives in JSON. */
#include "server/runtime/log_text.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *from;
    const char *text;
    const char *json;
} cases[] = {
    {"", "", ""},
    {"plain ~", "plain ~", "plain ~"},
    {"caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80",
        "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80"},
    {"a\nb\x1b[31m\x7f", "a\\x0ab\\x1b[31m\\x7f", "a\\u000ab\\u001b[31m\\u007f"},
    {"\"\\\xc3\xa9", "\"\\\xc3\xa9", "\\\"\\\\\xc3\xa9"},
    {"\xc2\x80\xc2\x85\xc2\x9f\xc2\xa0", "\\u{80}\\u{85}\\u{9f}\xc2\xa0",
        "\\u0080\\u0085\\u009f\xc2\xa0"},
    {"\xd8\x9c", "\\u{61c}", "\\u061c"},
    {"\xe2\x80\x8a\xe2\x80\x8b\xe2\x80\x8f\xe2\x80\x90",
        "\xe2\x80\x8a\\u{200b}\\u{200f}\xe2\x80\x90", "\xe2\x80\x8a\\u200b\\u200f\xe2\x80\x90"},
    {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf",
        "\xe2\x80\xa7\\u{2028}\\u{202e}\xe2\x80\xaf", "\xe2\x80\xa7\\u2028\\u202e\xe2\x80\xaf"},
    {"\xe2\x81\xa0\xe2\x81\xa6\xe2\x81\xaf\xe2\x81\xb0", "\\u{2060}\\u{2066}\\u{206f}\xe2\x81\xb0",
        "\\u2060\\u2066\\u206f\xe2\x81\xb0"},
    {"\xef\xbb\xbf\xef\xbf\xbd\xef\xbf\xbe\xef\xb7\x90", "\\u{feff}\xef\xbf\xbd\\u{fffe}\\u{fdd0}",
        "\\ufeff\xef\xbf\xbd\\ufffe\\ufdd0"},
    {"\xf3\xa0\x81\x81\xf4\x8f\xbf\xbf", "\\u{e0041}\\u{10ffff}", "\\udb40\\udc41\\udbff\\udfff"},
    {"\xff\xe2\x80", "\\xff\\xe2\\x80", "\\\\xff\\\\xe2\\\\x80"},
    {"\xc3\xa9\xff\n", "\\xc3\\xa9\\xff\\x0a", "\\\\xc3\\\\xa9\\\\xff\\\\x0a"},
};

START_TEST(a_terminal_is_never_commanded)
{
    ZD_SCOPED_TEXT(text, 1000);
    zd_log_text_add(&text, cases[_i].from);
    ck_assert_str_eq(text.at, cases[_i].text);
}
END_TEST

START_TEST(a_value_survives_in_json)
{
    ZD_SCOPED_TEXT(text, 1000);
    ZD_SCOPED_TEXT(expected, 1000);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_log_text_emit(&emit, "a", cases[_i].from);
    zd_emit_object_end(&emit);
    zd_text_addf(&expected, "{\"a\":\"%s\"}", cases[_i].json);
    ck_assert_str_eq(text.at, expected.at);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_terminal_is_never_commanded, 0, ZD_COUNT_OF(cases));
    tcase_add_loop_test(tests, a_value_survives_in_json, 0, ZD_COUNT_OF(cases));
}
