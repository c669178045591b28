/* server/runtime/workers: who works next, and what is dropped. */
#include "server/runtime/workers.h"

#include <stdlib.h>

#include "server/config/config.h"
#include "tests/support/unit.h"

#define JOBS     32
#define LARGE_NS 100000000 /* nothing is given ahead of a job like this */

struct bench {
    struct zd_config config;
    struct zd_workers workers;
    struct zd_metrics metrics;
    uv_loop_t loop;
};

struct piece {
    struct zd_job job;
    char name;
    bool is_cancelled;
    uv_sem_t *gate; /* waited for, or NULL */
};

static struct bench bench;
static struct piece piece[JOBS];
static size_t n_pieces;
static char order[JOBS + 1]; /* in which they were done */
static size_t n_done;
static bool is_submitting;

static void work(struct zd_job *job)
{
    struct piece *self = ZD_CONTAINER(job, struct piece, job);
    if (self->gate != NULL) {
        uv_sem_wait(self->gate);
    }
}

static void note(struct zd_wait *wait)
{
    struct piece *self = ZD_CONTAINER(wait, struct piece, job.wait);
    ck_assert(!is_submitting);
    self->is_cancelled = wait->status == ZD_CANCELLED;
    order[n_done++] = self->name;
}

/* One worker, so that the order in which jobs are done is that in which they were given. */
static void begin(void)
{
    ck_assert_int_eq(setenv("UV_THREADPOOL_SIZE", "1", 1), 0);
    zd_unit_config(&bench.config);
    ck_assert_int_eq(uv_loop_init(&bench.loop), 0);
    bench.config.settings.workers_count = 1;
    zd_workers_init(&bench.workers, &bench.loop, &bench.config.settings, &bench.metrics);
}

static void end(void)
{
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(n_done, n_pieces);
    zd_workers_close(&bench.workers);
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench.loop), 0);
    zd_config_done(&bench.config);
}

static struct piece *submit(char name, const void *owner, bool is_large, uint64_t cost_ns)
{
    struct piece *self = &piece[n_pieces++];
    self->name = name;
    self->job = (struct zd_job){
        .work = work, .wait.done = note, .owner = {.name = owner, .is_large = is_large}};
    is_submitting = true;
    zd_workers_submit(&bench.workers, &self->job, cost_ns);
    is_submitting = false;
    return self;
}

/* A job that keeps the worker busy until the gate is opened. */
static void block(uv_sem_t *gate)
{
    ck_assert_int_eq(uv_sem_init(gate, 0), 0);
    piece[n_pieces].gate = gate;
    (void)submit('.', NULL, false, LARGE_NS);
    ck_assert_uint_eq(bench.workers.n_given, 1);
}

static void unblock(uv_sem_t *gate)
{
    uv_sem_post(gate);
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    uv_sem_destroy(gate);
}

/* Each row: jobs in the order of submission, upper case of large requests; the letter tells whose;
 * the order in which they are done. */
static const struct {
    const char *submitted;
    const char *done;
} orders[] = {
    {"aaa", "aaa"},
    {"AAAAB", "ABAAA"}, /* one client's many jobs do not delay another's one */
    {"AAABBBC", "ABCABAB"},
    {"AAAb", "bAAA"},               /* small requests first */
    {"Aabcdefghij", "abcdefgAhij"}, /* the blocking one counts: one in nine is large */
    {"aabb", "abab"},
};

START_TEST(jobs_are_done_in_turn)
{
    static const char owners[128];
    uv_sem_t gate;
    begin();
    block(&gate);
    for (const char *at = orders[_i].submitted; *at != '\0'; at++) {
        const bool is_large = *at < 'a';
        (void)submit(*at, &owners[(size_t)*at], is_large, LARGE_NS);
    }
    unblock(&gate);
    ck_assert_str_eq(order + 1, orders[_i].done);
    end();
}
END_TEST

START_TEST(what_is_cancelled_is_dropped_and_told)
{
    uv_sem_t gate;
    const char *owner = "a";
    begin();
    block(&gate);
    struct piece *all[4];
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        all[i] = submit((char)('0' + i), owner, true, LARGE_NS);
    }
    zd_workers_cancel(&all[(size_t)_i]->job); /* the owner's first, another one, the last */
    ck_assert_uint_eq(n_done, 0);
    ck_assert_uint_eq(bench.workers.n_waiting, 3);
    (void)uv_run(&bench.loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(n_done, 1); /* before the others: nobody worked on it */
    unblock(&gate);
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        ck_assert_int_eq(all[i]->is_cancelled, i == (size_t)_i);
    }
    ck_assert_uint_eq(bench.metrics.n_jobs_dropped, 1);
    end();
}
END_TEST

START_TEST(a_worker_finds_cheap_jobs_without_the_loop)
{
    uv_sem_t gate;
    begin();
    block(&gate);
    for (size_t i = 0; i < 4; i++) {
        (void)submit('a', "a", false, 1000);
    }
    ck_assert_uint_eq(bench.workers.n_given, 1); /* the long one is enough */
    unblock(&gate);
    for (size_t i = 0; i < 20; i++) {
        (void)submit('a', "a", false, 1000);
    }
    ck_assert_uint_gt(bench.workers.n_given, 1);
    ck_assert_uint_lt(bench.workers.n_given, 20); /* a newcomer must not wait for all of them */
    end();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, jobs_are_done_in_turn, 0, (int)ZD_COUNT_OF(orders));
    tcase_add_loop_test(tests, what_is_cancelled_is_dropped_and_told, 0, 4);
    tcase_add_test(tests, a_worker_finds_cheap_jobs_without_the_loop);
}
