/* Facts about core/grid/typestr: type strings of NumPy. */
#include "core/grid/typestr.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct fact {
    const char *typestr;
    enum zd_status status;
    const char *name; /* of the data type; or part of the text */
    bool is_big;
} facts[] = {
    {"|b1", ZD_OK, "bool", false},
    {"<b1", ZD_OK, "bool", false},
    {"|i1", ZD_OK, "int8", false},
    {"<i1", ZD_OK, "int8", false}, /* netcdf-c */
    {">u1", ZD_OK, "uint8", false},
    {"<i2", ZD_OK, "int16", false},
    {">i2", ZD_OK, "int16", true},
    {"<i4", ZD_OK, "int32", false},
    {">u8", ZD_OK, "uint64", true},
    {"<f2", ZD_OK, "float16", false},
    {">f4", ZD_OK, "float32", true},
    {"<f8", ZD_OK, "float64", false},
    {"<c8", ZD_OK, "complex64", false},
    {">c16", ZD_OK, "complex128", true},
    {"|V3", ZD_OK, "r24", false},
    {">V3", ZD_OK, "r24", false},
    {"|V65536", ZD_OK, "r524288", false},
    {"|V65537", ZD_UNSUPPORTED, "raw bytes of that size", false},
    {"|V0", ZD_UNSUPPORTED, "raw bytes of that size", false},
    {"|b2", ZD_UNSUPPORTED, "booleans of that size", false},
    {"<i3", ZD_UNSUPPORTED, "integers of that size", false},
    {"<f16", ZD_UNSUPPORTED, "floating-point numbers of that size", false},
    {"<c32", ZD_UNSUPPORTED, "complex numbers of that size", false},
    {"<i4294967295", ZD_UNSUPPORTED, "integers of that size", false},
    {"|S5", ZD_OK, "null_terminated_bytes", false},
    {"|S65536", ZD_OK, "null_terminated_bytes", false},
    {"|S65537", ZD_UNSUPPORTED, "byte strings of that size", false},
    {"|S0", ZD_UNSUPPORTED, "byte strings of that size", false},
    {"|S4294967295", ZD_UNSUPPORTED, "byte strings", false},
    {"<U3", ZD_OK, "fixed_length_utf32", false},
    {">U3", ZD_OK, "fixed_length_utf32", true},
    {"<U16384", ZD_OK, "fixed_length_utf32", false},
    {"<U16385", ZD_UNSUPPORTED, "text of that size", false},
    {"<U4294967295", ZD_UNSUPPORTED, "text of that size", false}, /* 4 bytes each do not wrap */
    {"|U3", ZD_INVALID, "does not state the byte order", false},
    {"<M8[ns]", ZD_OK, "numpy.datetime64", false},
    {">M8[D]", ZD_OK, "numpy.datetime64", true},
    {"<M8", ZD_OK, "numpy.datetime64", false},
    {"<m8[10us]", ZD_OK, "numpy.timedelta64", false},
    {"<m8[10\xCE\xBCs]", ZD_OK, "numpy.timedelta64", false},
    {"<m8[2147483647as]", ZD_OK, "numpy.timedelta64", false},
    {"<m8[2147483648as]", ZD_INVALID, "not a NumPy type string", false},
    {"<m8[0s]", ZD_UNSUPPORTED, "durations of that size", false},
    {"<M4[s]", ZD_UNSUPPORTED, "times of that size", false},
    {"|M8[s]", ZD_INVALID, "does not state the byte order", false},
    {"<M8[s", ZD_INVALID, "not a NumPy type string", false},
    {"<M8[]", ZD_INVALID, "not a NumPy type string", false},
    {"<M8[10]", ZD_INVALID, "not a NumPy type string", false},
    {"<M8[s]x", ZD_INVALID, "not a NumPy type string", false},
    {"<M8[s/2]", ZD_INVALID, "not a NumPy type string", false},
    {"<M8[Ms]", ZD_INVALID, "not a NumPy type string", false},
    {"<M", ZD_INVALID, "not a NumPy type string", false},
    {"|O", ZD_UNSUPPORTED, "objects", false},
    {"|O8", ZD_UNSUPPORTED, "objects", false},
    {"|i4", ZD_INVALID, "does not state the byte order", false},
    {"|c8", ZD_INVALID, "does not state the byte order", false},
    {"", ZD_INVALID, "not a NumPy type string", false},
    {"<", ZD_INVALID, "not a NumPy type string", false},
    {"<i", ZD_INVALID, "not a NumPy type string", false},
    {"i4", ZD_INVALID, "not a NumPy type string", false},
    {"=i4", ZD_INVALID, "not a NumPy type string", false},
    {"<i04", ZD_INVALID, "not a NumPy type string", false},
    {"<i-4", ZD_INVALID, "not a NumPy type string", false},
    {"<i4x", ZD_INVALID, "not a NumPy type string", false},
    {"<i4[ns]", ZD_INVALID, "not a NumPy type string", false},
    {"<M8x", ZD_INVALID, "not a NumPy type string", false},
    {"<x4", ZD_INVALID, "not a NumPy type string", false},
    {"<i4294967296", ZD_INVALID, "not a NumPy type string", false},
    {"int32", ZD_INVALID, "not a NumPy type string", false},
};

START_TEST(type_string_is_read_or_said_to_be_none)
{
    const struct fact *fact = &facts[_i];
    struct zd_typestr found = {0};
    struct zd_error err = {0};
    const enum zd_status status = zd_typestr_parse(fact->typestr, &found, &err);
    ck_assert_msg(status == fact->status, "%s: %s", fact->typestr, err.text);
    if (status == ZD_OK) {
        ck_assert_str_eq(found.dtype.name, fact->name);
        ck_assert_msg(found.is_big == fact->is_big, "%s", fact->typestr);
    } else {
        ck_assert_msg(strstr(err.text, fact->name) != NULL, "%s: %s", fact->typestr, err.text);
    }
}
END_TEST

START_TEST(parameter_may_be_a_name)
{
    struct zd_typestr found = {0};
    ck_assert_int_eq(zd_typestr_parse_any("float32", &found, NULL), ZD_OK);
    ck_assert_str_eq(found.dtype.name, "float32");
    ck_assert(!found.is_big);
    ck_assert_int_eq(zd_typestr_parse_any(">i4", &found, NULL), ZD_OK);
    ck_assert(found.is_big);
    ck_assert_int_eq(zd_typestr_parse_any("r24", &found, NULL), ZD_INVALID);
    ck_assert_int_eq(zd_typestr_parse_any("string", &found, NULL), ZD_INVALID);
}
END_TEST

START_TEST(byte_order_makes_types_different)
{
    struct zd_typestr little = {0};
    struct zd_typestr big = {0};
    ck_assert_int_eq(zd_typestr_parse("<i4", &little, NULL), ZD_OK);
    ck_assert_int_eq(zd_typestr_parse(">i4", &big, NULL), ZD_OK);
    ck_assert(!zd_typestr_equal(&little, &big));
    ck_assert_int_eq(zd_typestr_parse("<u1", &little, NULL), ZD_OK);
    ck_assert_int_eq(zd_typestr_parse(">u1", &big, NULL), ZD_OK);
    ck_assert(zd_typestr_equal(&little, &big));
}
END_TEST

static const struct spelled_fact {
    const char *typestr;
    const char *spelled; /* as NumPy spells it */
} spelled_facts[] = {
    {">f4", "<f4"},
    {"|S5", "|S5"},
    {">U5", "<U5"},
    {"<M8", "<M8"},
    {"<M8[1s]", "<M8[s]"},
    {"<m8[2147483647as]", "<m8[2147483647as]"},
    {"|V65536", "|V65536"},
};

START_TEST(data_type_is_spelled_as_numpy_spells_it)
{
    const struct spelled_fact *fact = &spelled_facts[_i];
    struct zd_typestr found = {0};
    struct zd_typestr again = {0};
    char typestr[ZD_DTYPE_TYPESTR_BYTES];
    ck_assert_int_eq(zd_typestr_parse(fact->typestr, &found, NULL), ZD_OK);
    zd_dtype_typestr(&found.dtype, typestr);
    ck_assert_str_eq(typestr, fact->spelled);
    ck_assert_int_eq(zd_typestr_parse(typestr, &again, NULL), ZD_OK);
    ck_assert(zd_dtype_equal(&found.dtype, &again.dtype));
}
END_TEST

START_TEST(units_make_types_different)
{
    static const char *const different[] = {
        "<M8[s]", "<M8[2s]", "<M8[ms]", "<m8[s]", "<M8", "<U2", "<U3", "|S8", "|V8", "<i8"};
    for (size_t i = 0; i < ZD_COUNT_OF(different); i++) {
        for (size_t k = 0; k < ZD_COUNT_OF(different); k++) {
            struct zd_typestr a;
            struct zd_typestr b;
            ck_assert_int_eq(zd_typestr_parse(different[i], &a, NULL), ZD_OK);
            ck_assert_int_eq(zd_typestr_parse(different[k], &b, NULL), ZD_OK);
            ck_assert_int_eq(zd_typestr_equal(&a, &b), i == k);
        }
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, type_string_is_read_or_said_to_be_none, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, parameter_may_be_a_name);
    tcase_add_test(tests, byte_order_makes_types_different);
    tcase_add_loop_test(
        tests, data_type_is_spelled_as_numpy_spells_it, 0, ZD_COUNT_OF(spelled_facts));
    tcase_add_test(tests, units_make_types_different);
}
