/* Facts about core/grid/struct_fields: fields one after the other, and what they are together. */
#include "core/grid/struct_fields.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

#define FIELDS_MAX 4

/* A field to add. */
struct added {
    const char *name; /* NULL: no more */
    uint32_t depth;
    const char *type; /* NULL: a structure */
    uint32_t rank;    /* of an array */
    uint64_t shape[3];
};

static const struct fact {
    struct added field[FIELDS_MAX];
    uint32_t bytes;        /* 0: it is refused */
    enum zd_status status; /* of the last one that is added, or of the end */
    const char *typestr;
    const char *descr;
} facts[] = {
    {{{"x", 0, "float32", 0, {0}}}, 4, ZD_OK, "[[\"x\",\"<f4\"]]", "[('x', '<f4')]"},
    {{{"x", 0, "float32", 0, {0}}, {"n", 0, "int8", 0, {0}}}, 5, ZD_OK,
        "[[\"x\",\"<f4\"],[\"n\",\"|i1\"]]", "[('x', '<f4'), ('n', '|i1')]"},
    {{{"p", 0, NULL, 0, {0}}, {"u", 1, "uint16", 0, {0}}, {"w", 0, "bool", 0, {0}}}, 3, ZD_OK,
        "[[\"p\",[[\"u\",\"<u2\"]]],[\"w\",\"|b1\"]]", "[('p', [('u', '<u2')]), ('w', '|b1')]"},
    {{{"a", 0, "int16", 1, {3}}}, 6, ZD_OK, "[[\"a\",\"<i2\",[3]]]", "[('a', '<i2', (3,))]"},
    {{{"a", 0, "int16", 2, {2, 3}}, {"b", 0, "int8", 3, {1, 1, 2}}}, 14, ZD_OK,
        "[[\"a\",\"<i2\",[2,3]],[\"b\",\"|i1\",[1,1,2]]]",
        "[('a', '<i2', (2, 3)), ('b', '|i1', (1, 1, 2))]"},
    {{{"p", 0, NULL, 0, {0}}, {"a", 1, "float64", 1, {2}}}, 16, ZD_OK,
        "[[\"p\",[[\"a\",\"<f8\",[2]]]]]", "[('p', [('a', '<f8', (2,))])]"},
    /* Names: of one list only, in ASCII whatever they are. */
    {{{"p", 0, NULL, 0, {0}}, {"p", 1, "int8", 0, {0}}}, 1, ZD_OK, "[[\"p\",[[\"p\",\"|i1\"]]]]",
        "[('p', [('p', '|i1')])]"},
    {{{"\xc3\xa9\"'", 0, "int8", 0, {0}}}, 1, ZD_OK, "[[\"\\u00e9\\\"'\",\"|i1\"]]",
        "[('\\u00e9\"\\'', '|i1')]"},
    {{{"\xf0\x9f\x98\x80", 0, "int8", 0, {0}}}, 1, ZD_OK, "[[\"\\ud83d\\ude00\",\"|i1\"]]",
        "[('\\U0001f600', '|i1')]"},
    {{{"x", 0, "int8", 0, {0}}, {"x", 0, "int8", 0, {0}}}, 0, ZD_INVALID, NULL, NULL},
    {{{"", 0, "int8", 0, {0}}}, 0, ZD_INVALID, NULL, NULL},
    /* A structure without fields. */
    {{{NULL, 0, NULL, 0, {0}}}, 0, ZD_INVALID, NULL, NULL},
    {{{"p", 0, NULL, 0, {0}}}, 0, ZD_INVALID, NULL, NULL},
    {{{"p", 0, NULL, 0, {0}}, {"x", 0, "int8", 0, {0}}}, 0, ZD_INVALID, NULL, NULL},
    /* An element of 65536 bytes, and of one more. */
    {{{"a", 0, "int8", 1, {65536}}}, 65536, ZD_OK, "[[\"a\",\"|i1\",[65536]]]",
        "[('a', '|i1', (65536,))]"},
    {{{"a", 0, "int8", 1, {65537}}}, 0, ZD_TOO_LARGE, NULL, NULL},
    {{{"a", 0, "int8", 1, {65536}}, {"b", 0, "int8", 0, {0}}}, 0, ZD_TOO_LARGE, NULL, NULL},
    {{{"a", 0, "int16", 1, {32769}}}, 0, ZD_TOO_LARGE, NULL, NULL},
    {{{"a", 0, "int16", 2, {UINT64_MAX, UINT64_MAX}}}, 0, ZD_TOO_LARGE, NULL, NULL},
    {{{"a", 0, "int16", 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}}}, 0, ZD_TOO_LARGE, NULL, NULL},
    {{{"a", 0, "int16", 2, {2, 0}}}, 0, ZD_INVALID, NULL, NULL},
    {{{"r", 0, "r524288", 0, {0}}, {"b", 0, "int8", 0, {0}}}, 0, ZD_TOO_LARGE, NULL, NULL},
};

static enum zd_status add(struct zd_struct_fields *fields, const struct added *field)
{
    struct zd_dtype dtype;
    if (field->type == NULL) {
        return zd_struct_fields_add(fields, field->name, field->depth, NULL);
    }
    ck_assert_int_eq(zd_dtype_find(field->type, &dtype), ZD_OK);
    return field->rank == 0 ? zd_struct_fields_add(fields, field->name, field->depth, &dtype)
                            : zd_struct_fields_add_array(fields, field->name, field->depth, &dtype,
                                  field->rank, field->shape);
}

static enum zd_status make(
    const struct fact *fact, struct zd_struct_fields *fields, struct zd_dtype *ret_dtype)
{
    for (size_t i = 0; i < FIELDS_MAX && fact->field[i].name != NULL; i++) {
        ZD_TRY(add(fields, &fact->field[i]));
    }
    return zd_struct_fields_finish(fields, ret_dtype);
}

START_TEST(fields_make_a_type_or_say_why_not)
{
    const struct fact *fact = &facts[_i];
    struct zd_dtype dtype = {.kind = ZD_DTYPE_BOOL};
    struct zd_struct_fields *fields = zd_struct_fields_new();
    ck_assert_int_eq(make(fact, fields, &dtype), fact->status);
    if (fact->status == ZD_OK) {
        ck_assert_int_eq(dtype.kind, ZD_DTYPE_STRUCT);
        ck_assert_uint_eq(dtype.bytes, fact->bytes);
        ck_assert_str_eq(fields->typestr, fact->typestr);
        ck_assert_str_eq(fields->descr, fact->descr);
    } else {
        ck_assert_int_eq(dtype.kind, ZD_DTYPE_BOOL);
    }
    zd_struct_fields_unref(fields);
}
END_TEST

START_TEST(there_is_a_limit_to_fields_and_depth_and_names)
{
    struct zd_struct_fields *fields = zd_struct_fields_new();
    struct zd_dtype dtype;
    char name[300];
    ck_assert_int_eq(zd_dtype_find("int8", &dtype), ZD_OK);
    for (uint32_t depth = 0; depth < ZD_STRUCT_DEPTH_MAX; depth++) {
        ck_assert_int_eq(zd_struct_fields_add(fields, "deep", depth, NULL), ZD_OK);
    }
    ck_assert_int_eq(
        zd_struct_fields_add(fields, "deep", ZD_STRUCT_DEPTH_MAX, &dtype), ZD_TOO_LARGE);
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    ck_assert_int_eq(zd_struct_fields_add(fields, name, 0, &dtype), ZD_TOO_LARGE);
    name[255] = '\0';
    ck_assert_int_eq(zd_struct_fields_add(fields, name, 0, &dtype), ZD_OK);
    while (fields->n < ZD_STRUCT_FIELDS_MAX) {
        snprintf(name, sizeof name, "%u", fields->n);
        ck_assert_int_eq(zd_struct_fields_add(fields, name, 0, &dtype), ZD_OK);
    }
    ck_assert_int_eq(zd_struct_fields_add(fields, "more", 0, &dtype), ZD_TOO_LARGE);
    ck_assert_uint_eq(fields->n, ZD_STRUCT_FIELDS_MAX);
    zd_struct_fields_unref(fields);
}
END_TEST

/* Two elements of a bool, two int16, and a structure of a complex64. */
START_TEST(fields_are_swapped_and_settled_each_by_itself)
{
    static const struct fact fact = {.field = {{"b", 0, "bool", 1, {2}}, {"n", 0, "int16", 1, {2}},
                                         {"p", 0, NULL, 0, {0}}, {"c", 1, "complex64", 0, {0}}}};
    static const bool first[FIELDS_MAX] = {true, true, true, false};
    struct zd_dtype dtype;
    struct zd_struct_fields *fields = zd_struct_fields_new();
    ck_assert_int_eq(make(&fact, fields, &dtype), ZD_OK);
    struct zd_buf *elements =
        zd_unit_hex("00ff 0102 0304 05060708 090a0b0c  0200 1112 1314 15161718 191a1b1c");
    struct zd_buf *swapped =
        zd_unit_hex("0001 0201 0403 08070605 0c0b0a09  0100 1211 1413 18171615 1c1b1a19");
    struct zd_buf *in_part =
        zd_unit_hex("0001 0201 0403 05060708 090a0b0c  0100 1211 1413 15161718 191a1b1c");
    ck_assert_uint_eq(elements->len, 2 * (size_t)dtype.bytes);
    ck_assert(zd_dtype_is_loose(&dtype));
    zd_dtype_settle(&dtype, elements->data, 2);
    zd_dtype_swap(&dtype, elements->data, elements->data, 2);
    ck_assert_mem_eq(elements->data, swapped->data, swapped->len);
    zd_dtype_swap(&dtype, elements->data, elements->data, 2);
    zd_dtype_swap_fields(&dtype, elements->data, 2, first);
    ck_assert_mem_eq(elements->data, in_part->data, in_part->len);
    zd_buf_unref(elements);
    zd_buf_unref(swapped);
    zd_buf_unref(in_part);
    zd_struct_fields_unref(fields);
}
END_TEST

static enum zd_status make_in_need(void *context)
{
    ZD_AUTO(zd_struct_fields) fields = zd_struct_fields_new();
    struct zd_dtype dtype;
    return fields == NULL ? ZD_NO_MEMORY : make(context, fields, &dtype);
}

START_TEST(allocations_may_fail)
{
    struct fact fact = facts[_i];
    zd_unit_with_failing_memory(make_in_need, &fact);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, fields_make_a_type_or_say_why_not, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, there_is_a_limit_to_fields_and_depth_and_names);
    tcase_add_test(tests, fields_are_swapped_and_settled_each_by_itself);
    tcase_add_loop_test(tests, allocations_may_fail, 1, 5);
}
