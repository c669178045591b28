/* Facts about core/dialect/v2/v2_fields: lists of fields as types, and what is none. */
#include "core/dialect/v2/v2_fields.h"

#include <string.h>

#include "core/extension/data_type.h"
#include "core/grid/struct_fields.h"
#include "tests/support/codec.h"

static const struct zd_pointer at = {.text = "/dtype"};

static const struct good_fact {
    const char *json;
    const char *typestr;
    const char *big; /* of each field: stored big-endian? NULL: all are stored alike */
    bool is_big;
} good_facts[] = {
    {"[['a','<i4']]", "[['a','<i4']]", NULL, false},
    {"[['a','>i4']]", "[['a','<i4']]", NULL, true},
    {"[['a','>i4'],['b','|u1'],['c','|S3']]", "[['a','<i4'],['b','|u1'],['c','|S3']]", NULL, true},
    {"[['a','<i4'],['b','>f8']]", "[['a','<i4'],['b','<f8']]", "01", false},
    {"[['a','>i2'],['b','|u1'],['c','<U2'],['d','>M8[s]']]",
        "[['a','<i2'],['b','|u1'],['c','<U2'],['d','<M8[s]']]", "1001", false},
    {"[['p',[['u','>u2'],['v','<f4']]],['w','|u1']]",
        "[['p',[['u','<u2'],['v','<f4']]],['w','|u1']]", "0100", false},
    {"[['a','<i4'],['b','>f8'],['c','<f4',[2,3]]]", "[['a','<i4'],['b','<f8'],['c','<f4',[2,3]]]",
        "010", false},
    {"[['c','>f4',[2,3]]]", "[['c','<f4',[2,3]]]", NULL, true},
    {"[['c','<f4',[]]]", "[['c','<f4']]", NULL, false},
    {"[['p',[['c','|i1',[1,1,1,1,1,1,1,2]]],[]]]", "[['p',[['c','|i1',[1,1,1,1,1,1,1,2]]]]]", NULL,
        false},
};

static void check_type(const struct zd_typestr *found, const struct good_fact *fact)
{
    const struct zd_struct_fields *fields = found->dtype.fields;
    ZD_AUTO(zd_json) typestr = zd_unit_json(fields->typestr);
    ZD_AUTO(zd_json) wanted = zd_unit_json(fact->typestr);
    ck_assert_msg(zd_json_equal(typestr, wanted), "%s", fields->typestr);
    ck_assert_int_eq(found->is_big, fact->is_big);
    ck_assert_int_eq(fields->is_mixed, fact->big != NULL);
    for (uint32_t i = 0; fact->big != NULL && i < fields->n; i++) {
        ck_assert_int_eq(fields->field[i].is_big, fact->big[i] == '1');
    }
}

/* The v3 document made of it gives the same type. */
static void check_again(const struct zd_dtype *dtype)
{
    const struct zd_data_type_rules rules = {.is_translated = true};
    struct zd_definition definition;
    struct zd_faults faults = {0};
    struct zd_dtype again;
    ZD_AUTO(zd_json) json = zd_data_type_json(dtype);
    ck_assert_int_eq(zd_definition_parse(json, &at, false, &definition, &faults), ZD_OK);
    ck_assert_int_eq(zd_data_type_parse(&definition, &at, &rules, &again, &faults), ZD_OK);
    ck_assert(zd_dtype_equal(dtype, &again));
    ck_assert_uint_eq(faults.n_items, 0);
    zd_struct_fields_unref(again.fields);
}

START_TEST(a_list_of_fields_is_a_type)
{
    const struct good_fact *fact = &good_facts[_i];
    struct zd_typestr found;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(fact->json);
    ck_assert_int_eq(zd_v2_fields_parse(json, &at, &found, &faults), ZD_OK);
    ck_assert_uint_eq(faults.n_items, 0);
    check_type(&found, fact);
    check_again(&found.dtype);
    zd_struct_fields_unref(found.dtype.fields);
}
END_TEST

static const struct bad_fact {
    const char *json;
    const char *findings;
} bad_facts[] = {
    {"[]", "invalid bad_name /dtype"},
    {"[[]]", "invalid bad_name /dtype/0"},
    {"['a']", "invalid bad_name /dtype/0"},
    {"[['a']]", "invalid bad_name /dtype/0"},
    {"[['a','<i4',[2],3]]", "invalid bad_name /dtype/0"},
    {"[[1,'<i4']]", "invalid bad_name /dtype/0"},
    {"[['a',4]]", "invalid bad_name /dtype/0"},
    {"[['a','<i4'],['a','<i4']]", "invalid bad_name /dtype/1/1"},
    {"[['','<i4']]", "invalid bad_name /dtype/0/1"},
    {"[['a','i4x']]", "invalid bad_name /dtype/0/1"},
    {"[['a','|O']]", "unsupported unsupported_data_type /dtype/0/1"},
    {"[['a',[]]]", "invalid bad_name /dtype"},
    {"[['a','<i4',2]]", "invalid bad_name /dtype/0/1"},
    {"[['a','<i4','2']]", "invalid bad_name /dtype/0/1"},
    {"[['a','<i4',[0]]]", "invalid bad_name /dtype/0/1"},
    {"[['a','<i4',[-1]]]", "invalid bad_name /dtype/0/1"},
    {"[['a','<i4',[2,'3']]]", "invalid bad_name /dtype/0/1"},
    {"[['a','<i4',[1,1,1,1,1,1,1,1,1]]]", "unsupported unsupported_data_type /dtype/0/1"},
    {"[['a','<i4',[16385]]]", "unsupported unsupported_data_type /dtype/0/1"},
    {"[['a','<i4',[18446744073709551615,18446744073709551615]]]",
        "unsupported unsupported_data_type /dtype/0/1"},
    {"[['a','<i4',[16384]],['b','|u1']]", "unsupported unsupported_data_type /dtype"},
    {"[['p',[['u','<u2']],[2]]]", "unsupported unsupported_data_type /dtype/0"},
    {"[['a',[['a',[['a',[['a',[['a',[['a',[['a',[['a',[['a','|u1']]]]]]]]]]]]]]]]]]",
        "unsupported unsupported_data_type /dtype/0/1/0/1/0/1/0/1/0/1/0/1/0/1/0/1/0/1"},
};

START_TEST(an_unknown_type_is_refused_with_its_place)
{
    struct zd_typestr found;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(bad_facts[_i].json);
    const enum zd_status status = zd_v2_fields_parse(json, &at, &found, &faults);
    ZD_AUTO_TEXT findings = zd_unit_faults(&faults);
    ck_assert(status == ZD_INVALID || status == ZD_UNSUPPORTED);
    ck_assert_str_eq(findings, bad_facts[_i].findings);
    zd_faults_done(&faults);
}
END_TEST

static enum zd_status parse_in_need(void *context)
{
    struct zd_typestr found;
    struct zd_faults faults = {0};
    const enum zd_status status = zd_v2_fields_parse(context, &at, &found, &faults);
    zd_faults_done(&faults);
    ZD_TRY(status);
    ZD_AUTO(zd_json) json = zd_data_type_json(&found.dtype);
    zd_struct_fields_unref(found.dtype.fields);
    return json == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(allocations_may_fail)
{
    ZD_AUTO(zd_json) json = zd_unit_json(good_facts[_i].json);
    zd_unit_with_failing_memory(parse_in_need, json);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_list_of_fields_is_a_type, 0, ZD_COUNT_OF(good_facts));
    tcase_add_loop_test(
        tests, an_unknown_type_is_refused_with_its_place, 0, ZD_COUNT_OF(bad_facts));
    tcase_add_loop_test(tests, allocations_may_fail, 0, ZD_COUNT_OF(good_facts));
}
