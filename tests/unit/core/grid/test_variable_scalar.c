/* Facts about core/grid/variable_scalar. */
#include "core/grid/variable_scalar.h"

#include <string.h>

#include "core/grid/scalar.h"
#include "tests/support/codec.h"

static const struct value {
    const char *dtype;
    const char *spelling;
    const char *hex;  /* NULL: it is refused */
    const char *json; /* how it is spelt; or what was expected */
    const char *csv;
} values[] = {
    {"string", "''", "", "\"\"", "\"\""},
    {"string", "'a b'", "612062", "\"a b\"", "a b"},
    {"string", "'\\u00e9'", "c3a9", "\"\xc3\xa9\"", "\xc3\xa9"},
    {"string", "'a,b'", "612c62", "\"a,b\"", "\"a,b\""},
    {"string", "'\\u0022x\\u0022\\u0022'", "22782222", "\"\\\"x\\\"\\\"\"", "\"\"\"x\"\"\"\"\""},
    {"string", "'\\n'", "0a", "\"\\n\"", "\"\n\""},
    {"string", "0", NULL, "a string", NULL},
    {"string", "null", NULL, "a string", NULL},
    {"string", "['a']", NULL, "a string", NULL},
    {"string", "'\\u0000'", NULL, "a string", NULL}, /* JSON libraries stop there */
    {"v2.list.int16", "[]", "", "[]", "[]"},
    {"v2.list.int16", "[1,-2]", "0100feff", "[1,-2]", "\"[1,-2]\""},
    {"v2.list.bool", "[true]", "01", "[true]", "[true]"},
    {"v2.list.float32", "['NaN']", "0000c07f", "[\"NaN\"]", "\"[\"\"NaN\"\"]\""},
    {"v2.list.complex64", "[[1.0,-0.5]]", "0000803f000000bf", "[[1.0,-0.5]]", "\"[[1.0,-0.5]]\""},
    {"v2.list.int16", "[32768]", NULL,
        "an integer from -32768 to 32767 without fraction or exponent", NULL},
    {"v2.list.int16", "[[1]]", NULL, "an integer from -32768 to 32767 without fraction or exponent",
        NULL},
    {"v2.list.int16", "1", NULL, "a list of numbers", NULL},
    {"v2.list.int16", "'AAA='", NULL, "a list of numbers", NULL},
    {"bytes", "''", "", "\"\"", "\"\""},
    {"bytes", "[]", "", "\"\"", "\"\""},
    {"bytes", "[0,255,63]", "00ff3f", "\"AP8/\"", "AP8/"},
    {"bytes", "'AP8/'", "00ff3f", "\"AP8/\"", "AP8/"},
    {"bytes", "'AP8='", "00ff", "\"AP8=\"", "AP8="},
    {"bytes", "'%%'", NULL, "base64, or a list of integers from 0 to 255", NULL},
    {"bytes", "'AP8'", NULL, "base64, or a list of integers from 0 to 255", NULL},
    {"bytes", "[256]", NULL, "base64, or a list of integers from 0 to 255", NULL},
    {"bytes", "[-1]", NULL, "base64, or a list of integers from 0 to 255", NULL},
    {"bytes", "0", NULL, "base64, or a list of integers from 0 to 255", NULL},
    {"bytes", "{}", NULL, "base64, or a list of integers from 0 to 255", NULL},
};

static void check_text(
    const struct zd_dtype *dtype, const uint8_t *element, bool is_csv, const char *expected)
{
    const struct zd_scalar_style style = {.bare_strings = is_csv};
    ZD_SCOPED_TEXT(text, 1000);
    zd_scalar_add(dtype, element, &style, &text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at, expected);
}

START_TEST(values_are_read_and_spelt)
{
    const struct value *value = &values[_i];
    struct zd_dtype dtype;
    struct zd_error err = {0};
    bool noted = true;
    ck_assert_int_eq(zd_dtype_find(value->dtype, &dtype), ZD_OK);
    ZD_AUTO(zd_json) json = zd_unit_json(value->spelling);
    uint8_t *element = zd_variable_new(zd_span_of("before"));
    const enum zd_status status = zd_scalar_replace(&dtype, json, &element, &noted, &err);
    if (value->hex == NULL) {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_str_eq(err.facts.expected, value->json);
        ck_assert(zd_span_is(zd_variable_at(element, 0), "before"));
    } else {
        ZD_AUTO(zd_buf) bytes = zd_unit_hex(value->hex);
        ck_assert_msg(status == ZD_OK && !noted, "%s", err.text);
        ck_assert(zd_span_equal(zd_variable_at(element, 0), zd_buf_span(bytes)));
        check_text(&dtype, element, false, value->json);
        check_text(&dtype, element, true, value->csv);
        ZD_AUTO(zd_json) normal = zd_scalar_json(&dtype, element);
        check_text(&dtype, element, false, value->json);
        const bool is_list = dtype.kind == ZD_DTYPE_LIST;
        ck_assert(zd_json_is(normal, is_list ? ZD_JSON_ARRAY : ZD_JSON_STRING));
    }
    zd_free(element);
}
END_TEST

static enum zd_status parse(void *context)
{
    const struct zd_dtype *dtype = ((const void **)context)[0];
    const struct zd_json *json = ((const void **)context)[1];
    uint8_t *element = NULL;
    ZD_TRY(zd_scalar_read_variable(dtype, json, &element, NULL));
    ZD_AUTO(zd_json) normal = zd_scalar_json(dtype, element);
    zd_free(element);
    return normal == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(short_memory_is_said_so)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find(values[_i].dtype, &dtype), ZD_OK);
    ZD_AUTO(zd_json) json = zd_unit_json(values[_i].spelling);
    const void *context[] = {&dtype, json};
    if (values[_i].hex != NULL) {
        zd_unit_with_failing_memory(parse, (void *)context);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, values_are_read_and_spelt, 0, ZD_COUNT_OF(values));
    tcase_add_loop_test(tests, short_memory_is_said_so, 0, ZD_COUNT_OF(values));
}
