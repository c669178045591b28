/* Facts about core/base/json_edit. */
#include "core/base/json_edit.h"

#include "tests/support/unit.h"

static const struct zd_json_limits limits = {.bytes_max = 4096, .nodes_max = 500, .depth_max = 20};

static const struct merge_fact {
    const char *target;
    const char *patch;
    const char *result;
} merge_facts[] = {
    /* RFC 7396, appendix A */
    {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
    {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
    {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
    {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
    {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
    {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
    {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
    {"{\"a\":\"foo\"}", "null", "null"},
    {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
    {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
    {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
    {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    /* spaces, order and the spelling of what stays */
    {"{\n  \"a\": 1.50,\n  \"b\": {\"x\": 1}\n}", "{\"b\":{\"y\":2}}",
        "{\n  \"a\": 1.50,\n  \"b\": {\"x\": 1,\"y\":2}\n}"},
    {"{\n  \"a\": 1e400\n}", "{\"b\":[1,2]}", "{\n  \"a\": 1e400,\n  \"b\": [1,2]\n}"},
    {"{ \"a\": 1, \"b\" : 2 , \"c\": 3 }", "{\"b\":null}", "{ \"a\": 1, \"c\": 3 }"},
    {" {\"a\":1} ", "{\"a\":2}", "{\"a\":2}"},
    {"{ }", "{\"a\":{}}", "{\"a\":{} }"},
    /* names are compared by what they say */
    {"{\"a\\/b\": 1, \"\\u0061\": 2}", "{\"a/b\":null}", "{ \"\\u0061\": 2}"},
    {"{\"\\u0061\":1}", "{\"a\":2}", "{\"\\u0061\":2}"},
    {"{\"\":1,\"\\\"\":2}", "{\"\\\"\":3,\"\":null}", "{\"\\\"\":3}"},
    {"{\"a\":\"}\",\"b\":\"\\\"{\"}", "{\"a\":1}", "{\"a\":1,\"b\":\"\\\"{\"}"},
};

START_TEST(merge_patch_changes_what_it_names)
{
    const struct merge_fact *fact = &merge_facts[_i];
    struct zd_error err = {0};
    ZD_AUTO(zd_json) patch = NULL;
    ck_assert_int_eq(zd_json_parse(zd_span_of(fact->patch), &limits, &patch, &err), ZD_OK);
    ZD_SCOPED_TEXT(out, 4096);
    zd_json_merge(zd_span_of(fact->target), patch, &out);
    ck_assert_int_eq(out.status, ZD_OK);
    ck_assert_str_eq(out.at, fact->result);
}
END_TEST

START_TEST(merged_text_past_its_ceiling_is_too_large)
{
    ZD_AUTO(zd_json) patch = NULL;
    ck_assert_int_eq(zd_json_parse(zd_span_of("{\"b\":1}"), &limits, &patch, NULL), ZD_OK);
    for (size_t len = 0; len < 13; len++) {
        ZD_SCOPED_TEXT(out, len);
        zd_json_merge(zd_span_of("{\"a\":1}"), patch, &out);
        ck_assert_int_eq(out.status, ZD_TOO_LARGE);
    }
}
END_TEST

static enum zd_status merge_once(void *context)
{
    (void)context;
    ZD_AUTO(zd_json) patch = NULL;
    ZD_TRY(zd_json_parse(zd_span_of("{\"b\":{\"x\":1},\"d\":[]}"), &limits, &patch, NULL));
    ZD_SCOPED_TEXT(out, 4096);
    zd_json_merge(zd_span_of("{\"\\u0061\":1,\"b\":{\"y\":2}}"), patch, &out);
    return out.status;
}

START_TEST(failing_memory_fails_cleanly)
{
    zd_unit_with_failing_memory(merge_once, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, merge_patch_changes_what_it_names, 0, ZD_COUNT_OF(merge_facts));
    tcase_add_test(tests, merged_text_past_its_ceiling_is_too_large);
    tcase_add_test(tests, failing_memory_fails_cleanly);
}
