/* Facts about server/slice/param_value: values of a query, and of members of a body, mean the same.
 */
#include "server/slice/param_value.h"

#include <string.h>

#include "core/base/num.h"
#include "server/runtime/server.h"
#include "tests/support/codec.h"

#define BODY_BYTES_MAX 256
#define SHOWN_BYTES    512

static const struct zd_config config = {.settings.limits_body_bytes = BODY_BYTES_MAX};
static struct zd_server server = {.config = &config};

/* Entries that end with NUL, each behind a space. */
static void show_entries(struct zd_text *text, const char *name, const struct zd_text *list)
{
    zd_text_addf(text, "%s:", name);
    for (size_t at = 0; at < list->len; at += strlen(list->at + at) + 1) {
        zd_text_addf(text, " %s", list->at + at);
    }
    zd_text_add(text, ";");
}

static void show_picks(struct zd_text *text, const struct zd_selectors *picks)
{
    for (uint32_t i = 0; i < picks->n; i++) {
        const struct zd_selector *pick = &picks->pick[i];
        zd_text_addf(text, "%s %.*s%s%.*s%s;", pick->by_value ? "sel" : "isel", (int)pick->dim_len,
            picks->text.at + pick->dim_at, pick->dim_len > 0 ? "=" : "", (int)pick->len,
            picks->text.at + pick->at, pick->is_number ? " number" : "");
    }
}

/* Show the parameters that were read. */
static void show(struct zd_text *text, const struct zd_slice_params *ask)
{
    show_picks(text, &ask->picks);
    if (ask->has_arrays) {
        zd_text_addf(text, "%u ", (unsigned)ask->n_arrays);
        show_entries(text, "arrays", &ask->arrays);
    }
    if (ask->has_reduce) {
        zd_text_addf(text, "reduce %s;", zd_reduce_names[ask->reduce]);
    }
    if (ask->has_over) {
        show_entries(text, "over", &ask->over);
    }
    if (ask->has_coarsen) {
        show_entries(text, "coarsen", &ask->coarsen);
    }
    if (ask->has_agg) {
        zd_text_addf(text, "agg %u;", (unsigned)ask->agg);
    }
    if (ask->has_dtype) {
        zd_text_addf(text, "dtype %s;", ask->dtype.at);
    }
    const struct {
        const char *name;
        bool is_given;
        bool value;
    } flags[] = {
        {"skipna", ask->has_skipna, ask->skipna},
        {"coords", ask->has_coords, ask->coords},
        {"header", ask->has_header, ask->header},
        {"decodes", ask->decodes, true},
        {"table", ask->is_table, true},
        {"plan", ask->wants_plan, true},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(flags); i++) {
        if (flags[i].is_given) {
            zd_text_addf(text, "%s %d;", flags[i].name, flags[i].value);
        }
    }
}

/* A value in both its forms. */
static const struct value_fact {
    const char *query;
    const char *body; /* with ' for " */
    const char *shown_of_query;
    const char *shown_of_body; /* NULL: the same */
} value_facts[] = {
    {"reduce=mean&over=t,x", "{'reduce':'mean','over':'t,x'}", "reduce mean;over: t x;", NULL},
    {"reduce=var&over=t,0", "{'reduce':'var','over':['t',0]}", "reduce var;over: t 0;", NULL},
    {"over=", "{'over':''}", "over: ;", NULL},
    {"over=,", "{'over':['','']}", "over:  ;", NULL},
    {"coarsen=y:2,x:3&agg=max", "{'coarsen':['y:2','x:3'],'agg':'max'}", "coarsen: y:2 x:3;agg 2;",
        NULL},
    {"agg=nearest", "{'agg':'nearest'}", "agg 4;", NULL},
    {"arrays=u,v/w", "{'arrays':['u','v/w']}", "2 arrays: u v/w;", NULL},
    {"skipna=0&coords=1&header=0", "{'skipna':false,'coords':true,'header':0}",
        "skipna 0;coords 1;header 0;", NULL},
    {"skipna=1", "{'skipna':1}", "skipna 1;", NULL},
    {"decode=cf&layout=table&plan=1", "{'decode':'cf','layout':'table','plan':true}",
        "decodes 1;table 1;plan 1;", NULL},
    {"layout=array", "{'layout':'array'}", "", NULL},
    {"dtype=f4", "{'dtype':'f4'}", "dtype f4;", NULL},
    /* In a query, only the array tells where a dimension ends. */
    {"isel=t=0:2&sel=x=1/..", "{'isel':{'t':'0:2'},'sel':{'x':'1/..'}}", "isel t=0:2;sel x=1/..;",
        NULL},
    {"isel=t=-1", "{'isel':{'t':-1}}", "isel t=-1;", "isel t=-1 number;"},
    {"sel=x=0.1", "{'sel':{'x':0.1}}", "sel x=0.1;", "sel x=0.1 number;"},
    {"sel=x=18446744073709551615", "{'sel':{'x':18446744073709551615}}",
        "sel x=18446744073709551615;", "sel x=18446744073709551615 number;"},
};

static void read_query(struct zd_slice_params *ask, const char *query)
{
    struct zd_params params;
    const char *code = NULL;
    zd_slice_params_init(ask, &server);
    ck_assert_int_eq(zd_params_parse(zd_span_of(query), zd_slice_params_of_slices,
                         zd_slice_params_repeated, &params, NULL),
        ZD_OK);
    ck_assert_int_eq(zd_slice_params_query(ask, &params, &code, NULL), ZD_OK);
    zd_params_done(&params);
}

START_TEST(a_query_and_a_body_mean_the_same)
{
    const struct value_fact *fact = &value_facts[_i];
    const char *of_body = fact->shown_of_body == NULL ? fact->shown_of_query : fact->shown_of_body;
    struct zd_slice_params ask;
    const char *code = NULL;
    ZD_AUTO(zd_json) body = zd_unit_json(fact->body);
    ZD_SCOPED_TEXT(shown, SHOWN_BYTES);
    read_query(&ask, fact->query);
    show(&shown, &ask);
    zd_slice_params_done(&ask);
    ck_assert_str_eq(shown.at, fact->shown_of_query);
    zd_text_clear(&shown);
    zd_slice_params_init(&ask, &server);
    ck_assert_int_eq(zd_slice_params_body(&ask, body, &code, NULL), ZD_OK);
    show(&shown, &ask);
    zd_slice_params_done(&ask);
    ck_assert_str_eq(shown.at, of_body);
}
END_TEST

static const struct bad_fact {
    const char *body;
    const char *pointer;
} bad_facts[] = {
    {"{'reduce':'median'}", "/reduce"},
    {"{'reduce':1}", "/reduce"},
    {"{'agg':'std'}", "/agg"},
    {"{'over':1}", "/over"},
    {"{'over':['t',-1]}", "/over/1"},
    {"{'over':['t',null]}", "/over/1"},
    {"{'over':['t\\u0000x']}", "/over/0"}, /* it would be two entries */
    {"{'coarsen':['y:2\\u0000x:3']}", "/coarsen/0"},
    {"{'arrays':'u'}", "/arrays"},
    {"{'arrays':[]}", "/arrays"},
    {"{'arrays':['u',1]}", "/arrays/1"},
    {"{'arrays':['u\\u0000v']}", "/arrays/0"},
    {"{'skipna':2}", "/skipna"},
    {"{'skipna':'1'}", "/skipna"},
    {"{'plan':1}", "/plan"},
    {"{'decode':true}", "/decode"},
    {"{'decode':'CF'}", "/decode"},
    {"{'layout':'tables'}", "/layout"},
    {"{'dtype':4}", "/dtype"},
    {"{'isel':'t=0'}", "/isel"},
    {"{'isel':{'t':0.5}}", "/isel/t"},
    {"{'sel':{'a/b':[1]}}", "/sel/a~1b"},
};

START_TEST(a_fault_says_where_it_is)
{
    const struct bad_fact *fact = &bad_facts[_i];
    struct zd_slice_params ask;
    struct zd_error err = {0};
    const char *code = NULL;
    ZD_AUTO(zd_json) body = zd_unit_json(fact->body);
    zd_slice_params_init(&ask, &server);
    ck_assert_int_eq(zd_slice_params_body(&ask, body, &code, &err), ZD_INVALID);
    ck_assert_str_eq(code, "bad_body");
    ck_assert_str_eq(err.facts.pointer, fact->pointer);
    zd_slice_params_done(&ask);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_query_and_a_body_mean_the_same, 0, ZD_COUNT_OF(value_facts));
    tcase_add_loop_test(tests, a_fault_says_where_it_is, 0, ZD_COUNT_OF(bad_facts));
}
