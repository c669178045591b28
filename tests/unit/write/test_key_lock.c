/* server/write/lock: what a stored key means, and locks under which it is looked at again. */
#include "server/write/lock.h"

#include "core/base/num.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define ARRAY                                                                                      \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[6,4],\"data_type\":\"int8\","           \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2,2]}},"             \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\"}]}"

static void ignore(struct zd_wait *wait)
{
    (void)wait;
}

static void open_plane(struct zd_test_plane *plane)
{
    zd_test_plane_open(plane, 0);
    zd_test_plane_put(plane, "zarr.json", GROUP);
    zd_test_plane_put(plane, "g/zarr.json", GROUP);
    zd_test_plane_put(plane, "g/a/zarr.json", ARRAY);
}

static struct zd_key_lock key_of(struct zd_test_plane *plane, const char *key)
{
    return (struct zd_key_lock){.wait.done = ignore, .dataset = &plane->dataset, .key = key};
}

static void finish(struct zd_test_plane *plane, enum zd_next next)
{
    if (next == ZD_WAIT) {
        zd_test_plane_run(plane);
    }
}

static const struct meaning {
    const char *key;
    enum zd_key_meaning meaning;
    const char *rest;   /* below the array; NULL: there is none */
    const char *locked; /* NULL: nothing is */
} meanings[] = {
    {"zarr.json", ZD_KEY_DOCUMENT, NULL, NULL},
    {"g/a/zarr.json", ZD_KEY_DOCUMENT, NULL, NULL},
    {"g/a/c/2/1", ZD_KEY_CHUNK, "c/2/1", "g/a"},
    {"g/a/c/3/0", ZD_KEY_OUTSIDE, "c/3/0", "g/a/c/3"},
    {"g/a/notes", ZD_KEY_PLAIN, "notes", "g/a"},
    {"g/c/0/0", ZD_KEY_PLAIN, NULL, "g/c/0"},
    {"notes", ZD_KEY_PLAIN, NULL, ""},
};

START_TEST(a_key_means_what_the_array_above_it_makes_of_it)
{
    const struct meaning *fact = &meanings[_i];
    struct zd_test_plane plane;
    open_plane(&plane);
    struct zd_key_lock lock = key_of(&plane, fact->key);
    finish(&plane, zd_lock_find_key(&lock));
    ck_assert_int_eq(lock.wait.status, ZD_OK);
    ck_assert_int_eq(lock.meaning, fact->meaning);
    ck_assert_ptr_null(lock.locked);
    if (fact->rest != NULL) {
        ck_assert_str_eq(lock.rest, fact->rest);
        ck_assert_ptr_nonnull(lock.node);
    }
    if (fact->locked != NULL) {
        finish(&plane, zd_lock_want_key(&lock));
        ck_assert_int_eq(lock.wait.status, ZD_OK);
        ck_assert_int_eq(lock.meaning, fact->meaning);
        ck_assert_str_eq(lock.locked, fact->locked);
    }
    zd_lock_release_key(&lock);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(an_array_that_is_made_meanwhile_is_seen_under_the_lock)
{
    struct zd_test_plane plane;
    open_plane(&plane);
    struct zd_key_lock lock = key_of(&plane, "g/b/c/0/0");
    finish(&plane, zd_lock_find_key(&lock));
    ck_assert_int_eq(lock.meaning, ZD_KEY_PLAIN);
    zd_test_plane_put(&plane, "g/b/zarr.json", ARRAY);
    finish(&plane, zd_lock_want_key(&lock));
    ck_assert_int_eq(lock.wait.status, ZD_OK);
    ck_assert_int_eq(lock.meaning, ZD_KEY_CHUNK);
    ck_assert_str_eq(lock.locked, "g/b");
    zd_lock_release_key(&lock);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_lock_gives_the_node_as_it_is_by_then)
{
    struct zd_test_plane plane;
    open_plane(&plane);
    struct zd_node_lock first = {.wait.done = ignore};
    struct zd_node_lock second = {.wait.done = ignore};
    finish(&plane, zd_lock_want_node(&plane.dataset, ZD_LOCK_NODE, "g/a", &first));
    ck_assert_int_eq(first.wait.status, ZD_OK);
    ck_assert_ptr_nonnull(first.node->layout);
    ck_assert_int_eq(zd_lock_want_node(&plane.dataset, ZD_LOCK_CHUNKS, "g/a", &second), ZD_WAIT);
    zd_test_plane_put(&plane, "g/a/zarr.json", GROUP);
    zd_lock_release_node(&first);
    zd_test_plane_run(&plane);
    ck_assert_int_eq(second.wait.status, ZD_OK);
    ck_assert(!zd_meta_is_array(second.node->meta));
    zd_lock_release_node(&second);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_path_without_a_node_is_locked_all_the_same)
{
    struct zd_test_plane plane;
    open_plane(&plane);
    struct zd_node_lock lock = {.wait.done = ignore};
    finish(&plane, zd_lock_want_node(&plane.dataset, ZD_LOCK_NODE, "none", &lock));
    ck_assert_int_eq(lock.wait.status, ZD_NOT_FOUND);
    ck_assert(lock.lock.claim.is_held);
    zd_lock_release_node(&lock);
    zd_lock_release_node(&lock);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_key_means_what_the_array_above_it_makes_of_it, 0, (int)ZD_COUNT_OF(meanings));
    tcase_add_test(tests, an_array_that_is_made_meanwhile_is_seen_under_the_lock);
    tcase_add_test(tests, a_lock_gives_the_node_as_it_is_by_then);
    tcase_add_test(tests, a_path_without_a_node_is_locked_all_the_same);
}
