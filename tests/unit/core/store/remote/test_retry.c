/* Facts about core/store/remote/retry, as the plan over a remote store uses it: what is tried
 * again, and which endpoint is left alone. No time passes but that of the test. */
#include <stdio.h>
#include <string.h>

#include "tests/support/plan_reads.h"
#include "tests/support/unit.h"

/* ---- tried again ---- */

static struct zd_delay_step answer; /* of the first n_bad operations */
static size_t n_bad;

static struct zd_delay_step fail_first(const struct zd_delay_asked *asked, size_t n)
{
    (void)asked;
    return n < n_bad ? answer : (struct zd_delay_step){.ms = 30};
}

static const struct {
    uint8_t kind;
    enum zd_status status;
    size_t n_bad;
    size_t n_asked;
    enum zd_status told;
} retries[] = {
    {ZD_REMOTE_FAULT_RETRYABLE, ZD_STORE, 2, 3, ZD_OK},
    {ZD_REMOTE_FAULT_TIMEOUT, ZD_TIMEOUT, 1, 2, ZD_OK},
    {ZD_REMOTE_FAULT_THROTTLED, ZD_STORE, 4, 5, ZD_OK},
    {ZD_REMOTE_FAULT_THROTTLED, ZD_STORE, 9, 5, ZD_STORE}, /* remote.retries */
    {ZD_REMOTE_FAULT_REFUSED, ZD_STORE, 9, 1, ZD_STORE},
    {ZD_REMOTE_FAULT_BROKEN, ZD_STORE, 9, 1, ZD_STORE},
    {ZD_REMOTE_FAULT_NONE, ZD_STORE, 9, 1, ZD_STORE},
    {ZD_REMOTE_FAULT_NONE, ZD_NOT_FOUND, 9, 1, ZD_NOT_FOUND},
    {ZD_REMOTE_FAULT_NONE, ZD_PRECONDITION, 9, 1, ZD_PRECONDITION},
};

START_TEST(temporary_failures_are_tried_again)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 10);
    answer = (struct zd_delay_step){5, retries[_i].status, {.kind = retries[_i].kind}, false};
    n_bad = retries[_i].n_bad;
    zd_delay.script = fail_first;
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), retries[_i].n_asked);
    ck_assert_uint_eq(zd_plan->n_events[ZD_STORE_RETRIED], retries[_i].n_asked - 1);
    if (retries[_i].told == ZD_OK) {
        zd_plan_expect_bytes(0, 0, 10);
    } else {
        zd_plan_expect_status(0, retries[_i].told);
    }
    zd_plan_end();
}
END_TEST

START_TEST(the_store_says_when_to_ask_again)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 10);
    answer = (struct zd_delay_step){
        5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_THROTTLED, .retry_after_ms = 3000}, false};
    n_bad = 1;
    zd_delay.script = fail_first;
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    zd_plan_expect_bytes(0, 0, 10);
    ck_assert_uint_ge(zd_delay.asked[1].at_ms, 4005);
    zd_plan_end();
}
END_TEST

START_TEST(no_attempt_begins_after_the_deadline)
{
    zd_plan_begin(5000);
    zd_delay.remote.settings.request_ms = 2000;
    answer = (struct zd_delay_step){
        5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_THROTTLED, .retry_after_ms = 3000}, false};
    n_bad = 9;
    zd_delay.script = fail_first;
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    zd_plan_expect_status(0, ZD_STORE);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    ck_assert_uint_lt(zd_delay.now_ms, 2000);
    zd_plan_end();
}
END_TEST

START_TEST(a_reader_that_leaves_between_attempts_ends_them)
{
    zd_plan_begin(5000);
    answer = (struct zd_delay_step){5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_THROTTLED}, false};
    n_bad = 9;
    zd_delay.script = fail_first;
    zd_plan_ask_whole(0, "a");
    zd_delay_run_until(1006);
    zd_store_cancel(&zd_plan_reads[0].op);
    zd_delay_run();
    zd_plan_expect_status(0, ZD_CANCELLED);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    zd_plan_end();
}
END_TEST

static const struct {
    enum zd_condition condition;
    bool was_begun;
    bool is_done; /* the first attempt, although it fails */
    size_t n_asked;
    enum zd_status told;
} writes[] = {
    {ZD_CONDITION_NONE, false, false, 2, ZD_OK},
    {ZD_CONDITION_NONE, true, true, 2, ZD_OK},
    {ZD_CONDITION_ABSENT, false, false, 2, ZD_OK},
    {ZD_CONDITION_ABSENT, true, false, 2, ZD_OK},
    {ZD_CONDITION_ABSENT, true, true, 2, ZD_TIMEOUT}, /* nobody knows whose object is there */
    {ZD_CONDITION_ABSENT, false, true, 2, ZD_PRECONDITION},
};

START_TEST(an_unknown_outcome_of_a_write_is_never_told_as_a_known_one)
{
    zd_plan_begin(5000);
    answer = (struct zd_delay_step){5, ZD_TIMEOUT,
        {.kind = ZD_REMOTE_FAULT_TIMEOUT, .was_begun = writes[_i].was_begun}, writes[_i].is_done};
    n_bad = 1;
    zd_delay.script = fail_first;
    struct zd_store_write write = {.op.done = zd_plan_done,
        .key = "a",
        .condition = writes[_i].condition,
        .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(zd_plan, &write);
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('w'), writes[_i].n_asked);
    ck_assert_int_eq(write.op.status, writes[_i].told);
    zd_buf_unref(write.bytes);
    zd_plan_end();
}
END_TEST

START_TEST(a_commit_is_handed_on_once)
{
    zd_plan_begin(5000);
    struct zd_store_write write = {.op.done = zd_plan_done,
        .phase = ZD_PHASE_STAGE,
        .key = "a",
        .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(zd_plan, &write);
    zd_delay_run();
    ck_assert_int_eq(write.op.status, ZD_OK);
    ck_assert_ptr_nonnull(write.staged);
    zd_buf_unref(write.bytes);
    write.bytes = NULL;
    write.phase = ZD_PHASE_COMMIT;
    zd_store_write(zd_plan, &write);
    zd_delay_run();
    ck_assert_int_eq(write.op.status, ZD_OK);
    ck_assert_ptr_null(write.staged);
    ck_assert_uint_eq(zd_delay_count('w'), 2);
    zd_plan_end();
}
END_TEST

START_TEST(pages_of_a_listing_go_on_where_they_ended)
{
    char key[16];
    zd_plan_begin(5000);
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(key, sizeof key, "g/k%zu", i);
        zd_delay_put(zd_plan, key, 1);
    }
    answer = (struct zd_delay_step){5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_RETRYABLE}, false};
    n_bad = 1;
    zd_delay.script = fail_first;
    struct zd_store_list list = {.op.done = zd_plan_done, .prefix = "g/", .n_max = 2};
    zd_store_list(zd_plan, &list);
    zd_delay_run();
    size_t n = list.n_entries;
    while (list.op.status == ZD_OK && list.has_more) {
        zd_store_list_next(zd_plan, &list);
        zd_delay_run();
        n += list.n_entries;
    }
    ck_assert_int_eq(list.op.status, ZD_OK);
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(zd_delay_count('l'), 4);
    zd_store_list_done(&list);
    zd_plan_end();
}
END_TEST

/* ---- left alone ---- */

static bool is_dead;

static struct zd_delay_step die(const struct zd_delay_asked *asked, size_t n)
{
    (void)n;
    if (is_dead && strcmp(asked->key, "other") != 0) {
        return (struct zd_delay_step){5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_RETRYABLE}, false};
    }
    return (struct zd_delay_step){.ms = 30};
}

START_TEST(an_endpoint_that_fails_is_left_alone_and_tried_again)
{
    zd_plan_begin(5000);
    struct zd_store *other = zd_delay_open(8, 5000); /* another endpoint */
    zd_delay_put(zd_plan, "a", 10);
    zd_delay_put(other, "other", 10);
    zd_delay.script = die;
    is_dead = true;
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    zd_plan_expect_status(0, ZD_STORE); /* what the store says, to who has tried */
    const size_t n_tried = zd_delay.n_asked;
    zd_plan_ask_whole(1, "a");
    zd_delay_run();
    zd_plan_expect_status(1, ZD_PAUSED);
    ck_assert(zd_plan_reads[1].op.err.facts.set & ZD_FACT_RETRY);
    ck_assert_uint_le(zd_plan_reads[1].op.err.facts.retry_ms, 1000);
    ck_assert_uint_eq(zd_delay.n_asked, n_tried);
    ck_assert_uint_ge(zd_plan->n_events[ZD_STORE_PAUSED], 1);

    struct zd_store_read elsewhere = {.op.done = zd_plan_done, .key = "other", .bytes_max = 10};
    zd_store_read(other, &elsewhere);
    zd_delay_run();
    ck_assert_int_eq(elsewhere.op.status, ZD_OK);
    zd_buf_unref(elsewhere.bytes);

    zd_delay_run_until(zd_delay.now_ms + 1000);
    zd_plan_ask_whole(2, "a"); /* one tries, others do not */
    zd_delay_run_until(zd_delay.now_ms + 1);
    zd_plan_ask_whole(3, "b");
    zd_delay_run();
    zd_plan_expect_status(2, ZD_STORE);
    zd_plan_expect_status(3, ZD_PAUSED);

    is_dead = false;
    zd_delay_run_until(zd_delay.now_ms + 1000);
    zd_plan_ask_whole(4, "a");
    zd_delay_run();
    zd_plan_expect_bytes(4, 0, 10);
    zd_plan_ask_whole(5, "a");
    zd_delay_run();
    zd_plan_expect_bytes(5, 0, 10);
    zd_store_close(other);
    zd_plan_end();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, temporary_failures_are_tried_again, 0, ZD_COUNT_OF(retries));
    tcase_add_test(tests, the_store_says_when_to_ask_again);
    tcase_add_test(tests, no_attempt_begins_after_the_deadline);
    tcase_add_test(tests, a_reader_that_leaves_between_attempts_ends_them);
    tcase_add_loop_test(
        tests, an_unknown_outcome_of_a_write_is_never_told_as_a_known_one, 0, ZD_COUNT_OF(writes));
    tcase_add_test(tests, a_commit_is_handed_on_once);
    tcase_add_test(tests, pages_of_a_listing_go_on_where_they_ended);
    tcase_add_test(tests, an_endpoint_that_fails_is_left_alone_and_tried_again);
}
