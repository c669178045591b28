/* Facts about core/extension/extension_array_statistics. */
#include "core/extension/extension.h"

#include <math.h>
#include <string.h>

#include "core/dialect/written.h"
#include "tests/support/extension.h"
#include "tests/support/unit.h"

#define BOUNDS(min, max)                                                                           \
    "[{'name':'example.array-statistics','configuration':{'min':" min ",'max':" max "}}]"
#define AT_MIN "/0/configuration/min"
#define AT_MAX "/0/configuration/max"

static const struct zd_unit_extension_fact facts[] = {
    {"int16", BOUNDS("-32768", "32767"), NULL, NULL},
    {"int16", BOUNDS("5", "5"), NULL, NULL},
    {"uint64", BOUNDS("0", "18446744073709551615"), NULL, NULL},
    /* A double takes them for equal: the order is that of the data type. */
    {"int64", BOUNDS("9223372036854775806", "9223372036854775807"), NULL, NULL},
    {"int64", BOUNDS("9223372036854775807", "9223372036854775806"), "out_of_range", AT_MAX},
    {"bool", BOUNDS("false", "true"), NULL, NULL},
    {"bool", BOUNDS("true", "false"), "out_of_range", AT_MAX},
    {"float32", BOUNDS("0.1", "0.2"), NULL, NULL},
    {"float64", BOUNDS("'-Infinity'", "'Infinity'"), NULL, NULL},
    {"float32", BOUNDS("'0xbf800000'", "1"), NULL, NULL}, /* -1 */
    {"float16", BOUNDS("-0.0", "0.0"), NULL, NULL},
    {"int16", BOUNDS("2", "1"), "out_of_range", AT_MAX},
    {"int16", BOUNDS("-32769", "0"), "out_of_range", AT_MIN},
    {"int16", BOUNDS("0", "32768"), "out_of_range", AT_MAX},
    {"int16", BOUNDS("0.5", "1"), "out_of_range", AT_MIN},
    {"uint8", BOUNDS("-1", "1"), "out_of_range", AT_MIN},
    {"uint8", BOUNDS("'1'", "1"), "out_of_range", AT_MIN},
    {"float32", BOUNDS("'NaN'", "1"), "out_of_range", AT_MIN},
    {"float32", BOUNDS("0", "'0x7fc00000'"), "out_of_range", AT_MAX},
    {"float16", BOUNDS("0", "65504"), NULL, NULL},
    {"float16", BOUNDS("0", "'Infinity'"), NULL, NULL},
    {"float16", BOUNDS("0", "70000"), "out_of_range", AT_MAX}, /* a writer's; read it is one */
    {"float32", BOUNDS("-1e39", "0"), "out_of_range", AT_MIN},
    {"float32", BOUNDS("'0x0'", "1"), "out_of_range", AT_MIN},
    {"float32", BOUNDS("null", "1"), "wrong_type", AT_MIN},
    {"float32", BOUNDS("[0]", "1"), "wrong_type", AT_MIN},
    {"float32", "[{'name':'example.array-statistics','configuration':{'min':0}}]", "missing_member",
        AT_MAX},
    {"float32", "['example.array-statistics']", "missing_member", AT_MIN},
    {"complex64", BOUNDS("0", "1"), "wrong_type", "/0/configuration"},
};

START_TEST(document_is_judged)
{
    zd_unit_check_extension(&facts[_i]);
}
END_TEST

/* Written elements, and the list of extensions that must be stored first. */
static const struct widening {
    const char *data_type;
    const char *before;
    const char *after; /* NULL: as it is */
    size_t n;
    const void *elements;
} widenings[] = {
    {"int16", BOUNDS("1", "5"), NULL, 3, (const int16_t[]){1, 3, 5}},
    {"int16", BOUNDS("1", "5"), NULL, 2, (const int16_t[]){0, 0}}, /* the fill value */
    {"int16", BOUNDS("1", "5"), BOUNDS("-7", "5"), 2, (const int16_t[]){3, -7}},
    {"int16", BOUNDS("1", "5"), BOUNDS("1", "6"), 2, (const int16_t[]){6, 2}},
    {"int16", BOUNDS("1", "5"), BOUNDS("-32768", "32767"), 2, (const int16_t[]){32767, -32768}},
    {"int64", BOUNDS("1", "9223372036854775806"), BOUNDS("1", "9223372036854775807"), 1,
        (const int64_t[]){INT64_MAX}},
    {"uint64", BOUNDS("1", "18446744073709551614"), BOUNDS("1", "18446744073709551615"), 1,
        (const uint64_t[]){UINT64_MAX}},
    {"float32", BOUNDS("1", "5"), NULL, 2, (const float[]){2, NAN}},
    {"float32", BOUNDS("1", "5"), BOUNDS("0.10000000149011612", "5.0"), 1, (const float[]){0.1F}},
    {"float32", BOUNDS("0", "0.1"), BOUNDS("0.0", "0.20000000298023224"), 1,
        (const float[]){0.2F}}, /* no reader's double is less than the element */
    {"float16", BOUNDS("0", "5"), BOUNDS("-65504.0", "65504.0"), 2,
        (const uint16_t[]){0x7bff, 0xfbff}},
    {"float64", BOUNDS("1", "5"), BOUNDS("1.0", "'Infinity'"), 1, (const double[]){INFINITY}},
    {"bool", BOUNDS("false", "false"), BOUNDS("false", "true"), 2, (const uint8_t[]){0, 1}},
    {"int16", BOUNDS("1", "5"), NULL, 0, NULL},
};

START_TEST(bounds_are_widened_by_what_is_written)
{
    const struct widening *fact = &widenings[_i];
    ZD_AUTO(zd_meta) meta = zd_unit_extended_array(fact->data_type, fact->before);
    ZD_AUTO(zd_json) list = NULL;
    struct zd_error err = {0};
    struct zd_written written;
    zd_written_init(&written, meta);
    ck_assert(written.is_wanted);
    zd_written_add(&written, fact->elements, fact->n);
    ck_assert_int_eq(zd_written_before(&written, meta, &list, &err), ZD_OK);
    ck_assert_int_eq(list == NULL, fact->after == NULL);
    if (fact->after != NULL) {
        ZD_AUTO(zd_meta) wanted = zd_unit_extended_array(fact->data_type, fact->after);
        ck_assert(zd_json_equal(list, zd_json_member(wanted->document, "extensions")));
    }
}
END_TEST

START_TEST(parts_of_a_write_are_joined)
{
    ZD_AUTO(zd_meta) meta = zd_unit_extended_array("int16", BOUNDS("1", "5"));
    ZD_AUTO(zd_json) list = NULL;
    ZD_AUTO(zd_meta) wanted = zd_unit_extended_array("int16", BOUNDS("-2", "9"));
    struct zd_error err = {0};
    struct zd_written all;
    struct zd_written part;
    zd_written_init(&all, meta);
    zd_written_init(&part, meta);
    zd_written_add(&all, (const int16_t[]){-2, 4}, 2);
    zd_written_add(&part, (const int16_t[]){9, 0}, 2);
    zd_written_join(&all, &part);
    ck_assert_int_eq(zd_written_before(&all, meta, &list, &err), ZD_OK);
    ck_assert(zd_json_equal(list, zd_json_member(wanted->document, "extensions")));
}
END_TEST

START_TEST(other_entries_and_members_stay_as_they_are)
{
    ZD_AUTO(zd_meta)
    meta = zd_unit_extended_array("int16",
        "['example.skip_empty_chunks',{'name':'example.other','must_understand':false,"
        "'configuration':{'a':[1,2]}},{'name':'example.array-statistics','must_understand':false,"
        "'configuration':{'min':1,'max':2}}]");
    ZD_AUTO(zd_meta)
    wanted = zd_unit_extended_array("int16",
        "['example.skip_empty_chunks',{'name':'example.other','must_understand':false,"
        "'configuration':{'a':[1,2]}},{'name':'example.array-statistics','must_understand':false,"
        "'configuration':{'min':1,'max':3}}]");
    ZD_AUTO(zd_json) list = NULL;
    struct zd_error err = {0};
    struct zd_written written;
    zd_written_init(&written, meta);
    zd_written_add(&written, (const int16_t[]){3}, 1);
    ck_assert_int_eq(zd_written_before(&written, meta, &list, &err), ZD_OK);
    ck_assert(zd_json_equal(list, zd_json_member(wanted->document, "extensions")));
    ck_assert_uint_eq(zd_json_count(zd_json_member(meta->document, "extensions")), 3);
}
END_TEST

START_TEST(nobody_counts_where_no_bounds_are)
{
    ZD_AUTO(zd_meta) meta = zd_unit_extended_array("int16", "['example.skip_empty_chunks']");
    ZD_AUTO(zd_json) list = NULL;
    struct zd_error err = {0};
    struct zd_written written;
    zd_written_init(&written, meta);
    ck_assert(!written.is_wanted);
    zd_written_add(&written, (const int16_t[]){3}, 1);
    ck_assert_int_eq(zd_written_before(&written, meta, &list, &err), ZD_OK);
    ck_assert_ptr_null(list);
}
END_TEST

static enum zd_status widen(void *context)
{
    struct zd_json *list = NULL;
    struct zd_error err = {0};
    struct zd_written written;
    zd_written_init(&written, context);
    zd_written_add(&written, (const int16_t[]){3}, 1);
    const enum zd_status status = zd_written_before(&written, context, &list, &err);
    zd_json_unref(list);
    return status;
}

START_TEST(want_of_memory_is_told)
{
    ZD_AUTO(zd_meta) meta = zd_unit_extended_array("int16", BOUNDS("1", "2"));
    zd_unit_with_failing_memory(widen, meta);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, bounds_are_widened_by_what_is_written, 0, ZD_COUNT_OF(widenings));
    tcase_add_test(tests, parts_of_a_write_are_joined);
    tcase_add_test(tests, other_entries_and_members_stay_as_they_are);
    tcase_add_test(tests, nobody_counts_where_no_bounds_are);
    tcase_add_test(tests, want_of_memory_is_told);
}
