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

static enum zd_next take_as(struct zd_test_plane *plane, struct taker *taker, uint64_t client,
    enum zd_lock_mode mode, const char *path)
{
    *taker = (struct taker){.want = {.client = client, .wait.done = told}};
    return zd_lock_want(&plane->dataset, mode, path, &taker->want);
}

static enum zd_next take(
    struct zd_test_plane *plane, struct taker *taker, enum zd_lock_mode mode, const char *path)
{
    return take_as(plane, taker, 0, mode, path);
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

/* Wants that could go on do not pass an earlier one that waits. */
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

START_TEST(leaving_the_queue_lets_the_others_on)
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

START_TEST(leaving_before_being_told_gives_the_place_back)
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
    const char *path; /* NULL: neither held nor waited for */
    uint64_t client;
    enum zd_lock_mode mode;
    bool is_held;
};

/* In the order of turns: n_lined of them. */
static struct lock *line[N_TAKERS];
static size_t n_lined;

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

static bool is_of_one_flow(const struct lock *a, const struct lock *b)
{
    return a->mode == ZD_LOCK_OBJECT ||
           (a->client == b->client && (!is_path(a) || strcmp(a->path, b->path) == 0));
}

/* Whether that one, on its way to the end, would pass another of line[at]'s flow that disturbs. */
static bool has_had_a_turn(size_t from, size_t at, const struct lock *lock)
{
    for (size_t i = from; i < at; i++) {
        if (disturbs(line[i], lock) && is_of_one_flow(line[i], line[at])) {
            return true;
        }
    }
    return false;
}

static void line_up(struct lock *lock)
{
    size_t from = 0;
    for (size_t i = 0; i < n_lined; i++) {
        const bool stays = line[i]->is_held || is_of_one_flow(lock, line[i]);
        from = disturbs(line[i], lock) && stays ? i + 1 : from;
    }
    size_t at = from;
    while (at < n_lined && !(disturbs(line[at], lock) && has_had_a_turn(from, at, lock))) {
        at++;
    }
    memmove(line + at + 1, line + at, (n_lined - at) * sizeof *line);
    line[at] = lock;
    n_lined++;
}

static void leave_line(const struct lock *lock)
{
    size_t at = 0;
    while (line[at] != lock) {
        at++;
    }
    n_lined--;
    memmove(line + at, line + at + 1, (n_lined - at) * sizeof *line);
}

/* Held is exactly what nobody before it in line disturbs, held or not. */
static void hold_what_is_due(void)
{
    for (size_t i = 0; i < n_lined; i++) {
        bool is_due = true;
        for (size_t j = 0; j < i; j++) {
            is_due = is_due && !disturbs(line[j], line[i]);
        }
        ck_assert(is_due || !line[i]->is_held);
        line[i]->is_held = is_due;
    }
}

START_TEST(at_every_moment_exactly_those_hold_it_whom_nobody_before_disturbs)
{
    struct zd_test_plane plane;
    struct taker taker[N_TAKERS] = {0};
    struct lock locks[N_TAKERS] = {0};
    zd_test_plane_open(&plane, REVALIDATE_MS);
    for (int round = 0; round < N_ROUNDS; round++) {
        const size_t i = zd_unit_random() % N_TAKERS;
        if (locks[i].path != NULL) {
            zd_lock_release(&taker[i].want);
            leave_line(&locks[i]);
            locks[i].path = NULL;
        } else {
            locks[i] = (struct lock){
                .mode = (enum zd_lock_mode)(zd_unit_random() % (ZD_LOCK_OBJECT + 1)),
                .path = paths[zd_unit_random() % ZD_COUNT_OF(paths)],
                .client = zd_unit_random() % 3,
            };
            line_up(&locks[i]);
            (void)take_as(&plane, &taker[i], locks[i].client, locks[i].mode, locks[i].path);
        }
        hold_what_is_due();
        if (zd_unit_random() % 4 == 0) {
            zd_test_plane_run(&plane);
        }
        for (size_t j = 0; j < N_TAKERS; j++) {
            ck_assert(locks[j].path == NULL || taker[j].want.claim.is_held == locks[j].is_held);
        }
    }
    for (size_t i = 0; i < N_TAKERS; i++) {
        zd_lock_release(&taker[i].want);
    }
    ck_assert_uint_eq(plane.server.locks->places.n_entries, 0);
    ck_assert_uint_eq(plane.server.locks->n_waiting, 0);
    zd_test_plane_close(&plane);
}
END_TEST

/* ---- turns ---- */

#define N_GREEDY 24
#define N_TURNS  200

/* Many greedy writers want one lock again and again, and another writer wants a second one. It
 * waits for at most that many of their turns, the one under way included. */
static const struct {
    const char *greedy_path;
    const char *path;
    enum zd_lock_mode greedy;
    enum zd_lock_mode mode;
    uint64_t client; /* the greedy ones are 1 */
    uint32_t n_turns;
} turns[] = {
    {"", "b", ZD_LOCK_TREE, ZD_LOCK_CHUNKS, 2, 2}, /* consolidation, and a slice */
    {"", "b", ZD_LOCK_TREE, ZD_LOCK_CHUNKS, 1, 2}, /* of the same address, another path */
    {"", "b", ZD_LOCK_TREE, ZD_LOCK_APPEND, 1, 2},
    {"", "b", ZD_LOCK_TREE, ZD_LOCK_NODE, 1, 2},
    {"", "b", ZD_LOCK_TREE, ZD_LOCK_TREE, 1, 2},
    {"b", "", ZD_LOCK_CHUNKS, ZD_LOCK_TREE, 1, N_GREEDY}, /* all of them hold it at once */
    {"b", "", ZD_LOCK_NODE, ZD_LOCK_TREE, 1, 2},
    {"", "", ZD_LOCK_TREE, ZD_LOCK_TREE, 2, 2},
    {"a", "a", ZD_LOCK_NODE, ZD_LOCK_CHUNKS, 2, 2},
    {"a", "a", ZD_LOCK_APPEND, ZD_LOCK_APPEND, 2, 2},
    {"a", "b", ZD_LOCK_NODE, ZD_LOCK_NODE, 1, 0},
    {"", "", ZD_LOCK_METADATA, ZD_LOCK_METADATA, 2, 2},
    {"", "", ZD_LOCK_METADATA, ZD_LOCK_METADATA, 0, 2},
    {"", "", ZD_LOCK_METADATA, ZD_LOCK_METADATA, 1, N_GREEDY}, /* in line behind its own */
    {"", "", ZD_LOCK_TREE, ZD_LOCK_TREE, 1, N_GREEDY},
};

/* The one that has it gives it back, and asks again at once. */
static void take_a_turn(struct zd_test_plane *plane, struct taker *greedy, size_t i)
{
    size_t at = 0;
    while (at < N_GREEDY && !greedy[at].want.claim.is_held) {
        at++;
    }
    ck_assert_uint_lt(at, N_GREEDY);
    zd_lock_release(&greedy[at].want);
    (void)take_as(plane, &greedy[at], 1, turns[i].greedy, turns[i].greedy_path);
    zd_test_plane_run(plane);
}

START_TEST(another_want_waits_for_few_turns_of_the_greedy)
{
    struct zd_test_plane plane;
    struct taker greedy[N_GREEDY];
    struct taker other;
    zd_test_plane_open(&plane, REVALIDATE_MS);
    for (size_t i = 0; i < N_GREEDY; i++) {
        (void)take_as(&plane, &greedy[i], 1, turns[_i].greedy, turns[_i].greedy_path);
    }
    for (uint32_t round = 0; round < N_TURNS / N_GREEDY; round++) {
        uint32_t n = 0;
        (void)take_as(&plane, &other, turns[_i].client, turns[_i].mode, turns[_i].path);
        while (!other.want.claim.is_held) {
            take_a_turn(&plane, greedy, (size_t)_i);
            n++;
            ck_assert_uint_le(n, turns[_i].n_turns);
        }
        ck_assert_uint_eq(n, turns[_i].n_turns);
        zd_lock_release(&other.want);
        zd_test_plane_run(&plane);
    }
    for (size_t i = 0; i < N_GREEDY; i++) {
        zd_lock_release(&greedy[i].want);
    }
    zd_test_plane_close(&plane);
}
END_TEST

/* New ones come all the time, each of a client of its own. */
START_TEST(the_greedy_have_their_turns_too)
{
    struct zd_test_plane plane;
    struct taker greedy[N_GREEDY];
    struct taker others[2];
    uint64_t client = 1;
    zd_test_plane_open(&plane, REVALIDATE_MS);
    for (size_t i = 0; i < N_GREEDY; i++) {
        (void)take_as(&plane, &greedy[i], 1, ZD_LOCK_NODE, "a");
    }
    for (size_t i = 0; i < ZD_COUNT_OF(others); i++) {
        (void)take_as(&plane, &others[i], ++client, ZD_LOCK_NODE, "a");
    }
    for (size_t i = 0; i < N_GREEDY; i++) {
        uint32_t n = 0;
        while (!greedy[i].want.claim.is_held) {
            struct taker *other = &others[others[0].want.claim.is_held ? 0 : 1];
            ck_assert(other->want.claim.is_held);
            zd_lock_release(&other->want);
            (void)take_as(&plane, other, ++client, ZD_LOCK_NODE, "a");
            zd_test_plane_run(&plane);
            ck_assert_uint_le(++n, ZD_COUNT_OF(others));
        }
        zd_lock_release(&greedy[i].want);
        zd_test_plane_run(&plane);
    }
    zd_lock_release(&others[0].want);
    zd_lock_release(&others[1].want);
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
    tcase_add_test(tests, leaving_the_queue_lets_the_others_on);
    tcase_add_test(tests, leaving_before_being_told_gives_the_place_back);
    tcase_add_test(tests, at_every_moment_exactly_those_hold_it_whom_nobody_before_disturbs);
    tcase_add_loop_test(
        tests, another_want_waits_for_few_turns_of_the_greedy, 0, ZD_COUNT_OF(turns));
    tcase_add_test(tests, the_greedy_have_their_turns_too);
    tcase_add_test(tests, without_memory_nothing_is_locked);
}
