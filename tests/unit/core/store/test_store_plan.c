/* The plan over a remote store: what it asks, counted. No time passes but that of the test. */
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "tests/support/check.h"
#include "tests/support/store_delay.h"
#include "tests/support/unit.h"

#define READS_MAX 128
#define KIB       1024

static struct zd_store *plan;
static struct zd_store_read reads[READS_MAX];
static size_t n_done;

static void done(struct zd_store_op *op)
{
    (void)op;
    n_done++;
}

static void begin(uint64_t trusted_ms)
{
    zd_delay_begin();
    plan = zd_delay_open(7, trusted_ms);
    n_done = 0;
}

static void end(void)
{
    zd_store_close(plan);
    zd_delay_end();
}

static void ask(size_t i, const char *key, struct zd_range range)
{
    reads[i] = (struct zd_store_read){.op.done = done, .range = range, .bytes_max = SIZE_MAX};
    (void)snprintf(reads[i].key, sizeof reads[i].key, "%s", key);
    zd_store_read(plan, &reads[i]);
}

static void ask_whole(size_t i, const char *key)
{
    ask(i, key, (struct zd_range){.kind = ZD_RANGE_WHOLE});
}

static void ask_range(size_t i, const char *key, uint64_t first, uint64_t len)
{
    ask(i, key, (struct zd_range){ZD_RANGE_FROM_TO, first, len});
}

static void expect_bytes(size_t i, uint64_t first, uint64_t len)
{
    ck_assert_msg(reads[i].op.status == ZD_OK, "read %zu: %s: %s", i,
        zd_status_name(reads[i].op.status), reads[i].op.err.text);
    ck_assert_uint_eq(reads[i].bytes->len, len);
    for (uint64_t k = 0; k < len; k++) {
        ck_assert_uint_eq(reads[i].bytes->data[k], zd_delay_byte(first + k));
    }
    zd_buf_unref(reads[i].bytes);
}

static void expect_status(size_t i, enum zd_status status)
{
    ck_assert_msg(reads[i].op.status == status, "read %zu: %s: %s", i,
        zd_status_name(reads[i].op.status), reads[i].op.err.text);
    ck_assert_ptr_null(reads[i].bytes);
}

/* ---- joined ---- */

START_TEST(sixty_four_readers_of_one_object_cost_one_read)
{
    begin(5000);
    zd_delay_put(plan, "a", 100);
    for (size_t i = 0; i < 64; i++) {
        ask_whole(i, "a");
        zd_delay_run_until(1000 + i / 4); /* some in one turn, some in others */
    }
    zd_delay_run();
    ck_assert_uint_eq(n_done, 64);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    ck_assert_uint_eq(plan->n_events[ZD_STORE_JOINED], 63);
    for (size_t i = 0; i < 64; i++) {
        expect_bytes(i, 0, 100);
    }
    end();
}
END_TEST

START_TEST(a_reader_that_leaves_cancels_no_other)
{
    begin(5000);
    zd_delay_put(plan, "a", 10);
    for (size_t i = 0; i < 3; i++) {
        ask_whole(i, "a");
        zd_delay_run_until(1001 + i);
    }
    zd_store_cancel(&reads[0].op);
    zd_store_cancel(&reads[2].op);
    zd_delay_run();
    expect_status(0, ZD_CANCELLED);
    expect_bytes(1, 0, 10);
    expect_status(2, ZD_CANCELLED);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    end();
}
END_TEST

START_TEST(the_last_reader_that_leaves_cancels_the_read)
{
    begin(5000);
    zd_delay_put(plan, "a", 10);
    ask_whole(0, "a");
    ask_whole(1, "b");
    zd_store_cancel(&reads[1].op); /* before the turn ends */
    zd_delay_run_until(1010);
    zd_store_cancel(&reads[0].op);
    ask_whole(2, "a"); /* does not join what is given up */
    zd_delay_run();
    expect_status(0, ZD_CANCELLED);
    expect_status(1, ZD_CANCELLED);
    expect_bytes(2, 0, 10);
    ck_assert_uint_eq(zd_delay_count('r'), 2);
    end();
}
END_TEST

/* With 0 an answer shows what was stored before it was asked for. */
START_TEST(an_old_read_is_joined_only_as_long_as_it_is_trusted)
{
    begin(0);
    zd_delay_put(plan, "a", 10);
    ask_whole(0, "a");
    ask_whole(1, "a");
    zd_delay_run_until(1001);
    ask_whole(2, "a");
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 2);
    for (size_t i = 0; i < 3; i++) {
        expect_bytes(i, 0, 10);
    }
    end();
}
END_TEST

START_TEST(a_read_after_our_write_does_not_join_one_from_before)
{
    begin(UINT64_MAX);
    zd_delay_put(plan, "a", 10);
    ask_whole(0, "a");
    zd_delay_run_until(1001);
    struct zd_store_write write = {
        .op.done = done, .key = "a", .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(plan, &write);
    zd_delay_run_until(1035);
    ask_whole(1, "a");
    zd_delay_run();
    ck_assert_int_eq(write.op.status, ZD_OK);
    expect_bytes(0, 0, 10);
    ck_assert(zd_span_is(zd_buf_span(reads[1].bytes), "new"));
    zd_buf_unref(reads[1].bytes);
    zd_buf_unref(write.bytes);
    end();
}
END_TEST

START_TEST(a_bound_on_bytes_is_each_reader_s_own)
{
    begin(5000);
    zd_delay_put(plan, "a", 100);
    ask_whole(0, "a");
    reads[1] = (struct zd_store_read){.op.done = done, .key = "a", .bytes_max = 99};
    zd_store_read(plan, &reads[1]);
    reads[2] = (struct zd_store_read){
        .op.done = done, .key = "a", .range = {ZD_RANGE_FROM_TO, 0, 100}, .bytes_max = 99};
    zd_store_read(plan, &reads[2]);
    zd_delay_run();
    expect_bytes(0, 0, 100);
    expect_status(1, ZD_TOO_LARGE);
    expect_status(2, ZD_TOO_LARGE);
    end();
}
END_TEST

/* ---- merged ---- */

/* The place of an inner chunk in a shard that zarr-python wrote: by the bits of both indexes. */
static uint64_t morton(uint64_t row, uint64_t column)
{
    uint64_t place = 0;
    for (unsigned bit = 0; bit < 8; bit++) {
        place |= (column >> bit & 1) << (2 * bit) | (row >> bit & 1) << (2 * bit + 1);
    }
    return place;
}

static uint64_t row_major(uint64_t row, uint64_t column)
{
    return row * 8 + column;
}

static const struct {
    uint64_t (*place)(uint64_t row, uint64_t column);
    uint64_t first_row;
    uint64_t first_column;
    uint64_t n_reads;
} blocks[] = {
    {row_major, 0, 0, 5},
    {row_major, 2, 3, 5},
    {morton, 0, 0, 5},
};

START_TEST(a_block_of_inner_chunks_costs_few_reads)
{
    const uint64_t chunk = 16 * KIB;
    uint64_t n_read = 0;
    begin(5000);
    zd_delay_put(plan, "shard", 64 * chunk);
    for (size_t i = 0; i < 25; i++) {
        const uint64_t at =
            blocks[_i].place(blocks[_i].first_row + i / 5, blocks[_i].first_column + i % 5);
        ask_range(i, "shard", at * chunk, chunk);
    }
    zd_delay_run();
    ck_assert_uint_le(zd_delay_count('r'), blocks[_i].n_reads);
    for (size_t i = 0; i < zd_delay.n_asked; i++) {
        n_read += zd_delay.asked[i].range.len;
    }
    ck_assert_uint_le(n_read * 100, 25 * chunk * 110);
    for (size_t i = 0; i < 25; i++) {
        expect_bytes(i,
            chunk * blocks[_i].place(blocks[_i].first_row + i / 5, blocks[_i].first_column + i % 5),
            chunk);
    }
    end();
}
END_TEST

/* All stores share the memory for reads that are held twice. */
START_TEST(without_room_nothing_is_merged)
{
    begin(0);
    zd_delay_put(plan, "a", 100);
    zd_delay.remote.merged_bytes = UINT64_C(32) << 20;
    for (size_t i = 0; i < 4; i++) {
        ask_range(i, "a", 10 * i, 10);
    }
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 4);
    zd_delay.remote.merged_bytes = 0;
    for (size_t i = 0; i < 4; i++) {
        expect_bytes(i, 10 * i, 10);
        ask_range(i, "a", 10 * i, 10);
    }
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 5);
    ck_assert_uint_eq(zd_delay.remote.merged_bytes, 0);
    for (size_t i = 0; i < 4; i++) {
        expect_bytes(i, 10 * i, 10);
    }
    end();
}
END_TEST

START_TEST(ranges_beyond_the_end_are_cut_as_alone)
{
    begin(5000);
    zd_delay_put(plan, "a", 100);
    ask_range(0, "a", 0, 60);
    ask_range(1, "a", 60, 60);
    ask_range(2, "a", 120, 10);
    ask_range(3, "a", 10, 20);
    zd_delay_run();
    ck_assert_uint_le(zd_delay_count('r'), 2);
    expect_bytes(0, 0, 60);
    expect_bytes(1, 60, 40);
    expect_bytes(2, 120, 0);
    expect_bytes(3, 10, 20);
    end();
}
END_TEST

START_TEST(what_is_not_alike_is_not_merged)
{
    begin(5000);
    zd_delay_put(plan, "a", 100);
    zd_delay_put(plan, "b", 100);
    ask_range(0, "a", 0, 10);
    ask_range(1, "b", 10, 10);
    reads[2] = (struct zd_store_read){.op.done = done,
        .key = "a",
        .range = {ZD_RANGE_FROM_TO, 10, 10},
        .bytes_max = SIZE_MAX,
        .only_generation = {.word = {1}}};
    zd_store_read(plan, &reads[2]);
    ask(3, "a", (struct zd_range){ZD_RANGE_SUFFIX, 0, 10});
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 4);
    expect_bytes(0, 0, 10);
    expect_bytes(1, 10, 10);
    expect_status(2, ZD_PRECONDITION);
    expect_bytes(3, 90, 10);
    end();
}
END_TEST

/* ---- places and turns ---- */

START_TEST(no_more_than_the_connections_are_under_way)
{
    char key[16];
    begin(5000);
    zd_delay.remote.settings.connections = 4;
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(key, sizeof key, "k%zu", i);
        zd_delay_put(plan, key, 1);
        ask_whole(i, key);
    }
    zd_delay_run();
    ck_assert_uint_eq(n_done, 40);
    ck_assert_uint_eq(zd_delay.n_running_max, 4);
    for (size_t i = 0; i < 40; i++) {
        expect_bytes(i, 0, 1);
    }
    end();
}
END_TEST

START_TEST(stores_and_owners_take_turns)
{
    char key[16];
    begin(5000);
    struct zd_store *other = zd_delay_open(7, 5000);
    zd_delay.remote.settings.connections = 1;
    for (size_t i = 0; i < 20; i++) { /* the first owner is greedy */
        (void)snprintf(key, sizeof key, "k%zu", i);
        ask_whole(i, key);
    }
    zd_delay_run_until(1001);
    struct zd_store_read late = {.op.done = done, .key = "late", .bytes_max = 1};
    zd_store_read(other, &late);
    zd_delay_run();
    size_t at = 0;
    while (at < zd_delay.n_asked && strcmp(zd_delay.asked[at].key, "late") != 0) {
        at++;
    }
    ck_assert_uint_le(at, 2);
    zd_store_close(other);
    end();
}
END_TEST

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

START_TEST(what_may_pass_is_tried_again)
{
    begin(5000);
    zd_delay_put(plan, "a", 10);
    answer = (struct zd_delay_step){5, retries[_i].status, {.kind = retries[_i].kind}, false};
    n_bad = retries[_i].n_bad;
    zd_delay.script = fail_first;
    ask_whole(0, "a");
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), retries[_i].n_asked);
    ck_assert_uint_eq(plan->n_events[ZD_STORE_RETRIED], retries[_i].n_asked - 1);
    if (retries[_i].told == ZD_OK) {
        expect_bytes(0, 0, 10);
    } else {
        expect_status(0, retries[_i].told);
    }
    end();
}
END_TEST

START_TEST(the_store_says_when_to_ask_again)
{
    begin(5000);
    zd_delay_put(plan, "a", 10);
    answer = (struct zd_delay_step){
        5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_THROTTLED, .retry_after_ms = 3000}, false};
    n_bad = 1;
    zd_delay.script = fail_first;
    ask_whole(0, "a");
    zd_delay_run();
    expect_bytes(0, 0, 10);
    ck_assert_uint_ge(zd_delay.asked[1].at_ms, 4005);
    end();
}
END_TEST

START_TEST(no_attempt_begins_after_the_deadline)
{
    begin(5000);
    zd_delay.remote.settings.request_ms = 2000;
    answer = (struct zd_delay_step){
        5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_THROTTLED, .retry_after_ms = 3000}, false};
    n_bad = 9;
    zd_delay.script = fail_first;
    ask_whole(0, "a");
    zd_delay_run();
    expect_status(0, ZD_STORE);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    ck_assert_uint_lt(zd_delay.now_ms, 2000);
    end();
}
END_TEST

START_TEST(a_reader_that_leaves_between_attempts_ends_them)
{
    begin(5000);
    answer = (struct zd_delay_step){5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_THROTTLED}, false};
    n_bad = 9;
    zd_delay.script = fail_first;
    ask_whole(0, "a");
    zd_delay_run_until(1006);
    zd_store_cancel(&reads[0].op);
    zd_delay_run();
    expect_status(0, ZD_CANCELLED);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    end();
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
    begin(5000);
    answer = (struct zd_delay_step){5, ZD_TIMEOUT,
        {.kind = ZD_REMOTE_FAULT_TIMEOUT, .was_begun = writes[_i].was_begun}, writes[_i].is_done};
    n_bad = 1;
    zd_delay.script = fail_first;
    struct zd_store_write write = {.op.done = done,
        .key = "a",
        .condition = writes[_i].condition,
        .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(plan, &write);
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('w'), writes[_i].n_asked);
    ck_assert_int_eq(write.op.status, writes[_i].told);
    zd_buf_unref(write.bytes);
    end();
}
END_TEST

START_TEST(a_commit_is_handed_on_once)
{
    begin(5000);
    struct zd_store_write write = {.op.done = done,
        .phase = ZD_PHASE_STAGE,
        .key = "a",
        .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(plan, &write);
    zd_delay_run();
    ck_assert_int_eq(write.op.status, ZD_OK);
    ck_assert_ptr_nonnull(write.staged);
    zd_buf_unref(write.bytes);
    write.bytes = NULL;
    write.phase = ZD_PHASE_COMMIT;
    zd_store_write(plan, &write);
    zd_delay_run();
    ck_assert_int_eq(write.op.status, ZD_OK);
    ck_assert_ptr_null(write.staged);
    ck_assert_uint_eq(zd_delay_count('w'), 2);
    end();
}
END_TEST

START_TEST(pages_of_a_listing_go_on_where_they_ended)
{
    char key[16];
    begin(5000);
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(key, sizeof key, "g/k%zu", i);
        zd_delay_put(plan, key, 1);
    }
    answer = (struct zd_delay_step){5, ZD_STORE, {.kind = ZD_REMOTE_FAULT_RETRYABLE}, false};
    n_bad = 1;
    zd_delay.script = fail_first;
    struct zd_store_list list = {.op.done = done, .prefix = "g/", .n_max = 2};
    zd_store_list(plan, &list);
    zd_delay_run();
    size_t n = list.n_entries;
    while (list.op.status == ZD_OK && list.has_more) {
        zd_store_list_next(plan, &list);
        zd_delay_run();
        n += list.n_entries;
    }
    ck_assert_int_eq(list.op.status, ZD_OK);
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(zd_delay_count('l'), 4);
    zd_store_list_done(&list);
    end();
}
END_TEST

/* ---- hedged ---- */

static uint64_t slow_every; /* one in so many takes a second; 1 = all */
static size_t quick_first;  /* of all operations, these are quick */

static struct zd_delay_step straggle(const struct zd_delay_asked *asked, size_t n)
{
    (void)asked;
    const bool is_slow = n >= quick_first && n % slow_every == slow_every - 1;
    return (struct zd_delay_step){.ms = is_slow ? 1000 : 30};
}

/* Ask for so many objects one after the other, in rounds of so many at once. */
static uint64_t read_rounds(size_t n_rounds, size_t n_each)
{
    char key[16];
    uint64_t longest_ms = 0;
    for (size_t round = 0; round < n_rounds; round++) {
        const uint64_t began_ms = zd_delay.now_ms;
        for (size_t i = 0; i < n_each; i++) {
            (void)snprintf(key, sizeof key, "k%zu", i);
            ask_whole(i, key);
        }
        zd_delay_run();
        for (size_t i = 0; i < n_each; i++) {
            expect_bytes(i, 0, 10);
        }
        longest_ms = zd_max_u64(longest_ms, zd_delay.now_ms - began_ms);
    }
    return longest_ms;
}

static void put_objects(size_t n)
{
    char key[16];
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "k%zu", i);
        zd_delay_put(plan, key, 10);
    }
}

START_TEST(a_late_read_is_asked_a_second_time)
{
    begin(0);
    zd_delay.remote.settings.hedge_percent = 5;
    put_objects(40);
    slow_every = 101;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(10, 40); /* to learn what is late */
    ck_assert_uint_eq(plan->n_events[ZD_STORE_HEDGED], 0);
    ck_assert_uint_lt(read_rounds(20, 40), 200);
    ck_assert_uint_ge(plan->n_events[ZD_STORE_HEDGED], 5);
    ck_assert_uint_le(plan->n_events[ZD_STORE_HEDGED], 60); /* 5 % of 1200 */
    end();
}
END_TEST

START_TEST(without_a_budget_no_read_is_asked_twice)
{
    begin(0);
    put_objects(40);
    slow_every = 101;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(20, 40);
    ck_assert_uint_eq(zd_delay_count('r'), 800);
    end();
}
END_TEST

START_TEST(an_endpoint_that_is_slow_is_not_asked_more)
{
    begin(0);
    zd_delay.remote.settings.hedge_percent = 5;
    put_objects(40);
    slow_every = 1;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(30, 40);
    ck_assert_uint_eq(zd_delay_count('r'), 1200);
    ck_assert_uint_eq(plan->n_events[ZD_STORE_HEDGED], 0);
    end();
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
    begin(5000);
    struct zd_store *other = zd_delay_open(8, 5000); /* another endpoint */
    zd_delay_put(plan, "a", 10);
    zd_delay_put(other, "other", 10);
    zd_delay.script = die;
    is_dead = true;
    ask_whole(0, "a");
    zd_delay_run();
    expect_status(0, ZD_STORE); /* what the store says, to who has tried */
    const size_t n_tried = zd_delay.n_asked;
    ask_whole(1, "a");
    zd_delay_run();
    expect_status(1, ZD_PAUSED);
    ck_assert(reads[1].op.err.facts.set & ZD_FACT_RETRY);
    ck_assert_uint_le(reads[1].op.err.facts.retry_ms, 1000);
    ck_assert_uint_eq(zd_delay.n_asked, n_tried);
    ck_assert_uint_ge(plan->n_events[ZD_STORE_PAUSED], 1);

    struct zd_store_read elsewhere = {.op.done = done, .key = "other", .bytes_max = 10};
    zd_store_read(other, &elsewhere);
    zd_delay_run();
    ck_assert_int_eq(elsewhere.op.status, ZD_OK);
    zd_buf_unref(elsewhere.bytes);

    zd_delay_run_until(zd_delay.now_ms + 1000);
    ask_whole(2, "a"); /* one tries, others do not */
    zd_delay_run_until(zd_delay.now_ms + 1);
    ask_whole(3, "b");
    zd_delay_run();
    expect_status(2, ZD_STORE);
    expect_status(3, ZD_PAUSED);

    is_dead = false;
    zd_delay_run_until(zd_delay.now_ms + 1000);
    ask_whole(4, "a");
    zd_delay_run();
    expect_bytes(4, 0, 10);
    ask_whole(5, "a");
    zd_delay_run();
    expect_bytes(5, 0, 10);
    zd_store_close(other);
    end();
}
END_TEST

/* ---- absent ---- */

START_TEST(an_absent_key_is_trusted_for_a_while)
{
    begin(500);
    ask_whole(0, "a");
    zd_delay_run();
    expect_status(0, ZD_NOT_FOUND);
    ask_whole(1, "a");
    zd_delay_run();
    expect_status(1, ZD_NOT_FOUND);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    struct zd_store_status status = {.key = "a"};
    ck_assert_int_eq(zd_store_status_now(plan, &status), ZD_NOT_FOUND);
    zd_delay_run_until(1500);
    ask_whole(2, "a");
    zd_delay_run();
    expect_status(2, ZD_NOT_FOUND);
    ck_assert_uint_eq(zd_delay_count('r'), 2);
    end();
}
END_TEST

START_TEST(our_write_makes_an_absent_key_be_asked_again)
{
    begin(UINT64_MAX);
    ask_whole(0, "a");
    zd_delay_run();
    expect_status(0, ZD_NOT_FOUND);
    struct zd_store_write write = {
        .op.done = done, .key = "a", .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(plan, &write);
    ask_whole(1, "a"); /* may find it or not, and is not remembered */
    zd_delay_run();
    zd_buf_unref(reads[1].bytes);
    ask_whole(2, "a");
    zd_delay_run();
    ck_assert_int_eq(reads[2].op.status, ZD_OK);
    zd_buf_unref(reads[2].bytes);
    zd_buf_unref(write.bytes);
    end();
}
END_TEST

static struct zd_delay_step say_absent_late(const struct zd_delay_asked *asked, size_t n)
{
    (void)n;
    return asked->what == 's' ? (struct zd_delay_step){.ms = 100, .status = ZD_NOT_FOUND}
                              : (struct zd_delay_step){.ms = 30};
}

START_TEST(absence_of_before_our_write_is_not_remembered_after_it)
{
    begin(UINT64_MAX);
    zd_delay.script = say_absent_late;
    struct zd_store_status status = {.op.done = done, .key = "a"};
    struct zd_store_write write = {
        .op.done = done, .key = "a", .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_status(plan, &status);
    zd_store_write(plan, &write);
    zd_delay_run();
    ck_assert_int_eq(status.op.status, ZD_NOT_FOUND);
    ck_assert_int_eq(write.op.status, ZD_OK);
    ask_whole(0, "a");
    zd_delay_run();
    ck_assert_int_eq(reads[0].op.status, ZD_OK);
    zd_buf_unref(reads[0].bytes);
    zd_buf_unref(write.bytes);
    end();
}
END_TEST

/* ---- memory ---- */

/* One that has failed makes its owner cancel the others, as a request does. */
static void cancel_others(struct zd_store_op *op)
{
    (void)op;
    for (size_t i = 0; i < 4; i++) {
        if (reads[i].op.status == ZD_OK && reads[i].bytes == NULL && &reads[i].op != op) {
            zd_store_cancel(&reads[i].op);
        }
    }
}

static enum zd_status ask_and_cancel_with_failing_memory(void *context)
{
    struct zd_store *inner = context;
    const struct zd_store_config config = {
        .location = "mem:", .loop = &zd_delay.loop, .remote = &zd_delay.remote, .inner = inner};
    enum zd_status status = ZD_OK;
    ZD_TRY(zd_store_open_as(&zd_store_ops_plan, &config, &plan, NULL));
    for (size_t i = 0; i < 4; i++) {
        ask_whole(i, "a");
        reads[i].key[0] = (char)('a' + i);
        reads[i].op.done = cancel_others;
    }
    zd_delay_run();
    for (size_t i = 0; i < 4; i++) {
        status = reads[i].op.status == ZD_NO_MEMORY ? ZD_NO_MEMORY : status;
    }
    inner->outer = NULL;
    plan->ops->close(plan);
    zd_delay_run();
    return status;
}

START_TEST(who_is_told_that_memory_is_short_may_cancel_the_others)
{
    zd_delay_begin();
    const struct zd_store_config config = {.location = "mem:", .loop = &zd_delay.loop};
    struct zd_store *inner = NULL;
    ck_assert_int_eq(zd_store_open(&config, &inner, NULL), ZD_OK);
    zd_unit_with_failing_memory(ask_and_cancel_with_failing_memory, inner);
    zd_store_close(inner);
    zd_delay_end();
}
END_TEST

static enum zd_status first_fault(const struct zd_store_write *write, size_t n)
{
    enum zd_status status = write->op.status;
    for (size_t i = 0; i < n; i++) {
        status = status == ZD_OK ? reads[i].op.status : status;
        zd_buf_unref(reads[i].bytes);
        reads[i].bytes = NULL;
    }
    return status;
}

/* Over a store in memory, without delays. */
static enum zd_status ask_with_failing_memory(void *context)
{
    struct zd_store *inner = context;
    const struct zd_store_config config = {.location = "mem:",
        .loop = &zd_delay.loop,
        .writable = true,
        .remote = &zd_delay.remote,
        .inner = inner};
    ZD_TRY(zd_store_open_as(&zd_store_ops_plan, &config, &plan, NULL));
    struct zd_store_write write = {.op.done = done, .key = "a", .bytes = zd_buf_new(100)};
    size_t n_reads = 0;
    if (write.bytes == NULL) {
        write.op.status = ZD_NO_MEMORY;
    } else {
        memset(write.bytes->data, 1, 100);
        write.bytes->len = 100;
        zd_store_write(plan, &write);
        zd_delay_run();
        for (; n_reads < 4; n_reads++) {
            ask_range(n_reads, "a", 10 * n_reads, 10);
        }
        ask_whole(n_reads++, "a");
        zd_delay_run();
    }
    const enum zd_status status = first_fault(&write, n_reads);
    zd_buf_unref(write.bytes);
    inner->outer = NULL;
    plan->ops->close(plan); /* the inner one is opened once */
    zd_delay_run();
    return status == ZD_NOT_FOUND ? ZD_NO_MEMORY : status; /* the write has failed */
}

START_TEST(without_memory_an_operation_ends_so)
{
    zd_delay_begin();
    const struct zd_store_config config = {
        .location = "mem:", .loop = &zd_delay.loop, .writable = true};
    struct zd_store *inner = NULL;
    ck_assert_int_eq(zd_store_open(&config, &inner, NULL), ZD_OK);
    zd_unit_with_failing_memory(ask_with_failing_memory, inner);
    zd_store_close(inner);
    zd_delay_end();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, without_memory_an_operation_ends_so);
    tcase_add_test(tests, who_is_told_that_memory_is_short_may_cancel_the_others);
    tcase_add_test(tests, sixty_four_readers_of_one_object_cost_one_read);
    tcase_add_test(tests, a_reader_that_leaves_cancels_no_other);
    tcase_add_test(tests, the_last_reader_that_leaves_cancels_the_read);
    tcase_add_test(tests, an_old_read_is_joined_only_as_long_as_it_is_trusted);
    tcase_add_test(tests, a_read_after_our_write_does_not_join_one_from_before);
    tcase_add_test(tests, a_bound_on_bytes_is_each_reader_s_own);
    tcase_add_loop_test(tests, a_block_of_inner_chunks_costs_few_reads, 0, ZD_COUNT_OF(blocks));
    tcase_add_test(tests, without_room_nothing_is_merged);
    tcase_add_test(tests, ranges_beyond_the_end_are_cut_as_alone);
    tcase_add_test(tests, what_is_not_alike_is_not_merged);
    tcase_add_test(tests, no_more_than_the_connections_are_under_way);
    tcase_add_test(tests, stores_and_owners_take_turns);
    tcase_add_loop_test(tests, what_may_pass_is_tried_again, 0, ZD_COUNT_OF(retries));
    tcase_add_test(tests, the_store_says_when_to_ask_again);
    tcase_add_test(tests, no_attempt_begins_after_the_deadline);
    tcase_add_test(tests, a_reader_that_leaves_between_attempts_ends_them);
    tcase_add_loop_test(
        tests, an_unknown_outcome_of_a_write_is_never_told_as_a_known_one, 0, ZD_COUNT_OF(writes));
    tcase_add_test(tests, a_commit_is_handed_on_once);
    tcase_add_test(tests, pages_of_a_listing_go_on_where_they_ended);
    tcase_add_test(tests, a_late_read_is_asked_a_second_time);
    tcase_add_test(tests, without_a_budget_no_read_is_asked_twice);
    tcase_add_test(tests, an_endpoint_that_is_slow_is_not_asked_more);
    tcase_add_test(tests, an_endpoint_that_fails_is_left_alone_and_tried_again);
    tcase_add_test(tests, an_absent_key_is_trusted_for_a_while);
    tcase_add_test(tests, our_write_makes_an_absent_key_be_asked_again);
    tcase_add_test(tests, absence_of_before_our_write_is_not_remembered_after_it);
}
