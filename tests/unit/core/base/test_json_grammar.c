/* Facts about core/base/json_grammar. */
#include "core/base/json_grammar.h"

#include <string.h>

#include "core/base/json.h"
#include "tests/support/unit.h"

static const struct zd_json_limits limits = {
    .bytes_max = 1 << 20, .nodes_max = 1 << 20, .depth_max = 4, .nonfinite = true};

static const struct text_fact {
    const char *text;
    size_t len; /* 0: up to the NUL */
    enum zd_status status;
    size_t position; /* of the fault */
} text_facts[] = {
    {"{}", 0, ZD_OK, 0},
    {" [ ] ", 0, ZD_OK, 0},
    {"{\"a\":[1,-0,0.5,1e9,-1.5E+3,1e400,99999999999999999999],\"b\":{}}", 0, ZD_OK, 0},
    {"[true,false,null,NaN,Infinity,-Infinity]", 0, ZD_OK, 0},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"", 0, ZD_OK, 0},
    {"\"\xC3\xA9\xF0\x9F\x98\x80\x7F\"", 0, ZD_OK, 0},
    {"{\"a\":1,\"a\":2}", 0, ZD_OK, 0}, /* a name twice is for others to find */
    {"\"\\u0000 \\ud800 \\udc00\"", 0, ZD_OK, 0},
    {"", 0, ZD_INVALID, 0},
    {" ", 0, ZD_INVALID, 1},
    {"1 2", 0, ZD_INVALID, 2},
    {"[1 2]", 0, ZD_INVALID, 3},
    {"[1,]", 0, ZD_INVALID, 3},
    {"[,1]", 0, ZD_INVALID, 1},
    {"[1,,2]", 0, ZD_INVALID, 3},
    {"{\"a\":1,}", 0, ZD_INVALID, 7},
    {"{\"a\"}", 0, ZD_INVALID, 4},
    {"{\"a\",1}", 0, ZD_INVALID, 4},
    {"{\"a\"::1}", 0, ZD_INVALID, 5},
    {"{1:1}", 0, ZD_INVALID, 1},
    {"{\"a\":}", 0, ZD_INVALID, 5},
    {"[1:2]", 0, ZD_INVALID, 2},
    {"[1}", 0, ZD_INVALID, 2},
    {"{]", 0, ZD_INVALID, 1},
    {"]", 0, ZD_INVALID, 0},
    {"[[1]", 0, ZD_INVALID, 4},
    {"{\"a\":1", 0, ZD_INVALID, 6},
    {"\"a", 0, ZD_INVALID, 0},
    {"\"a\\\"", 0, ZD_INVALID, 0}, /* the last quote is escaped */
    {"\"a\\", 0, ZD_INVALID, 0},
    {"\"\\x\"", 0, ZD_INVALID, 0},
    {"\"\\u12g4\"", 0, ZD_INVALID, 0},
    {"\"\\u12\"", 0, ZD_INVALID, 0},
    {"\"a\nb\"", 0, ZD_INVALID, 2},
    {"\"a\0b\"", 5, ZD_INVALID, 2},
    {"[1]\0", 4, ZD_INVALID, 3},
    {"\"\xFF\"", 0, ZD_INVALID, 0},
    {"\"\xC0\x80\"", 0, ZD_INVALID, 0},     /* overlong */
    {"\"\xED\xA0\x80\"", 0, ZD_INVALID, 0}, /* a surrogate */
    {"\"\xC3\"", 0, ZD_INVALID, 0},
    {"\xEF\xBB\xBF{}", 0, ZD_INVALID, 0}, /* a byte order mark */
    {"{\"\\u0000\":1}", 0, ZD_INVALID, 1},
    {"{\"\\ud800\":1}", 0, ZD_INVALID, 1},
    {"{\"a\":{\"\\udc00\":1}}", 0, ZD_INVALID, 6},
    {"01", 0, ZD_INVALID, 0},
    {"-", 0, ZD_INVALID, 0},
    {"-01", 0, ZD_INVALID, 0},
    {"1.", 0, ZD_INVALID, 0},
    {".5", 0, ZD_INVALID, 0},
    {"+1", 0, ZD_INVALID, 0},
    {"1.e5", 0, ZD_INVALID, 0},
    {"1e", 0, ZD_INVALID, 0},
    {"1e+", 0, ZD_INVALID, 0},
    {"0x1", 0, ZD_INVALID, 0},
    {"True", 0, ZD_INVALID, 0},
    {"-NaN", 0, ZD_INVALID, 0},
    {"nan", 0, ZD_INVALID, 0},
    {"[[[[1]]]]", 0, ZD_OK, 0},
    {"[[[[{}]]]]", 0, ZD_TOO_LARGE, 4},
};

/* The parser says the same, but for names that stand there twice. */
START_TEST(texts_are_judged_as_the_parser_does)
{
    const struct text_fact *fact = &text_facts[_i];
    const size_t len = fact->len == 0 ? strlen(fact->text) : fact->len;
    const struct zd_span text = {.ptr = (const uint8_t *)fact->text, .len = len};
    struct zd_error err = {0};
    bool nonfinite = false;
    ck_assert_int_eq(zd_json_grammar_check(text, &limits, &nonfinite, &err), fact->status);
    ck_assert(nonfinite == (strstr(fact->text, "Inf") != NULL && fact->status == ZD_OK));
    if (fact->status != ZD_OK) {
        ck_assert_uint_eq(err.facts.position, fact->position);
    }
    ZD_AUTO(zd_json) json = NULL;
    const enum zd_status parsed = zd_json_parse(text, &limits, &json, NULL);
    ck_assert(parsed == fact->status || strcmp(fact->text, "{\"a\":1,\"a\":2}") == 0);
}
END_TEST

START_TEST(bare_nonfinite_is_refused_where_it_may_not_stand)
{
    const struct zd_json_limits strict = {.depth_max = 4};
    bool nonfinite = false;
    ck_assert_int_eq(
        zd_json_grammar_check(zd_span_of("[NaN]"), &strict, &nonfinite, NULL), ZD_INVALID);
}
END_TEST

/* Whatever the limits say: the levels are kept in a place of fixed size. */
START_TEST(depth_has_a_bound_of_its_own)
{
    char text[ZD_JSON_GRAMMAR_DEPTH_MAX + 1];
    const struct zd_json_limits deep = {.depth_max = SIZE_MAX};
    bool nonfinite = false;
    memset(text, '[', sizeof text);
    const struct zd_span most = {.ptr = (const uint8_t *)text, .len = ZD_JSON_GRAMMAR_DEPTH_MAX};
    const struct zd_span more = {.ptr = most.ptr, .len = most.len + 1};
    ck_assert_int_eq(zd_json_grammar_check(most, &deep, &nonfinite, NULL), ZD_INVALID);
    ck_assert_int_eq(zd_json_grammar_check(more, &deep, &nonfinite, NULL), ZD_TOO_LARGE);
}
END_TEST

START_TEST(members_come_in_the_order_of_the_text)
{
    static const char *const expected[][2] = {
        {"a", "1"}, {"", "[1, {\"a\":2}]"}, {"\\u0062", "{\"x\" : \"}\"}"}, {"a", "null"}};
    const struct zd_span object =
        zd_span_of(" { \"a\" : 1 , \"\":[1, {\"a\":2}],\"\\u0062\":{\"x\" : \"}\"},\"a\":null } ");
    struct zd_json_extent member;
    size_t at = 0;
    size_t n = 0;
    for (; zd_json_grammar_next(object, &at, &member); n++) {
        ck_assert_uint_lt(n, ZD_COUNT_OF(expected));
        ck_assert(zd_span_is(member.name, expected[n][0]));
        ck_assert(zd_span_is(member.value, expected[n][1]));
    }
    ck_assert_uint_eq(n, ZD_COUNT_OF(expected));
}
END_TEST

static const struct find_fact {
    const char *object;
    const char *name;
    const char *value; /* NULL: there is none */
} find_facts[] = {
    {"{}", "a", NULL},
    {"{\"a\":1}", "a", "1"},
    {"{\"b\":{\"a\":1}}", "a", NULL},
    {"{\"\\u0061\":[]}", "a", "[]"},
    {"{\"a\":1,\"a\":2}", "a", "1"},
    {"[\"a\",1]", "a", NULL},
    {"\"a\"", "a", NULL},
};

START_TEST(member_is_found_however_it_is_spelled)
{
    const struct find_fact *fact = &find_facts[_i];
    struct zd_span value = {0};
    const bool is_there = zd_json_grammar_find(zd_span_of(fact->object), fact->name, &value);
    ck_assert(is_there == (fact->value != NULL));
    ck_assert(!is_there || zd_span_is(value, fact->value));
}
END_TEST

static const struct string_fact {
    const char *written;
    const char *utf8;
} string_facts[] = {
    {"", ""},
    {"abc", "abc"},
    {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
    {"\\u0041\\u00e9\\u20AC", "A\xC3\xA9\xE2\x82\xAC"},
    {"x\\ud83d\\ude00y", "x\xF0\x9F\x98\x80y"},
    {"\\uffff\\udbff\\udfff", "\xEF\xBF\xBF\xF4\x8F\xBF\xBF"},
    {"\\\\u0041", "\\u0041"},
};

START_TEST(strings_read_as_they_are_meant)
{
    const struct string_fact *fact = &string_facts[_i];
    ZD_SCOPED_TEXT(text, 100);
    ZD_SCOPED_TEXT(quoted, 100);
    zd_json_grammar_unescape(zd_span_of(fact->written), &text);
    ck_assert_str_eq(text.at, fact->utf8);
    zd_text_addf(&quoted, "\"%s\"", fact->written);
    ck_assert(zd_json_grammar_says(zd_text_span(&quoted), fact->utf8));
    ck_assert(!zd_json_grammar_says(zd_text_span(&quoted), "something else"));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, texts_are_judged_as_the_parser_does, 0, ZD_COUNT_OF(text_facts));
    tcase_add_test(tests, bare_nonfinite_is_refused_where_it_may_not_stand);
    tcase_add_test(tests, depth_has_a_bound_of_its_own);
    tcase_add_test(tests, members_come_in_the_order_of_the_text);
    tcase_add_loop_test(tests, member_is_found_however_it_is_spelled, 0, ZD_COUNT_OF(find_facts));
    tcase_add_loop_test(tests, strings_read_as_they_are_meant, 0, ZD_COUNT_OF(string_facts));
}
