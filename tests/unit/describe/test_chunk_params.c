/* Facts about server/describe/chunk_params: index=, level=, decoded=, and the tag of what they
 * name. */
#include "server/describe/chunk_params.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/array.h"
#include "tests/support/unit.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define SHARD                                                                                      \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[2,2],'codecs':[" LITTLE            \
    "],'index_codecs':[" LITTLE "]}}"

static const struct zd_unit_array plain = {2, {10, 10}, {4, 4}, "uint8", "[" LITTLE "]"};
static const struct zd_unit_array sharded = {2, {10, 10}, {4, 4}, "uint8", "[" SHARD "]"};
static const struct zd_unit_array point = {0, {0}, {0}, "uint8", "[" LITTLE "]"};

static const struct ask_fact {
    const struct zd_unit_array *array;
    const char *query;
    enum zd_status status;
    uint32_t level;
    uint64_t index[2];
    bool is_decoded;
    const char *name; /* of the parameter at fault */
} ask_facts[] = {
    {&plain, "index=0,0", ZD_OK, 0, {0, 0}, false, NULL},
    {&plain, "index=2,1&decoded=1", ZD_OK, 0, {2, 1}, true, NULL},
    {&plain, "index=-0,0", ZD_OK, 0, {0, 0}, false, NULL},
    {&plain, "index=1,2&level=outer", ZD_OK, 0, {1, 2}, false, NULL},
    {&sharded, "index=1,2&level=outer", ZD_OK, 0, {1, 2}, false, NULL},
    {&sharded, "index=4,4&level=inner", ZD_OK, 1, {4, 4}, false, NULL},
    {&sharded, "index=4,4&level=inner&decoded=1", ZD_OK, 1, {4, 4}, true, NULL},
    {&point, "index=", ZD_OK, 0, {0, 0}, false, NULL},
    {&plain, "", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0,", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0,0,0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0,0,", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0%20,0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0.0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=c/0/0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=%2B1,0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=--1,0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&point, "index=0", ZD_INVALID, 0, {0, 0}, false, "index"},
    {&plain, "index=0,0&decoded=2", ZD_INVALID, 0, {0, 0}, false, "decoded"},
    {&plain, "index=0,0&level=0", ZD_INVALID, 0, {0, 0}, false, "level"},
    {&plain, "index=0,0&level=inner", ZD_INVALID, 0, {0, 0}, false, "level"}, /* no shards */
    {&plain, "index=3,0", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
    {&plain, "index=0,-1", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
    {&plain, "index=0,18446744073709551615", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
    {&plain, "index=18446744073709551616,0", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
    {&plain, "index=-18446744073709551616,0", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
    {&sharded, "index=4,4", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
    {&sharded, "index=5,0&level=inner", ZD_OUT_OF_BOUNDS, 0, {0, 0}, false, NULL},
};

static struct zd_layout *open_layout(const struct zd_unit_array *array)
{
    ZD_AUTO(zd_meta) meta = zd_unit_meta(array);
    struct zd_layout *layout = NULL;
    ck_assert_int_eq(zd_layout_new(meta, UINT64_MAX, &layout, NULL), ZD_OK);
    return layout;
}

START_TEST(parameters_name_a_chunk)
{
    const struct ask_fact *fact = &ask_facts[_i];
    ZD_AUTO(zd_layout) layout = open_layout(fact->array);
    struct zd_params params;
    struct zd_chunk_params ask = {.level = 7};
    struct zd_error err = {0};
    ck_assert_int_eq(zd_params_parse(zd_span_of(fact->query), NULL, NULL, &params, NULL), ZD_OK);
    const enum zd_status status = zd_chunk_params_parse(&params, layout, &ask, &err);
    zd_params_done(&params);
    ck_assert_msg(status == fact->status, "%s: %s", fact->query, err.text);
    if (status != ZD_OK) {
        ck_assert_uint_eq(ask.level, 7); /* untouched */
        ck_assert(fact->name == NULL || strcmp(err.facts.name, fact->name) == 0);
        ck_assert_int_eq(status == ZD_OUT_OF_BOUNDS, (err.facts.set & ZD_FACT_DIM) != 0);
        return;
    }
    ck_assert_uint_eq(ask.level, fact->level);
    ck_assert_int_eq(ask.is_decoded, fact->is_decoded);
    ck_assert_mem_eq(ask.index, fact->index, sizeof fact->index);
}
END_TEST

START_TEST(a_large_index_is_told_as_it_was_asked)
{
    static const struct {
        const char *query;
        uint32_t dim;
        int64_t index;
    } facts[] = {{"index=0,-1", 1, -1}, {"index=3,0", 0, 3}};
    ZD_AUTO(zd_layout) layout = open_layout(&plain);
    struct zd_params params;
    struct zd_chunk_params ask;
    struct zd_error err = {0};
    ck_assert_int_eq(
        zd_params_parse(zd_span_of(facts[_i].query), NULL, NULL, &params, NULL), ZD_OK);
    ck_assert_int_eq(zd_chunk_params_parse(&params, layout, &ask, &err), ZD_OUT_OF_BOUNDS);
    zd_params_done(&params);
    ck_assert_uint_eq(err.facts.dim, facts[_i].dim);
    ck_assert_int_eq(err.facts.index, facts[_i].index);
    ck_assert_uint_eq(err.facts.size, 3);
}
END_TEST

/* Each of them differs from the first in one thing. */
static const struct tag_fact {
    uint64_t node;
    struct zd_generation generation;
    struct zd_chunk_params ask;
} tag_facts[] = {
    {1, {{2, 3}}, {0, {4, 5}, false}},
    {9, {{2, 3}}, {0, {4, 5}, false}},
    {1, {{9, 3}}, {0, {4, 5}, false}},
    {1, {{2, 9}}, {0, {4, 5}, false}},
    {1, {{0, 0}}, {0, {4, 5}, false}},
    {1, {{2, 3}}, {1, {4, 5}, false}},
    {1, {{2, 3}}, {0, {9, 5}, false}},
    {1, {{2, 3}}, {0, {4, 9}, false}},
    {1, {{2, 3}}, {0, {5, 4}, false}},
    {1, {{2, 3}}, {0, {4, 5}, true}},
};

START_TEST(tags_tell_chunks_apart)
{
    ZD_AUTO(zd_meta) meta = zd_unit_meta(&plain);
    char tag[ZD_COUNT_OF(tag_facts)][ZD_TAG_BYTES];
    char again[ZD_TAG_BYTES];
    for (size_t i = 0; i < ZD_COUNT_OF(tag_facts); i++) {
        const struct tag_fact *fact = &tag_facts[i];
        const struct zd_node node = {.meta = meta, .tag = fact->node};
        zd_chunk_params_tag(&node, &fact->ask, fact->generation, tag[i]);
        zd_chunk_params_tag(&node, &fact->ask, fact->generation, again);
        ck_assert_str_eq(tag[i], again);
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(tag[i], tag[j]);
        }
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, parameters_name_a_chunk, 0, ZD_COUNT_OF(ask_facts));
    tcase_add_loop_test(tests, a_large_index_is_told_as_it_was_asked, 0, 2);
    tcase_add_test(tests, tags_tell_chunks_apart);
}
