/* Facts about server/slice/slice_limits: what is too large, and the pieces that are not. */
#include "server/slice/slice_suggest.h"

#include <string.h>

#include "core/base/num.h"
#include "server/runtime/server.h"
#include "tests/support/array.h"
#include "tests/support/unit.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define SHARD                                                                                      \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[4],'codecs':[" LITTLE              \
    "],'index_codecs':[" LITTLE "]}}"

static const struct zd_unit_array plain = {2, {100, 100}, {10, 50}, "uint16", "[" LITTLE "]"};
static const struct zd_unit_array sharded = {1, {100}, {16}, "uint8", "[" SHARD "]"};
static const struct zd_unit_array point = {0, {0}, {0}, "uint8", "[" LITTLE "]"};

/* An array on a server with that limit of chunks. */
struct scene {
    struct zd_config config;
    struct zd_server server;
    struct zd_dataset dataset;
    struct zd_node node;
    struct zd_selection selection;
    struct zd_slice_limits_whole whole;
};

static void scene_init(struct scene *scene, const struct zd_unit_array *array, const char *slice,
    uint64_t chunks_max, uint64_t bytes_max)
{
    *scene = (struct scene){.config.settings.limits_slice_chunks = chunks_max};
    struct zd_meta *meta = zd_unit_meta(array);
    scene->server.config = &scene->config;
    scene->dataset.server = &scene->server;
    scene->node = (struct zd_node){.dataset = &scene->dataset, .meta = meta};
    ck_assert_int_eq(zd_layout_new(meta, UINT64_MAX, &scene->node.layout, NULL), ZD_OK);
    ck_assert_int_eq(zd_selection_parse(zd_span_of(slice), meta->grid.rank, meta->grid.shape,
                         &scene->selection, NULL),
        ZD_OK);
    scene->whole = (struct zd_slice_limits_whole){
        .node = &scene->node,
        .selection = &scene->selection,
        .bytes_max = bytes_max,
        .setting = "limits.response_bytes",
    };
}

static void scene_done(struct scene *scene)
{
    zd_layout_free(scene->node.layout);
    zd_meta_unref(scene->node.meta);
}

static const struct limit_fact {
    const struct zd_unit_array *array;
    const char *slice;
    uint64_t chunks_max;
    uint64_t bytes_max;
    uint64_t limit; /* 0: it is not too large */
    uint64_t requested;
} limit_facts[] = {
    {&plain, "", 20, 20000, 0, 0},
    {&plain, "", 20, 19999, 19999, 20000},
    {&plain, "", 19, 20000, 19, 20},
    {&plain, "0,:", 2, 200, 0, 0},
    {&plain, "::10,::50", 20, 40, 0, 0},
    {&plain, "0:0", 0, 0, 0, 0},
    {&sharded, "", 25, 100, 0, 0}, /* inner chunks count */
    {&sharded, "", 24, 100, 24, 25},
    {&point, "", 1, 1, 0, 0},
    {&point, "", 1, 0, 0, 1},
};

START_TEST(limits_are_exact)
{
    const struct limit_fact *fact = &limit_facts[_i];
    struct scene scene;
    struct zd_error err = {0};
    scene_init(&scene, fact->array, fact->slice, fact->chunks_max, fact->bytes_max);
    const enum zd_status status = zd_slice_limits_check(&scene.whole, &err);
    ck_assert_int_eq(status, fact->requested == 0 ? ZD_OK : ZD_TOO_LARGE);
    ck_assert_uint_eq(err.facts.limit, fact->limit);
    ck_assert_uint_eq(err.facts.requested, fact->requested);
    scene_done(&scene);
}
END_TEST

static const struct piece_fact {
    const struct zd_unit_array *array;
    const char *slice;
    uint64_t chunks_max;
    uint64_t bytes_max;
    uint64_t origin;
    bool is_of_stored;
    uint64_t n;
    const char *first; /* two of them */
    const char *second;
} piece_facts[] = {
    {&plain, "", 10, 20000, 0, false, 2, "0:50:1,0:100:1", "50:100:1,0:100:1"},
    {&plain, "", 100, 1000, 0, false, 20, "0:10:1,0:50:1", "0:10:1,50:100:1"}, /* a chunk each */
    {&plain, "5:15,:", 2, 20000, 0, false, 2, "5:10:1,0:100:1", "10:15:1,0:100:1"},
    {&plain, "30:,:", 10, 20000, 30, false, 2, "0:50:1,0:100:1", "50:70:1,0:100:1"},
    {&plain, "30:,:", 10, 20000, 30, true, 2, "30:80:1,0:100:1", "80:100:1,0:100:1"},
    {&sharded, "", 100, 16, 0, false, 7, "0:16:1", "16:32:1"}, /* whole objects */
    {&sharded, "", 100, 4, 0, false, 25, "0:4:1", "4:8:1"},    /* inner chunks */
    {&sharded, "", 100, 2, 0, false, 50, "0:2:1", "2:4:1"},    /* elements */
    {&sharded, "::-1", 4, 100, 0, false, 7, "99:95:-1", NULL},
};

START_TEST(pieces_are_of_whole_objects_where_they_can_be)
{
    const struct piece_fact *fact = &piece_facts[_i];
    struct scene scene;
    scene_init(&scene, fact->array, fact->slice, fact->chunks_max, fact->bytes_max);
    scene.node.meta->view.origin[0] = fact->origin;
    scene.whole.is_of_stored = fact->is_of_stored;
    ZD_AUTO(zd_json) extra = zd_slice_suggest_pieces(&scene.whole);
    const struct zd_json *list = zd_json_member(extra, "suggestions");
    uint64_t n = 0;
    ck_assert(zd_json_u64(zd_json_member(extra, "n_suggestions"), &n));
    ck_assert_uint_eq(n, fact->n);
    ck_assert_uint_eq(zd_json_count(list), n);
    ck_assert_str_eq(zd_json_string(zd_json_element(list, 0)), fact->first);
    if (fact->second != NULL) {
        ck_assert_str_eq(zd_json_string(zd_json_element(list, 1)), fact->second);
    }
    scene_done(&scene);
}
END_TEST

/* Each piece is accepted when it is asked for, and together they are the slice. */
START_TEST(pieces_fit_and_are_the_slice)
{
    static const char *const slices[] = {"", "3:97:3,7:93", "90:10:-7,50", "::7,:"};
    struct scene scene;
    scene_init(&scene, &plain, slices[_i], 3, 700);
    ck_assert_int_eq(zd_slice_limits_check(&scene.whole, NULL), ZD_TOO_LARGE);
    ZD_AUTO(zd_json) extra = zd_slice_suggest_pieces(&scene.whole);
    const struct zd_json *list = zd_json_member(extra, "suggestions");
    uint64_t n = 0;
    uint64_t n_elements = 0;
    uint64_t n_wanted = 0;
    const struct zd_grid *grid = &scene.node.meta->grid;
    ck_assert(!zd_selection_overflows(&scene.selection, &n_wanted));
    for (size_t i = 0; i < zd_json_count(list); i++) {
        struct zd_selection piece;
        ck_assert_int_eq(zd_selection_parse(zd_json_string_span(zd_json_element(list, i)),
                             grid->rank, grid->shape, &piece, NULL),
            ZD_OK);
        scene.whole.selection = &piece;
        ck_assert_int_eq(zd_slice_limits_check(&scene.whole, NULL), ZD_OK);
        ck_assert(!zd_selection_overflows(&piece, &n));
        n_elements += n;
    }
    ck_assert(zd_json_u64(zd_json_member(extra, "n_suggestions"), &n));
    ck_assert(n == zd_json_count(list) ? n_elements == n_wanted : n_elements < n_wanted);
    scene_done(&scene);
}
END_TEST

START_TEST(suggestions_have_an_end_and_their_number_has_none)
{
    struct scene scene;
    uint64_t n = 0;
    scene_init(&scene, &plain, "", 1, 2);
    ZD_AUTO(zd_json) extra = zd_slice_suggest_pieces(&scene.whole);
    ck_assert(zd_json_u64(zd_json_member(extra, "n_suggestions"), &n));
    ck_assert_uint_eq(n, 10000);
    ck_assert_uint_eq(zd_json_count(zd_json_member(extra, "suggestions")), 64);
    scene_done(&scene);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, limits_are_exact, 0, ZD_COUNT_OF(limit_facts));
    tcase_add_loop_test(
        tests, pieces_are_of_whole_objects_where_they_can_be, 0, ZD_COUNT_OF(piece_facts));
    tcase_add_loop_test(tests, pieces_fit_and_are_the_slice, 0, 4);
    tcase_add_test(tests, suggestions_have_an_end_and_their_number_has_none);
}
