/* server/runtime/deadlines: one timer for deadlines that are equally far away. */
#include "server/runtime/deadlines.h"

#include "tests/support/unit.h"

#define AFTER_MS 5
#define N        3

static uv_loop_t loop;
static struct zd_deadlines deadlines;
static struct zd_deadline deadline[N];
static uint64_t began_ms[N];
static size_t order[2 * N];
static size_t n_over;
static size_t n_again; /* so often `over` starts what is over once more */

static void start(size_t i)
{
    began_ms[i] = uv_now(&loop);
    zd_deadline_start(&deadlines, &deadline[i]);
}

static void over(struct zd_deadline *is_over)
{
    const size_t i = (size_t)(is_over - deadline);
    ck_assert(!zd_list_is_linked(&is_over->link));
    ck_assert_uint_ge(uv_now(&loop), began_ms[i] + AFTER_MS);
    order[n_over++] = i;
    if (n_again > 0) {
        n_again--;
        start(i);
    }
}

static void begin(void)
{
    n_over = 0;
    n_again = 0;
    memset(deadline, 0, sizeof deadline);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    zd_deadlines_init(&deadlines, &loop, AFTER_MS, over);
}

static void wait_for(size_t n)
{
    uv_ref((uv_handle_t *)&deadlines.timer);
    while (n_over < n) {
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
    uv_unref((uv_handle_t *)&deadlines.timer);
}

static void end(void)
{
    zd_deadlines_close(&deadlines);
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

START_TEST(deadlines_are_over_in_the_order_of_their_starts)
{
    begin();
    start(1);
    start(2);
    start(0);
    start(1); /* anew: it is the last now */
    wait_for(N);
    static const size_t expected[] = {2, 0, 1};
    ck_assert_mem_eq(order, expected, sizeof expected);
    end();
}
END_TEST

START_TEST(deadlines_that_were_stopped_are_never_over)
{
    begin();
    start(0);
    start(1);
    zd_deadline_stop(&deadline[0]);
    zd_deadline_stop(&deadline[2]); /* does not run */
    wait_for(1);
    ck_assert_uint_eq(order[0], 1);
    ck_assert(zd_list_is_empty(&deadlines.running));
    end();
}
END_TEST

START_TEST(deadlines_may_be_started_again_when_they_are_over)
{
    begin();
    n_again = 2;
    start(0);
    start(1);
    wait_for(4);
    static const size_t expected[] = {0, 1, 0, 1};
    ck_assert_mem_eq(order, expected, sizeof expected);
    end();
}
END_TEST

START_TEST(deadlines_keep_no_loop_alive)
{
    begin();
    start(0);
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_uint_eq(n_over, 0);
    zd_deadline_stop(&deadline[0]);
    end();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, deadlines_are_over_in_the_order_of_their_starts);
    tcase_add_test(tests, deadlines_that_were_stopped_are_never_over);
    tcase_add_test(tests, deadlines_may_be_started_again_when_they_are_over);
    tcase_add_test(tests, deadlines_keep_no_loop_alive);
}
