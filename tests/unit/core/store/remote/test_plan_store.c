/* The plan over a remote store: what it asks, counted. No time passes but that of the test. */
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "tests/support/check.h"
#include "tests/support/plan_reads.h"
#include "tests/support/unit.h"

#define KIB 1024

/* ---- joined ---- */

START_TEST(sixty_four_readers_of_one_object_cost_one_read)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 100);
    for (size_t i = 0; i < 64; i++) {
        zd_plan_ask_whole(i, "a");
        zd_delay_run_until(1000 + i / 4); /* some in one turn, some in others */
    }
    zd_delay_run();
    ck_assert_uint_eq(zd_plan_n_done, 64);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    ck_assert_uint_eq(zd_plan->n_events[ZD_STORE_JOINED], 63);
    for (size_t i = 0; i < 64; i++) {
        zd_plan_expect_bytes(i, 0, 100);
    }
    zd_plan_end();
}
END_TEST

START_TEST(a_reader_that_leaves_cancels_no_other)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 10);
    for (size_t i = 0; i < 3; i++) {
        zd_plan_ask_whole(i, "a");
        zd_delay_run_until(1001 + i);
    }
    zd_store_cancel(&zd_plan_reads[0].op);
    zd_store_cancel(&zd_plan_reads[2].op);
    zd_delay_run();
    zd_plan_expect_status(0, ZD_CANCELLED);
    zd_plan_expect_bytes(1, 0, 10);
    zd_plan_expect_status(2, ZD_CANCELLED);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    zd_plan_end();
}
END_TEST

START_TEST(the_last_reader_that_leaves_cancels_the_read)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 10);
    zd_plan_ask_whole(0, "a");
    zd_plan_ask_whole(1, "b");
    zd_store_cancel(&zd_plan_reads[1].op); /* before the turn ends */
    zd_delay_run_until(1010);
    zd_store_cancel(&zd_plan_reads[0].op);
    zd_plan_ask_whole(2, "a"); /* does not join what is given up */
    zd_delay_run();
    zd_plan_expect_status(0, ZD_CANCELLED);
    zd_plan_expect_status(1, ZD_CANCELLED);
    zd_plan_expect_bytes(2, 0, 10);
    ck_assert_uint_eq(zd_delay_count('r'), 2);
    zd_plan_end();
}
END_TEST

/* With 0 an answer shows what was stored before it was asked for. */
START_TEST(an_old_read_is_joined_only_as_long_as_it_is_trusted)
{
    zd_plan_begin(0);
    zd_delay_put(zd_plan, "a", 10);
    zd_plan_ask_whole(0, "a");
    zd_plan_ask_whole(1, "a");
    zd_delay_run_until(1001);
    zd_plan_ask_whole(2, "a");
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 2);
    for (size_t i = 0; i < 3; i++) {
        zd_plan_expect_bytes(i, 0, 10);
    }
    zd_plan_end();
}
END_TEST

START_TEST(a_read_after_our_write_does_not_join_one_from_before)
{
    zd_plan_begin(UINT64_MAX);
    zd_delay_put(zd_plan, "a", 10);
    zd_plan_ask_whole(0, "a");
    zd_delay_run_until(1001);
    struct zd_store_write write = {
        .op.done = zd_plan_done, .key = "a", .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(zd_plan, &write);
    zd_delay_run_until(1035);
    zd_plan_ask_whole(1, "a");
    zd_delay_run();
    ck_assert_int_eq(write.op.status, ZD_OK);
    zd_plan_expect_bytes(0, 0, 10);
    ck_assert(zd_span_is(zd_buf_span(zd_plan_reads[1].bytes), "new"));
    zd_buf_unref(zd_plan_reads[1].bytes);
    zd_buf_unref(write.bytes);
    zd_plan_end();
}
END_TEST

START_TEST(a_bound_on_bytes_is_each_reader_s_own)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 100);
    zd_plan_ask_whole(0, "a");
    zd_plan_reads[1] = (struct zd_store_read){.op.done = zd_plan_done, .key = "a", .bytes_max = 99};
    zd_store_read(zd_plan, &zd_plan_reads[1]);
    zd_plan_reads[2] = (struct zd_store_read){
        .op.done = zd_plan_done, .key = "a", .range = {ZD_RANGE_FROM_TO, 0, 100}, .bytes_max = 99};
    zd_store_read(zd_plan, &zd_plan_reads[2]);
    zd_delay_run();
    zd_plan_expect_bytes(0, 0, 100);
    zd_plan_expect_status(1, ZD_TOO_LARGE);
    zd_plan_expect_status(2, ZD_TOO_LARGE);
    zd_plan_end();
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
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "shard", 64 * chunk);
    for (size_t i = 0; i < 25; i++) {
        const uint64_t at =
            blocks[_i].place(blocks[_i].first_row + i / 5, blocks[_i].first_column + i % 5);
        zd_plan_ask_range(i, "shard", at * chunk, chunk);
    }
    zd_delay_run();
    ck_assert_uint_le(zd_delay_count('r'), blocks[_i].n_reads);
    for (size_t i = 0; i < zd_delay.n_asked; i++) {
        n_read += zd_delay.asked[i].range.len;
    }
    ck_assert_uint_le(n_read * 100, 25 * chunk * 110);
    for (size_t i = 0; i < 25; i++) {
        zd_plan_expect_bytes(i,
            chunk * blocks[_i].place(blocks[_i].first_row + i / 5, blocks[_i].first_column + i % 5),
            chunk);
    }
    zd_plan_end();
}
END_TEST

/* All stores share the memory for reads that are held twice. */
START_TEST(without_room_nothing_is_merged)
{
    zd_plan_begin(0);
    zd_delay_put(zd_plan, "a", 100);
    zd_delay.remote.merged_bytes = UINT64_C(32) << 20;
    for (size_t i = 0; i < 4; i++) {
        zd_plan_ask_range(i, "a", 10 * i, 10);
    }
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 4);
    zd_delay.remote.merged_bytes = 0;
    for (size_t i = 0; i < 4; i++) {
        zd_plan_expect_bytes(i, 10 * i, 10);
        zd_plan_ask_range(i, "a", 10 * i, 10);
    }
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 5);
    ck_assert_uint_eq(zd_delay.remote.merged_bytes, 0);
    for (size_t i = 0; i < 4; i++) {
        zd_plan_expect_bytes(i, 10 * i, 10);
    }
    zd_plan_end();
}
END_TEST

START_TEST(ranges_beyond_the_end_are_cut_as_alone)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 100);
    zd_plan_ask_range(0, "a", 0, 60);
    zd_plan_ask_range(1, "a", 60, 60);
    zd_plan_ask_range(2, "a", 120, 10);
    zd_plan_ask_range(3, "a", 10, 20);
    zd_delay_run();
    ck_assert_uint_le(zd_delay_count('r'), 2);
    zd_plan_expect_bytes(0, 0, 60);
    zd_plan_expect_bytes(1, 60, 40);
    zd_plan_expect_bytes(2, 120, 0);
    zd_plan_expect_bytes(3, 10, 20);
    zd_plan_end();
}
END_TEST

START_TEST(unlike_requests_are_not_merged)
{
    zd_plan_begin(5000);
    zd_delay_put(zd_plan, "a", 100);
    zd_delay_put(zd_plan, "b", 100);
    zd_plan_ask_range(0, "a", 0, 10);
    zd_plan_ask_range(1, "b", 10, 10);
    zd_plan_reads[2] = (struct zd_store_read){.op.done = zd_plan_done,
        .key = "a",
        .range = {ZD_RANGE_FROM_TO, 10, 10},
        .bytes_max = SIZE_MAX,
        .only_generation = {.word = {1}}};
    zd_store_read(zd_plan, &zd_plan_reads[2]);
    zd_plan_ask(3, "a", (struct zd_range){ZD_RANGE_SUFFIX, 0, 10});
    zd_delay_run();
    ck_assert_uint_eq(zd_delay_count('r'), 4);
    zd_plan_expect_bytes(0, 0, 10);
    zd_plan_expect_bytes(1, 10, 10);
    zd_plan_expect_status(2, ZD_PRECONDITION);
    zd_plan_expect_bytes(3, 90, 10);
    zd_plan_end();
}
END_TEST

/* ---- places and turns ---- */

START_TEST(no_more_than_the_connections_are_under_way)
{
    char key[16];
    zd_plan_begin(5000);
    zd_delay.remote.settings.connections = 4;
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(key, sizeof key, "k%zu", i);
        zd_delay_put(zd_plan, key, 1);
        zd_plan_ask_whole(i, key);
    }
    zd_delay_run();
    ck_assert_uint_eq(zd_plan_n_done, 40);
    ck_assert_uint_eq(zd_delay.n_running_max, 4);
    for (size_t i = 0; i < 40; i++) {
        zd_plan_expect_bytes(i, 0, 1);
    }
    zd_plan_end();
}
END_TEST

START_TEST(stores_and_owners_take_turns)
{
    char key[16];
    zd_plan_begin(5000);
    struct zd_store *other = zd_delay_open(7, 5000);
    zd_delay.remote.settings.connections = 1;
    for (size_t i = 0; i < 20; i++) { /* the first owner is greedy */
        (void)snprintf(key, sizeof key, "k%zu", i);
        zd_plan_ask_whole(i, key);
    }
    zd_delay_run_until(1001);
    struct zd_store_read late = {.op.done = zd_plan_done, .key = "late", .bytes_max = 1};
    zd_store_read(other, &late);
    zd_delay_run();
    size_t at = 0;
    while (at < zd_delay.n_asked && strcmp(zd_delay.asked[at].key, "late") != 0) {
        at++;
    }
    ck_assert_uint_le(at, 2);
    zd_store_close(other);
    zd_plan_end();
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
            zd_plan_ask_whole(i, key);
        }
        zd_delay_run();
        for (size_t i = 0; i < n_each; i++) {
            zd_plan_expect_bytes(i, 0, 10);
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
        zd_delay_put(zd_plan, key, 10);
    }
}

START_TEST(a_late_read_is_asked_a_second_time)
{
    zd_plan_begin(0);
    zd_delay.remote.settings.hedge_percent = 5;
    put_objects(40);
    slow_every = 101;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(10, 40); /* to learn what is late */
    ck_assert_uint_eq(zd_plan->n_events[ZD_STORE_HEDGED], 0);
    ck_assert_uint_lt(read_rounds(20, 40), 200);
    ck_assert_uint_ge(zd_plan->n_events[ZD_STORE_HEDGED], 5);
    ck_assert_uint_le(zd_plan->n_events[ZD_STORE_HEDGED], 60); /* 5 % of 1200 */
    zd_plan_end();
}
END_TEST

/* All reads under way are late by then. */
START_TEST(late_reads_of_many_at_once_are_asked_a_second_time)
{
    zd_plan_begin(0);
    zd_delay.remote.settings.hedge_percent = 5;
    put_objects(40);
    slow_every = 14;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(10, 40);
    ck_assert_uint_lt(read_rounds(3, 40), 200);
    ck_assert_uint_eq(zd_plan->n_events[ZD_STORE_HEDGED], 9);
    zd_plan_end();
}
END_TEST

/* When the first of them is late, the others have all the places. */
START_TEST(a_second_request_without_a_place_is_made_later)
{
    zd_plan_begin(0);
    zd_delay.remote.settings.hedge_percent = 5;
    zd_delay.remote.settings.connections = 4;
    put_objects(8);
    slow_every = 401;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(50, 8);
    ck_assert_uint_lt(read_rounds(1, 8), 200);
    ck_assert_uint_eq(zd_plan->n_events[ZD_STORE_HEDGED], 1);
    ck_assert_uint_eq(zd_delay.n_running_max, 4);
    zd_plan_end();
}
END_TEST

START_TEST(without_a_budget_no_read_is_asked_twice)
{
    zd_plan_begin(0);
    put_objects(40);
    slow_every = 101;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(20, 40);
    ck_assert_uint_eq(zd_delay_count('r'), 800);
    zd_plan_end();
}
END_TEST

START_TEST(an_endpoint_that_is_slow_is_not_asked_more)
{
    zd_plan_begin(0);
    zd_delay.remote.settings.hedge_percent = 5;
    put_objects(40);
    slow_every = 1;
    quick_first = 400;
    zd_delay.script = straggle;
    (void)read_rounds(30, 40);
    ck_assert_uint_eq(zd_delay_count('r'), 1200);
    ck_assert_uint_eq(zd_plan->n_events[ZD_STORE_HEDGED], 0);
    zd_plan_end();
}
END_TEST

/* ---- absent ---- */

START_TEST(an_absent_key_is_trusted_for_a_while)
{
    zd_plan_begin(500);
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    zd_plan_expect_status(0, ZD_NOT_FOUND);
    zd_plan_ask_whole(1, "a");
    zd_delay_run();
    zd_plan_expect_status(1, ZD_NOT_FOUND);
    ck_assert_uint_eq(zd_delay_count('r'), 1);
    struct zd_store_status status = {.key = "a"};
    ck_assert_int_eq(zd_store_status_now(zd_plan, &status), ZD_NOT_FOUND);
    zd_delay_run_until(1500);
    zd_plan_ask_whole(2, "a");
    zd_delay_run();
    zd_plan_expect_status(2, ZD_NOT_FOUND);
    ck_assert_uint_eq(zd_delay_count('r'), 2);
    zd_plan_end();
}
END_TEST

START_TEST(our_write_makes_an_absent_key_be_asked_again)
{
    zd_plan_begin(UINT64_MAX);
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    zd_plan_expect_status(0, ZD_NOT_FOUND);
    struct zd_store_write write = {
        .op.done = zd_plan_done, .key = "a", .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_write(zd_plan, &write);
    zd_plan_ask_whole(1, "a"); /* may find it or not, and is not remembered */
    zd_delay_run();
    zd_buf_unref(zd_plan_reads[1].bytes);
    zd_plan_ask_whole(2, "a");
    zd_delay_run();
    ck_assert_int_eq(zd_plan_reads[2].op.status, ZD_OK);
    zd_buf_unref(zd_plan_reads[2].bytes);
    zd_buf_unref(write.bytes);
    zd_plan_end();
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
    zd_plan_begin(UINT64_MAX);
    zd_delay.script = say_absent_late;
    struct zd_store_status status = {.op.done = zd_plan_done, .key = "a"};
    struct zd_store_write write = {
        .op.done = zd_plan_done, .key = "a", .bytes = zd_buf_copy(zd_span_of("new"))};
    zd_store_status(zd_plan, &status);
    zd_store_write(zd_plan, &write);
    zd_delay_run();
    ck_assert_int_eq(status.op.status, ZD_NOT_FOUND);
    ck_assert_int_eq(write.op.status, ZD_OK);
    zd_plan_ask_whole(0, "a");
    zd_delay_run();
    ck_assert_int_eq(zd_plan_reads[0].op.status, ZD_OK);
    zd_buf_unref(zd_plan_reads[0].bytes);
    zd_buf_unref(write.bytes);
    zd_plan_end();
}
END_TEST

/* ---- memory ---- */

/* A failed operation makes its owner cancel the others, like a request does. */
static void cancel_others(struct zd_store_op *op)
{
    (void)op;
    for (size_t i = 0; i < 4; i++) {
        if (zd_plan_reads[i].op.status == ZD_OK && zd_plan_reads[i].bytes == NULL &&
            &zd_plan_reads[i].op != op) {
            zd_store_cancel(&zd_plan_reads[i].op);
        }
    }
}

static enum zd_status ask_and_cancel_with_failing_memory(void *context)
{
    struct zd_store *inner = context;
    const struct zd_store_config config = {
        .location = "mem:", .loop = &zd_delay.loop, .remote = &zd_delay.remote, .inner = inner};
    enum zd_status status = ZD_OK;
    ZD_TRY(zd_store_open_as(&zd_store_ops_plan, &config, &zd_plan, NULL));
    for (size_t i = 0; i < 4; i++) {
        zd_plan_ask_whole(i, "a");
        zd_plan_reads[i].key[0] = (char)('a' + i);
        zd_plan_reads[i].op.done = cancel_others;
    }
    zd_delay_run();
    for (size_t i = 0; i < 4; i++) {
        status = zd_plan_reads[i].op.status == ZD_NO_MEMORY ? ZD_NO_MEMORY : status;
    }
    inner->outer = NULL;
    zd_plan->ops->close(zd_plan);
    zd_delay_run();
    return status;
}

START_TEST(a_caller_without_memory_may_cancel_the_others)
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
        status = status == ZD_OK ? zd_plan_reads[i].op.status : status;
        zd_buf_unref(zd_plan_reads[i].bytes);
        zd_plan_reads[i].bytes = NULL;
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
    ZD_TRY(zd_store_open_as(&zd_store_ops_plan, &config, &zd_plan, NULL));
    struct zd_store_write write = {.op.done = zd_plan_done, .key = "a", .bytes = zd_buf_new(100)};
    size_t n_reads = 0;
    if (write.bytes == NULL) {
        write.op.status = ZD_NO_MEMORY;
    } else {
        memset(write.bytes->data, 1, 100);
        write.bytes->len = 100;
        zd_store_write(zd_plan, &write);
        zd_delay_run();
        for (; n_reads < 4; n_reads++) {
            zd_plan_ask_range(n_reads, "a", 10 * n_reads, 10);
        }
        zd_plan_ask_whole(n_reads++, "a");
        zd_delay_run();
    }
    const enum zd_status status = first_fault(&write, n_reads);
    zd_buf_unref(write.bytes);
    inner->outer = NULL;
    zd_plan->ops->close(zd_plan); /* the inner one is opened once */
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
    tcase_add_test(tests, a_caller_without_memory_may_cancel_the_others);
    tcase_add_test(tests, sixty_four_readers_of_one_object_cost_one_read);
    tcase_add_test(tests, a_reader_that_leaves_cancels_no_other);
    tcase_add_test(tests, the_last_reader_that_leaves_cancels_the_read);
    tcase_add_test(tests, an_old_read_is_joined_only_as_long_as_it_is_trusted);
    tcase_add_test(tests, a_read_after_our_write_does_not_join_one_from_before);
    tcase_add_test(tests, a_bound_on_bytes_is_each_reader_s_own);
    tcase_add_loop_test(tests, a_block_of_inner_chunks_costs_few_reads, 0, ZD_COUNT_OF(blocks));
    tcase_add_test(tests, without_room_nothing_is_merged);
    tcase_add_test(tests, ranges_beyond_the_end_are_cut_as_alone);
    tcase_add_test(tests, unlike_requests_are_not_merged);
    tcase_add_test(tests, no_more_than_the_connections_are_under_way);
    tcase_add_test(tests, stores_and_owners_take_turns);
    tcase_add_test(tests, a_late_read_is_asked_a_second_time);
    tcase_add_test(tests, late_reads_of_many_at_once_are_asked_a_second_time);
    tcase_add_test(tests, a_second_request_without_a_place_is_made_later);
    tcase_add_test(tests, without_a_budget_no_read_is_asked_twice);
    tcase_add_test(tests, an_endpoint_that_is_slow_is_not_asked_more);
    tcase_add_test(tests, an_absent_key_is_trusted_for_a_while);
    tcase_add_test(tests, our_write_makes_an_absent_key_be_asked_again);
    tcase_add_test(tests, absence_of_before_our_write_is_not_remembered_after_it);
}
