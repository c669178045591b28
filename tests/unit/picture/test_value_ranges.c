/* Facts about server/picture/value_ranges: one finds a range, for all. */
#include "server/picture/value_ranges.h"

#include "server/runtime/server.h"
#include "tests/support/unit.h"

#define N_WAITING 3

struct bench {
    uv_loop_t loop;
    struct zd_config config;
    struct zd_server server;
    struct zd_dataset dataset;
    struct zd_node node;
};

struct waiter {
    struct zd_value_ranges_want want;
    uint32_t n_told;
};

static const struct zd_value_ranges_of plain;
static const struct zd_value_ranges_found found = {
    .min = -1, .max = 2, .has_hash = true, .hash = 7};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct waiter, want.wait)->n_told++;
}

/* Nothing is trusted for longer than a turn of the loop. */
static void open_bench(struct bench *bench, uint64_t revalidate_ms)
{
    *bench = (struct bench){.server = {.config = &bench->config}};
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    bench->server.loop = &bench->loop;
    zd_list_init(&bench->server.caches);
    zd_value_ranges_init(&bench->server);
    bench->dataset = (struct zd_dataset){
        .server = &bench->server, .id = 1, .refs = 1, .revalidate_ms = revalidate_ms};
    bench->node = (struct zd_node){.dataset = &bench->dataset, .path = (char *)"a", .tag = 5};
}

static void close_bench(struct bench *bench)
{
    zd_value_ranges_done(&bench->server);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
}

static enum zd_next want(struct bench *bench, struct waiter *waiter)
{
    waiter->want.wait.done = told;
    return zd_value_ranges_want(&bench->node, plain, &waiter->want);
}

START_TEST(the_first_leads_and_others_wait)
{
    struct bench bench;
    struct waiter leader = {0};
    struct waiter waiting[N_WAITING] = {0};
    open_bench(&bench, 1000);
    ck_assert_int_eq(want(&bench, &leader), ZD_NEXT);
    ck_assert(leader.want.leads && !leader.want.found.has_hash);
    for (int i = 0; i < N_WAITING; i++) {
        ck_assert_int_eq(want(&bench, &waiting[i]), ZD_WAIT);
    }
    zd_value_ranges_leave(&bench.server, &waiting[1].want);
    zd_value_ranges_tell(&bench.server, &leader.want, &found);
    ck_assert(!leader.want.leads);
    for (int i = 0; i < N_WAITING; i++) {
        ck_assert_uint_eq(waiting[i].n_told, i == 1 ? 0 : 1);
        ck_assert_int_eq(want(&bench, &waiting[i]), ZD_NEXT);
        ck_assert(!waiting[i].want.leads && waiting[i].want.found.min == -1 &&
                  waiting[i].want.found.max == 2);
        zd_value_ranges_leave(&bench.server, &waiting[i].want);
    }
    close_bench(&bench);
}
END_TEST

START_TEST(a_leaving_leader_lets_another_lead)
{
    struct bench bench;
    struct waiter leader = {0};
    struct waiter next = {0};
    open_bench(&bench, 1000);
    ck_assert_int_eq(want(&bench, &leader), ZD_NEXT);
    ck_assert_int_eq(want(&bench, &next), ZD_WAIT);
    zd_value_ranges_leave(&bench.server, &leader.want);
    ck_assert_uint_eq(next.n_told, 1);
    ck_assert_int_eq(want(&bench, &next), ZD_NEXT);
    ck_assert(next.want.leads);
    zd_value_ranges_leave(&bench.server, &next.want);
    zd_value_ranges_leave(&bench.server, &next.want); /* once more does no harm */
    close_bench(&bench);
}
END_TEST

/* Changes after which a range is known before another one's, or must be looked at again. */
static const struct change {
    uint64_t revalidate_ms;
    bool is_written;
    bool has_other_tag;
    bool is_of_stored;
    bool is_decoded;
    bool leads;
    bool has_hash; /* then: what was found is still compared */
} changes[] = {
    {.revalidate_ms = 1000},
    {.revalidate_ms = 0, .leads = true, .has_hash = true},
    {.revalidate_ms = 1000, .is_written = true, .leads = true, .has_hash = true},
    {.revalidate_ms = 1000, .has_other_tag = true, .leads = true},
    {.revalidate_ms = 1000, .is_of_stored = true, .leads = true},
    {.revalidate_ms = 1000, .is_decoded = true, .leads = true},
};

START_TEST(a_range_is_known_until_something_changes)
{
    const struct change *change = &changes[_i];
    struct bench bench;
    struct waiter waiter = {0};
    const struct zd_value_ranges_of of = {
        .is_of_stored = change->is_of_stored, .is_decoded = change->is_decoded};
    open_bench(&bench, change->revalidate_ms);
    ck_assert_int_eq(want(&bench, &waiter), ZD_NEXT);
    zd_value_ranges_tell(&bench.server, &waiter.want, &found);
    bench.dataset.n_changes += change->is_written ? 1 : 0;
    bench.node.tag += change->has_other_tag ? 1 : 0;
    ck_assert_int_eq(zd_value_ranges_want(&bench.node, of, &waiter.want), ZD_NEXT);
    ck_assert_int_eq(waiter.want.leads, change->leads);
    ck_assert_int_eq(waiter.want.found.has_hash, change->has_hash || !change->leads);
    zd_value_ranges_leave(&bench.server, &waiter.want);
    close_bench(&bench);
}
END_TEST

static enum zd_status want_and_leave(void *context)
{
    struct bench *bench = context;
    struct waiter waiter = {0};
    ck_assert_int_eq(want(bench, &waiter), ZD_NEXT);
    zd_value_ranges_leave(&bench->server, &waiter.want);
    return waiter.want.wait.status;
}

START_TEST(memory_may_fail)
{
    struct bench bench;
    open_bench(&bench, 1000);
    zd_unit_with_failing_memory(want_and_leave, &bench);
    close_bench(&bench);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, the_first_leads_and_others_wait);
    tcase_add_test(tests, a_leaving_leader_lets_another_lead);
    tcase_add_loop_test(tests, a_range_is_known_until_something_changes, 0, ZD_COUNT_OF(changes));
    tcase_add_test(tests, memory_may_fail);
}
