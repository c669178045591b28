/* Rows of --help: how names and meanings share lines. */
#include "server/config/help_rows.h"

#include "core/base/num.h"
#include "tests/support/unit.h"

#define INDENT "                              "
#define LONG   "1234567890123456789012345678901234567890"
#define SIXTY  "123456789 123456789 123456789 123456789 123456789 123456789"

static const struct {
    const char *name;
    const char *meaning;
    const char *row;
} rows[] = {
    {"a", "One fact.", "  a                           One fact.\n"},
    {"a", SIXTY " 123456789", "  a                           " SIXTY " 123456789\n"},
    {"a", SIXTY " 1234567890", "  a                           " SIXTY " 1234567890\n"},
    {"a", SIXTY " 12345678901", "  a                           " SIXTY "\n" INDENT "12345678901\n"},
    /* a name as wide as its column has a line of its own */
    {"http://HOST/PATH, http://HOST", "One.", "  http://HOST/PATH, http://HOST\n" INDENT "One.\n"},
    /* a word that is longer than a line */
    {"a", LONG LONG " b", "  a                           " LONG LONG "\n" INDENT "b\n"},
    {"a", "b " LONG LONG, "  a                           b\n" INDENT LONG LONG "\n"},
};

START_TEST(a_meaning_is_wrapped_between_words)
{
    ZD_SCOPED_TEXT(text, 1024);
    zd_help_row_add(&text, rows[_i].name, rows[_i].meaning);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at, rows[_i].row);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_meaning_is_wrapped_between_words, 0, ZD_COUNT_OF(rows));
}
