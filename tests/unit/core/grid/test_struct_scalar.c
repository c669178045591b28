/* Facts about core/grid/struct_scalar: elements that are structures, in text and back. */
#include "core/grid/struct_scalar.h"

#include <string.h>

#include "core/dialect/v2/v2_fields.h"
#include "core/grid/scalar.h"
#include "core/grid/struct_fields.h"
#include "tests/support/codec.h"

#define BYTES_MAX 64

static const struct fact {
    const char *fields; /* as v2 has them */
    const char *text;   /* of an element */
    const char *hex;    /* NULL: it is refused */
    const char *csv;    /* of one that is accepted; or part of the refusal */
} facts[] = {
    {"[['a','<i2'],['b','|b1']]", "{'a':-2,'b':true}", "feff01",
        "\"{\"\"a\"\":-2,\"\"b\"\":true}\""},
    {"[['a','<i2'],['b','|b1']]", "{'b':true,'a':-2}", "feff01",
        "\"{\"\"a\"\":-2,\"\"b\"\":true}\""},
    {"[['p',[['u','<u2'],['v','<f4']]],['w','|u1']]", "{'p':{'u':258,'v':'NaN'},'w':3}",
        "02010000c07f03", "\"{\"\"p\"\":{\"\"u\"\":258,\"\"v\"\":\"\"NaN\"\"},\"\"w\"\":3}\""},
    {"[['p','<i2',[2,3]],['q','<f4']]", "{'p':[[1,2,3],[4,5,-6]],'q':1.5}",
        "010002000300040005 00faff0000c03f", "\"{\"\"p\"\":[[1,2,3],[4,5,-6]],\"\"q\"\":1.5}\""},
    {"[['p','|i1',[1,1,2]]]", "{'p':[[[1,2]]]}", "0102", "\"{\"\"p\"\":[[[1,2]]]}\""},
    {"[['p','|u1',[1]]]", "{'p':[7]}", "07", "{\"\"p\"\":[7]}"},
    {"[['c','<c8',[2]]]", "{'c':[[1.0,2.0],[0.0,'Infinity']]}", "0000803f00000040000000000000807f",
        "\"{\"\"c\"\":[[1.0,2.0],[0.0,\"\"Infinity\"\"]]}\""},
    {"[['s','|S2',[2]]]", "{'s':['YQ==','']}", "61000000", NULL},
    {"[['a','<i2'],['b','|b1']]", "{'a':-2}", NULL, "found \"an object\""},
    {"[['a','<i2'],['b','|b1']]", "{'a':-2,'c':true}", NULL, "it lacks field \"b\""},
    {"[['a','<i2'],['b','|b1']]", "{'a':-2,'b':true,'c':1}", NULL, "found \"an object\""},
    {"[['a','<i2'],['b','|b1']]", "[1,true]", NULL, "found \"an array\""},
    {"[['a','<i2']]", "{'a':32768}", NULL, "int16"},
    {"[['p',[['u','<u2']]]]", "{'p':1}", NULL, "wrong members in field \"p\""},
    {"[['p',[['u','<u2']]]]", "{'p':{'u':1,'v':1}}", NULL, "wrong members in field \"p\""},
    {"[['p','<i2',[2,3]]]", "{'p':[[1,2,3],[4,5]]}", NULL, "lists of a wrong shape in field \"p\""},
    {"[['p','<i2',[2,3]]]", "{'p':[[1,2,3],[4,5,6],[7,8,9]]}", NULL,
        "lists of a wrong shape in field \"p\""},
    {"[['p','<i2',[2,3]]]", "{'p':[1,2,3,4,5,6]}", NULL, "lists of a wrong shape in field \"p\""},
    {"[['p','<i2',[2,3]]]", "{'p':[[1,2,3],[4,5,[6]]]}", NULL, "int16"},
    {"[['p','<i2',[1]]]", "{'p':7}", NULL, "lists of a wrong shape in field \"p\""},
    {"[['p','<i2',[1]]]", "{'p':{'0':7}}", NULL, "lists of a wrong shape in field \"p\""},
};

static struct zd_dtype type_of(const char *text)
{
    static const struct zd_pointer at = {.text = ""};
    struct zd_typestr found;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(text);
    ck_assert_int_eq(zd_v2_fields_parse(json, &at, &found, &faults), ZD_OK);
    return found.dtype;
}

static void check_text(
    const struct zd_dtype *dtype, const uint8_t *element, bool is_csv, const char *expected)
{
    const struct zd_scalar_style style = {.bare_strings = is_csv};
    ZD_SCOPED_TEXT(text, 1000);
    zd_scalar_add(dtype, element, &style, &text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_uint_le(text.len, zd_scalar_text_max(dtype));
    if (is_csv) {
        ck_assert(expected == NULL || strstr(text.at, expected) != NULL);
        return;
    }
    ZD_AUTO(zd_json) found = zd_unit_json(text.at);
    ZD_AUTO(zd_json) wanted = zd_unit_json(expected);
    ck_assert_msg(zd_json_equal(found, wanted), "%s, %s expected", text.at, expected);
}

START_TEST(structures_are_read_and_spelt)
{
    const struct fact *fact = &facts[_i];
    const struct zd_dtype dtype = type_of(fact->fields);
    uint8_t element[BYTES_MAX] = {0};
    bool noted = false;
    struct zd_error err = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(fact->text);
    const enum zd_status status = zd_scalar_read(&dtype, json, element, &err);
    if (fact->hex == NULL) {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_msg(strstr(err.text, fact->csv) != NULL, "%s", err.text);
        ck_assert_uint_eq(element[0], 0);
    } else {
        ZD_AUTO(zd_buf) bytes = zd_unit_hex(fact->hex);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert_uint_eq(bytes->len, dtype.bytes);
        ck_assert_mem_eq(element, bytes->data, bytes->len);
        check_text(&dtype, element, false, fact->text);
        check_text(&dtype, element, true, fact->csv);
        ZD_AUTO(zd_json) normal = zd_scalar_json(&dtype, element);
        memset(element, 0, sizeof element);
        ck_assert_int_eq(zd_scalar_parse(&dtype, normal, element, &noted, &err), ZD_OK);
        ck_assert_mem_eq(element, bytes->data, bytes->len);
    }
    zd_struct_fields_unref(dtype.fields);
}
END_TEST

struct need {
    struct zd_dtype dtype;
    struct zd_json *json;
};

static enum zd_status work_in_need(void *context)
{
    const struct need *need = context;
    uint8_t element[BYTES_MAX];
    const struct zd_scalar_style csv = {.bare_strings = true};
    ZD_TRY(zd_scalar_read(&need->dtype, need->json, element, NULL));
    ZD_AUTO(zd_json) json = zd_scalar_json(&need->dtype, element);
    ZD_SCOPED_TEXT(text, 1000);
    zd_scalar_add(&need->dtype, element, &csv, &text);
    return json == NULL ? ZD_NO_MEMORY : text.status;
}

START_TEST(allocations_may_fail)
{
    struct need need = {.dtype = type_of(facts[_i].fields), .json = zd_unit_json(facts[_i].text)};
    zd_unit_with_failing_memory(work_in_need, &need);
    zd_json_unref(need.json);
    zd_struct_fields_unref(need.dtype.fields);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, structures_are_read_and_spelt, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, allocations_may_fail, 0, 4);
}
