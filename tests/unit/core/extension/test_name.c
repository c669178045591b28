/* Facts about core/extension/name. */
#include "core/extension/name.h"

#include "tests/support/unit.h"

static const struct name_fact {
    const char *name;
    enum zd_name_class class;
} name_facts[] = {
    {"zstd", ZD_NAME_REGISTERED},
    {"r8", ZD_NAME_REGISTERED}, /* two characters are enough */
    {"numcodecs.adler32", ZD_NAME_REGISTERED},
    {"sharding_indexed", ZD_NAME_REGISTERED},
    {"a-b", ZD_NAME_REGISTERED},
    {"a.", ZD_NAME_REGISTERED},
    {"https://example.com/x", ZD_NAME_URI},
    {"urn:example:datetime", ZD_NAME_URI},
    {"foo:bar", ZD_NAME_URI}, /* no registered name, yet a URI by its form */
    {"a:b", ZD_NAME_URI},
    {"https://e.com/x?y", ZD_NAME_BAD},
    {"https://e.com/x#z", ZD_NAME_BAD},
    {"https://e.com/x y", ZD_NAME_BAD},
    {"http:", ZD_NAME_BAD},
    {":x", ZD_NAME_BAD},
    {"9:x", ZD_NAME_BAD},
    {"7z", ZD_NAME_OLD},
    {"9x", ZD_NAME_OLD},
    {"x", ZD_NAME_OLD}, /* one character is too short for the final class */
    {"_x", ZD_NAME_OLD},
    {"..", ZD_NAME_OLD},
    {"", ZD_NAME_BAD},
    {"Foo", ZD_NAME_BAD},
    {"foo/bar", ZD_NAME_BAD},
    {"foo bar", ZD_NAME_BAD},
    {"f\xc3\xa9", ZD_NAME_BAD},
};

START_TEST(name_falls_in_its_class)
{
    const struct name_fact *fact = &name_facts[_i];
    ck_assert_msg(zd_name_classify(zd_span_of(fact->name)) == fact->class, "%s", fact->name);
}
END_TEST

START_TEST(name_of_nothing_is_bad)
{
    ck_assert_int_eq(zd_name_classify((struct zd_span){.ptr = NULL}), ZD_NAME_BAD);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, name_falls_in_its_class, 0, ZD_COUNT_OF(name_facts));
    tcase_add_test(tests, name_of_nothing_is_bad);
}
