/* server/data/survey: every stored object once, in order, and no count but its own. */
#include "server/data/object_cache.h"
#include "server/data/survey.h"

#include <string.h>

#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define ARRAY                                                                                      \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [100000000], "                      \
    "\"data_type\": \"uint8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "        \
    "{\"chunk_shape\": [1]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": "   \
    "7, "                                                                                          \
    "\"codecs\": [{\"name\": \"bytes\"}]}"
#define DOCUMENT      "/zarr.json" /* as long as the key of chunk 9999999 */
#define N_OBJECTS_MAX 1000

/* Something that does rounds until the survey is done. */
struct surveyor {
    struct zd_machine machine;
    struct zd_survey survey;
    enum zd_status status;
    struct zd_error err;
    uint32_t n_ends;
    uint64_t n_seen;
    bool is_there[N_OBJECTS_MAX];
};

static void see(struct zd_survey *survey, uint64_t number, struct zd_generation generation)
{
    struct surveyor *surveyor = ZD_CONTAINER(survey, struct surveyor, survey);
    ck_assert_uint_eq(number, surveyor->n_seen);
    surveyor->is_there[surveyor->n_seen++] = zd_generation_is_set(generation);
}

static enum zd_next step(struct zd_machine *machine)
{
    struct surveyor *surveyor = ZD_CONTAINER(machine, struct surveyor, machine);
    enum zd_next next = ZD_DONE;
    surveyor->status = zd_survey_round(&surveyor->survey, &next, &surveyor->err);
    return surveyor->status != ZD_OK || surveyor->survey.is_done ? ZD_DONE : next;
}

static void end(struct zd_machine *machine)
{
    ZD_CONTAINER(machine, struct surveyor, machine)->n_ends++;
}

static void begin(struct surveyor *surveyor, struct zd_node *node, uint64_t first, uint64_t n)
{
    const struct zd_grid *grid = &node->layout->level[0].grid;
    char slice[64];
    struct zd_selection selection;
    (void)snprintf(slice, sizeof slice, "%llu:%llu", (unsigned long long)first,
        (unsigned long long)(first + n));
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of(slice), 1, grid->shape, &selection, NULL), ZD_OK);
    *surveyor = (struct surveyor){.machine = {.step = step, .end = end}};
    ck_assert_int_eq(
        zd_survey_init(&surveyor->survey, &surveyor->machine, node, grid, &selection, NULL), ZD_OK);
    surveyor->survey.see = see;
    surveyor->n_ends = zd_machine_begin(&surveyor->machine) == ZD_DONE ? 1 : 0;
}

static struct zd_node *open_plane(struct zd_test_plane *plane, const char *path)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    zd_test_plane_open(plane, 0);
    ck_assert_int_eq(zd_text_addf(&key, "%s" DOCUMENT, path), ZD_OK);
    zd_test_plane_put(plane, key.at, ARRAY);
    return zd_test_plane_node(plane, path);
}

START_TEST(a_survey_sees_every_object_once_and_in_order)
{
    struct zd_test_plane plane;
    struct surveyor surveyor;
    struct zd_node *node = open_plane(&plane, "a");
    zd_test_plane_put(&plane, "a/c/3", "x");
    zd_test_plane_put(&plane, "a/c/299", "x");
    if (_i == 1) {
        zd_test_plane_slow(&plane);
    }
    begin(&surveyor, node, 0, 300);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(surveyor.n_ends, 1);
    ck_assert_int_eq(surveyor.status, ZD_OK);
    ck_assert_uint_eq(surveyor.n_seen, 300);
    for (uint64_t i = 0; i < 300; i++) {
        ck_assert_int_eq(surveyor.is_there[i], i == 3 || i == 299);
    }
    zd_survey_done(&surveyor.survey);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

static void never(struct zd_wait *wait)
{
    (void)wait;
    ck_abort_msg("nothing has arrived");
}

START_TEST(a_survey_that_fails_leaves_the_waits_of_others)
{
    struct zd_test_plane plane;
    struct surveyor surveyor;
    char path[ZD_KEY_BYTES_MAX + 1 - (sizeof DOCUMENT - 1)];
    memset(path, 'a', sizeof path);
    for (size_t i = 100; i < sizeof path; i += 100) {
        path[i] = '/';
    }
    path[sizeof path - 1] = '\0';
    struct zd_node *node = open_plane(&plane, path);
    zd_test_plane_slow(&plane);
    struct zd_gather other = {.machine = &surveyor.machine};
    zd_gather_begin(&other);
    zd_gather_add(&other, ZD_WAIT);
    ck_assert_int_eq(zd_gather_end(&other), ZD_WAIT);
    begin(&surveyor, node, 9999999, 2); /* the second key has a digit too many */
    ck_assert_uint_eq(surveyor.n_ends, 1);
    ck_assert_int_eq(surveyor.status, ZD_TOO_LARGE);
    ck_assert_uint_eq(other.n, 1);
    surveyor.machine.step = NULL; /* nothing that was asked wakes it any more */
    zd_test_plane_run(&plane);
    zd_survey_done(&surveyor.survey);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_survey_that_is_given_up_wakes_nobody)
{
    struct zd_test_plane plane;
    struct surveyor surveyor;
    struct zd_node *node = open_plane(&plane, "a");
    zd_test_plane_slow(&plane);
    begin(&surveyor, node, 0, 5);
    ck_assert_uint_eq(surveyor.n_ends, 0);
    struct zd_object_want late = {.wait.done = never};
    ck_assert_int_eq(zd_objects_want(&plane.dataset, "a/c/0", ZD_OBJECT_STATUS, &late), ZD_WAIT);
    zd_objects_release(&late);
    zd_survey_done(&surveyor.survey);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(surveyor.n_ends, 0);
    ck_assert_uint_eq(surveyor.n_seen, 0);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

/* The plan of a list may meet an object several times; `seen` has it once. */
START_TEST(an_object_met_again_by_a_list_counts_once)
{
    struct zd_test_plane plane;
    struct surveyor surveyor = {.machine = {.step = step, .end = end}};
    struct zd_seen_objects seen;
    struct zd_node *node = open_plane(&plane, "a");
    const struct zd_grid *grid = &node->layout->level[0].grid;
    static const uint64_t list[] = {30, 1, 30};
    const struct zd_selection selection = {
        .rank = 1, .axis = {{.start = 30, .count = ZD_COUNT_OF(list), .step = 1, .list = list}}};
    zd_test_plane_put(&plane, "a/c/1", "x");
    ck_assert_int_eq(zd_seen_objects_init(&seen, node->layout, &selection, NULL), ZD_OK);
    ck_assert_uint_eq(seen.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_int_eq(
            zd_survey_init(&surveyor.survey, &surveyor.machine, node, grid, &selection, NULL),
            ZD_OK);
        surveyor.survey.seen = &seen;
        (void)zd_machine_begin(&surveyor.machine);
        zd_test_plane_run(&plane);
        ck_assert_int_eq(surveyor.status, ZD_OK);
        ck_assert_uint_eq(seen.n_known, 2);
        ck_assert(zd_generation_is_set(seen.object[0].generation));
        ck_assert(!zd_generation_is_set(seen.object[1].generation));
        ck_assert_int_eq(surveyor.survey.has_changed, i == 1);
        zd_survey_done(&surveyor.survey);
        seen.object[0].generation.word[0]++; /* as if it had been another one */
    }
    zd_seen_objects_done(&seen);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_survey_sees_every_object_once_and_in_order, 0, 2);
    tcase_add_test(tests, a_survey_that_fails_leaves_the_waits_of_others);
    tcase_add_test(tests, a_survey_that_is_given_up_wakes_nobody);
    tcase_add_test(tests, an_object_met_again_by_a_list_counts_once);
}
