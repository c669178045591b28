/* Facts about core/grid/scalar. */
#include "core/grid/scalar.h"

#include <math.h>
#include <string.h>

#include "core/grid/typestr.h"
#include "tests/support/unit.h"

static const struct zd_json_limits limits = {
    .bytes_max = 1 << 16, .nodes_max = 1000, .depth_max = 8, .nonfinite = true};

/* By its name, or by NumPy's. */
static struct zd_dtype type_of(const char *name)
{
    struct zd_typestr found;
    if (zd_dtype_find(name, &found.dtype) != ZD_OK &&
        zd_dtype_of_bytes(name, 3, &found.dtype) != ZD_OK) {
        ck_assert_int_eq(zd_typestr_parse(name, &found, NULL), ZD_OK);
    }
    return found.dtype;
}

static struct zd_json *parse(const char *text)
{
    struct zd_json *json = NULL;
    ck_assert_int_eq(zd_json_parse(zd_span_of(text), &limits, &json, NULL), ZD_OK);
    return json;
}

static char *render(const struct zd_json *json)
{
    ZD_SCOPED_TEXT(text, 1 << 16);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, json);
    ck_assert_int_eq(text.status, ZD_OK);
    return zd_strdup(text.at);
}

/* Reference 1.8, checklist E; hex are the bytes in memory, little-endian. */
static const struct valid_fact {
    const char *type;
    const char *text;
    const char *hex;
    const char *normal; /* NULL: as text */
    bool noted;
} valid_facts[] = {
    {"<M8[ns]", "0", "0000000000000000", NULL, false},
    {"<M8[ns]", "-9223372036854775808", "0000000000000080", "\"NaT\"", false},
    {"<m8[D]", "\"NaT\"", "0000000000000080", NULL, false},
    {"<m8[D]", "9223372036854775807", "ffffffffffffff7f", NULL, false},
    {"<U2", "\"ab\"", "6100000062000000", NULL, false},
    {"<U2", "\"\"", "0000000000000000", NULL, false},
    {"<U2", "\"\\ud83d\\ude00\"", "00f6010000000000", "\"\xF0\x9F\x98\x80\"", false},
    {"<U3", "\"\xC2\x80\xE2\x82\xACz\"", "80000000ac2000007a000000", NULL, false},
    {"|S3", "\"YWI=\"", "616200", NULL, false},
    {"|S3", "\"YWIA\"", "616200", "\"YWI=\"", false},
    {"|S3", "\"YWJj\"", "616263", NULL, false},
    {"|S3", "\"\"", "000000", NULL, false},
    {"raw_bytes", "\"AQIA\"", "010200", NULL, false},
    {"bfloat16", "0.1", "cd3d", "0.100097656", false},
    {"bfloat16", "\"NaN\"", "c07f", NULL, false},
    {"bfloat16", "\"-Infinity\"", "80ff", NULL, false},
    {"bfloat16", "\"0x7fc1\"", "c17f", NULL, false},
    {"bfloat16", "1e39", "807f", "\"Infinity\"", true},
    {"float8_e3m4", "\"NaN\"", "78", NULL, false}, /* reference 5.4.1 */
    {"float8_e4m3", "\"NaN\"", "7c", NULL, false},
    {"float8_e4m3", "240", "77", "240.0", false},
    {"float8_e4m3", "248", "78", "\"Infinity\"", true}, /* half way: to even */
    {"float8_e4m3", "247.9", "77", "240.0", false},
    {"float8_e4m3fnuz", "\"NaN\"", "80", NULL, false},
    {"float8_e4m3fnuz", "-0.0", "00", "0.0", false},
    {"float8_e4m3b11fnuz", "\"0x80\"", "80", "\"NaN\"", false},
    {"float8_e5m2", "\"NaN\"", "7e", NULL, false},
    {"float8_e5m2", "\"0x7d\"", "7d", NULL, false},
    {"float8_e5m2fnuz", "57344", "7f", "57344.0", false},
    {"float8_e8m0fnu", "\"NaN\"", "ff", NULL, false},
    {"float8_e8m0fnu", "1", "7f", "1.0", false},
    {"float8_e8m0fnu", "3", "80", "2.0", false}, /* half way: to even */
    {"float8_e8m0fnu", "1.5", "80", "2.0", false},
    {"float6_e2m3fn", "7.5", "1f", NULL, false},
    {"float6_e2m3fn", "-7.5", "3f", NULL, false},
    {"float6_e3m2fn", "28", "1f", "28.0", false},
    {"float6_e3m2fn", "\"0x3f\"", "3f", "-28.0", false},
    {"float4_e2m1fn", "0.5", "01", NULL, false},
    {"float4_e2m1fn", "-6", "0f", "-6.0", false},
    {"float4_e2m1fn", "0.25", "00", "0.0", false}, /* half way: to even */
    {"float4_e2m1fn", "0.75", "02", "1.0", false},
    {"complex_bfloat16", "[1.5,\"NaN\"]", "c03fc07f", NULL, false},
    {"complex_float16", "[1.5,\"NaN\"]", "003e007e", NULL, false},
    {"complex_float8_e5m2", "[1,-0.0]", "3c80", "[1.0,-0.0]", false},
    {"int4", "-8", "f8", NULL, false},
    {"int4", "7", "07", NULL, false},
    {"int2", "-2", "fe", NULL, false},
    {"uint2", "3", "03", NULL, false},
    {"uint4", "15", "0f", NULL, false},
    {"bool", "true", "01", NULL, false},
    {"bool", "false", "00", NULL, false},
    {"uint8", "255", "ff", NULL, false},
    {"uint8", "0", "00", NULL, false},
    {"int8", "-128", "80", NULL, false},
    {"int8", "127", "7f", NULL, false},
    {"int16", "-2", "feff", NULL, false},
    {"int32", "-2147483648", "00000080", NULL, false},
    {"uint32", "4294967295", "ffffffff", NULL, false},
    {"int64", "-9223372036854775808", "0000000000000080", NULL, false},
    {"int64", "9223372036854775807", "ffffffffffffff7f", NULL, false},
    {"uint64", "18446744073709551615", "ffffffffffffffff", NULL, false},
    {"uint64", "9007199254740993", "0100000000002000", NULL, false}, /* not by way of double */
    {"float32", "0", "00000000", "0.0", false},
    {"float32", "1e10", "f9021550", "10000000000.0", false},
    {"float32", "-0.0", "00000080", NULL, false},
    {"float32", "0.1", "cdcccc3d", NULL, false},
    {"float32", "3.4028234663852886e38", "ffff7f7f", "3.4028235e+38", false},
    {"float32", "1e39", "0000807f", "\"Infinity\"", true},
    {"float32", "1e400", "0000807f", "\"Infinity\"", true},
    {"float32", "-1e39", "000080ff", "\"-Infinity\"", true},
    {"float32", "18446744073709551615", "0000805f", "1.8446744e+19", false},
    {"float32", "9007199791611905", "0100005a", "9007200000000000.0", false}, /* rounded once */
    {"float32", "16777217", "0000804b", "16777216.0", false},
    {"float32", "\"NaN\"", "0000c07f", NULL, false},
    {"float32", "NaN", "0000c07f", "\"NaN\"", true},
    {"float32", "-Infinity", "000080ff", "\"-Infinity\"", true},
    {"float32", "\"Infinity\"", "0000807f", NULL, false},
    {"float32", "\"-Infinity\"", "000080ff", NULL, false},
    {"float32", "\"0x7fc00000\"", "0000c07f", "\"NaN\"", false},
    {"float32", "\"0x7fc00001\"", "0100c07f", NULL, false}, /* the payload stays */
    {"float32", "\"0x7FC00001\"", "0100c07f", "\"0x7fc00001\"", false},
    {"float32", "\"0x7f800001\"", "0100807f", NULL, false}, /* a signalling one */
    {"float32", "\"0xffc00000\"", "0000c0ff", NULL, false},
    {"float32", "\"0x3f800000\"", "0000803f", "1.0", false},
    {"float32", "\"0x1\"", "01000000", "1e-45", true}, /* short: read, never written */
    {"float64", "0.1", "9a9999999999b93f", NULL, false},
    {"float64", "1e400", "000000000000f07f", "\"Infinity\"", true},
    {"float64", "\"0x7ff8000000000000\"", "000000000000f87f", "\"NaN\"", false},
    {"float64", "\"0x7ff8000000000001\"", "010000000000f87f", NULL, false},
    {"float64", "9007199254740993", "0000000000004043", "9007199254740992.0", false},
    {"float16", "65519", "ff7b", "65500.0", false},
    {"float16", "65520", "007c", "\"Infinity\"", true}, /* half way, to even */
    {"float16", "-65520", "00fc", "\"-Infinity\"", true},
    {"float16", "0.1", "662e", NULL, false},
    {"float16", "2049", "0068", "2048.0", false},
    {"float16", "2051", "0268", "2052.0", false},
    {"float16", "2.9802322387695312e-8", "0000", "0.0", false}, /* half of the least, to even */
    {"float16", "3e-8", "0100", "6e-8", false},
    {"float16", "\"0x7e00\"", "007e", "\"NaN\"", false},
    {"float16", "\"0x7e01\"", "017e", NULL, false},
    {"complex64", "[1, \"NaN\"]", "0000803f0000c07f", "[1.0,\"NaN\"]", false},
    {"complex64", "[NaN, 0]", "0000c07f00000000", "[\"NaN\",0.0]", true},
    {"complex64", "[0.1,-0.0]", "cdcccc3d00000080", NULL, false},
    {"complex64", "[1e39,0]", "0000807f00000000", "[\"Infinity\",0.0]", true},
    {"complex128", "[0,-1e400]", "0000000000000000000000000000f0ff", "[0.0,\"-Infinity\"]", true},
    {"complex128", "[1.5,\"0x7ff8000000000001\"]", "000000000000f83f010000000000f87f", NULL, false},
    {"r16", "[1,2]", "0102", NULL, false},
    {"r24", "[255,0,128]", "ff0080", NULL, false},
};

START_TEST(fill_values_are_read_exactly_and_normalised)
{
    const struct valid_fact *fact = &valid_facts[_i];
    const struct zd_dtype dtype = type_of(fact->type);
    ZD_AUTO(zd_json) json = parse(fact->text);
    ZD_AUTO(zd_buf) want = zd_unit_hex(fact->hex);
    ck_assert_uint_eq(want->len, dtype.bytes);
    uint8_t got[16];
    bool noted = !fact->noted;
    struct zd_error err = {0};
    ck_assert_msg(zd_scalar_parse(&dtype, json, got, &noted, &err) == ZD_OK, "%s", err.text);
    ck_assert_mem_eq(got, want->data, want->len);
    ck_assert_int_eq(noted, fact->noted);

    ZD_AUTO(zd_json) normal = zd_scalar_json(&dtype, got);
    ZD_AUTO_TEXT text = render(normal);
    ck_assert_str_eq(text, fact->normal == NULL ? fact->text : fact->normal);
    uint8_t again[16];
    ck_assert_int_eq(zd_scalar_parse(&dtype, normal, again, &noted, NULL), ZD_OK);
    ck_assert_mem_eq(again, want->data, want->len);
    ck_assert(!noted);
}
END_TEST

START_TEST(forbidden_spellings_are_refused_unless_they_are_noted)
{
    const struct valid_fact *fact = &valid_facts[_i];
    const struct zd_dtype dtype = type_of(fact->type);
    ZD_AUTO(zd_json) json = parse(fact->text);
    ZD_AUTO(zd_buf) want = zd_unit_hex(fact->hex);
    uint8_t got[16] = {0xAA, 0xAA};
    struct zd_error err = {0};
    const enum zd_status status = zd_scalar_parse(&dtype, json, got, NULL, &err);
    if (!fact->noted) {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert_mem_eq(got, want->data, want->len);
        return;
    }
    ck_assert_int_eq(status, ZD_INVALID);
    ck_assert_uint_eq(got[0], 0xAA);
    ck_assert_uint_eq(got[1], 0xAA);
    ck_assert_uint_eq(err.facts.set, ZD_FACT_EXPECTED | ZD_FACT_FOUND);
    ck_assert_uint_lt(strlen(err.facts.expected), ZD_FACT_TEXT_BYTES - 1); /* not cut */
}
END_TEST

static const struct invalid_fact {
    const char *type;
    const char *text; /* NULL: the member is absent */
} invalid_facts[] = {
    {"float8_e4m3fnuz", "\"Infinity\""},
    {"float8_e4m3fnuz", "1e9"},
    {"float8_e8m0fnu", "0"},
    {"float8_e8m0fnu", "-1"},
    {"float8_e8m0fnu", "1e300"},
    {"float8_e8m0fnu", "\"-Infinity\""},
    {"float6_e2m3fn", "\"NaN\""},
    {"float6_e2m3fn", "8"},
    {"float6_e2m3fn", "\"0x40\""},
    {"float4_e2m1fn", "\"NaN\""},
    {"float4_e2m1fn", "7"},
    {"float4_e2m1fn", "\"0x10\""},
    {"float8_e5m2", "\"0x100\""},
    {"complex_float4_e2m1fn", "1"},
    {"complex_float4_e2m1fn", "[1,\"NaN\"]"},
    {"int4", "8"},
    {"int4", "-9"},
    {"int2", "2"},
    {"uint2", "4"},
    {"uint4", "-1"},
    {"<M8[ns]", "1.0"},
    {"<M8[ns]", "9223372036854775808"},
    {"<M8[ns]", "\"2020-01-01\""}, /* an answer says it so, a fill value does not */
    {"<M8[ns]", "null"},
    {"<m8[s]", "\"nat\""},
    {"<U2", "\"abc\""},
    {"<U2", "\"a\\u0000\""},
    {"<U2", "7"},
    {"|S3", "\"YWJjZA==\""}, /* 4 bytes */
    {"|S3", "\"YW\""},
    {"|S3", "\"====\""},
    {"|S3", "[1]"},
    {"raw_bytes", "\"AQI=\""}, /* 2 bytes */
    {"raw_bytes", "[1,2,3]"},
    {"bool", "0"},
    {"bool", "\"true\""},
    {"bool", "null"},
    {"uint8", "256"},
    {"uint8", "-1"},
    {"uint8", "1.0"},
    {"uint8", "1e2"},
    {"uint8", "\"1\""},
    {"uint8", "true"},
    {"int8", "128"},
    {"int8", "-129"},
    {"int32", "null"},
    {"int32", NULL},
    {"int32", "NaN"},
    {"int64", "9223372036854775808"},
    {"int64", "-9223372036854775809"},
    {"uint64", "18446744073709551616"},
    {"uint64", "-1"},
    {"float32", "\"nan\""},
    {"float32", "\"+Infinity\""},
    {"float32", "\"inf\""},
    {"float32", "\"1.5\""},
    {"float32", "\"\""},
    {"float32", "null"},
    {"float32", "true"},
    {"float32", "\"0x7fc000000\""}, /* 9 digits */
    {"float32", "\"0x\""},
    {"float32", "\"0xzz\""},
    {"float32", "\"0X7fc00000\""},
    {"float32", "[1]"},
    {"complex64", "1"},
    {"complex64", "[1]"},
    {"complex64", "[1,2,3]"},
    {"complex64", "\"NaN\""},
    {"complex64", "{\"re\":1}"},
    {"complex64", "[1,null]"},
    {"r16", "[1]"},
    {"r16", "[1,256]"},
    {"r16", "[1,-1]"},
    {"r16", "[1,1.0]"},
    {"r16", "\"AQI=\""},
    {"r16", "[1,2,3]"},
};

START_TEST(a_text_that_is_no_element_is_refused_with_both_sides)
{
    const struct invalid_fact *fact = &invalid_facts[_i];
    const struct zd_dtype dtype = type_of(fact->type);
    ZD_AUTO(zd_json) json = fact->text == NULL ? NULL : parse(fact->text);
    uint8_t bytes[16] = {0xAA, 0xAA};
    bool noted = true;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_scalar_parse(&dtype, json, bytes, &noted, &err), ZD_INVALID);
    ck_assert_uint_eq(bytes[0], 0xAA);
    ck_assert_uint_eq(bytes[1], 0xAA);
    ck_assert(noted);
    ck_assert_uint_eq(err.facts.set, ZD_FACT_EXPECTED | ZD_FACT_FOUND);
    ck_assert_str_ne(err.facts.found, "");
}
END_TEST

START_TEST(a_value_too_long_to_show_is_named_by_its_kind)
{
    const struct zd_dtype dtype = type_of("int16");
    struct zd_error err = {0};
    int16_t value;
    bool noted;
    ZD_SCOPED_TEXT(text, 1000);
    zd_text_addf(&text, "\"%0500d\"", 0);
    ZD_AUTO(zd_json) string = parse(text.at);
    ck_assert_int_eq(zd_scalar_parse(&dtype, string, &value, &noted, &err), ZD_INVALID);
    ck_assert_str_eq(err.facts.found, "a string");
}
END_TEST

static const struct text_fact {
    const char *type;
    const char *hex;
    struct zd_scalar_style style;
    const char *text;
} text_facts[] = {
    {"<M8[s]", "0100000000000000", {0}, "\"1970-01-01T00:00:01\""},
    {"<M8[s]", "0100000000000000", {.bare_strings = true}, "1970-01-01T00:00:01"},
    {"<M8[s]", "0000000000000080", {0}, "\"NaT\""},
    {"<M8[s]", "0000000000000080", {.nan_null = true}, "null"},
    {"<M8[s]", "0000000000000080", {.bare_strings = true}, "NaT"},
    {"<M8", "0100000000000000", {0}, "1"},
    {"<M8", "0100000000000000", {.ints_string = true}, "\"1\""},
    {"<m8[s]", "ffffffffffffffff", {0}, "-1"},
    {"<m8[s]", "ffffffffffffffff", {.ints_string = true}, "\"-1\""},
    {"<U3", "22000000070000000a000000", {0}, "\"\\\"\\u0007\\n\""},
    {"<U3", "220000002c00000061000000", {.bare_strings = true}, "\"\"\",a\""},
    {"<U2", "0000000061000000", {0}, "\"\\u0000a\""}, /* zeros before others are some */
    {"<U2", "00d8000000001100", {0}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
    {"|S3", "610000", {0}, "\"YQ==\""},
    {"|S3", "610000", {.bare_strings = true}, "YQ=="},
    {"|S3", "006100", {0}, "\"AGE=\""},
    {"raw_bytes", "610000", {0}, "\"YQAA\""},
    {"bool", "01", {0}, "true"},
    {"bool", "00", {.bare_strings = true}, "false"},
    {"int8", "80", {0}, "-128"},
    {"int16", "ffff", {0}, "-1"},
    {"int32", "00000080", {0}, "-2147483648"},
    {"int64", "0000000000000080", {0}, "-9223372036854775808"},
    {"int64", "ffffffffffffffff", {.ints_string = true}, "\"-1\""},
    {"uint64", "ffffffffffffffff", {0}, "18446744073709551615"},
    {"uint64", "ffffffffffffffff", {.ints_string = true}, "\"18446744073709551615\""},
    {"uint64", "0100000000000000", {.ints_string = true, .bare_strings = true}, "1"},
    {"uint32", "ffffffff", {.ints_string = true}, "4294967295"},
    {"uint8", "00", {0}, "0"},
    {"float32", "cdcccc3d", {0}, "0.1"},
    {"float32", "0100c07f", {0}, "\"NaN\""},
    {"float32", "0000c07f", {.nan_null = true}, "null"},
    {"float32", "0000c07f", {.bare_strings = true}, "NaN"},
    {"float64", "000000000000f07f", {0}, "\"Infinity\""},
    {"float64", "000000000000f0ff", {.bare_strings = true}, "-Infinity"},
    {"float16", "ff7b", {0}, "65500.0"},
    {"complex64", "0000803f0000c07f", {0}, "[1.0,\"NaN\"]"},
    {"complex64", "0000803f0000c07f", {.nan_null = true}, "[1.0,null]"},
    {"complex64", "0000803f0000c07f", {.bare_strings = true}, "\"[1.0,NaN]\""},
    {"r16", "0102", {0}, "\"AQI=\""},
    {"r24", "010203", {.bare_strings = true}, "AQID"},
};

START_TEST(elements_are_spelt_as_the_style_asks)
{
    const struct text_fact *fact = &text_facts[_i];
    const struct zd_dtype dtype = type_of(fact->type);
    ZD_AUTO(zd_buf) bytes = zd_unit_hex(fact->hex);
    ZD_SCOPED_TEXT(text, 1000);
    zd_scalar_add(&dtype, bytes->data, &fact->style, &text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at, fact->text);
}
END_TEST

static enum zd_status through_json(void *context)
{
    const struct valid_fact *fact = context;
    const struct zd_dtype dtype = type_of(fact->type);
    struct zd_json *parsed = NULL;
    ZD_TRY(zd_json_parse(zd_span_of(fact->text), &limits, &parsed, NULL));
    ZD_AUTO(zd_json) json = parsed;
    uint8_t bytes[16];
    bool noted;
    ZD_TRY(zd_scalar_parse(&dtype, json, bytes, &noted, NULL));
    ZD_AUTO(zd_json) normal = zd_scalar_json(&dtype, bytes);
    return normal == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(short_memory_is_said_so)
{
    struct valid_fact fact = valid_facts[_i];
    zd_unit_with_failing_memory(through_json, &fact);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, fill_values_are_read_exactly_and_normalised, 0, ZD_COUNT_OF(valid_facts));
    tcase_add_loop_test(
        tests, forbidden_spellings_are_refused_unless_they_are_noted, 0, ZD_COUNT_OF(valid_facts));
    tcase_add_loop_test(
        tests, a_text_that_is_no_element_is_refused_with_both_sides, 0, ZD_COUNT_OF(invalid_facts));
    tcase_add_test(tests, a_value_too_long_to_show_is_named_by_its_kind);
    tcase_add_loop_test(tests, elements_are_spelt_as_the_style_asks, 0, ZD_COUNT_OF(text_facts));
    tcase_add_loop_test(tests, short_memory_is_said_so, 0, ZD_COUNT_OF(valid_facts));
}
