/* Facts about core/base/emit. */
#include "core/base/emit.h"

#include <math.h>
#include <string.h>

#include "tests/support/unit.h"

#define TEXT_MAX 100000

static void write_sample(struct zd_emit *emit)
{
    zd_emit_object(emit);
    zd_emit_member_string(emit, "s", "a/b");
    zd_emit_member_u64(emit, "u", UINT64_MAX);
    zd_emit_member_bool(emit, "b", false);
    zd_emit_member_json(emit, "j", NULL);
    zd_emit_key(emit, "list");
    zd_emit_array(emit);
    zd_emit_i64(emit, INT64_MIN);
    zd_emit_i64(emit, 0);
    zd_emit_f64(emit, -0.0);
    zd_emit_f64(emit, (double)NAN);
    zd_emit_f64(emit, -(double)INFINITY);
    zd_emit_null(emit);
    zd_emit_raw(emit, zd_span_of("{\"raw\":1}"));
    zd_emit_object(emit);
    zd_emit_object_end(emit);
    zd_emit_array_end(emit);
    zd_emit_key(emit, "empty");
    zd_emit_array(emit);
    zd_emit_array_end(emit);
    zd_emit_object_end(emit);
}

START_TEST(compact_text_has_no_spaces)
{
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    write_sample(&emit);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at,
        "{\"s\":\"a/b\",\"u\":18446744073709551615,\"b\":false,\"j\":null,"
        "\"list\":[-9223372036854775808,0,-0.0,\"NaN\",\"-Infinity\",null,{\"raw\":1},{}],"
        "\"empty\":[]}");
}
END_TEST

START_TEST(pretty_text_has_one_member_a_line)
{
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, true);
    zd_emit_object(&emit);
    zd_emit_member_u64(&emit, "a", 1);
    zd_emit_key(&emit, "b");
    zd_emit_array(&emit);
    zd_emit_u64(&emit, 2);
    zd_emit_u64(&emit, 3);
    zd_emit_array_end(&emit);
    zd_emit_key(&emit, "c");
    zd_emit_object(&emit);
    zd_emit_object_end(&emit);
    zd_emit_object_end(&emit);
    ck_assert_str_eq(text.at, "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ],\n  \"c\": {}\n}");
}
END_TEST

static const struct string_fact {
    const char *bytes;
    size_t len;
    const char *text;
} string_facts[] = {
    {"", 0, "\"\""}, {"a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\""},
    {"\b\t\n\f\r", 5, "\"\\b\\t\\n\\f\\r\""}, {"\v\x1f\x7f", 3, "\"\\u000b\\u001f\x7f\""},
    {"a\0b", 3, "\"a\\u0000b\""}, {"\xC3\xA9\xF0\x9F\x98\x80", 6, "\"\xC3\xA9\xF0\x9F\x98\x80\""},
    {"a\xFF\"b", 4, "\"a\xEF\xBF\xBD\\\"b\""},           /* what a stranger sent */
    {"ab\xE2\x82", 4, "\"ab\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* cut within a character */
};

START_TEST(strings_are_escaped_minimally_and_always_utf8)
{
    const struct string_fact *fact = &string_facts[_i];
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_string_span(
        &emit, (struct zd_span){.ptr = (const uint8_t *)fact->bytes, .len = fact->len});
    ck_assert_str_eq(text.at, fact->text);
}
END_TEST

static void nest(struct zd_emit *emit, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        zd_emit_array(emit);
    }
    zd_emit_u64(emit, 1);
    for (uint32_t i = 0; i < depth; i++) {
        zd_emit_array_end(emit);
    }
}

START_TEST(depth_ends_before_the_table_of_levels)
{
    static const struct {
        uint32_t depth;
        enum zd_status status;
    } facts[] = {{0, ZD_OK}, {1, ZD_OK}, {ZD_EMIT_DEPTH_MAX - 1, ZD_OK},
        {ZD_EMIT_DEPTH_MAX, ZD_TOO_LARGE}, {ZD_EMIT_DEPTH_MAX + 1, ZD_TOO_LARGE},
        {10 * ZD_EMIT_DEPTH_MAX, ZD_TOO_LARGE}};
    for (size_t i = 0; i < ZD_COUNT_OF(facts); i++) {
        ZD_SCOPED_TEXT(text, TEXT_MAX);
        struct zd_emit emit;
        zd_emit_init(&emit, &text, true);
        nest(&emit, facts[i].depth);
        ck_assert_int_eq(text.status, facts[i].status);
    }
}
END_TEST

START_TEST(a_tree_deeper_than_the_table_fails_cleanly)
{
    char document[2001];
    memset(document, '[', 1000);
    memset(document + 1000, ']', 1000);
    document[2000] = '\0';
    const struct zd_json_limits deep = {.bytes_max = 2000, .nodes_max = 2000, .depth_max = 1000};
    struct zd_json *parsed = NULL;
    ck_assert_int_eq(zd_json_parse(zd_span_of(document), &deep, &parsed, NULL), ZD_OK);
    ZD_AUTO(zd_json) json = parsed;
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, json);
    ck_assert_int_eq(text.status, ZD_TOO_LARGE);
}
END_TEST

START_TEST(numbers_beyond_their_types_stay_numbers)
{
    const struct zd_json_limits limits = {
        .bytes_max = 200, .nodes_max = 20, .depth_max = 2, .nonfinite = true};
    struct zd_json *parsed = NULL;
    ck_assert_int_eq(zd_json_parse(zd_span_of("[1e999,-1e999,18446744073709551616,NaN]"), &limits,
                         &parsed, NULL),
        ZD_OK);
    ZD_AUTO(zd_json) json = parsed;
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, json);
    ck_assert_str_eq(text.at, "[1e999,-1e999,18446744073709551616,\"NaN\"]");
}
END_TEST

START_TEST(a_full_text_keeps_its_failure)
{
    ZD_SCOPED_TEXT(text, 10);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    write_sample(&emit);
    ck_assert_int_eq(text.status, ZD_TOO_LARGE);
    ck_assert_uint_le(text.len, 10);
}
END_TEST

static enum zd_status write_all(void *context)
{
    (void)context;
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, true);
    write_sample(&emit);
    return text.status;
}

START_TEST(short_memory_is_said_so)
{
    zd_unit_with_failing_memory(write_all, NULL);
}
END_TEST

START_TEST(tree_after_a_full_text_leaves_levels_that_close)
{
    ZD_AUTO(zd_json) json = zd_json_new_object();
    ZD_SCOPED_TEXT(text, 8);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "name", "longer than the text");
    zd_emit_member_json(&emit, "tree", json);
    zd_emit_object_end(&emit);
    ck_assert_int_eq(text.status, ZD_TOO_LARGE);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, compact_text_has_no_spaces);
    tcase_add_test(tests, pretty_text_has_one_member_a_line);
    tcase_add_loop_test(
        tests, strings_are_escaped_minimally_and_always_utf8, 0, ZD_COUNT_OF(string_facts));
    tcase_add_test(tests, depth_ends_before_the_table_of_levels);
    tcase_add_test(tests, a_tree_deeper_than_the_table_fails_cleanly);
    tcase_add_test(tests, numbers_beyond_their_types_stay_numbers);
    tcase_add_test(tests, a_full_text_keeps_its_failure);
    tcase_add_test(tests, short_memory_is_said_so);
    tcase_add_test(tests, tree_after_a_full_text_leaves_levels_that_close);
}
