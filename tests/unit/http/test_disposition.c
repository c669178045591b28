/* Names of files in headers, fact by fact. */
#include "server/http/disposition.h"

#include <string.h>

#include "tests/support/unit.h"

#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde" /* 63 bytes */

static const struct {
    const char *name;
    const char *value;
} facts[] = {
    {"t2m", "inline; filename=\"t2m.npy\""},
    {"wind speed (10 m)", "inline; filename=\"wind speed (10 m).npy\""},
    {"", "inline; filename=\"data.npy\""},
    /* RFC 9110, 5.6.4: neither quotes nor backslashes */
    {"a\"; filename=\"b", "inline; filename=\"a__ filename=_b.npy\"; "
                          "filename*=UTF-8''a%22%3B%20filename%3D%22b.npy"},
    {"a\\b", "inline; filename=\"a_b.npy\"; filename*=UTF-8''a%5Cb.npy"},
    {"a\r\nSet-Cookie: x=1", "inline; filename=\"a__Set-Cookie_ x=1.npy\"; "
                             "filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x%3D1.npy"},
    {"50%41", "inline; filename=\"50_41.npy\"; filename*=UTF-8''50%2541.npy"},
    {".hidden", "inline; filename=\"_hidden.npy\"; filename*=UTF-8''.hidden.npy"},
    {"h\xc3\xb6he", "inline; filename=\"h__he.npy\"; filename*=UTF-8''h%C3%B6he.npy"},
    {"\xff\x01", "inline; filename=\"__.npy\""}, /* no UTF-8: it cannot be said */
    {LONG LONG "12345", "inline; filename=\"" LONG LONG "12.npy\""},
    {LONG LONG "1\xc3\xa9", /* no part of a character is left */
        "inline; filename=\"" LONG LONG "1.npy\""},
};

START_TEST(names_are_safe_in_a_header)
{
    ZD_SCOPED_TEXT(text, 1024);
    zd_disposition_add(zd_span_of(facts[_i].name), "npy", &text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at, facts[_i].value);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, names_are_safe_in_a_header, 0, ZD_COUNT_OF(facts));
}
