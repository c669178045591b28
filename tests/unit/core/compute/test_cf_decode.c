/* Elements decoded as the attributes of their array say. */
#include "core/compute/cf_decode.h"

#include <math.h>
#include <string.h>

#include "tests/support/unit.h"

static struct zd_json *parse(const char *text)
{
    static const struct zd_json_limits limits = {
        .bytes_max = 4096, .nodes_max = 100, .depth_max = 4};
    struct zd_json *json = NULL;
    char quoted[512];
    size_t i = 0;
    for (; text[i] != '\0'; i++) {
        quoted[i] = text[i] == '\'' ? '"' : text[i];
    }
    quoted[i] = '\0';
    ck_assert_int_eq(zd_json_parse(zd_span_of(quoted), &limits, &json, NULL), ZD_OK);
    return json;
}

/* The type that xarray 2026.9 gives, and what an element becomes; NULL: refused, with `to` at
 * fault.
 */
static const struct {
    const char *attributes;
    const char *from;
    const char *to;
    const char *element;
    const char *result;
} facts[] = {
    {"{}", "int16", "int16", "0500", "0500"},
    {"{'units':'K'}", "int16", "int16", "0500", "0500"},
    {"{'scale_factor':0.5}", "int16", "float64", "0500", "0000000000000440"},
    {"{'scale_factor':[0.5]}", "int16", "float64", "0500", "0000000000000440"},
    {"{'scale_factor':10}", "int16", "int64", "0500", "3200000000000000"},
    {"{'scale_factor':10}", "float32", "float64", "0000803f", "0000000000002440"},
    {"{'scale_factor':10,'_FillValue':5}", "int16", "float64", "0500", NULL},
    {"{'add_offset':1}", "uint8", "float64", "05", "0000000000001840"},
    {"{'_FillValue':5}", "int16", "float32", "0600", "0000c040"},
    {"{'_FillValue':5}", "int32", "float64", "06000000", "0000000000001840"},
    {"{'_FillValue':null}", "int16", "int16", "0500", "0500"},
    {"{'_FillValue':'AAAAAAAAFEA='}", "float32", "float32", "0000803f", "0000803f"}, /* 5.0 */
    {"{'_FillValue':'NaN','scale_factor':0.5}", "float32", "float32", "0000803f", "0000003f"},
    {"{'_Unsigned':'true'}", "int8", "uint8", "ff", "ff"},
    {"{'_Unsigned':'true','scale_factor':1.0}", "int8", "float64", "ff", "0000000000e06f40"},
    {"{'_Unsigned':'false','scale_factor':1.0}", "uint8", "float64", "ff", "000000000000f0bf"},
    {"{'valid_min':2}", "int8", "float32", "02", "00000040"},
    {"{'units':'days since 1970-01-02'}", "int16", "numpy.datetime64", "0000", "00004f91944e0000"},
    {"{'units':'days since 1970-01-02','calendar':'noleap'}", "int16", "int16", "0100", "0100"},
    {"{'units':'days since 1500-01-02'}", "int16", "int16", "0100", "0100"},
    {"{'units':'days'}", "int16", "int16", "0100", "0100"},
    {"{'scale_factor':0.5}", "bool", "bool", "01", "01"},
    {"{'scale_factor':0.5}", "complex64", "complex64", "0000803f0000803f", "0000803f0000803f"},
    {"{'scale_factor':0.5}", "bfloat16", "float64", "803f", "000000000000e03f"},
    {"{'scale_factor':'x'}", "int16", "/attributes/scale_factor", "", NULL},
    {"{'add_offset':{}}", "int16", "/attributes/add_offset", "", NULL},
    {"{'valid_range':[1,2,3]}", "int16", "/attributes/valid_range", "", NULL},
    {"{'missing_value':[1,'x']}", "int16", "/attributes/missing_value", "", NULL},
    {"{'_FillValue':'AAAA'}", "float32", "/attributes/_FillValue", "", NULL},
    {"{'units':'days since 2001-02-30'}", "int16", "/attributes/units", "", NULL},
    {"{'units':'days since 2001-02-03','calendar':'x'}", "int16", "/attributes/calendar", "", NULL},
};

START_TEST(attributes_say_what_elements_become)
{
    ZD_AUTO(zd_json) attributes = parse(facts[_i].attributes);
    struct zd_cf_decode_array array = {.attributes = attributes};
    struct zd_cf_decode decode;
    struct zd_error err = {0};
    uint8_t to[16];
    uint64_t place;
    ck_assert_int_eq(zd_dtype_find(facts[_i].from, &array.dtype), ZD_OK);
    const enum zd_status status = zd_cf_decode_init(&decode, &array, &err);
    if (facts[_i].to[0] == '/') {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_str_eq(err.facts.pointer, facts[_i].to);
        return;
    }
    ck_assert_int_eq(status, ZD_OK);
    ck_assert_str_eq(decode.to.name, facts[_i].to);
    ZD_AUTO(zd_buf) element = zd_unit_hex(facts[_i].element);
    ck_assert(zd_cf_decode_run(&decode, element->data, 1, to, &place));
    if (facts[_i].result == NULL) {
        double number;
        memcpy(&number, to, sizeof number);
        ck_assert(isnan(number));
        return;
    }
    ZD_AUTO(zd_buf) expected = zd_unit_hex(facts[_i].result);
    ck_assert_mem_eq(to, expected->data, expected->len);
}
END_TEST

START_TEST(a_time_beyond_datetime64_is_found)
{
    ZD_AUTO(zd_json) attributes = parse("{'units':'days since 2001-01-01'}");
    struct zd_cf_decode_array array = {.attributes = attributes};
    struct zd_cf_decode decode;
    int64_t days[600] = {0};
    int64_t times[600];
    uint64_t place = 0;
    days[599] = 1000000;
    ck_assert_int_eq(zd_dtype_find("int64", &array.dtype), ZD_OK);
    ck_assert_int_eq(zd_cf_decode_init(&decode, &array, NULL), ZD_OK);
    ck_assert(zd_cf_decode_run(&decode, (const uint8_t *)days, 599, (uint8_t *)times, &place));
    ck_assert(!zd_cf_decode_run(&decode, (const uint8_t *)days, 600, (uint8_t *)times, &place));
    ck_assert_uint_eq(place, 599);
    array.leaves_times = true;
    ck_assert_int_eq(zd_cf_decode_init(&decode, &array, NULL), ZD_OK);
    ck_assert_str_eq(decode.to.name, "int64");
    ck_assert_str_eq(decode.units, "days since 2001-01-01");
}
END_TEST

START_TEST(the_fill_value_of_v2_stands_for_the_attribute)
{
    ZD_AUTO(zd_json) attributes = parse("{'_FillValue':7}");
    const int16_t fill = 5;
    const int16_t elements[] = {5, 7};
    struct zd_cf_decode_array array = {.attributes = attributes, .fill = &fill};
    struct zd_cf_decode decode;
    float numbers[2];
    uint64_t place;
    ck_assert_int_eq(zd_dtype_find("int16", &array.dtype), ZD_OK);
    ck_assert_int_eq(zd_cf_decode_init(&decode, &array, NULL), ZD_OK);
    ck_assert(zd_cf_decode_run(&decode, (const uint8_t *)elements, 2, (uint8_t *)numbers, &place));
    ck_assert(isnan(numbers[0]) && numbers[1] == 7.0F);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, attributes_say_what_elements_become, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_time_beyond_datetime64_is_found);
    tcase_add_test(tests, the_fill_value_of_v2_stands_for_the_attribute);
}
