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
    int n_pieces;   /* of its work, after the first one */
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
    self->job.has_more = self->n_pieces > 0;
    self->n_pieces--;
}

static void note(struct zd_wait *wait)
{
    struct piece *self = ZD_CONTAINER(wait, struct piece, job.wait);
    ck_assert(!is_submitting);
    self->is_cancelled = wait->status == ZD_CANCELLED;
    order[n_done++] = self->name;
}

/* A single worker for each kind, so that jobs are done in the order in which they were given. */
static void begin(void)
{
    zd_unit_config(&bench.config);
    bench.config.settings.workers_count = 1;
    ck_assert_uint_eq(zd_workers_threads(&bench.config.settings), 2);
    ck_assert_int_eq(setenv("UV_THREADPOOL_SIZE", "2", 1), 0);
    ck_assert_int_eq(uv_loop_init(&bench.loop), 0);
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

/* A job that keeps the worker of its kind busy until the gate is opened. */
static void block(uv_sem_t *gate, bool is_large)
{
    ck_assert_int_eq(uv_sem_init(gate, 0), 0);
    piece[n_pieces].gate = gate;
    (void)submit('.', NULL, is_large, LARGE_NS);
    ck_assert_uint_eq(bench.workers.large.n_given, is_large ? 1 : 0);
    ck_assert_uint_eq(bench.workers.small.n_given, is_large ? 0 : 1);
}

static void unblock(uv_sem_t *gate)
{
    uv_sem_post(gate);
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    uv_sem_destroy(gate);
}

/* Each row: jobs in the order of submission, all of small requests or (upper case) all of large
 * ones; the letter tells whose; the order in which they are done. */
static const struct {
    const char *submitted;
    const char *done;
} orders[] = {
    {"aaa", "aaa"},
    {"AAAAB", "ABAAA"}, /* one client's many jobs do not delay another's one */
    {"AAABBBC", "ABCABAB"},
    {"aabb", "abab"},
};

START_TEST(jobs_are_done_in_turn)
{
    static const char owners[128];
    uv_sem_t gate;
    begin();
    block(&gate, orders[_i].submitted[0] < 'a');
    for (const char *at = orders[_i].submitted; *at != '\0'; at++) {
        const bool is_large = *at < 'a';
        (void)submit(*at, &owners[(size_t)*at], is_large, LARGE_NS);
    }
    unblock(&gate);
    ck_assert_str_eq(order + 1, orders[_i].done);
    end();
}
END_TEST

/* Jobs of one kind are done while one of the other kind does not end. */
START_TEST(small_and_large_requests_do_not_wait_for_each_other)
{
    const bool is_large = _i == 0;
    uv_sem_t gate;
    begin();
    block(&gate, is_large);
    for (size_t i = 0; i < 3; i++) {
        (void)submit('a', "a", !is_large, LARGE_NS);
    }
    while (n_done < 3) {
        (void)uv_run(&bench.loop, UV_RUN_ONCE);
    }
    ck_assert_str_eq(order, "aaa");
    unblock(&gate);
    end();
}
END_TEST

/* Each row: jobs of so many pieces; the order in which they end. */
static const struct {
    const char *n_pieces; /* of jobs a, b, ... */
    const char *done;
} cuts[] = {
    {"11", "ab"},
    {"31", "ba"},
    {"313", "bac"},
    {"321", "cba"},
};

START_TEST(after_each_piece_others_have_their_turn)
{
    static const char owners[] = "abc";
    uv_sem_t gate;
    begin();
    block(&gate, true);
    for (size_t i = 0; cuts[_i].n_pieces[i] != '\0'; i++) {
        submit(owners[i], &owners[i], true, LARGE_NS)->n_pieces = cuts[_i].n_pieces[i] - '1';
    }
    unblock(&gate);
    ck_assert_str_eq(order + 1, cuts[_i].done);
    ck_assert_uint_eq(bench.metrics.n_jobs, n_pieces);
    end();
}
END_TEST

/* It waits for its next turn, or (1) is at work. */
START_TEST(the_rest_of_a_cancelled_job_is_dropped)
{
    uv_sem_t gate;
    begin();
    ck_assert_int_eq(uv_sem_init(&gate, 0), 0);
    piece[0].gate = &gate;
    struct piece *cut = submit('a', "a", true, LARGE_NS);
    cut->n_pieces = 1000000;
    for (int i = _i; i < 1; i++) { /* both have a piece done, then the first one waits */
        (void)submit('b', "b", true, LARGE_NS);
        uv_sem_post(&gate);
        (void)uv_run(&bench.loop, UV_RUN_ONCE);
    }
    zd_workers_cancel(&cut->job);
    uv_sem_post(&gate);
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    ck_assert(cut->is_cancelled);
    ck_assert_int_gt(cut->n_pieces, 999990);
    uv_sem_destroy(&gate);
    end();
}
END_TEST

START_TEST(cancelled_jobs_are_dropped_and_told)
{
    uv_sem_t gate;
    const char *owner = "a";
    begin();
    block(&gate, true);
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
    const struct zd_workers_queue *queue = &bench.workers.small;
    uv_sem_t gate;
    begin();
    block(&gate, false);
    for (size_t i = 0; i < 4; i++) {
        (void)submit('a', "a", false, 1000);
    }
    ck_assert_uint_eq(queue->n_given, 1); /* the long one is enough */
    unblock(&gate);
    for (size_t i = 0; i < 20; i++) {
        (void)submit('a', "a", false, 1000);
    }
    ck_assert_uint_gt(queue->n_given, 1);
    ck_assert_uint_lt(queue->n_given, 20); /* a newcomer must not wait for all of them */
    end();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, jobs_are_done_in_turn, 0, (int)ZD_COUNT_OF(orders));
    tcase_add_loop_test(tests, small_and_large_requests_do_not_wait_for_each_other, 0, 2);
    tcase_add_loop_test(tests, after_each_piece_others_have_their_turn, 0, (int)ZD_COUNT_OF(cuts));
    tcase_add_loop_test(tests, the_rest_of_a_cancelled_job_is_dropped, 0, 2);
    tcase_add_loop_test(tests, cancelled_jobs_are_dropped_and_told, 0, 4);
    tcase_add_test(tests, a_worker_finds_cheap_jobs_without_the_loop);
}
