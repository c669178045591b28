/* Facts about core/extension/extension. */
#include "core/extension/extension.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct zd_json_limits limits = {
    .bytes_max = 65536, .nodes_max = 10000, .depth_max = 64};

static struct zd_json *json_of(const char *text)
{
    struct zd_json *json = NULL;
    struct zd_error err = {0};
    ck_assert_msg(
        zd_json_parse(zd_span_of(text), &limits, &json, &err) == ZD_OK, "%s: %s", text, err.text);
    return json;
}

static const struct definition_fact {
    const char *text;
    const char *code; /* of the first fault; NULL when there is none */
    const char *pointer;
    const char *name; /* NULL when nothing more can be judged */
    bool strict;
    bool must_understand;
    bool is_shorthand;
    bool has_configuration;
} definition_facts[] = {
    {"\"bytes\"", NULL, NULL, "bytes", true, true, true, false},
    {"{\"name\":\"bytes\"}", NULL, NULL, "bytes", true, true, false, false},
    {"{\"name\":\"bytes\",\"configuration\":{}}", NULL, NULL, "bytes", true, true, false, true},
    {"{\"name\":\"bitround\",\"must_understand\":false}", NULL, NULL, "bitround", true, false,
        false, false},
    {"{\"name\":\"bytes\",\"must_understand\":true}", NULL, NULL, "bytes", true, true, false,
        false},
    {"{}", "missing_member", "/x/name", NULL, false, false, false, false},
    {"{\"configuration\":{}}", "missing_member", "/x/name", NULL, false, false, false, false},
    {"{\"name\":5}", "wrong_type", "/x/name", NULL, false, false, false, false},
    {"{\"name\":\"Foo\"}", "bad_name", "/x/name", NULL, false, false, false, false},
    {"\"foo/bar\"", "bad_name", "/x", NULL, false, false, false, false},
    {"\"\"", "bad_name", "/x", NULL, false, false, false, false},
    {"\"9x\"", "bad_name", "/x", NULL, true, false, false, false},
    {"\"9x\"", "unregistered_name", "/x", "9x", false, true, true, false}, /* a warning */
    {"{\"name\":\"crc32c\",\"configuration\":null}", "wrong_type", "/x/configuration", NULL, false,
        false, false, false},
    {"{\"name\":\"crc32c\",\"configuration\":[]}", "wrong_type", "/x/configuration", NULL, false,
        false, false, false},
    {"{\"name\":\"crc32c\",\"must_understand\":0}", "wrong_type", "/x/must_understand", "crc32c",
        false, true, false, false},
    {"{\"name\":\"crc32c\",\"extra\":1}", "unknown_member", "/x/extra", "crc32c", true, true, false,
        false},
    {"{\"name\":\"crc32c\",\"extra\":1}", "unknown_member", "/x/extra", "crc32c", false, true,
        false, false},
    {"{\"name\":\"crc32c\",\"extra\":1,\"must_understand\":false}", NULL, NULL, "crc32c", false,
        false, false, false},
    {"{\"name\":\"crc32c\",\"extra\":1,\"must_understand\":false}", "unknown_member", "/x/extra",
        "crc32c", true, false, false, false},
    {"5", "wrong_type", "/x", NULL, false, false, false, false},
    {"null", "wrong_type", "/x", NULL, false, false, false, false},
    {"[\"bytes\"]", "wrong_type", "/x", NULL, false, false, false, false},
};

START_TEST(definition_is_judged_by_its_form)
{
    const struct definition_fact *fact = &definition_facts[_i];
    ZD_AUTO(zd_json) json = json_of(fact->text);
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = "/x"};
    struct zd_definition definition = {0};
    const enum zd_status status =
        zd_definition_parse(json, &at, fact->strict, &definition, &faults);
    ck_assert_msg((status == ZD_OK) == (fact->name != NULL), "%s", fact->text);
    ck_assert_msg((faults.n_items > 0) == (fact->code != NULL), "%s", fact->text);
    if (fact->code != NULL) {
        ck_assert_str_eq(faults.item[0].code, fact->code);
        ck_assert_str_eq(faults.item[0].pointer, fact->pointer);
    }
    if (fact->name != NULL) {
        ck_assert_str_eq(definition.name, fact->name);
        ck_assert_int_eq(definition.must_understand, fact->must_understand);
        ck_assert_int_eq(definition.is_shorthand, fact->is_shorthand);
        ck_assert_int_eq(definition.configuration != NULL, fact->has_configuration);
    }
    zd_faults_done(&faults);
}
END_TEST

START_TEST(definition_that_is_missing_is_a_fault)
{
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = "/data_type"};
    struct zd_definition definition = {0};
    ck_assert_int_eq(zd_definition_parse(NULL, &at, false, &definition, &faults), ZD_INVALID);
    ck_assert_uint_eq(faults.n_items, 1);
    ck_assert_str_eq(faults.item[0].code, "missing_member");
    zd_faults_done(&faults);
}
END_TEST

START_TEST(definition_tells_all_its_faults)
{
    ZD_AUTO(zd_json)
    json =
        json_of("{\"configuration\":[],\"must_understand\":1,\"extension\":\"https://e.com/x\"}");
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = "/extensions/0"};
    struct zd_definition definition = {0};
    ck_assert_int_eq(zd_definition_parse(json, &at, true, &definition, &faults), ZD_INVALID);
    ck_assert_uint_eq(faults.n_invalid, 4);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(every_point_has_its_code)
{
    ck_assert_str_eq(zd_definition_unsupported_code(ZD_POINT_DATA_TYPE), "unsupported_data_type");
    ck_assert_str_eq(zd_definition_unsupported_code(ZD_POINT_CHUNK_GRID), "unsupported_grid");
    ck_assert_str_eq(
        zd_definition_unsupported_code(ZD_POINT_CHUNK_KEY_ENCODING), "unsupported_grid");
    ck_assert_str_eq(zd_definition_unsupported_code(ZD_POINT_CODEC), "unsupported_codec");
    ck_assert_str_eq(
        zd_definition_unsupported_code(ZD_POINT_STORAGE_TRANSFORMER), "unsupported_extension");
    ck_assert_str_eq(zd_definition_unsupported_code(ZD_POINT_GENERIC), "unsupported_extension");
}
END_TEST

START_TEST(unknown_extension_is_not_found)
{
    ck_assert_ptr_null(zd_extension_find("example.nothing", true));
    ck_assert_ptr_null(zd_extension_find("example.nothing", false));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, definition_is_judged_by_its_form, 0, ZD_COUNT_OF(definition_facts));
    tcase_add_test(tests, definition_that_is_missing_is_a_fault);
    tcase_add_test(tests, definition_tells_all_its_faults);
    tcase_add_test(tests, every_point_has_its_code);
    tcase_add_test(tests, unknown_extension_is_not_found);
}
