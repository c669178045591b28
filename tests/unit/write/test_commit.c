/*
 * Facts about server/write/commit: every store operation, and every allocation, of writing
 * slices over many objects fails in turn, and all objects are as they were, or as they are to be.
 */
#include "server/write/commit.h"

#include <string.h>

#include "tests/support/scene.h"
#include "tests/support/unit.h"

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define ARRAY                                                                                      \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[12],\"data_type\":\"int8\","            \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"               \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\"}]}"
#define LISTING                                                                                    \
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","   \
    "\"must_understand\":false,\"metadata\":{\"g\":" GROUP ",\"g/a\":" ARRAY "}}}"

/* The initial store: three of six objects. */
static const struct zd_test_pair initial[] = {
    {"zarr.json", LISTING},
    {"g/zarr.json", GROUP},
    {"g/a/zarr.json", ARRAY},
    {"g/a/c/0", "ab"},
    {"g/a/c/1", "cd"},
    {"g/a/c/4", "ef"},
};

#define PUT "PUT", "json", "/v1/datasets/w/slices/"

static const struct zd_test_change slices[] = {
    /* objects that are replaced, made and erased */
    {PUT "g/a", NULL, "[65,66,0,0,67,68,69,70,71,72,73,74]"},
    {PUT "g/a?slice=::-1", NULL, "[65,66,0,0,67,68,69,70,0,0,73,74]"},
    {PUT "g/a?slice=1:11", NULL, "[65,66,67,68,69,70,71,72,73,74]"},
    {PUT "g/a?slice=2:6", "If-Match: *\r\n", "[65,66,67,68]"},
    {PUT "g/a?append=0", NULL, "[65,66,67,68,69]"},
    {PUT "g/a?append=0", NULL, "[65]"},
};

static void run_all(enum zd_status status, bool is_slow)
{
    struct zd_test_scene scene = {.initial = initial,
        .n_initial = ZD_COUNT_OF(initial),
        .status = status,
        .is_slow = is_slow};
    zd_test_scene_open(&scene);
    for (size_t i = 0; i < ZD_COUNT_OF(slices); i++) {
        zd_test_scene_fail_each(&scene, &slices[i]);
        ck_assert_str_ne(scene.before, scene.after);
        ck_assert_uint_gt(scene.n, 6);
    }
    zd_test_scene_close(&scene);
}

static const enum zd_status faults[] = {ZD_STORE, ZD_NO_SPACE};

START_TEST(a_store_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was)
{
    run_all(faults[_i / 2], _i % 2 == 1);
}
END_TEST

START_TEST(memory_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was)
{
    run_all(ZD_OK, _i == 1);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, a_store_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was, 0,
        2 * (int)ZD_COUNT_OF(faults));
    tcase_add_loop_test(
        tests, memory_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was, 0, 2);
}
