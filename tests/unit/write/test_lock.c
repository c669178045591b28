/* server/write/lock: who goes beside whom, in which order, and that nobody is forgotten. */
#include "server/write/lock.h"

#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "server/runtime/server.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define REVALIDATE_MS 1000

struct taker {
    struct zd_lock_want want;
    uint32_t n_told;
};

static void told(struct zd_wait *wait)
{
    ck_assert_int_eq(wait->status, ZD_OK);
    ZD_CONTAINER(wait, struct taker, want.wait)->n_told++;
}

static enum zd_next take(
    struct zd_test_plane *plane, struct taker *taker, enum zd_lock_mode mode, const char *path)
{
    *taker = (struct taker){.want.wait.done = told};
    return zd_lock_want(&plane->dataset, mode, path, &taker->want);
}

/* Two who come one after the other: whether the second waits. */
static const struct {
    const char *first_path;
    const char *second_path;
    enum zd_lock_mode first;
    enum zd_lock_mode second;
    bool waits;
} pairs[] = {
    {"a", "a", ZD_LOCK_CHUNKS, ZD_LOCK_CHUNKS, false},
    {"a", "a", ZD_LOCK_CHUNKS, ZD_LOCK_APPEND, false},
    {"a", "a", ZD_LOCK_APPEND, ZD_LOCK_CHUNKS, false},
    {"a", "a", ZD_LOCK_APPEND, ZD_LOCK_APPEND, true},
    {"a", "b", ZD_LOCK_APPEND, ZD_LOCK_APPEND, false},
    {"a", "a", ZD_LOCK_NODE, ZD_LOCK_CHUNKS, true},
    {"a", "a", ZD_LOCK_NODE, ZD_LOCK_APPEND, true},
    {"a", "a", ZD_LOCK_NODE, ZD_LOCK_NODE, true},
    {"a", "a", ZD_LOCK_CHUNKS, ZD_LOCK_NODE, true},
    {"a", "a", ZD_LOCK_APPEND, ZD_LOCK_NODE, true},
    {"a", "a/b", ZD_LOCK_NODE, ZD_LOCK_CHUNKS, false},
    {"", "a", ZD_LOCK_NODE, ZD_LOCK_NODE, false},
    {"a", "a", ZD_LOCK_TREE, ZD_LOCK_CHUNKS, true},
    {"a", "a/b/c", ZD_LOCK_TREE, ZD_LOCK_CHUNKS, true},
    {"a", "a/b", ZD_LOCK_TREE, ZD_LOCK_NODE, true},
    {"a", "a/b", ZD_LOCK_TREE, ZD_LOCK_TREE, true},
    {"a/b", "a", ZD_LOCK_TREE, ZD_LOCK_TREE, true},
    {"a", "", ZD_LOCK_TREE, ZD_LOCK_NODE, false},
    {"a", "ab", ZD_LOCK_TREE, ZD_LOCK_NODE, false}, /* a name that begins alike is not below */
    {"", "", ZD_LOCK_TREE, ZD_LOCK_NODE, true},
    {"", "x", ZD_LOCK_TREE, ZD_LOCK_CHUNKS, true},
    {"a/b", "a", ZD_LOCK_CHUNKS, ZD_LOCK_TREE, true},
    {"a/b", "", ZD_LOCK_CHUNKS, ZD_LOCK_TREE, true},
    {"ab", "a", ZD_LOCK_CHUNKS, ZD_LOCK_TREE, false},
    {"a", "b", ZD_LOCK_METADATA, ZD_LOCK_METADATA, true}, /* one in the dataset */
    {"", "a", ZD_LOCK_TREE, ZD_LOCK_METADATA, false},
    {"a", "a", ZD_LOCK_OBJECT, ZD_LOCK_OBJECT, true},
    {"a", "a/b", ZD_LOCK_OBJECT, ZD_LOCK_OBJECT, false},
    {"", "a", ZD_LOCK_TREE, ZD_LOCK_OBJECT, false}, /* a key is no path */
    {"a", "a", ZD_LOCK_OBJECT, ZD_LOCK_CHUNKS, false},
};

START_TEST(the_second_waits_when_it_would_disturb_the_first)
{
    struct zd_test_plane plane;
    struct taker first;
    struct taker second;
    zd_test_plane_open(&plane, REVALIDATE_MS);
    ck_assert_int_eq(take(&plane, &first, pairs[_i].first, pairs[_i].first_path), ZD_NEXT);
    ck_assert_int_eq(first.want.wait.status, ZD_OK);
    const enum zd_next next = take(&plane, &second, pairs[_i].second, pairs[_i].second_path);
    ck_assert_int_eq(next, pairs[_i].waits ? ZD_WAIT : ZD_NEXT);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(second.n_told, 0);
    zd_lock_release(&first.want);
    ck_assert_uint_eq(second.n_told, 0); /* not while another releases */
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(second.n_told, pairs[_i].waits ? 1 : 0);
    ck_assert_uint_eq(first.n_told, 0);
    zd_lock_release(&second.want);
    zd_lock_release(&second.want); /* once more does no harm */
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(datasets_do_not_meet)
{
    struct zd_test_plane plane;
    struct taker first;
    struct taker second = {.want.wait.done = told};
    zd_test_plane_open(&plane, REVALIDATE_MS);
    struct zd_dataset other = plane.dataset;
    other.id = plane.dataset.id + 1;
    ck_assert_int_eq(take(&plane, &first, ZD_LOCK_TREE, ""), ZD_NEXT);
    ck_assert_int_eq(zd_lock_want(&other, ZD_LOCK_TREE, "", &second.want), ZD_NEXT);
    zd_lock_release(&first.want);
    zd_lock_release(&second.want);
    zd_test_plane_close(&plane);
}
END_TEST

/* Those who could go on do not pass one who came before and waits. */
START_TEST(nobody_is_passed_for_ever)
{
    struct zd_test_plane plane;
    struct taker writer;
    struct taker node;
    struct taker later;
    zd_test_plane_open(&plane, REVALIDATE_MS);
    ck_assert_int_eq(take(&plane, &writer, ZD_LOCK_CHUNKS, "a"), ZD_NEXT);
    ck_assert_int_eq(take(&plane, &node, ZD_LOCK_NODE, "a"), ZD_WAIT);
    ck_assert_int_eq(take(&plane, &later, ZD_LOCK_CHUNKS, "a"), ZD_WAIT);
    zd_lock_release(&writer.want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(node.n_told, 1);
    ck_assert_uint_eq(later.n_told, 0);
    zd_lock_release(&node.want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(later.n_told, 1);
    zd_lock_release(&later.want);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(one_who_leaves_the_queue_lets_the_others_on)
{
    struct zd_test_plane plane;
    struct taker writer;
    struct taker tree;
    struct taker later[2];
    zd_test_plane_open(&plane, REVALIDATE_MS);
    ck_assert_int_eq(take(&plane, &writer, ZD_LOCK_CHUNKS, "a/b"), ZD_NEXT);
    ck_assert_int_eq(take(&plane, &tree, ZD_LOCK_TREE, "a"), ZD_WAIT);
    ck_assert_int_eq(take(&plane, &later[0], ZD_LOCK_CHUNKS, "a/b"), ZD_WAIT);
    ck_assert_int_eq(take(&plane, &later[1], ZD_LOCK_NODE, "a/c"), ZD_WAIT);
    zd_lock_release(&tree.want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(tree.n_told, 0);
    ck_assert_uint_eq(later[0].n_told, 1);
    ck_assert_uint_eq(later[1].n_told, 1);
    zd_lock_release(&writer.want);
    zd_lock_release(&later[0].want);
    zd_lock_release(&later[1].want);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(one_who_has_it_and_leaves_before_being_told_gives_it_back)
{
    struct zd_test_plane plane;
    struct taker taker[3];
    zd_test_plane_open(&plane, REVALIDATE_MS);
    ck_assert_int_eq(take(&plane, &taker[0], ZD_LOCK_OBJECT, "a/c/0"), ZD_NEXT);
    ck_assert_int_eq(take(&plane, &taker[1], ZD_LOCK_OBJECT, "a/c/0"), ZD_WAIT);
    ck_assert_int_eq(take(&plane, &taker[2], ZD_LOCK_OBJECT, "a/c/0"), ZD_WAIT);
    zd_lock_release(&taker[0].want);
    zd_lock_release(&taker[1].want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(taker[1].n_told, 0);
    ck_assert_uint_eq(taker[2].n_told, 1);
    zd_lock_release(&taker[2].want);
    zd_test_plane_close(&plane);
}
END_TEST

/* ---- against brute force ---- */

#define N_TAKERS 24
#define N_ROUNDS 3000

static const char *const paths[] = {"", "a", "a/b", "a/b/c", "a/d", "ab", "e"};

static bool is_below(const char *path, const char *below)
{
    char head[16];
    snprintf(head, sizeof head, "%s/", path);
    return path[0] == '\0' || strcmp(path, below) == 0 || strncmp(head, below, strlen(head)) == 0;
}

struct lock {
    enum zd_lock_mode mode;
    const char *path;
    uint64_t number; /* 0: neither held nor waited for */
};

static bool is_path(const struct lock *lock)
{
    return lock->mode != ZD_LOCK_METADATA && lock->mode != ZD_LOCK_OBJECT;
}

static bool disturbs(const struct lock *a, const struct lock *b)
{
    const bool is_same = strcmp(a->path, b->path) == 0;
    if (!is_path(a) || !is_path(b)) {
        return a->mode == b->mode && (a->mode == ZD_LOCK_METADATA || is_same);
    }
    const bool beside = (a->mode == ZD_LOCK_CHUNKS || b->mode == ZD_LOCK_CHUNKS) &&
                        a->mode <= ZD_LOCK_APPEND && b->mode <= ZD_LOCK_APPEND;
    return (is_same && !beside) || (a->mode == ZD_LOCK_TREE && is_below(a->path, b->path)) ||
           (b->mode == ZD_LOCK_TREE && is_below(b->path, a->path));
}

/* First come, first served: held exactly when nobody who came before, held or not, disturbs. */
static bool is_due(const struct lock *locks, size_t i)
{
    for (size_t j = 0; j < N_TAKERS; j++) {
        if (locks[j].number != 0 && locks[j].number < locks[i].number &&
            disturbs(&locks[j], &locks[i])) {
            return false;
        }
    }
    return true;
}

START_TEST(at_every_moment_exactly_those_hold_it_whom_nobody_before_disturbs)
{
    struct zd_test_plane plane;
    struct taker taker[N_TAKERS] = {0};
    struct lock locks[N_TAKERS] = {0};
    uint64_t number = 0;
    zd_test_plane_open(&plane, REVALIDATE_MS);
    for (int round = 0; round < N_ROUNDS; round++) {
        const size_t i = zd_unit_random() % N_TAKERS;
        if (locks[i].number != 0) {
            zd_lock_release(&taker[i].want);
            locks[i].number = 0;
        } else {
            locks[i].mode = (enum zd_lock_mode)(zd_unit_random() % (ZD_LOCK_OBJECT + 1));
            locks[i].path = paths[zd_unit_random() % ZD_COUNT_OF(paths)];
            locks[i].number = ++number;
            (void)take(&plane, &taker[i], locks[i].mode, locks[i].path);
        }
        if (zd_unit_random() % 4 == 0) {
            zd_test_plane_run(&plane);
        }
        for (size_t j = 0; j < N_TAKERS; j++) {
            ck_assert(locks[j].number == 0 || taker[j].want.claim.is_held == is_due(locks, j));
        }
    }
    for (size_t i = 0; i < N_TAKERS; i++) {
        zd_lock_release(&taker[i].want);
    }
    ck_assert_uint_eq(plane.server.locks->places.n_entries, 0);
    zd_test_plane_close(&plane);
}
END_TEST

static enum zd_status take_and_release(void *context)
{
    struct zd_test_plane *plane = context;
    struct taker taker;
    ck_assert_int_eq(take(plane, &taker, ZD_LOCK_NODE, "a"), ZD_NEXT);
    const enum zd_status status = taker.want.wait.status;
    zd_lock_release(&taker.want);
    return status;
}

START_TEST(without_memory_nothing_is_locked)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, REVALIDATE_MS);
    zd_unit_with_failing_memory(take_and_release, &plane);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, the_second_waits_when_it_would_disturb_the_first, 0, ZD_COUNT_OF(pairs));
    tcase_add_test(tests, datasets_do_not_meet);
    tcase_add_test(tests, nobody_is_passed_for_ever);
    tcase_add_test(tests, one_who_leaves_the_queue_lets_the_others_on);
    tcase_add_test(tests, one_who_has_it_and_leaves_before_being_told_gives_it_back);
    tcase_add_test(tests, at_every_moment_exactly_those_hold_it_whom_nobody_before_disturbs);
    tcase_add_test(tests, without_memory_nothing_is_locked);
}
