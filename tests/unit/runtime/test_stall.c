/* server/runtime/stall: how long the loop stood. */
#include "server/runtime/stall.h"

#include <unistd.h>

#include "tests/support/unit.h"

#define STOOD_MS 30
#define MS       1000000U

static uv_loop_t loop;
static struct zd_stall stall;

static void stand_still(void)
{
    const uint64_t end_ns = uv_hrtime() + (uint64_t)STOOD_MS * MS;
    while (uv_hrtime() < end_ns) {
    }
}

static void end_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

static void on_timer(uv_timer_t *timer)
{
    stand_still();
    end_timer(timer);
}

static void on_bytes(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    stand_still();
    uv_close((uv_handle_t *)poll, NULL);
}

static void run(void)
{
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    zd_stall_close(&stall);
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void begin(void)
{
    stall = (struct zd_stall){0};
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    zd_stall_init(&stall, &loop);
}

static void check_that_one_turn_stood(void)
{
    ck_assert_uint_ge(stall.longest_ns, (STOOD_MS - 1) * MS);
    ck_assert_uint_ge(stall.ns, stall.longest_ns);
    ck_assert_uint_lt(stall.bucket[4], stall.n); /* up to 20 ms */
}

START_TEST(stall_counts_a_turn_whose_timer_takes_long)
{
    uv_timer_t timer;
    uv_timer_t last;
    begin();
    uv_timer_init(&loop, &timer);
    uv_timer_init(&loop, &last); /* a turn is counted before the next waiting */
    uv_timer_start(&last, end_timer, 10 * STOOD_MS, 0);
    (void)uv_run(&loop, UV_RUN_NOWAIT); /* what is done before the first waiting is not counted */
    uv_timer_start(&timer, on_timer, 1, 0);
    run();
    check_that_one_turn_stood();
}
END_TEST

START_TEST(stall_counts_a_turn_whose_bytes_take_long)
{
    uv_poll_t poll;
    uv_timer_t last;
    int ends[2];
    begin();
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "", 1), 1);
    uv_poll_init(&loop, &poll, ends[0]);
    uv_poll_start(&poll, UV_READABLE, on_bytes);
    uv_timer_init(&loop, &last);
    uv_timer_start(&last, end_timer, 10 * STOOD_MS, 0);
    run();
    check_that_one_turn_stood();
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(stall_counts_a_turn_in_every_bucket_from_its_own_on)
{
    struct zd_stall counts = {0};
    static const struct {
        uint64_t ns;
        size_t first; /* bucket */
    } cases[] = {
        {0, 0}, {MS, 0}, {MS + 1, 1}, {20 * MS, 4}, {20 * MS + 1, 5},
        {UINT64_MAX / 2, ZD_STALL_BUCKETS}, /* beyond all */
    };
    for (size_t i = 0; i < ZD_COUNT_OF(cases); i++) {
        counts = (struct zd_stall){0};
        zd_stall_add(&counts, cases[i].ns);
        for (size_t k = 0; k < ZD_STALL_BUCKETS; k++) {
            ck_assert_uint_eq(counts.bucket[k], k >= cases[i].first ? 1 : 0);
        }
        ck_assert_uint_eq(counts.longest_ns, cases[i].ns);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, stall_counts_a_turn_whose_timer_takes_long);
    tcase_add_test(tests, stall_counts_a_turn_whose_bytes_take_long);
    tcase_add_test(tests, stall_counts_a_turn_in_every_bucket_from_its_own_on);
}
