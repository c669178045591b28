/* Facts about core/grid/dtype. */
#include "core/grid/dtype.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct find_fact {
    const char *name;
    enum zd_status status;
    enum zd_dtype_kind kind;
    uint32_t bytes;
    uint32_t unit_bytes;
    const char *canonical;
    const char *typestr;
} find_facts[] = {
    {"bool", ZD_OK, ZD_DTYPE_BOOL, 1, 1, "bool", "|b1"},
    {"int8", ZD_OK, ZD_DTYPE_INT, 1, 1, "int8", "|i1"},
    {"int16", ZD_OK, ZD_DTYPE_INT, 2, 2, "int16", "<i2"},
    {"uint8", ZD_OK, ZD_DTYPE_UINT, 1, 1, "uint8", "|u1"},
    {"uint64", ZD_OK, ZD_DTYPE_UINT, 8, 8, "uint64", "<u8"},
    {"float16", ZD_OK, ZD_DTYPE_FLOAT, 2, 2, "float16", "<f2"},
    {"float32", ZD_OK, ZD_DTYPE_FLOAT, 4, 4, "float32", "<f4"},
    {"float64", ZD_OK, ZD_DTYPE_FLOAT, 8, 8, "float64", "<f8"},
    {"complex64", ZD_OK, ZD_DTYPE_COMPLEX, 8, 4, "complex64", "<c8"},
    {"complex128", ZD_OK, ZD_DTYPE_COMPLEX, 16, 8, "complex128", "<c16"},
    {"complex_float32", ZD_OK, ZD_DTYPE_COMPLEX, 8, 4, "complex64", "<c8"},
    {"complex_float64", ZD_OK, ZD_DTYPE_COMPLEX, 16, 8, "complex128", "<c16"},
    {"bfloat16", ZD_OK, ZD_DTYPE_SMALL_FLOAT, 2, 2, "bfloat16", "<f4"},
    {"float8_e4m3", ZD_OK, ZD_DTYPE_SMALL_FLOAT, 1, 1, "float8_e4m3", "<f4"},
    {"float4_e2m1fn", ZD_OK, ZD_DTYPE_SMALL_FLOAT, 1, 1, "float4_e2m1fn", "<f4"},
    {"complex_bfloat16", ZD_OK, ZD_DTYPE_SMALL_COMPLEX, 4, 2, "complex_bfloat16", "<c8"},
    {"complex_float16", ZD_OK, ZD_DTYPE_SMALL_COMPLEX, 4, 2, "complex_float16", "<c8"},
    {"complex_float8_e4m3b11fnuz", ZD_OK, ZD_DTYPE_SMALL_COMPLEX, 2, 1,
        "complex_float8_e4m3b11fnuz", "<c8"},
    {"int4", ZD_OK, ZD_DTYPE_INT, 1, 1, "int4", "|i1"},
    {"uint2", ZD_OK, ZD_DTYPE_UINT, 1, 1, "uint2", "|u1"},
    {"float8_e4m3fn", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL}, /* not registered */
    {"r8", ZD_OK, ZD_DTYPE_RAW, 1, 1, "r8", "|V1"},
    {"r24", ZD_OK, ZD_DTYPE_RAW, 3, 1, "r24", "|V3"},
    {"string", ZD_OK, ZD_DTYPE_STRING, 16, 1, "string", "|O"},
    {"bytes", ZD_OK, ZD_DTYPE_BYTES, 16, 1, "bytes", "|O"},
    {"variable_length_bytes", ZD_OK, ZD_DTYPE_BYTES, 16, 1, "bytes", "|O"},
    {"r524288", ZD_OK, ZD_DTYPE_RAW, ZD_DTYPE_BYTES_MAX, 1, "r524288", "|V65536"},
    {"r524296", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL}, /* one byte past the limit */
    {"r18446744073709551608", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r18446744073709551624", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL}, /* 8 when it wraps */
    {"r0", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r7", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r08", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r*", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r8 ", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"r-8", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"Int8", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
    {"float128", ZD_UNSUPPORTED, 0, 0, 0, NULL, NULL},
};

START_TEST(dtype_find_knows_the_core_types)
{
    const struct find_fact *fact = &find_facts[_i];
    struct zd_dtype dtype = {0};
    ck_assert_int_eq(zd_dtype_find(fact->name, &dtype), fact->status);
    if (fact->status != ZD_OK) {
        ck_assert_uint_eq(dtype.bytes, 0);
        return;
    }
    ck_assert_int_eq(dtype.kind, fact->kind);
    ck_assert_uint_eq(dtype.bytes, fact->bytes);
    ck_assert_uint_eq(dtype.unit_bytes, fact->unit_bytes);
    ck_assert_str_eq(dtype.name, fact->canonical);
    ZD_SCOPED_TEXT(typestr, 16);
    ck_assert_int_eq(zd_dtype_add_typestr(&dtype, &typestr), ZD_OK);
    ck_assert_str_eq(typestr.at, fact->typestr);
}
END_TEST

START_TEST(every_listed_name_is_found)
{
    for (size_t i = 0; zd_dtype_names[i] != NULL; i++) {
        struct zd_dtype dtype = {0};
        const char *name = strcmp(zd_dtype_names[i], "r*") == 0 ? "r16" : zd_dtype_names[i];
        ck_assert_int_eq(zd_dtype_find(name, &dtype), ZD_OK);
        ck_assert_str_eq(dtype.name, name);
    }
}
END_TEST

static const struct swap_fact {
    const char *name;
    const char *from;
    const char *to;
} swap_facts[] = {
    {"uint8", "0102030405060708", "0102030405060708"},
    {"uint16", "0102030405060708", "0201040306050807"},
    {"uint32", "0102030405060708", "0403020108070605"},
    {"uint64", "0102030405060708", "0807060504030201"},
    {"complex64", "0102030405060708", "0403020108070605"}, /* each part on its own */
    {"complex128", "0102030405060708090a0b0c0d0e0f10", "0807060504030201100f0e0d0c0b0a09"},
    {"r24", "010203", "010203"},
    {"r24", "", ""},
};

START_TEST(an_alias_is_found_as_the_type_that_has_it)
{
    uint32_t n_aliases = 0;
    for (size_t i = 0; zd_dtype_names[i] != NULL; i++) {
        const char *alias = zd_dtype_alias(zd_dtype_names[i]);
        struct zd_dtype dtype;
        if (alias != NULL) {
            ck_assert_int_eq(zd_dtype_find(alias, &dtype), ZD_OK);
            ck_assert_str_eq(dtype.name, zd_dtype_names[i]);
            n_aliases++;
        }
    }
    ck_assert_uint_eq(n_aliases, 3);
}
END_TEST

START_TEST(swap_turns_each_unit)
{
    const struct swap_fact *fact = &swap_facts[_i];
    struct zd_dtype dtype = {0};
    ck_assert_int_eq(zd_dtype_find(fact->name, &dtype), ZD_OK);
    ZD_AUTO(zd_buf) bytes = zd_unit_hex(fact->from);
    ZD_AUTO(zd_buf) want = zd_unit_hex(fact->to);
    uint8_t apart[16] = {0};
    zd_dtype_swap(&dtype, apart, bytes->data, bytes->len / dtype.bytes);
    zd_dtype_swap(&dtype, bytes->data, bytes->data, bytes->len / dtype.bytes);
    ck_assert_mem_eq(apart, want->data, want->len);
    ck_assert_mem_eq(bytes->data, want->data, want->len);
}
END_TEST

static const struct settle_fact {
    const char *name;
    const char *from;
    const char *to;
} settle_facts[] = {
    {"bool", "000102ff", "00010101"},
    {"int8", "000102ff", "000102ff"},
    {"int4", "070c8cfcf00f", "07fcfcfc00ff"}, /* reference 13.1: 0c and fc are both -4 */
    {"uint4", "070c8cfcf00f", "070c0c0c000f"},
    {"int2", "01020304fefc", "01feff00fe00"},
    {"uint2", "01020304fefc", "010203000200"},
    {"float6_e2m3fn", "3fff40", "3f3f00"},
    {"float4_e2m1fn", "0fff10", "0f0f00"},
    {"complex_float4_e2m1fn", "0fff1007", "0f0f0007"},
    {"float8_e5m2", "0fff", "0fff"},
};

START_TEST(settled_elements_have_one_spelling)
{
    const struct settle_fact *fact = &settle_facts[_i];
    struct zd_dtype dtype = {0};
    ck_assert_int_eq(zd_dtype_find(fact->name, &dtype), ZD_OK);
    ZD_AUTO(zd_buf) bytes = zd_unit_hex(fact->from);
    ZD_AUTO(zd_buf) want = zd_unit_hex(fact->to);
    ck_assert_int_eq(zd_dtype_is_loose(&dtype), memcmp(bytes->data, want->data, want->len) != 0);
    zd_dtype_settle(&dtype, bytes->data, bytes->len / dtype.bytes);
    ck_assert_mem_eq(bytes->data, want->data, want->len);
}
END_TEST

static const char *const fill_types[] = {"uint8", "uint16", "r24", "complex128"};

START_TEST(fill_writes_an_element_again_and_again)
{
    struct zd_dtype dtype = {0};
    ck_assert_int_eq(zd_dtype_find(fill_types[_i], &dtype), ZD_OK);
    const uint8_t elements[][16] = {
        {0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {7, 7, 7, 7, 7, 7, 7, 8}};
    for (size_t n = 0; n < 40; n++) {
        const uint8_t *element = elements[n % ZD_COUNT_OF(elements)];
        uint8_t bytes[40 * 16 + 1];
        memset(bytes, 0xee, sizeof bytes);
        zd_dtype_fill(&dtype, bytes, element, n);
        for (size_t i = 0; i < n; i++) {
            ck_assert_mem_eq(bytes + i * dtype.bytes, element, dtype.bytes);
        }
        ck_assert_uint_eq(bytes[n * dtype.bytes], 0xee);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, dtype_find_knows_the_core_types, 0, ZD_COUNT_OF(find_facts));
    tcase_add_test(tests, every_listed_name_is_found);
    tcase_add_test(tests, an_alias_is_found_as_the_type_that_has_it);
    tcase_add_loop_test(tests, swap_turns_each_unit, 0, ZD_COUNT_OF(swap_facts));
    tcase_add_loop_test(tests, settled_elements_have_one_spelling, 0, ZD_COUNT_OF(settle_facts));
    tcase_add_loop_test(tests, fill_writes_an_element_again_and_again, 0, ZD_COUNT_OF(fill_types));
}
