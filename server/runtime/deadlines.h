/* Deadlines that are equally far away when they begin: the first to begin is the first to be over,
 * so that a list and one timer serve all of them. Thread: loop. */
#ifndef ZD_RUNTIME_DEADLINES_H
#define ZD_RUNTIME_DEADLINES_H

#include <stdint.h>
#include <uv.h>

#include "core/base/list.h"

/** Embedded in the object that has it. Zeroed, it does not run. */
struct zd_deadline {
    struct zd_list link; /* in zd_deadlines.running while it runs */
    uint64_t at_ms;      /* loop time */
};

struct zd_deadlines {
    struct zd_list running; /* struct zd_deadline: the first of them is over first */
    uint64_t after_ms;
    /* its own */
    void (*over)(struct zd_deadline *deadline);
    uv_timer_t timer; /* of the first of them */
};

/**
 * The timer does not keep the loop alive.
 *
 * @param after_ms from the start of a deadline until it is over
 * @param over     runs then; the deadline runs no longer, and may be started again
 */
void zd_deadlines_init(struct zd_deadlines *deadlines, uv_loop_t *loop, uint64_t after_ms,
    void (*over)(struct zd_deadline *deadline));

/** `over` does not run again; the loop must turn once more before the memory is freed. */
void zd_deadlines_close(struct zd_deadlines *deadlines);

/** It runs from now on, anew if it was running. */
void zd_deadline_start(struct zd_deadlines *deadlines, struct zd_deadline *deadline);

/** Accepts one that does not run. */
static inline void zd_deadline_stop(struct zd_deadline *deadline)
{
    zd_list_remove(&deadline->link);
}

#endif
