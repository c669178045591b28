/* Taking away what writers left behind that ended in the middle. */
#ifndef ZD_CORE_STORE_SWEEP_H
#define ZD_CORE_STORE_SWEEP_H

#include <stdatomic.h>
#include <uv.h>

#include "core/store/writers.h"

#define ZD_SWEEP_WRITERS_MAX 64 /* more dead ones wait for the next sweep */

/** A sweep below a root: a thread of its own, since a large tree takes its time. */
struct zd_sweep {
    const struct zd_beneath *root; /* borrowed until it is stopped */
    char dead[ZD_SWEEP_WRITERS_MAX][ZD_WRITER_ID_LEN + 1];
    size_t n_dead;
    uv_thread_t thread;
    bool is_started;
    _Atomic bool must_stop;
};

/**
 * Look for markers of writers that do not live; when there are any, begin to remove all temporary
 * files below the root but those of living writers, and at last the markers. Nobody waits for it,
 * and what it cannot remove stays for the next one. Thread: loop.
 */
void zd_sweep_start(struct zd_sweep *sweep, const struct zd_beneath *root);

/** End it early, and wait until it has ended; accepts one that was never started. Thread: loop. */
void zd_sweep_stop(struct zd_sweep *sweep);

#endif
