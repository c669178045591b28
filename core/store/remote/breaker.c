/* Whether an endpoint that fails is asked again. */
#include "core/store/remote/breaker.h"

#define FAILURES_MIN 5   /* in a row */
#define FAILING_MS   200 /* that they took: connections that all end at once are one failure */

bool zd_breaker_passes(
    struct zd_breaker *breaker, uint64_t now_ms, uint64_t pause_ms, uint64_t *ret_wait_ms)
{
    if (!breaker->is_open) {
        return true;
    }
    if (now_ms < breaker->probe_ms) {
        *ret_wait_ms = breaker->probe_ms - now_ms;
        return false;
    }
    breaker->probe_ms = now_ms + pause_ms;
    return true;
}

void zd_breaker_succeed(struct zd_breaker *breaker)
{
    *breaker = (struct zd_breaker){0};
}

bool zd_breaker_fail(
    struct zd_breaker *breaker, uint64_t began_ms, uint64_t now_ms, uint64_t pause_ms)
{
    if (breaker->n_failures == 0 || began_ms < breaker->first_ms) {
        breaker->first_ms = began_ms;
    }
    breaker->n_failures += breaker->n_failures < UINT32_MAX;
    if (breaker->is_open || breaker->n_failures < FAILURES_MIN ||
        now_ms - breaker->first_ms < FAILING_MS) {
        return false;
    }
    breaker->is_open = true;
    breaker->probe_ms = now_ms + pause_ms;
    return true;
}
