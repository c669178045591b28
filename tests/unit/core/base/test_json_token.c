/* Facts about core/base/json_token. */
#include "core/base/json_token.h"

#include "tests/support/unit.h"

static const struct token_fact {
    const char *text;
    enum zd_json_token type;
    size_t at;
    size_t end;
} token_facts[] = {
    {"", ZD_JSON_TOKEN_END, 0, 0},
    {" \t\r\n,,", ZD_JSON_TOKEN_END, 6, 6},
    {" [", ZD_JSON_TOKEN_OPEN, 1, 2},
    {"{", ZD_JSON_TOKEN_OPEN, 0, 1},
    {"]]", ZD_JSON_TOKEN_CLOSE, 0, 1},
    {"}", ZD_JSON_TOKEN_CLOSE, 0, 1},
    {":1", ZD_JSON_TOKEN_COLON, 0, 1},
    {"\"\"1", ZD_JSON_TOKEN_STRING, 0, 2},
    {"\"a\\\"]\" ", ZD_JSON_TOKEN_STRING, 0, 6}, /* an escaped quote ends nothing */
    {"\"a\\\\\"]", ZD_JSON_TOKEN_STRING, 0, 5},  /* an escaped backslash escapes nothing */
    {"\"a", ZD_JSON_TOKEN_STRING, 0, 2},
    {"\"a\\", ZD_JSON_TOKEN_STRING, 0, 3},
    {"-1.5e+3,", ZD_JSON_TOKEN_WORD, 0, 7},
    {"NaN]", ZD_JSON_TOKEN_WORD, 0, 3},
    {"a\"b\"", ZD_JSON_TOKEN_WORD, 0, 1},
    {"/", ZD_JSON_TOKEN_WORD, 0, 1},
};

START_TEST(tokens_begin_and_end_where_they_do)
{
    const struct token_fact *fact = &token_facts[_i];
    size_t at = 0;
    size_t end = 99;
    ck_assert_int_eq(zd_json_next_token(zd_span_of(fact->text), &at, &end), fact->type);
    ck_assert_uint_eq(at, fact->at);
    ck_assert_uint_eq(end, fact->end);
}
END_TEST

static const struct place_fact {
    const char *text;
    size_t position;
    const char *says;
} place_facts[] = {
    {"", 0, "JSON, line 1, column 1: x"}, {"abc", 2, "JSON, line 1, column 3: x"},
    {"a\nbc", 3, "JSON, line 2, column 2: x"},
    {"\xC3\xA9!", 2, "JSON, line 1, column 2: x"}, /* characters, not bytes */
    {"a", 99, "JSON, line 1, column 2: x"},        /* past the end is the end */
};

START_TEST(places_count_lines_and_characters_from_one)
{
    struct zd_error err = {0};
    const struct place_fact *fact = &place_facts[_i];
    ck_assert_int_eq(
        zd_json_fail_at(&err, zd_span_of(fact->text), fact->position, ZD_INVALID, "x"), ZD_INVALID);
    ck_assert_str_eq(err.text, fact->says);
    ck_assert_uint_eq(err.facts.position, fact->position);
}
END_TEST

static const struct value_fact {
    const char *text;
    const char *value; /* NULL: there is no such member */
} value_facts[] = {
    {"", NULL},
    {"{}", NULL},
    {"{\"a\":1}", "1"},
    {"{\"b\":\"a\",\"a\" : [1,{\"c\":\"]\"}],\"d\":2}", " [1,{\"c\":\"]\"}]"},
    {"{\"b\":{\"a\":1}}", NULL}, /* not of the outermost object */
    {"{\"b\":[{}],\"a\":\"x\"}", "\"x\""},
    {"[\"a\",1]", NULL},
    {"{\"aa\":1}", NULL},
    {"{\"\\u0061\":1}", NULL}, /* an escape is not looked into */
    {"{\"a\"", NULL},
    {"{\"a\":", ""},
    {"{\"a\":[1", "[1"},
    {"\"", NULL},
};

START_TEST(values_of_members_are_found_without_a_tree)
{
    const struct value_fact *fact = &value_facts[_i];
    struct zd_span value = {0};
    ck_assert_int_eq(zd_json_find_value(zd_span_of(fact->text), "a", &value), fact->value != NULL);
    ck_assert(zd_span_is(value, fact->value == NULL ? "" : fact->value));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, tokens_begin_and_end_where_they_do, 0, ZD_COUNT_OF(token_facts));
    tcase_add_loop_test(
        tests, places_count_lines_and_characters_from_one, 0, ZD_COUNT_OF(place_facts));
    tcase_add_loop_test(
        tests, values_of_members_are_found_without_a_tree, 0, ZD_COUNT_OF(value_facts));
}
