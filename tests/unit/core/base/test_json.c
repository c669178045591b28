/* Facts about core/base/json. */
#include "core/base/json.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/base/json_nonfinite.h"
#include "core/base/text.h"
#include "tests/support/unit.h"

static const struct zd_json_limits roomy = {
    .bytes_max = 1 << 20, .nodes_max = 50000, .depth_max = 64};
static const struct zd_json_limits lenient = {
    .bytes_max = 1 << 20, .nodes_max = 50000, .depth_max = 64, .nonfinite = true};

static struct zd_json *parse(const char *text, const struct zd_json_limits *limits)
{
    struct zd_json *json = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_json_parse(zd_span_of(text), limits, &json, &err);
    ck_assert_msg(status == ZD_OK, "%s: %s", text, err.text);
    return json;
}

static const struct refused_fact {
    const char *text;
    bool nonfinite;
    enum zd_status status;
    const char *says;
} refused_facts[] = {
    {"", false, ZD_INVALID, "empty"},
    {" ", false, ZD_INVALID, "line 1"},
    {"{\"a\":1,\"a\":2}", false, ZD_INVALID, "duplicate"},
    {"{\"a\":1} 2", false, ZD_INVALID, "end of file expected"},
    {"\xEF\xBB\xBF{}", false, ZD_INVALID, "line 1"},
    {"\"\xC0\xAF\"", false, ZD_INVALID, "line 1"},
    {"{\"a\\u0000b\":1}", true, ZD_INVALID, "column 2: a name contains U+0000"},
    {"{\"b\":\"\\u0000\", \"\\uD800\" :1}", false, ZD_INVALID, "column 16: a name contains"},
    {"[\"\\u0000\\q\"]", false, ZD_INVALID, "line 1"}, /* an odd string has good escapes */
    {"[\"\\ud800\\u12g4\"]", false, ZD_INVALID, "line 1"},
    {"[\"\\ud800\\u12\"]", false, ZD_INVALID, "line 1"},
    {"[\"\\ud800\x01\"]", false, ZD_INVALID, "line 1"},
    {"[\"\\ud800\xC0\xAF\"]", false, ZD_INVALID, "line 1"},
    {"[\"\\ud800]", false, ZD_INVALID, "line 1"},
    {"[\"\\ud800\\\"]", false, ZD_INVALID, "line 1"},
    {"[\"\\u0000\",\n \"\\ud800\" 3]", false, ZD_INVALID, "line 2"},
    {"[1,\n  2 3]", false, ZD_INVALID, "line 2"},
    {"[01]", false, ZD_INVALID, "line 1"},
    {"[NaN]", false, ZD_INVALID, "line 1, column 5"},
    {"[nan]", true, ZD_INVALID, "line 1"},
    {"[+Infinity]", true, ZD_INVALID, "line 1"},
    {"[-NaN]", true, ZD_INVALID, "line 1"},
    {"[NaNx]", true, ZD_INVALID, "line 1"},
    {"{NaN: 1}", true, ZD_INVALID, "line 1"},
    {"[NaN,\n\n ]]", true, ZD_INVALID, "line 3"}, /* marks do not move the place */
    {"[18446744073709551616, ]", false, ZD_INVALID, "column 25"},
    {"[9223372036854775808NaN]", false, ZD_INVALID, "line 1"}, /* out of range, and no number */
    {"[9223372036854775808NaN]", true, ZD_INVALID, "line 1"},
    {"[18446744073709551616-1]", false, ZD_INVALID, "line 1"},
    {"[1e999.5]", false, ZD_INVALID, "line 1"},
    {"[-1e+999e1]", false, ZD_INVALID, "line 1"},
    {"[99999999999999999999.]", false, ZD_INVALID, "line 1"},
    {"[1", false, ZD_INVALID, "line 1"},
    {"\"abc", false, ZD_INVALID, "line 1"},
    {"[1,]", false, ZD_INVALID, "line 1"},
    {"'a'", false, ZD_INVALID, "line 1"},
};

START_TEST(parse_names_the_place_of_what_it_refuses)
{
    const struct refused_fact *fact = &refused_facts[_i];
    struct zd_json *json = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(
        zd_json_parse(zd_span_of(fact->text), fact->nonfinite ? &lenient : &roomy, &json, &err),
        fact->status);
    ck_assert_msg(strstr(err.text, fact->says) != NULL, "%s: %s", fact->text, err.text);
    ck_assert_ptr_null(json);
}
END_TEST

static const struct limit_fact {
    const char *text;
    struct zd_json_limits limits;
    enum zd_status status;
} limit_facts[] = {
    {"[1]", {.bytes_max = 3, .nodes_max = 2, .depth_max = 1}, ZD_OK},
    {"[1]", {.bytes_max = 2, .nodes_max = 2, .depth_max = 1}, ZD_TOO_LARGE},
    {"[1]", {.bytes_max = 3, .nodes_max = 1, .depth_max = 1}, ZD_TOO_LARGE},
    {"[1]", {.bytes_max = 3, .nodes_max = 2, .depth_max = 0}, ZD_TOO_LARGE},
    {"1", {.bytes_max = 1, .nodes_max = 1, .depth_max = 0}, ZD_OK},
    {"{\"a\":{\"b\":1}}", {.bytes_max = 99, .nodes_max = 3, .depth_max = 2}, ZD_OK},
    {"{\"a\":{\"b\":1}}", {.bytes_max = 99, .nodes_max = 2, .depth_max = 2}, ZD_TOO_LARGE},
    {"[\"[[[[,,,,\\\"[\"]", {.bytes_max = 99, .nodes_max = 2, .depth_max = 1}, ZD_OK},
    {"[\"a\",\"b\",{\"c\":\"d\"}]", {.bytes_max = 99, .nodes_max = 5, .depth_max = 2}, ZD_OK},
    {"[1]", {.bytes_max = SIZE_MAX, .nodes_max = SIZE_MAX, .depth_max = SIZE_MAX}, ZD_OK},
};

START_TEST(limits_hold_before_anything_is_built)
{
    const struct limit_fact *fact = &limit_facts[_i];
    ZD_AUTO(zd_json) json = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(
        zd_json_parse(zd_span_of(fact->text), &fact->limits, &json, &err), fact->status);
    ck_assert_uint_eq((err.facts.set & ZD_FACT_LIMIT) != 0, fact->status == ZD_TOO_LARGE);
}
END_TEST

START_TEST(deep_nesting_is_refused_whatever_the_limit)
{
    static char text[200000];
    memset(text, '[', sizeof text);
    const size_t depths[] = {65, 1000, 3000, sizeof text};
    for (size_t i = 0; i < ZD_COUNT_OF(depths); i++) {
        const struct zd_span span = {.ptr = (const uint8_t *)text, .len = depths[i]};
        const struct zd_json_limits deep = {
            .bytes_max = SIZE_MAX, .nodes_max = SIZE_MAX, .depth_max = SIZE_MAX};
        struct zd_json *json = NULL;
        ck_assert_int_eq(zd_json_parse(span, &roomy, &json, NULL), ZD_TOO_LARGE);
        ck_assert_int_ne(zd_json_parse(span, &deep, &json, NULL), ZD_OK);
    }
}
END_TEST

static const struct number_fact {
    const char *text;
    enum zd_json_type type;
    bool is_u64;
    uint64_t u64;
    bool is_i64;
    int64_t i64;
    double f64;
} number_facts[] = {
    {"0", ZD_JSON_INTEGER, true, 0, true, 0, 0.0},
    {"-1", ZD_JSON_INTEGER, false, 0, true, -1, -1.0},
    {"1.0", ZD_JSON_REAL, false, 0, false, 0, 1.0},
    {"1e2", ZD_JSON_REAL, false, 0, false, 0, 100.0},
    {"9223372036854775807", ZD_JSON_INTEGER, true, INT64_MAX, true, INT64_MAX, 0x1p63},
    {"9223372036854775808", ZD_JSON_INTEGER, true, UINT64_C(1) << 63, false, 0, 0x1p63},
    {"18446744073709551615", ZD_JSON_INTEGER, true, UINT64_MAX, false, 0, 0x1p64},
    {"18446744073709551616", ZD_JSON_REAL, false, 0, false, 0, 0x1p64}, /* one past the end */
    {"-9223372036854775808", ZD_JSON_INTEGER, false, 0, true, INT64_MIN, -0x1p63},
    {"-9223372036854775809", ZD_JSON_REAL, false, 0, false, 0, -0x1p63},
    {"1e400", ZD_JSON_REAL, false, 0, false, 0, (double)INFINITY},
    {"-1.5E+400", ZD_JSON_REAL, false, 0, false, 0, -(double)INFINITY},
    {"1e-400", ZD_JSON_REAL, false, 0, false, 0, 0.0},
    {"Infinity", ZD_JSON_NONFINITE, false, 0, false, 0, (double)INFINITY},
    {"-Infinity", ZD_JSON_NONFINITE, false, 0, false, 0, -(double)INFINITY},
};

START_TEST(numbers_are_exact)
{
    const struct number_fact *fact = &number_facts[_i];
    ZD_AUTO(zd_json) json = parse(fact->text, &lenient);
    uint64_t u64 = 0;
    int64_t i64 = 0;
    double f64 = 0;
    ck_assert_int_eq(zd_json_type(json), fact->type);
    ck_assert_int_eq(zd_json_u64(json, &u64), fact->is_u64);
    ck_assert_int_eq(zd_json_i64(json, &i64), fact->is_i64);
    ck_assert(zd_json_f64(json, &f64));
    ck_assert_uint_eq(u64, fact->u64);
    ck_assert_int_eq(i64, fact->i64);
    ck_assert(f64 == fact->f64);
    ck_assert_ptr_null(zd_json_string(json));
}
END_TEST

static char *render(const struct zd_json *json)
{
    ZD_SCOPED_TEXT(text, 1 << 20);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, json);
    ck_assert_int_eq(text.status, ZD_OK);
    return zd_strdup(text.at);
}

static const char *const round_trips[] = {
    "{\"b\":1,\"a\":[true,false,null,\"x\\\"\\\\/\\n\"]}",
    "[18446744073709551615,-9223372036854775808,0.1,-0.0,1e+300,100.0]",
    "{}",
    "[]",
    "\"\xC3\xA9\xF0\x9F\x98\x80\"",
};

START_TEST(documents_keep_order_and_values)
{
    ZD_AUTO(zd_json) json = parse(round_trips[_i], &roomy);
    ZD_AUTO_TEXT text = render(json);
    ck_assert_str_eq(text, round_trips[_i]);
}
END_TEST

START_TEST(bare_nonfinite_words_are_values_only_outside_strings)
{
    ZD_AUTO(zd_json)
    json = parse("{\"a\": [NaN, {\"b\": -Infinity}], \"c\": \"a NaN, Infinity b\"}", &lenient);
    ck_assert(zd_json_nonfinite_is_in(json));
    ck_assert(zd_json_is(zd_json_element(zd_json_member(json, "a"), 0), ZD_JSON_NONFINITE));
    double value = 0;
    ck_assert(zd_json_f64(zd_json_element(zd_json_member(json, "a"), 0), &value) && isnan(value));
    ck_assert_str_eq(zd_json_string(zd_json_member(json, "c")), "a NaN, Infinity b");
    ck_assert(!zd_json_nonfinite_is_in(zd_json_member(json, "c")));

    ZD_AUTO(zd_json) quoted = zd_json_nonfinite_quote(json);
    ck_assert(!zd_json_nonfinite_is_in(quoted));
    ZD_AUTO_TEXT text = render(quoted);
    ck_assert_str_eq(text, "{\"a\":[\"NaN\",{\"b\":\"-Infinity\"}],\"c\":\"a NaN, Infinity b\"}");
}
END_TEST

static const struct equal_fact {
    const char *a;
    const char *b;
    bool equal;
} equal_facts[] = {
    {"1", "1.0", true},
    {"1", "2", false},
    {"9007199254740993", "9007199254740992.0", false},
    {"18446744073709551615", "18446744073709551615", true},
    {"18446744073709551615", "18446744073709551616", false},
    {"-1", "18446744073709551615", false},
    {"{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}", true},
    {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
    {"[1,2]", "[2,1]", false},
    {"[1]", "[1,2]", false},
    {"[1,2]", "[1]", false},
    {"NaN", "NaN", true},
    {"NaN", "\"NaN\"", false},
    {"true", "true", true},
    {"true", "false", false},
    {"null", "false", false},
    {"\"a\"", "\"a\"", true},
};

/* No string of C can hold these: they are kept as written. */
static const char *const odd_strings[] = {
    "\\u0000",
    "a\\u0000b",
    "\\u0000N1", /* nobody forges a mark */
    "\\u0000S\\u0000",
    "\\u0000U18446744073709551615",
    "\\ud800",
    "\\uDFFF",
    "\\uD800\\uD800",
    "\\uDC00\\uD800",
    "\\uD83D\\uDE00 \\uD83D",
    "\\ud800\\n\\\"\\\\u0041\\/",
    "\\ud800x\\\\",
    "\xC3\xA4\\u0000\xE2\x82\xAC",
};

START_TEST(odd_strings_are_kept_as_they_are_written)
{
    const char *odd = odd_strings[_i];
    ZD_SCOPED_TEXT(text, 1000);
    ZD_SCOPED_TEXT(again, 1000);
    zd_text_addf(&text, "{\"a\":[\"%s\",\"x\"],\"b\":\"%s\",\"c\":18446744073709551615}", odd, odd);
    ZD_AUTO(zd_json) json = parse(text.at, &roomy);
    const struct zd_json *value = zd_json_member(json, "b");
    double number = 1.5;
    ck_assert(zd_json_is(value, ZD_JSON_ODD_STRING));
    ck_assert_str_eq(zd_json_odd_string(value), odd);
    ck_assert_ptr_null(zd_json_string(value));
    ck_assert_ptr_null(zd_json_string_span(value).ptr);
    ck_assert_ptr_null(zd_json_nonfinite(value));
    ck_assert(!zd_json_f64(value, &number));
    ck_assert(zd_json_equal(value, zd_json_element(zd_json_member(json, "a"), 0)));
    ck_assert_str_eq(zd_json_string(zd_json_element(zd_json_member(json, "a"), 1)), "x");
    struct zd_emit emit;
    zd_emit_init(&emit, &again, false);
    zd_emit_json(&emit, json);
    ck_assert_str_eq(again.at, text.at);
}
END_TEST

START_TEST(pairs_and_what_only_looks_odd_are_plain_strings)
{
    ZD_AUTO(zd_json) json = parse("[\"\\uD83D\\uDE00\",\"\\\\u0000\",\"\\\\ud800\",1e999]", &roomy);
    ck_assert_str_eq(zd_json_string(zd_json_element(json, 0)), "\xF0\x9F\x98\x80");
    ck_assert_str_eq(zd_json_string(zd_json_element(json, 1)), "\\u0000");
    ck_assert_str_eq(zd_json_string(zd_json_element(json, 2)), "\\ud800");
    ZD_AUTO(zd_json) odd = parse("[\"\\u0000\",\"\\ud800\"]", &roomy);
    ck_assert(!zd_json_equal(zd_json_element(json, 1), zd_json_element(odd, 0)));
    ck_assert(!zd_json_equal(zd_json_element(json, 2), zd_json_element(odd, 1)));
    ck_assert(!zd_json_equal(zd_json_element(odd, 0), zd_json_element(odd, 1)));
}
END_TEST

#define N_THREADS 4
#define N_TURNS   10000

/* Takes over a reference. */
static void *hold_and_drop(void *json)
{
    ZD_AUTO(zd_json) own = json;
    for (size_t i = 0; i < N_TURNS; i++) {
        ZD_AUTO(zd_json) member = zd_json_ref(zd_json_member(own, "a"));
        ZD_AUTO(zd_json) word = zd_json_ref(zd_json_member(own, "b"));
        if (zd_json_count(member) != 3 || !zd_json_is_true(word)) {
            return NULL;
        }
    }
    return own;
}

/* A thread sanitizer sees what the counts do not. */
START_TEST(threads_share_a_value)
{
    struct zd_json *json = parse("{\"a\":[1,2,{}],\"b\":true}", &roomy);
    pthread_t thread[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, hold_and_drop, zd_json_ref(json)), 0);
    }
    zd_json_unref(json); /* the last of them frees it */
    for (size_t i = 0; i < N_THREADS; i++) {
        void *result = NULL;
        ck_assert_int_eq(pthread_join(thread[i], &result), 0);
        ck_assert_ptr_nonnull(result);
    }
}
END_TEST

START_TEST(equality_is_of_values)
{
    const struct equal_fact *fact = &equal_facts[_i];
    ZD_AUTO(zd_json) a = parse(fact->a, &lenient);
    ZD_AUTO(zd_json) b = parse(fact->b, &lenient);
    ck_assert_int_eq(zd_json_equal(a, b), fact->equal);
    ck_assert_int_eq(zd_json_equal(b, a), fact->equal);
    ck_assert(zd_json_equal(a, a));
    ck_assert(!zd_json_equal(a, NULL));
}
END_TEST

START_TEST(reading_of_nothing_finds_nothing)
{
    ZD_AUTO(zd_json) text = parse("\"x\"", &roomy);
    const struct zd_json *const values[] = {NULL, text};
    for (size_t i = 0; i < ZD_COUNT_OF(values); i++) {
        uint64_t u64;
        int64_t i64;
        double f64;
        ck_assert_ptr_null(zd_json_member(values[i], "a"));
        ck_assert_ptr_null(zd_json_element(values[i], 0));
        ck_assert_uint_eq(zd_json_count(values[i]), 0);
        ck_assert_ptr_null(zd_json_next(values[i], NULL));
        ck_assert(!zd_json_u64(values[i], &u64));
        ck_assert(!zd_json_i64(values[i], &i64));
        ck_assert(!zd_json_f64(values[i], &f64));
        ck_assert(!zd_json_is_true(values[i]));
        ck_assert(!zd_json_is_false(values[i]));
    }
    ck_assert(zd_json_equal(NULL, NULL));
    ck_assert_ptr_null(zd_json_string(NULL));
    ck_assert_uint_eq(zd_json_string_span(NULL).len, 0);
    ck_assert_ptr_null(zd_json_nonfinite_quote(NULL));
    ck_assert(!zd_json_nonfinite_is_in(NULL));
    zd_json_unref(NULL);
}
END_TEST

static const struct name_fact {
    const char *text;
    const char *name;
} name_facts[] = {
    {"null", "null"},
    {"true", "a boolean"},
    {"1", "an integer"},
    {"1.5", "a real number"},
    {"\"\"", "a string"},
    {"[]", "an array"},
    {"{}", "an object"},
    {"NaN", "a bare NaN or Infinity"},
};

START_TEST(types_have_names_for_messages)
{
    ZD_AUTO(zd_json) json = parse(name_facts[_i].text, &lenient);
    ck_assert_str_eq(zd_json_type_name(json), name_facts[_i].name);
    ck_assert_str_eq(zd_json_type_name(NULL), "nothing");
}
END_TEST

START_TEST(members_are_set_replaced_and_removed)
{
    ZD_AUTO(zd_json) object = zd_json_new_object();
    ck_assert_int_eq(zd_json_set(object, "a", zd_json_new_u64(UINT64_MAX)), ZD_OK);
    ck_assert_int_eq(zd_json_set(object, "b", zd_json_new_i64(-1)), ZD_OK);
    ck_assert_int_eq(zd_json_set(object, "c", zd_json_new_f64(0.5)), ZD_OK);
    ck_assert_int_eq(zd_json_set(object, "d", zd_json_new_bool(true)), ZD_OK);
    ck_assert_int_eq(zd_json_set(object, "e", zd_json_new_null()), ZD_OK);
    ZD_AUTO(zd_json) copy = zd_json_copy(object);
    ck_assert_int_eq(zd_json_set(object, "a", zd_json_new_text("x")), ZD_OK);
    ck_assert_int_eq(zd_json_remove(object, "b"), ZD_OK);
    ck_assert_int_eq(zd_json_remove(object, "b"), ZD_NOT_FOUND);
    ck_assert_int_ne(zd_json_set(object, "z", NULL), ZD_OK);
    ZD_AUTO_TEXT text = render(object);
    ck_assert_str_eq(text, "{\"a\":\"x\",\"c\":0.5,\"d\":true,\"e\":null}");
    ZD_AUTO_TEXT before = render(copy);
    ck_assert_str_eq(
        before, "{\"a\":18446744073709551615,\"b\":-1,\"c\":0.5,\"d\":true,\"e\":null}");
}
END_TEST

START_TEST(pointers_escape_and_are_cut)
{
    const struct zd_pointer root = {""};
    const struct zd_pointer codecs = zd_pointer_member(&root, "codecs");
    const struct zd_pointer second = zd_pointer_element(&codecs, 2);
    ck_assert_str_eq(second.text, "/codecs/2");
    const struct zd_pointer odd = zd_pointer_member(&root, "a/b~c");
    ck_assert_str_eq(odd.text, "/a~1b~0c"); /* RFC 6901, 5 */
    struct zd_pointer deep = root;
    for (int i = 0; i < 100; i++) {
        deep = zd_pointer_member(&deep, "~~~~");
        ck_assert_uint_lt(strlen(deep.text), sizeof deep.text);
    }
}
END_TEST

static enum zd_status parse_and_render(void *context)
{
    struct zd_json *parsed = NULL;
    ZD_TRY(zd_json_parse(zd_span_of(context), &lenient, &parsed, NULL));
    ZD_AUTO(zd_json) json = parsed;
    ZD_AUTO(zd_json) quoted = zd_json_nonfinite_quote(json);
    ZD_AUTO(zd_json) copy = zd_json_copy(json);
    if (quoted == NULL || copy == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_SCOPED_TEXT(text, 1 << 20);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, true);
    zd_emit_json(&emit, quoted);
    return text.status;
}

/* Tokens that grow while they are read: none of them may lose a byte. */
static enum zd_status parse_long_tokens(void *context)
{
    (void)context;
    static const char name[] = "/a/path/that/is/longer/than/what/a/buffer/first/holds";
    ZD_AUTO(zd_json) json = NULL;
    uint64_t number = 0;
    ZD_SCOPED_TEXT(text, 1 << 10);
    ZD_TRY(zd_text_addf(&text, "{\"%s\": \"%s\", \"n\": 1234567890123456789}", name, name));
    ZD_TRY(zd_json_parse(zd_text_span(&text), &lenient, &json, NULL));
    ck_assert_str_eq(zd_json_string(zd_json_member(json, name)), name);
    ck_assert(zd_json_u64(zd_json_member(json, "n"), &number));
    ck_assert_uint_eq(number, UINT64_C(1234567890123456789));
    return ZD_OK;
}

START_TEST(short_memory_cuts_no_token)
{
    zd_unit_with_failing_memory(parse_long_tokens, NULL);
}
END_TEST

START_TEST(short_memory_is_said_so)
{
    char plain[] = "{\"a\": [1, 2.5, \"text\", {\"b\": null}], \"c\": true}";
    char marked[] = "{\"a\": [NaN, 18446744073709551615, 1e999, {\"b\": [1]}], \"c\": \"d\"}";
    zd_unit_with_failing_memory(parse_and_render, plain);
    zd_unit_with_failing_memory(parse_and_render, marked);
}
END_TEST

#define N_COPIES 4096

/* The parts of a tree, many times. */
static const char *const tree_parts[] = {
    "{}",
    "[]",
    "[[]]",
    "7",
    "0.5",
    "true",
    "\"\"",
    "\"a text of its own that is not short, but nothing special\"",
    "{\"a\":0}",
    "{\"a\":{},\"b\":[1,2,3,4,5,6,7,8,9],\"c\":\"d\"}",
    "18446744073709551615",
};

START_TEST(a_tree_takes_no_more_than_is_foreseen)
{
    static const struct zd_json_limits limits = {
        .bytes_max = SIZE_MAX, .nodes_max = SIZE_MAX, .depth_max = 64};
    ZD_SCOPED_TEXT(text, 1 << 20);
    struct zd_json *json = NULL;
    struct zd_error err = {0};
    for (size_t i = 0; i < N_COPIES; i++) {
        zd_text_addf(&text, "%s%s", i == 0 ? "[" : ",", tree_parts[_i]);
    }
    ck_assert_int_eq(zd_text_add(&text, "]"), ZD_OK);
    const size_t before = mallinfo2().uordblks; /* sanitizers: always 0 */
    ck_assert_int_eq(zd_json_parse(zd_text_span(&text), &limits, &json, &err), ZD_OK);
    const size_t taken = mallinfo2().uordblks - before;
    ck_assert_uint_le(taken, zd_json_tree_bytes(zd_text_span(&text)));
    zd_json_unref(json);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_tree_takes_no_more_than_is_foreseen, 0, ZD_COUNT_OF(tree_parts));
    tcase_add_loop_test(
        tests, parse_names_the_place_of_what_it_refuses, 0, ZD_COUNT_OF(refused_facts));
    tcase_add_loop_test(tests, limits_hold_before_anything_is_built, 0, ZD_COUNT_OF(limit_facts));
    tcase_add_test(tests, deep_nesting_is_refused_whatever_the_limit);
    tcase_add_loop_test(tests, numbers_are_exact, 0, ZD_COUNT_OF(number_facts));
    tcase_add_loop_test(tests, documents_keep_order_and_values, 0, ZD_COUNT_OF(round_trips));
    tcase_add_test(tests, bare_nonfinite_words_are_values_only_outside_strings);
    tcase_add_loop_test(
        tests, odd_strings_are_kept_as_they_are_written, 0, ZD_COUNT_OF(odd_strings));
    tcase_add_test(tests, threads_share_a_value);
    tcase_add_test(tests, pairs_and_what_only_looks_odd_are_plain_strings);
    tcase_add_loop_test(tests, equality_is_of_values, 0, ZD_COUNT_OF(equal_facts));
    tcase_add_test(tests, reading_of_nothing_finds_nothing);
    tcase_add_loop_test(tests, types_have_names_for_messages, 0, ZD_COUNT_OF(name_facts));
    tcase_add_test(tests, members_are_set_replaced_and_removed);
    tcase_add_test(tests, pointers_escape_and_are_cut);
    tcase_add_test(tests, short_memory_is_said_so);
    tcase_add_test(tests, short_memory_cuts_no_token);
}
