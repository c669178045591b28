/* How long the loop stood: in each turn, from the moment it had something to do until it could wait
 * again. Nobody is served meanwhile. Thread: loop. */
#ifndef ZD_RUNTIME_STALL_H
#define ZD_RUNTIME_STALL_H

#include <uv.h>

#define ZD_STALL_BUCKETS 12

struct zd_stall {
    uint64_t n;  /* turns */
    uint64_t ns; /* all of them together */
    uint64_t longest_ns;
    uint64_t bucket[ZD_STALL_BUCKETS]; /* turns no longer than zd_stall_bounds */
    /* its own */
    uv_prepare_t before_waiting;
    uv_check_t after_waiting;
    uint64_t began_ns; /* this turn; 0: none has begun */
};

/** Upper bounds of the buckets, in seconds. */
extern const double zd_stall_bounds[ZD_STALL_BUCKETS];

/** Measure every turn from now on, to the millisecond and never more than it was. Does not keep the
 * loop alive. */
void zd_stall_init(struct zd_stall *stall, uv_loop_t *loop);

/** The loop must turn once more. */
void zd_stall_close(struct zd_stall *stall);

/** Count one turn. */
void zd_stall_add(struct zd_stall *stall, uint64_t ns);

#endif
