/* Elements converted to another data type. */
#include "core/compute/convert.h"

#include <string.h>

#include "tests/support/unit.h"

#define NOWHERE UINT64_MAX

/* By NumPy's astype, where nothing wraps. */
static const struct {
    const char *from;
    const char *to; /* NULL as result: refused */
    const char *type;
    const char *elements;
    const char *result;
    uint64_t place; /* of the first that does not fit */
} facts[] = {
    {"float32", "f8", "float64", "0000c03f", "000000000000f83f", NOWHERE},
    {"float64", "<f4", "float32", "000000000000f83f", "0000c03f", NOWHERE},
    {"float64", "float16", "float16", "000000000000f83f", "003e", NOWHERE},
    {"float64", "f4", "float32", "9c7500883ce4377e", "0000807f", NOWHERE}, /* 1e300: an infinity */
    {"float32", "i1", "int8", "0000f3420000f3c2", "7987", NOWHERE},        /* 121.5, -121.5: cut */
    {"float32", "u1", "uint8", "0000803f000080bf", NULL, 1},
    {"float32", "i4", "int32", "0000c07f", NULL, 0}, /* NaN */
    {"float32", "i8", "int64", "0000807f", NULL, 0}, /* an infinity */
    {"int64", "int32", "int32", "ffffffffffffffff0000008000000000", NULL, 1},
    {"int64", "i4", "int32", "ffffffffffffffff", "ffffffff", NOWHERE},
    {"uint64", "i8", "int64", "ffffffffffffffff", NULL, 0},
    {"int8", "u1", "uint8", "7f80", NULL, 1},
    {"bool", "u2", "uint16", "0001", "00000100", NOWHERE},
    {"float32", "?", NULL, "", NULL, 0},
    {"float32", "b1", "bool", "000000000000c07f", "0001", NOWHERE},
    {"float32", "c8", "complex64", "0000c03f", "0000c03f00000000", NOWHERE},
    {"complex64", "complex128", "complex128", "0000803f000000c0",
        "000000000000f03f00000000000000c0", NOWHERE},
    {"complex64", "f4", NULL, "", NULL, 0},
    {"complex64", "safe", NULL, "", NULL, 0},
    {"r8", "u1", NULL, "", NULL, 0},
    {"string", "u1", NULL, "", NULL, 0},
    {"float32", ">f4", NULL, "", NULL, 0},
    {"float32", "", NULL, "", NULL, 0},
    {"float32", "f", NULL, "", NULL, 0},
    {"float32", "int4", NULL, "", NULL, 0},
    {"float32", "bfloat16", NULL, "", NULL, 0},
    {"int4", "i8", "int64", "ff07", "ffffffffffffffff0700000000000000", NOWHERE},
    {"bfloat16", "f4", "float32", "c03f", "0000c03f", NOWHERE},
    {"bfloat16", "safe", "float32", "c03f", "0000c03f", NOWHERE},
    {"bool", "safe", "uint8", "0100", "0100", NOWHERE},
    {"int4", "safe", "int8", "ff", "ff", NOWHERE},
    {"int64", "safe", "float64", "00000000000020000100000000002000", NULL, 1}, /* 2^53 + 1 */
    {"int64", "safe", "float64", "0000000000000080", "000000000000e0c3", NOWHERE},
    {"uint64", "safe", "float64", "ffffffffffffffff", NULL, 0},
    {"uint64", "safe", "float64", "00f8ffffffffffff", "ffffffffffffef43", NOWHERE},
};

START_TEST(elements_are_converted_or_refused)
{
    struct zd_dtype from;
    struct zd_convert convert;
    struct zd_error err = {0};
    uint8_t to[64];
    uint64_t place = NOWHERE;
    ck_assert_int_eq(zd_dtype_find(facts[_i].from, &from), ZD_OK);
    const enum zd_status status = zd_convert_init(&convert, &from, zd_span_of(facts[_i].to), &err);
    if (facts[_i].type == NULL) {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_str_eq(err.facts.name, "dtype");
        return;
    }
    ck_assert_int_eq(status, ZD_OK);
    ck_assert_str_eq(convert.to.name, facts[_i].type);
    ZD_AUTO(zd_buf) elements = zd_unit_hex(facts[_i].elements);
    const uint64_t n = elements->len / from.bytes;
    const bool is_converted = zd_convert_run(&convert, elements->data, n, to, &place);
    ck_assert_uint_eq(is_converted ? NOWHERE : place, facts[_i].place);
    ck_assert(is_converted || zd_convert_may_fail(&convert));
    if (is_converted) {
        ZD_AUTO(zd_buf) expected = zd_unit_hex(facts[_i].result);
        ck_assert_uint_eq(expected->len, n * convert.to.bytes);
        ck_assert_mem_eq(to, expected->data, expected->len);
    }
}
END_TEST

START_TEST(the_place_is_found_behind_the_first_lot)
{
    double from[1025] = {0};
    uint8_t to[1025];
    struct zd_dtype dtype;
    struct zd_convert convert;
    uint64_t place = 0;
    from[1024] = 256;
    ck_assert_int_eq(zd_dtype_find("float64", &dtype), ZD_OK);
    ck_assert_int_eq(zd_convert_init(&convert, &dtype, zd_span_of("u1"), NULL), ZD_OK);
    ck_assert(!zd_convert_run(&convert, (const uint8_t *)from, 1025, to, &place));
    ck_assert_uint_eq(place, 1024);
    ck_assert(zd_convert_run(&convert, (const uint8_t *)from, 0, to, &place));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, elements_are_converted_or_refused, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, the_place_is_found_behind_the_first_lot);
}
