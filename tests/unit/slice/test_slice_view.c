/* Facts about server/slice/slice_view: what is too large, and the pieces that are not; what changes
 * the tag of a slice, and which tags a writer may name. */
#include "server/slice/slice_view.h"

#include <stddef.h>
#include <string.h>

#include "core/base/num.h"
#include "server/runtime/server.h"
#include "tests/support/array.h"
#include "tests/support/unit.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define SHARD                                                                                      \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[4],'codecs':[" LITTLE              \
    "],'index_codecs':[" LITTLE "]}}"

static const struct zd_unit_array unsharded = {2, {100, 100}, {10, 50}, "uint16", "[" LITTLE "]"};
static const struct zd_unit_array sharded = {1, {100}, {16}, "uint8", "[" SHARD "]"};
static const struct zd_unit_array point = {0, {0}, {0}, "uint8", "[" LITTLE "]"};

/* An array on a server with that limit of chunks. */
struct scene {
    struct zd_config config;
    struct zd_server server;
    struct zd_dataset dataset;
    struct zd_node node;
    struct zd_selection asked;
    struct zd_selection selection;
    uint64_t bytes_max;
    struct zd_slice_view view;
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
    scene->bytes_max = bytes_max;
    scene->asked = scene->selection;
    scene->view = (struct zd_slice_view){
        .node = &scene->node,
        .asked = &scene->asked,
        .selection = &scene->selection,
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
    {&unsharded, "", 20, 20000, 0, 0},
    {&unsharded, "", 20, 19999, 19999, 20000},
    {&unsharded, "", 19, 20000, 19, 20},
    {&unsharded, "0,:", 2, 200, 0, 0},
    {&unsharded, "::10,::50", 20, 40, 0, 0},
    {&unsharded, "0:0", 0, 0, 0, 0},
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
    const enum zd_status status =
        zd_slice_view_check(&scene.view, fact->bytes_max, "limits.slice_bytes", &err);
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
    uint64_t origin; /* where the client counts from */
    uint64_t n;
    const char *first; /* two of them */
    const char *second;
} piece_facts[] = {
    {&unsharded, "", 10, 20000, 0, 2, "0:50:1,0:100:1", "50:100:1,0:100:1"},
    {&unsharded, "", 100, 1000, 0, 20, "0:10:1,0:50:1", "0:10:1,50:100:1"}, /* a chunk each */
    {&unsharded, "5:15,:", 2, 20000, 0, 2, "5:10:1,0:100:1", "10:15:1,0:100:1"},
    {&unsharded, "30:,:", 10, 20000, 30, 2, "0:50:1,0:100:1", "50:70:1,0:100:1"},
    {&unsharded, "30:,:", 10, 20000, 0, 2, "30:80:1,0:100:1", "80:100:1,0:100:1"},
    {&sharded, "", 100, 16, 0, 7, "0:16:1", "16:32:1"}, /* whole objects */
    {&sharded, "", 100, 4, 0, 25, "0:4:1", "4:8:1"},    /* inner chunks */
    {&sharded, "", 100, 2, 0, 50, "0:2:1", "2:4:1"},    /* elements */
    {&sharded, "::-1", 4, 100, 0, 7, "99:95:-1", NULL},
};

START_TEST(pieces_are_of_whole_objects_where_they_can_be)
{
    const struct piece_fact *fact = &piece_facts[_i];
    struct scene scene;
    scene_init(&scene, fact->array, fact->slice, fact->chunks_max, fact->bytes_max);
    scene.asked.axis[0].start -= fact->origin;
    ZD_AUTO(zd_json) extra = zd_slice_view_pieces(&scene.view, scene.bytes_max);
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
    scene_init(&scene, &unsharded, slices[_i], 3, 700);
    ck_assert_int_eq(zd_slice_view_check(&scene.view, scene.bytes_max, "", NULL), ZD_TOO_LARGE);
    ZD_AUTO(zd_json) extra = zd_slice_view_pieces(&scene.view, scene.bytes_max);
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
        scene.view.selection = &piece;
        ck_assert_int_eq(zd_slice_view_check(&scene.view, scene.bytes_max, "", NULL), ZD_OK);
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
    scene_init(&scene, &unsharded, "", 1, 2);
    ZD_AUTO(zd_json) extra = zd_slice_view_pieces(&scene.view, scene.bytes_max);
    ck_assert(zd_json_u64(zd_json_member(extra, "n_suggestions"), &n));
    ck_assert_uint_eq(n, 10000);
    ck_assert_uint_eq(zd_json_count(zd_json_member(extra, "suggestions")), 64);
    scene_done(&scene);
}
END_TEST

/* ---- entity tags ---- */

static const struct zd_unit_array tagged = {2, {20, 20}, {10, 10}, "int64", "[" LITTLE "]"};

/* A slice whose objects all are in one generation. */
struct tag_scene {
    struct zd_node node;
    struct zd_seen_objects touched;
    struct zd_selection asked;
    struct zd_selection selection;
    struct zd_slice_view view;
};

static void tag_scene_init(struct tag_scene *scene, const char *slice, uint64_t generation)
{
    *scene = (struct tag_scene){.node = {.meta = zd_unit_meta(&tagged), .tag = 7}};
    const struct zd_grid *grid = &scene->node.meta->grid;
    ck_assert_int_eq(zd_layout_new(scene->node.meta, UINT64_MAX, &scene->node.layout, NULL), ZD_OK);
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of(slice), grid->rank, grid->shape, &scene->selection, NULL),
        ZD_OK);
    scene->asked = scene->selection;
    ck_assert_int_eq(
        zd_seen_objects_init(&scene->touched, scene->node.layout, &scene->selection, NULL), ZD_OK);
    for (uint64_t i = 0; i < scene->touched.n; i++) {
        ck_assert(zd_seen_objects_see(
            &scene->touched, i, (struct zd_generation){.word = {generation, i}}));
    }
    scene->view = (struct zd_slice_view){
        .node = &scene->node,
        .seen = &scene->touched,
        .asked = &scene->asked,
        .selection = &scene->selection,
    };
}

static void tag_scene_done(struct tag_scene *scene)
{
    zd_seen_objects_done(&scene->touched);
    zd_layout_free(scene->node.layout);
    zd_meta_unref(scene->node.meta);
}

static struct zd_slice_form form_of(const char *format)
{
    return (struct zd_slice_form){.format = zd_format_find(zd_span_of(format))};
}

/* No two have one tag. */
static const struct tag_fact {
    const char *slice;
    uint64_t generation;
    uint64_t node;
    uint64_t origin; /* where the client counts from */
    struct zd_slice_form form;
    const char *format;
} tag_facts[] = {
    {"0:4,0:4", 1, 7, 0, {0}, "json"},
    {"0:4,0:4", 2, 7, 0, {0}, "json"},
    {"0:4,0:4", 1, 8, 0, {0}, "json"},
    {"0:4,0:4", 1, 7, 3, {0}, "json"},
    {"0:4,0:4", 1, 7, 0, {.style.nan_null = true}, "json"},
    {"0:4,0:4", 1, 7, 0, {.style.ints_string = true}, "json"},
    {"0:4,0:4", 1, 7, 0, {.pretty = true}, "json"},
    {"0:4,0:4", 1, 7, 0, {0}, "csv"},
    {"0:4,0:4", 1, 7, 0, {0}, "npy"},
    {"0:4,0:4", 1, 7, 0, {0}, "raw"},
    {"0:4,1:5", 1, 7, 0, {0}, "json"},
    {"1:5,0:4", 1, 7, 0, {0}, "json"},
    {"0:5,0:4", 1, 7, 0, {0}, "json"},
    {"0:4,0:5", 1, 7, 0, {0}, "json"},
    {"0:8:2,0:4", 1, 7, 0, {0}, "json"},
    {"0:7:2,0:4", 1, 7, 0, {0}, "json"}, /* the same elements, told in another way */
    {"3::-1,0:4", 1, 7, 0, {0}, "json"},
    {"0:1,0:4", 1, 7, 0, {0}, "json"},
    {"0,0:4", 1, 7, 0, {0}, "json"},
    {"", 1, 7, 0, {0}, "json"},
    {"0:0,0:4", 1, 7, 0, {0}, "json"},
};

static void tag_of(const struct tag_fact *fact, char to[ZD_TAG_BYTES])
{
    struct tag_scene scene;
    struct zd_slice_form form = fact->form;
    tag_scene_init(&scene, fact->slice, fact->generation);
    scene.node.tag = fact->node;
    scene.asked.axis[0].start -= fact->origin;
    form.format = form_of(fact->format).format;
    zd_slice_view_tag(&scene.view, &form, to);
    tag_scene_done(&scene);
}

START_TEST(tags_tell_slices_apart)
{
    char tag[ZD_COUNT_OF(tag_facts)][ZD_TAG_BYTES];
    char again[ZD_TAG_BYTES];
    for (size_t i = 0; i < ZD_COUNT_OF(tag_facts); i++) {
        tag_of(&tag_facts[i], tag[i]);
        tag_of(&tag_facts[i], again);
        ck_assert_str_eq(tag[i], again);
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(strcmp(tag[i], tag[j]) != 0, "rows %zu and %zu have one tag", j, i);
        }
    }
}
END_TEST

/* How text looks is nothing to formats that are none. */
START_TEST(styles_are_of_text_only)
{
    static const char *const formats[] = {"raw", "npy"};
    struct tag_scene scene;
    char tag[ZD_TAG_BYTES];
    char again[ZD_TAG_BYTES];
    struct zd_slice_form form = form_of(formats[_i]);
    tag_scene_init(&scene, "0:4", 1);
    zd_slice_view_tag(&scene.view, &form, tag);
    form.style.nan_null = true;
    form.pretty = true;
    zd_slice_view_tag(&scene.view, &form, again);
    ck_assert_str_eq(tag, again);
    tag_scene_done(&scene);
}
END_TEST

static enum zd_status judge(const struct tag_scene *scene, const char *if_match)
{
    const struct zd_request req = {.conditions.if_match = if_match};
    return zd_slice_view_judge(&scene->view, &req);
}

START_TEST(a_writer_may_have_seen_the_slice_in_any_form)
{
    struct tag_scene scene;
    struct tag_scene later;
    char tag[ZD_TAG_BYTES];
    char coded[ZD_TAG_BYTES];
    tag_scene_init(&scene, "0:4,2", 1);
    tag_scene_init(&later, "0:4,2", 2);
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        for (unsigned style = 0; style < 8; style++) {
            const struct zd_slice_form form = {.format = zd_formats[i],
                .style = {.nan_null = (style & 1) != 0, .ints_string = (style & 2) != 0},
                .pretty = (style & 4) != 0};
            zd_slice_view_tag(&scene.view, &form, tag);
            ck_assert_int_eq(judge(&scene, tag), ZD_OK);
            ck_assert_int_eq(judge(&later, tag), ZD_PRECONDITION);
            zd_tag_code(coded, tag, ZD_PLAIN + 1);
            ck_assert_int_eq(
                judge(&scene, coded), zd_formats[i]->is_text ? ZD_OK : ZD_PRECONDITION);
        }
    }
    ck_assert_int_eq(judge(&scene, "*"), ZD_OK);
    ck_assert_int_eq(judge(&scene, "\"x\""), ZD_PRECONDITION);
    ck_assert_int_eq(judge(&scene, NULL), ZD_OK);
    tag_scene_done(&scene);
    tag_scene_done(&later);
}
END_TEST

/* A member that is added to the styles fails here until slice_view.c has a bit for it. */
START_TEST(each_choice_of_text_has_a_tag_that_a_writer_may_name)
{
    struct tag_scene scene;
    char plain[ZD_TAG_BYTES];
    char tag[ZD_TAG_BYTES];
    const struct zd_slice_form json = form_of("json");
    tag_scene_init(&scene, "0:4,2", 1);
    zd_slice_view_tag(&scene.view, &json, plain);
    for (size_t i = offsetof(struct zd_slice_form, style);
        i <= offsetof(struct zd_slice_form, pretty); i++) {
        struct zd_slice_form form = json;
        ((bool *)&form)[i] = true;
        if (form.style.bare_strings) {
            continue; /* what CSV always does */
        }
        zd_slice_view_tag(&scene.view, &form, tag);
        ck_assert_str_ne(tag, plain);
        ck_assert_int_eq(judge(&scene, tag), ZD_OK);
    }
    tag_scene_done(&scene);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, limits_are_exact, 0, ZD_COUNT_OF(limit_facts));
    tcase_add_loop_test(
        tests, pieces_are_of_whole_objects_where_they_can_be, 0, ZD_COUNT_OF(piece_facts));
    tcase_add_loop_test(tests, pieces_fit_and_are_the_slice, 0, 4);
    tcase_add_test(tests, suggestions_have_an_end_and_their_number_has_none);
    tcase_add_test(tests, tags_tell_slices_apart);
    tcase_add_loop_test(tests, styles_are_of_text_only, 0, 2);
    tcase_add_test(tests, a_writer_may_have_seen_the_slice_in_any_form);
    tcase_add_test(tests, each_choice_of_text_has_a_tag_that_a_writer_may_name);
}
