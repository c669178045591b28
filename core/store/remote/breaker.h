/* Whether an endpoint that fails is asked again. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_REMOTE_BREAKER_H
#define ZD_CORE_STORE_REMOTE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Closed: everything passes. After several failures in a row that took some time together it opens,
 * and nothing passes for a while. Then one operation may try in every such while, and the first
 * that succeeds closes it: one that gets no answer keeps no other from trying.
 */
struct zd_breaker { /* zeroed = closed */
    bool is_open;
    uint32_t n_failures; /* since the last success */
    uint64_t first_ms;   /* when the first of them began */
    uint64_t probe_ms;   /* when the next one may pass, while it is open */
};

/**
 * Whether an operation may begin now; it is to be told how that ended.
 * @param pause_ms    how long an endpoint is left alone
 * @param ret_wait_ms when not: how long until the next one may
 */
bool zd_breaker_passes(
    struct zd_breaker *breaker, uint64_t now_ms, uint64_t pause_ms, uint64_t *ret_wait_ms);

/** The endpoint has answered, whatever it said. */
void zd_breaker_succeed(struct zd_breaker *breaker);

/** An operation that began then failed, and the endpoint is to blame. @return whether it opens now
 */
bool zd_breaker_fail(
    struct zd_breaker *breaker, uint64_t began_ms, uint64_t now_ms, uint64_t pause_ms);

#endif
