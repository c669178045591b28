/* Facts about server/slice/slice_params: what clients ask, in a query or in a body. */
#include "server/slice/slice_params.h"

#include <string.h>

#include "core/base/num.h"
#include "server/runtime/server.h"
#include "tests/support/codec.h"

#define BODY_BYTES_MAX 64

static const struct zd_config config = {.settings.limits_body_bytes = BODY_BYTES_MAX};
static struct zd_server server = {.config = &config};

/* A question in both its forms; NULL: it has no such form. */
static const struct params_fact {
    const char *query;
    const char *body; /* with ' for " */
    const char *slice;
    const char *shape; /* NULL: none */
    const char *format;
    struct zd_scalar_style style;
    bool is_of_stored;
    int64_t level; /* -1: none */
    int64_t max_size;
} params_facts[] = {
    {"", "{}", "", NULL, NULL, {0}, false, -1, -1},
    {"slice=0:4,2", "{'slice':'0:4,2'}", "0:4,2", NULL, NULL, {0}, false, -1, -1},
    {"slice=0:4,2", "{'slice':['0:4','2']}", "0:4,2", NULL, NULL, {0}, false, -1, -1},
    {"expected_shape=10,5", "{'expected_shape':[10,5]}", "", "10,5", NULL, {0}, false, -1, -1},
    {"expected_shape=10, 5", "{'expected_shape':'10,5'}", "", "10,5", NULL, {0}, false, -1, -1},
    {"expected_shape=", "{'expected_shape':[]}", "", "", NULL, {0}, false, -1, -1},
    {"format=npy", "{'format':'npy'}", "", NULL, "npy", {0}, false, -1, -1},
    {"format=", "{'format':''}", "", NULL, "", {0}, false, -1, -1},
    {"nan=null&ints=string", "{'nan':'null','ints':'string'}", "", NULL, NULL,
        {.nan_null = true, .ints_string = true}, false, -1, -1},
    {"nan=string&ints=number", "{'nan':'string','ints':'number'}", "", NULL, NULL, {0}, false, -1,
        -1},
    {"origin=stored", "{'origin':'stored'}", "", NULL, NULL, {0}, true, -1, -1},
    {"level=3", "{'level':3}", "", NULL, NULL, {0}, false, 3, -1},
    {"max_size=0", "{'max_size':0}", "", NULL, NULL, {0}, false, -1, 0},
};

static void check(const struct zd_slice_params *ask, const struct params_fact *fact)
{
    ZD_SCOPED_TEXT(shape, BODY_BYTES_MAX);
    for (uint32_t d = 0; d < ask->rank; d++) {
        zd_text_addf(&shape, "%s%u", d == 0 ? "" : ",", (unsigned)ask->shape[d]);
    }
    ck_assert(zd_span_is(zd_text_span(&ask->slice), fact->slice));
    ck_assert_int_eq(ask->has_shape, fact->shape != NULL);
    ck_assert(zd_span_is(zd_text_span(&shape), fact->shape == NULL ? "" : fact->shape));
    ck_assert_int_eq(ask->has_format, fact->format != NULL);
    ck_assert(zd_span_is(zd_text_span(&ask->format), fact->format == NULL ? "" : fact->format));
    ck_assert_int_eq(ask->style.nan_null, fact->style.nan_null);
    ck_assert_int_eq(ask->style.ints_string, fact->style.ints_string);
    ck_assert_int_eq(ask->is_of_stored, fact->is_of_stored);
    ck_assert_int_eq(ask->has_level, fact->level >= 0);
    ck_assert_int_eq(ask->has_max_size, fact->max_size >= 0);
    ck_assert(fact->level < 0 || ask->level == (uint64_t)fact->level);
    ck_assert(fact->max_size < 0 || ask->max_size == (uint64_t)fact->max_size);
}

static enum zd_status read_query(const char *query, const char *const *allowed,
    struct zd_slice_params *ask, struct zd_error *err)
{
    struct zd_params params;
    const char *code = NULL;
    zd_slice_params_init(ask, &server);
    ZD_TRY(zd_params_parse(zd_span_of(query), allowed, NULL, &params, err));
    const enum zd_status status = zd_slice_params_query(ask, &params, &code, err);
    ck_assert_str_eq(code, "bad_parameter");
    zd_params_done(&params);
    return status;
}

static enum zd_status read_body(const char *body, struct zd_slice_params *ask, struct zd_error *err)
{
    const char *code = NULL;
    ZD_AUTO(zd_json) json = zd_unit_json(body);
    zd_slice_params_init(ask, &server);
    const enum zd_status status = zd_slice_params_body(ask, json, &code, err);
    ck_assert_str_eq(code, "bad_body");
    return status;
}

START_TEST(a_query_and_a_body_ask_the_same)
{
    const struct params_fact *fact = &params_facts[_i];
    struct zd_slice_params ask;
    ck_assert_int_eq(read_query(fact->query, zd_slice_params_of_slices, &ask, NULL), ZD_OK);
    check(&ask, fact);
    zd_slice_params_done(&ask);
    ck_assert_int_eq(read_body(fact->body, &ask, NULL), ZD_OK);
    check(&ask, fact);
    zd_slice_params_done(&ask);
}
END_TEST

static const struct bad_fact {
    const char *query;   /* or NULL */
    const char *body;    /* or NULL */
    const char *pointer; /* of the body's fault */
} bad_facts[] = {
    {"expected_shape=10,", "{'expected_shape':'10,'}", "/expected_shape"},
    {"expected_shape=-1", "{'expected_shape':[-1]}", "/expected_shape"},
    {NULL, "{'expected_shape':{}}", "/expected_shape"},
    {"nan=NULL", "{'nan':'NULL'}", "/nan"},
    {"ints=", "{'ints':1}", "/ints"},
    {"origin=0", "{'origin':null}", "/origin"},
    {"level=-1", "{'level':-1}", "/level"},
    {"max_size=x", "{'max_size':'1'}", "/max_size"},
    {NULL, "{'slice':[1.5]}", "/slice/0"},
    {NULL, "{'slice':1}", "/slice"},
    {NULL, "{'format':null}", "/format"},
    {NULL, "[]", ""},
    {"append=0", "{'append':'0'}", "/append"}, /* of writes */
    {"fill=drop", "{'fill':'drop'}", "/fill"}, /* of statistics */
    {"Slice=0", "{'Slice':'0'}", "/Slice"},
};

START_TEST(unknown_parameters_are_refused)
{
    const struct bad_fact *fact = &bad_facts[_i];
    struct zd_slice_params ask;
    struct zd_error err = {0};
    if (fact->query != NULL) {
        ck_assert_int_eq(
            read_query(fact->query, zd_slice_params_of_slices, &ask, &err), ZD_INVALID);
        zd_slice_params_done(&ask);
    }
    ck_assert_int_eq(read_body(fact->body, &ask, &err), ZD_INVALID);
    ck_assert_str_eq(err.facts.pointer, fact->pointer);
    zd_slice_params_done(&ask);
}
END_TEST

START_TEST(long_values_are_refused)
{
    char query[BODY_BYTES_MAX + 16] = "slice=";
    struct zd_slice_params ask;
    memset(query + strlen(query), '0', BODY_BYTES_MAX + 1);
    ck_assert_int_eq(read_query(query, zd_slice_params_of_slices, &ask, NULL), ZD_INVALID);
    zd_slice_params_done(&ask);
}
END_TEST

START_TEST(a_fault_names_the_members_that_a_body_may_have)
{
    struct zd_slice_params ask;
    struct zd_error err = {0};
    ck_assert_int_eq(read_body("{'x':1}", &ask, &err), ZD_INVALID);
    for (size_t i = 0; zd_slice_params_of_slices[i] != NULL; i++) {
        ck_assert_ptr_nonnull(strstr(err.text, zd_slice_params_of_slices[i]));
    }
    zd_slice_params_done(&ask);
}
END_TEST

START_TEST(statistics_and_writes_have_parameters_of_their_own)
{
    struct zd_slice_params ask;
    ck_assert_int_eq(read_query("slice=0&fill=drop&fields=min,max&origin=stored",
                         zd_slice_params_of_stats, &ask, NULL),
        ZD_OK);
    ck_assert(ask.drops_fill && ask.is_of_stored && ask.has_slice && ask.fields.len == 7);
    zd_slice_params_done(&ask);
    ck_assert_int_eq(read_query("append=0&dry_run&broadcast=1&expected_shape=3",
                         zd_slice_params_of_writes, &ask, NULL),
        ZD_OK);
    ck_assert(ask.has_append && ask.is_dry && ask.is_broadcast && ask.has_shape && !ask.has_slice);
    zd_slice_params_done(&ask);
    ck_assert_int_eq(read_query("format=npy", zd_slice_params_of_stats, &ask, NULL), ZD_INVALID);
    ck_assert_int_eq(read_query("nan=null", zd_slice_params_of_writes, &ask, NULL), ZD_INVALID);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_query_and_a_body_ask_the_same, 0, ZD_COUNT_OF(params_facts));
    tcase_add_loop_test(tests, unknown_parameters_are_refused, 0, ZD_COUNT_OF(bad_facts));
    tcase_add_test(tests, long_values_are_refused);
    tcase_add_test(tests, a_fault_names_the_members_that_a_body_may_have);
    tcase_add_test(tests, statistics_and_writes_have_parameters_of_their_own);
}
