/* Facts about server/format/json_element: one value, and the bytes that it is. */
#include "server/format/json_element.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct element_fact {
    const char *dtype;
    const char *text;
    const char *bytes; /* hexadecimal; NULL: it is none of that type */
} element_facts[] = {
    {"int8", "127", "7f"},
    {"int8", "128", NULL},
    {"int8", "-128", "80"},
    {"int8", "-129", NULL},
    {"int8", "-0", "00"},
    {"int8", "\"-7\"", "f9"},
    {"uint8", "255", "ff"},
    {"uint8", "256", NULL},
    {"uint8", "-0", "00"},
    {"uint8", "-1", NULL},
    {"uint8", "\"255\"", "ff"},
    {"uint8", "\"256\"", NULL},
    {"uint8", "00", NULL},
    {"uint8", "01", NULL},
    {"uint8", "+1", NULL},
    {"uint8", "-", NULL},
    {"uint8", "", NULL},
    {"uint8", "1x", NULL},
    {"uint8", "\"\"", NULL},
    {"uint8", "\"one\"", NULL},
    {"uint8", "\"\\\"1\\\"\"", NULL}, /* quoted twice */
    {"uint8", "\" 1\"", NULL},
    {"uint8", "\"1 \"", NULL},
    {"uint8", "\"[1]\"", NULL},
    {"uint8", "\"1.0\"", NULL},
    {"uint8", "\"-\"", NULL},
    {"uint8", "\"1e1\"", NULL},
    {"uint8", "[1]", NULL},
    {"uint8", "null", NULL},
    {"uint8", "true", NULL},
    /* where the short reader of digits ends, and the tree begins */
    {"int64", "999999999999999999", "ffff63a7b3b6e00d"},
    {"int64", "1000000000000000000", "000064a7b3b6e00d"},
    {"int64", "-999999999999999999", "01009c584c491ff2"},
    {"int64", "-1000000000000000000", "00009c584c491ff2"},
    {"int64", "9223372036854775807", "ffffffffffffff7f"},
    {"int64", "9223372036854775808", NULL},
    {"int64", "-9223372036854775808", "0000000000000080"},
    {"int64", "-9223372036854775809", NULL},
    {"int64", "\"-9223372036854775808\"", "0000000000000080"},
    {"uint64", "18446744073709551615", "ffffffffffffffff"},
    {"uint64", "\"18446744073709551615\"", "ffffffffffffffff"},
    {"uint64", "18446744073709551616", NULL},
    {"uint64", "-1000000000000000000", NULL},
    {"bool", "true", "01"},
    {"bool", "1", NULL},
    {"float32", "-0.0", "00000080"},
    {"float32", "\"NaN\"", "0000c07f"},
    {"float32", "\"-Infinity\"", "000080ff"},
    {"float32", "\"0x7fc00001\"", "0100c07f"},
    {"float32", "NaN", NULL},
    {"float32", "\"1\"", NULL},
    {"complex64", "[0.5,-0.5]", "0000003f000000bf"},
    {"complex64", "[0.5]", NULL},
    {"complex64", "[[0.5],1]", NULL},
    /* base64: one, two and three bytes in the last group */
    {"r8", "\"/w==\"", "ff"},
    {"r8", "\"/x==\"", NULL}, /* bits behind the last byte */
    {"r8", "\"/w=\"", NULL},
    {"r8", "\"/w\"", NULL},
    {"r8", "\"/w=A\"", NULL},
    {"r8", "\"AQID\"", NULL},
    {"r16", "\"AQI=\"", "0102"},
    {"r16", "\"AQJ=\"", NULL}, /* bits behind the last byte */
    {"r16", "\"AQ==\"", NULL},
    {"r24", "\"AQID\"", "010203"},
    {"r24", "\"AQI=\"", NULL},
    {"r24", "\"A=ID\"", NULL},
    {"r24", "\"-_ID\"", NULL}, /* the alphabet of URLs */
    {"r24", "\"AQ D\"", NULL},
    {"r32", "\"AQIDBA==\"", "01020304"},
    {"r32", "\"AQ==AwQF\"", NULL},
    {"r24", "\"\"", NULL},
    {"r24", "[1,2,255]", "0102ff"},
    {"r24", "[1,2]", NULL},
    {"r24", "[1,2,256]", NULL},
};

START_TEST(an_element_is_read_as_it_is_spelt)
{
    const struct element_fact *fact = &element_facts[_i];
    const uint8_t untouched[8] = {0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
    uint8_t bytes[sizeof untouched];
    struct zd_error err = {0};
    struct zd_dtype dtype;
    memcpy(bytes, untouched, sizeof bytes);
    ck_assert_int_eq(zd_dtype_find(fact->dtype, &dtype), ZD_OK);
    const enum zd_status status =
        zd_json_element_parse(&dtype, zd_span_of(fact->text), bytes, &err);
    if (fact->bytes == NULL) {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_str_ne(err.text, "");
        ck_assert_mem_eq(bytes, untouched, sizeof bytes);
        return;
    }
    ZD_AUTO(zd_buf) want = zd_unit_hex(fact->bytes);
    ck_assert_int_eq(status, ZD_OK);
    ck_assert_uint_eq(want->len, dtype.bytes);
    ck_assert_mem_eq(bytes, want->data, want->len);
    ck_assert_mem_eq(bytes + want->len, untouched, sizeof bytes - want->len);
}
END_TEST

START_TEST(the_longest_spelling_fits)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find("r256", &dtype), ZD_OK);
    ZD_SCOPED_TEXT(text, 4096);
    for (int i = 0; i < 32; i++) {
        zd_text_add(&text, i == 0 ? "[255" : ", 255");
    }
    zd_text_add(&text, "]");
    uint8_t bytes[32];
    ck_assert_uint_le(text.len, zd_json_element_bytes_max(&dtype));
    ck_assert_int_eq(zd_json_element_parse(&dtype, zd_text_span(&text), bytes, NULL), ZD_OK);
}
END_TEST

static enum zd_status read_in_need(void *context)
{
    static const char *const text[] = {"1000000000000000000", "\"1\"", "\"AQIDBAUGBwg=\""};
    static const char *const types[] = {"int64", "int64", "r64"};
    uint8_t bytes[8];
    enum zd_status status = ZD_OK;
    (void)context;
    for (size_t i = 0; i < ZD_COUNT_OF(text) && status == ZD_OK; i++) {
        struct zd_dtype dtype;
        ck_assert_int_eq(zd_dtype_find(types[i], &dtype), ZD_OK);
        status = zd_json_element_parse(&dtype, zd_span_of(text[i]), bytes, NULL);
    }
    return status;
}

START_TEST(allocations_may_fail)
{
    zd_unit_with_failing_memory(read_in_need, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_element_is_read_as_it_is_spelt, 0, ZD_COUNT_OF(element_facts));
    tcase_add_test(tests, the_longest_spelling_fits);
    tcase_add_test(tests, allocations_may_fail);
}
