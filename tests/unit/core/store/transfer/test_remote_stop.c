/* The end of what remote stores wait for; what it does to transfers is in test_transfer. */
#include "core/store/transfer/remote_stop.h"

#include "core/base/num.h"
#include "core/store/remote/endpoint.h"
#include "tests/support/check.h"
#include "tests/support/unit.h"

static unsigned n_rung;

static void count_ring(struct zd_timer *alarm)
{
    (void)alarm;
    n_rung++;
}

START_TEST(nothing_waits_for_its_time_when_all_is_stopped)
{
    uv_loop_t loop;
    struct zd_timer alarm[3] = {{.ring = count_ring}, {.ring = count_ring}, {.ring = count_ring}};
    struct zd_remote none = {0};
    struct zd_remote remote = {.settings = {.connections = 1, .breaker_ms = 1, .retries = 4}};
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    zd_remote_stop(&none);
    struct zd_endpoint *endpoint = zd_endpoint_join(&remote, 7, &loop);
    for (size_t i = 0; i < ZD_COUNT_OF(alarm); i++) {
        zd_timers_set(&endpoint->alarms, &alarm[i], i == 0 ? 0 : UINT64_MAX / i);
    }
    zd_remote_stop(&remote);
    ck_assert_uint_eq(n_rung, 0);
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_uint_eq(n_rung, ZD_COUNT_OF(alarm));
    ck_assert_uint_eq(remote.settings.retries, 0);
    zd_endpoint_unref(endpoint);
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, nothing_waits_for_its_time_when_all_is_stopped);
}
