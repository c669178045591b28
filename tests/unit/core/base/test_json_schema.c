/* Facts about core/base/json_schema. */
#include "core/base/json_schema.h"

#include <string.h>

#include "tests/support/codec.h"
#include "tests/support/unit.h"

#define SCHEMA_BYTES_MAX 1024

static const struct fact {
    const char *schema; /* with ' for " */
    const char *value;
    const char *code; /* of the first fault; NULL: none */
    const char *pointer;
    const char *expected;
} facts[] = {
    {"{}", "5", NULL, NULL, NULL},
    {"{'title':'t','description':'d'}", "5", NULL, NULL, NULL},
    {"{'type':'integer'}", "5", NULL, NULL, NULL},
    {"{'type':'integer'}", "-5", NULL, NULL, NULL},
    {"{'type':'integer'}", "5.0", "wrong_type", "/x", "an integer"},
    {"{'type':'integer'}", "true", "wrong_type", "/x", "an integer"},
    {"{'type':'number'}", "5.5", NULL, NULL, NULL},
    {"{'type':'number'}", "18446744073709551615", NULL, NULL, NULL},
    {"{'type':'number'}", "'5'", "wrong_type", "/x", "a number"},
    {"{'type':'boolean'}", "false", NULL, NULL, NULL},
    {"{'type':'boolean'}", "0", "wrong_type", "/x", "true or false"},
    {"{'type':'null'}", "null", NULL, NULL, NULL},
    {"{'type':'array'}", "{}", "wrong_type", "/x", "an array"},
    {"{'type':'object'}", "[]", "wrong_type", "/x", "an object"},
    {"{'type':['number','string']}", "'a'", NULL, NULL, NULL},
    {"{'type':['number','string']}", "1", NULL, NULL, NULL},
    {"{'type':['string','integer']}", "[]", "wrong_type", "/x", "a string or an integer"},
    {"{'enum':['a','b',1]}", "'b'", NULL, NULL, NULL},
    {"{'enum':['a','b',1]}", "1", NULL, NULL, NULL},
    {"{'enum':['a','b',1]}", "'c'", "out_of_range", "/x", "one of \"a\", \"b\", 1"},
    {"{'minimum':1}", "1", NULL, NULL, NULL},
    {"{'minimum':1}", "0", "out_of_range", "/x", "at least 1"},
    {"{'minimum':1}", "'0'", NULL, NULL, NULL}, /* a keyword of numbers only */
    {"{'maximum':9}", "9", NULL, NULL, NULL},
    {"{'maximum':9}", "10", "out_of_range", "/x", "at most 9"},
    {"{'minimum':-131072}", "-131073", "out_of_range", "/x", "at least -131072"},
    {"{'minLength':1}", "''", "out_of_range", "/x", "at least 1 characters"},
    {"{'minLength':1}", "'a'", NULL, NULL, NULL},
    {"{'minLength':1}", "0", NULL, NULL, NULL},
    {"{'items':{'type':'integer'}}", "[1,2]", NULL, NULL, NULL},
    {"{'items':{'type':'integer'}}", "[1,'2',3]", "wrong_type", "/x/1", "an integer"},
    {"{'items':{'type':'integer'}}", "5", NULL, NULL, NULL},
    {"{'minItems':1}", "[]", "out_of_range", "/x", "at least 1 entries"},
    {"{'minItems':1}", "[0]", NULL, NULL, NULL},
    {"{'uniqueItems':true}", "[1,2,3]", NULL, NULL, NULL},
    {"{'uniqueItems':true}", "[1,2,1]", "duplicate", "/x/2", "different from all others"},
    {"{'uniqueItems':false}", "[1,1]", NULL, NULL, NULL},
    {"{'properties':{'a':{'type':'integer'}}}", "{'a':1,'b':2}", NULL, NULL, NULL},
    {"{'properties':{'a':{'type':'integer'}}}", "{'a':'1'}", "wrong_type", "/x/a", "an integer"},
    {"{'properties':{'a/b~':{'type':'integer'}}}", "{'a/b~':'1'}", "wrong_type", "/x/a~1b~0",
        "an integer"},
    {"{'required':['a','b']}", "{'a':1}", "missing_member", "/x/b", "there"},
    {"{'required':['a']}", "5", NULL, NULL, NULL},
    {"{'properties':{'a':{},'b':{}},'additionalProperties':false}", "{'a':1,'c':1}",
        "unknown_member", "/x/c", "one of a, b"},
    {"{'additionalProperties':false}", "{'c':1}", "unknown_member", "/x/c", "no members"},
    {"{'additionalProperties':false}", "{}", NULL, NULL, NULL},
    {"{'if':{'properties':{'s':{'enum':['on']}}},'then':{'required':['t']}}", "{'s':'on'}",
        "missing_member", "/x/t", "there"},
    {"{'if':{'properties':{'s':{'enum':['on']}}},'then':{'required':['t']}}", "{'s':'off'}", NULL,
        NULL, NULL},
    {"{'if':{'properties':{'s':{'enum':['on']}}},'then':{'required':['t']}}", "{'s':'on','t':1}",
        NULL, NULL, NULL},
};

/* A schema is text with ", as the tables have it. */
static void quote(const char *text, char to[SCHEMA_BYTES_MAX])
{
    size_t i = 0;
    ck_assert_uint_lt(strlen(text), SCHEMA_BYTES_MAX);
    for (; text[i] != '\0'; i++) {
        to[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    }
    to[i] = '\0';
}

START_TEST(value_is_judged)
{
    const struct fact *fact = &facts[_i];
    char schema[SCHEMA_BYTES_MAX];
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = "/x"};
    ZD_AUTO(zd_json) value = zd_unit_json(fact->value);
    quote(fact->schema, schema);
    const enum zd_status status = zd_json_schema_check(schema, value, &at, "name", &faults);
    ck_assert_msg((status == ZD_OK) == (fact->code == NULL), "%s of %s", fact->value, schema);
    ck_assert_msg((faults.n_items == 0) == (fact->code == NULL), "%s of %s", fact->value, schema);
    if (fact->code != NULL) {
        ck_assert_str_eq(faults.item[0].code, fact->code);
        ck_assert_str_eq(faults.item[0].pointer, fact->pointer);
        ck_assert_str_eq(faults.item[0].expected, fact->expected);
        ck_assert_str_eq(faults.item[0].name, "name");
        ck_assert_msg(faults.item[0].found != NULL || strcmp(fact->code, "missing_member") == 0,
            "%s", fact->value);
    }
    zd_faults_done(&faults);
}
END_TEST

START_TEST(all_faults_are_found)
{
    char schema[SCHEMA_BYTES_MAX];
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = ""};
    ZD_AUTO(zd_json) value = zd_unit_json("{'a':'1','l':[1,'x',-1],'z':0}");
    quote("{'type':'object','properties':{'a':{'type':'integer'},'l':{'type':'array','items':"
          "{'type':'integer','minimum':0}}},'required':['a','b'],'additionalProperties':false}",
        schema);
    ck_assert_int_eq(zd_json_schema_check(schema, value, &at, "name", &faults), ZD_INVALID);
    char *found = zd_unit_faults(&faults);
    ck_assert_msg(faults.n_items == 5, "%s", found);
    zd_free(found);
    zd_faults_done(&faults);
}
END_TEST

/* Where the value stands, and the sentence that begins with it. */
static const struct {
    const char *at;
    const char *detail;
} places[] = {
    {"", "the value of name must be an integer"},
    {"/x", "x of name must be an integer"},
    {"/extensions/0/configuration/x", "x of name must be an integer"},
    {"/extensions/0/configuration/x/12", "entry 12 of x of name must be an integer"},
    {"/0", "0 of name must be an integer"},
};

START_TEST(faults_name_what_a_person_calls_the_value)
{
    struct zd_faults faults = {0};
    struct zd_pointer at = {.text = ""};
    ZD_AUTO(zd_json) value = zd_unit_json("'a'");
    memcpy(at.text, places[_i].at, strlen(places[_i].at) + 1);
    ck_assert_int_eq(
        zd_json_schema_check("{\"type\":\"integer\"}", value, &at, "name", &faults), ZD_INVALID);
    ck_assert_str_eq(faults.item[0].detail, places[_i].detail);
    zd_faults_done(&faults);
}
END_TEST

static enum zd_status check(void *context)
{
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = ""};
    const enum zd_status status = zd_json_schema_check(
        "{\"type\":\"object\",\"required\":[\"a\"]}", context, &at, "name", &faults);
    zd_faults_done(&faults);
    return status == ZD_INVALID ? ZD_OK : status;
}

START_TEST(want_of_memory_is_told)
{
    ZD_AUTO(zd_json) value = zd_unit_json("{}");
    zd_unit_with_failing_memory(check, value);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, value_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, all_faults_are_found);
    tcase_add_loop_test(tests, faults_name_what_a_person_calls_the_value, 0, ZD_COUNT_OF(places));
    tcase_add_test(tests, want_of_memory_is_told);
}
