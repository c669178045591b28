/* Pieces of netCDF headers: names, types, elements. */
#include "server/format/netcdf_text.h"

#include <string.h>

#include "tests/support/unit.h"

#define TEXT_BYTES_MAX 65536

static const struct {
    const char *asked;
    const char *legal;
} names[] = {
    {"t2m", "t2m"}, {"_x", "_x"}, {"2m temperature", "2m temperature"},
    {"h\xc3\xb6he", "h\xc3\xb6he"}, {"a+b-c.d@e", "a+b-c.d@e"},
    {"-a", "_a"}, /* the first character: letters, digits, underscores, and beyond ASCII */
    {" a", "_a"}, {"a ", "a_"},                                          /* no space at the end */
    {"a/b", "a_b"}, {"a\tb\x7f", "a_b_"}, {"", "_"}, {"\xff\xfe", "__"}, /* no UTF-8 */
};

START_TEST(names_are_made_legal)
{
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    const size_t at = zd_netcdf_text_name(&text, 0, zd_span_of(names[_i].asked));
    ck_assert_str_eq(text.at + at, names[_i].legal);
}
END_TEST

START_TEST(equal_names_get_numbers)
{
    static const char *const asked[] = {"a/b", "a b/", "a_b", "a-b", "a:b", "a_b", "a_b_2"};
    static const char *const legal[] = {"a_b", "a b_", "a_b_2", "a-b", "a:b", "a_b_3", "a_b_2_2"};
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < ZD_COUNT_OF(asked); i++) {
        const size_t at = zd_netcdf_text_name(&text, 0, zd_span_of(asked[i]));
        ck_assert_str_eq(text.at + at, legal[i]);
    }
}
END_TEST

START_TEST(long_names_are_cut_between_characters)
{
    ZD_SCOPED_TEXT(asked, TEXT_BYTES_MAX);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    for (int i = 0; i < 1000; i++) {
        zd_text_add(&asked, "\xe2\x82\xac");
    }
    const size_t one = zd_netcdf_text_name(&text, 0, zd_text_span(&asked));
    const size_t two = zd_netcdf_text_name(&text, 0, zd_text_span(&asked));
    ck_assert_uint_eq(strlen(text.at + one), 183);
    ck_assert_str_eq(text.at + two + 183, "_2");
}
END_TEST

static const struct {
    const char *dtype;
    enum zd_netcdf_type type;
    const char *elements;
    const char *there;
} types[] = {
    {"bool", ZD_NETCDF_BYTE, "0100", "0100"},
    {"int8", ZD_NETCDF_BYTE, "ff", "ff"},
    {"uint8", ZD_NETCDF_UBYTE, "ff", "ff"},
    {"int16", ZD_NETCDF_SHORT, "0102", "0201"},
    {"uint16", ZD_NETCDF_USHORT, "0102", "0201"},
    {"int32", ZD_NETCDF_INT, "01020304", "04030201"},
    {"uint32", ZD_NETCDF_UINT, "01020304", "04030201"},
    {"int64", ZD_NETCDF_INT64, "0102030405060708", "0807060504030201"},
    {"uint64", ZD_NETCDF_UINT64, "0102030405060708", "0807060504030201"},
    {"float16", ZD_NETCDF_FLOAT, "003c00c0", "3f800000c0000000"}, /* 1, -2 */
    {"bfloat16", ZD_NETCDF_FLOAT, "803f", "3f800000"},
    {"float32", ZD_NETCDF_FLOAT, "0000803f", "3f800000"},
    {"float64", ZD_NETCDF_DOUBLE, "000000000000f03f", "3ff0000000000000"},
    {"complex64", ZD_NETCDF_NONE, "", ""},
    {"r16", ZD_NETCDF_NONE, "", ""},
    {"string", ZD_NETCDF_NONE, "", ""},
};

START_TEST(types_have_a_type_or_none)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find(types[_i].dtype, &dtype), ZD_OK);
    ck_assert_int_eq(zd_netcdf_text_type(&dtype), types[_i].type);
    if (types[_i].type == ZD_NETCDF_NONE) {
        return;
    }
    ZD_AUTO(zd_buf) elements = zd_unit_hex(types[_i].elements);
    ZD_AUTO(zd_buf) there = zd_unit_hex(types[_i].there);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    zd_netcdf_text_add_elements(&text, &dtype, elements->data, elements->len / dtype.bytes);
    ck_assert_uint_eq(text.len, there->len);
    ck_assert_mem_eq(text.at, there->data, text.len);
}
END_TEST

static const struct {
    enum zd_dtype_unit unit;
    uint64_t scale;
    enum zd_netcdf_type type;
} ticks[] = {
    {ZD_DTYPE_DAYS, 1, ZD_NETCDF_INT64},
    {ZD_DTYPE_NANOSECONDS, 1, ZD_NETCDF_INT64},
    {ZD_DTYPE_NANOSECONDS, 10, ZD_NETCDF_NONE},
    {ZD_DTYPE_PICOSECONDS, 1, ZD_NETCDF_NONE},
    {ZD_DTYPE_WEEKS, 1, ZD_NETCDF_NONE},
    {ZD_DTYPE_MONTHS, 1, ZD_NETCDF_NONE}, /* of no fixed length */
    {ZD_DTYPE_GENERIC, 1, ZD_NETCDF_NONE},
};

START_TEST(times_need_a_unit_of_cf)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(
        zd_dtype_of_ticks("numpy.datetime64", ticks[_i].unit, ticks[_i].scale, &dtype), ZD_OK);
    ck_assert_int_eq(zd_netcdf_text_type(&dtype), ticks[_i].type);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, names_are_made_legal, 0, ZD_COUNT_OF(names));
    tcase_add_test(tests, equal_names_get_numbers);
    tcase_add_test(tests, long_names_are_cut_between_characters);
    tcase_add_loop_test(tests, types_have_a_type_or_none, 0, ZD_COUNT_OF(types));
    tcase_add_loop_test(tests, times_need_a_unit_of_cf, 0, ZD_COUNT_OF(ticks));
}
