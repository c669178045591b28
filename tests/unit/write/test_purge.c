/* server/write/purge: all keys below a path are visited; only those of the visitor's are erased. */
#include "server/write/purge.h"

#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define REVALIDATE_MS 1000
#define GROUP         "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define N_MANY        2500 /* more than two pages */

struct cleaner {
    struct zd_test_plane *plane;
    struct zd_purge_want want;
    const char *erases;   /* what rest begins with; or NULL */
    const char *stops_at; /* rest; or NULL */
    const char *replaces; /* the key that another writer replaces, when the node is judged */
    bool may_erase;
    char visited[256]; /* rests, with the paths of nodes whose documents they are */
    uint32_t n_visited;
    uint32_t n_erased;
    uint32_t n_ends;
};

static enum zd_purge_answer visit(void *context, const struct zd_purge_key *key)
{
    struct cleaner *cleaner = context;
    cleaner->n_visited++;
    if (cleaner->n_visited < 8) {
        const size_t len = strlen(cleaner->visited);
        (void)snprintf(cleaner->visited + len, sizeof cleaner->visited - len, "%s%s%s ", key->rest,
            key->node == NULL ? "" : "=", key->node == NULL ? "" : key->node);
    }
    if (cleaner->stops_at != NULL && strcmp(cleaner->stops_at, key->rest) == 0) {
        return ZD_PURGE_STOP;
    }
    return cleaner->erases != NULL &&
                   strncmp(key->rest, cleaner->erases, strlen(cleaner->erases)) == 0
               ? ZD_PURGE_ERASE
               : ZD_PURGE_KEEP;
}

static bool holds(void *context, struct zd_node *node)
{
    struct cleaner *cleaner = context;
    ck_assert_ptr_nonnull(node);
    if (cleaner->replaces != NULL) {
        zd_test_plane_put(cleaner->plane, cleaner->replaces, "other bytes");
    }
    return cleaner->may_erase;
}

static void erased(void *context, const struct zd_purge_key *key)
{
    (void)key;
    ((struct cleaner *)context)->n_erased++;
}

static void ended(struct zd_wait *wait)
{
    ((struct cleaner *)wait->context)->n_ends++;
}

static void purge(struct zd_test_plane *plane, struct cleaner *cleaner)
{
    cleaner->plane = plane;
    cleaner->want.wait = (struct zd_wait){.done = ended, .context = cleaner};
    cleaner->want.dataset = &plane->dataset;
    cleaner->want.path = "a";
    cleaner->want.visit = visit;
    cleaner->want.erased = erased;
    cleaner->want.context = cleaner;
    ck_assert_int_eq(zd_purge_want(&cleaner->want), ZD_WAIT);
    ck_assert_uint_eq(cleaner->n_ends, 0);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(cleaner->n_ends, 1);
}

static void open_plane(struct zd_test_plane *plane)
{
    static const char *const keys[] = {"a/b/zarr.json", "a/c/0", "a/c/1", "ab/c/0", "c/0"};
    zd_test_plane_open(plane, REVALIDATE_MS);
    zd_test_plane_put(plane, "a/zarr.json", GROUP);
    for (size_t i = 0; i < ZD_COUNT_OF(keys); i++) {
        zd_test_plane_put(plane, keys[i], GROUP);
    }
}

START_TEST(all_keys_below_the_path_are_visited_in_order)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {0};
    open_plane(&plane);
    purge(&plane, &cleaner);
    ck_assert_int_eq(cleaner.want.wait.status, ZD_OK);
    ck_assert_str_eq(cleaner.visited, "b/zarr.json=a/b c/0 c/1 zarr.json=a ");
    ck_assert_uint_eq(cleaner.n_erased, 0);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(the_visitors_choice_is_erased_and_the_rest_stays)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {.erases = "c/"};
    struct cleaner after = {0};
    open_plane(&plane);
    purge(&plane, &cleaner);
    ck_assert_uint_eq(cleaner.n_erased, 2);
    purge(&plane, &after);
    ck_assert_str_eq(after.visited, "b/zarr.json=a/b zarr.json=a ");
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_visitor_that_has_seen_enough_ends_the_purge)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {.erases = "c/", .stops_at = "c/1"};
    open_plane(&plane);
    purge(&plane, &cleaner);
    ck_assert_int_eq(cleaner.want.wait.status, ZD_OK);
    ck_assert_str_eq(cleaner.visited, "b/zarr.json=a/b c/0 c/1 ");
    ck_assert_uint_eq(cleaner.n_erased, 1);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(page_after_page_is_erased)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {.erases = "d/"};
    char key[32];
    open_plane(&plane);
    for (uint32_t i = 0; i < N_MANY; i++) {
        (void)snprintf(key, sizeof key, "a/d/%u", i);
        zd_test_plane_put(&plane, key, "x");
    }
    purge(&plane, &cleaner);
    ck_assert_uint_eq(cleaner.n_visited, N_MANY + 4);
    ck_assert_uint_eq(cleaner.n_erased, N_MANY);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_guard_that_says_no_keeps_all)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {.erases = "c/", .want.holds = holds};
    open_plane(&plane);
    purge(&plane, &cleaner);
    ck_assert_int_eq(cleaner.want.wait.status, ZD_OK);
    ck_assert_uint_eq(cleaner.n_erased, 0);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_guarded_key_that_another_writer_replaces_stays)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {
        .erases = "c/", .replaces = "a/c/1", .may_erase = true, .want.holds = holds};
    open_plane(&plane);
    purge(&plane, &cleaner);
    ck_assert_int_eq(cleaner.want.wait.status, ZD_OK);
    ck_assert_uint_eq(cleaner.want.n_failed, 0);
    ck_assert_uint_eq(cleaner.n_erased, 1);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_listing_that_fails_ends_the_purge_with_its_status)
{
    struct zd_test_plane plane;
    struct cleaner cleaner = {.erases = "c/"};
    open_plane(&plane);
    zd_test_plane_break(&plane);
    purge(&plane, &cleaner);
    ck_assert_int_eq(cleaner.want.wait.status, ZD_STORE);
    ck_assert_uint_eq(cleaner.n_visited, 0);
    zd_test_plane_mend(&plane);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, all_keys_below_the_path_are_visited_in_order);
    tcase_add_test(tests, the_visitors_choice_is_erased_and_the_rest_stays);
    tcase_add_test(tests, a_visitor_that_has_seen_enough_ends_the_purge);
    tcase_add_test(tests, page_after_page_is_erased);
    tcase_add_test(tests, a_guard_that_says_no_keeps_all);
    tcase_add_test(tests, a_guarded_key_that_another_writer_replaces_stays);
    tcase_add_test(tests, a_listing_that_fails_ends_the_purge_with_its_status);
}
