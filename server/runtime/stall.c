/* How long the loop stood: in each turn, from the moment it had something to do until it could wait
 * again. */
#include "server/runtime/stall.h"

#include "core/base/num.h"

#define NS_OF_MS 1000000U

const double zd_stall_bounds[ZD_STALL_BUCKETS] = {
    .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5};

void zd_stall_add(struct zd_stall *stall, uint64_t ns)
{
    const double seconds = (double)ns / 1e9;
    stall->n++;
    stall->ns += ns;
    stall->longest_ns = zd_max_u64(stall->longest_ns, ns);
    for (size_t i = 0; i < ZD_STALL_BUCKETS; i++) {
        stall->bucket[i] += seconds <= zd_stall_bounds[i] ? 1 : 0;
    }
}

/* libuv reads the clock when waiting ends, before any callback: that is when the turn began, cut to
 * a millisecond. */
static void after_waiting(uv_check_t *check)
{
    struct zd_stall *stall = check->data;
    stall->began_ns = (uv_now(check->loop) + 1) * NS_OF_MS;
}

static void before_waiting(uv_prepare_t *prepare)
{
    struct zd_stall *stall = prepare->data;
    const uint64_t now_ns = uv_hrtime();
    if (stall->began_ns != 0) {
        zd_stall_add(stall, now_ns - zd_min_u64(now_ns, stall->began_ns));
    }
}

void zd_stall_init(struct zd_stall *stall, uv_loop_t *loop)
{
    uv_prepare_init(loop, &stall->before_waiting);
    uv_check_init(loop, &stall->after_waiting);
    stall->before_waiting.data = stall;
    stall->after_waiting.data = stall;
    uv_prepare_start(&stall->before_waiting, before_waiting);
    uv_check_start(&stall->after_waiting, after_waiting);
    uv_unref((uv_handle_t *)&stall->before_waiting);
    uv_unref((uv_handle_t *)&stall->after_waiting);
}

void zd_stall_close(struct zd_stall *stall)
{
    uv_close((uv_handle_t *)&stall->before_waiting, NULL);
    uv_close((uv_handle_t *)&stall->after_waiting, NULL);
}
