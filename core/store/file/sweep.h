/* Removing the temporary files of dead writers. */
#ifndef ZD_CORE_STORE_FILE_SWEEP_H
#define ZD_CORE_STORE_FILE_SWEEP_H

#include <stdatomic.h>
#include <uv.h>

#include "core/store/file/writers.h"

#define ZD_SWEEP_WRITERS_MAX 64 /* more dead ones wait for the next sweep */

/** A sweep below a root, in a thread of its own, as a large tree takes long. */
struct zd_sweep {
    const struct zd_beneath *root; /* borrowed until it is stopped */
    struct zd_presence presence;   /* so that markers are looked up where writers have them */
    char dead[ZD_SWEEP_WRITERS_MAX][ZD_WRITER_ID_LEN + 1];
    size_t n_dead;
    uv_thread_t thread;
    bool is_started; /* and not stopped */
    _Atomic bool has_ended;
    _Atomic bool must_stop;
};

/**
 * Look for markers of dead writers. If there are any, start removing all temporary files below the
 * root except those of living writers, and then the markers. Nothing waits for the sweep; files
 * that it cannot remove stay for the next one. The hidden directory goes too when nobody needs it.
 * Does nothing while the sweep before is running.
 *
 * @param sweep zeroed before the first one
 * Thread: any, one at a time.
 */
void zd_sweep_start(struct zd_sweep *sweep, const struct zd_beneath *root);

/** Stop a sweep and wait for its end; accepts one that was never started. Thread: as above. */
void zd_sweep_stop(struct zd_sweep *sweep);

#endif
