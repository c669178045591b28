/* Many alarms on one timer of the loop. Thread: loop. */
#ifndef ZD_CORE_STORE_REMOTE_TIMERS_H
#define ZD_CORE_STORE_REMOTE_TIMERS_H

#include <uv.h>

#include "core/base/list.h"

struct zd_timers {
    uv_timer_t timer;
    struct zd_list set; /* struct zd_timer, the soonest first */
};

/** A timer: its owner's memory, zeroed but for `ring`; clear it before freeing it. */
struct zd_timer {
    struct zd_list link;
    uint64_t at_ms;
    void (*ring)(struct zd_timer *alarm); /* never inside the call that sets it; may set it anew */
};

void zd_timers_init(struct zd_timers *alarms, uv_loop_t *loop);

/** Nothing is set any more. @param closed runs in a later turn of the loop: the memory is free then
 */
void zd_timers_close(struct zd_timers *alarms, uv_close_cb closed);

/** Ring once, so many ms from now, in a later turn of the loop; one that is set is set anew. */
void zd_timers_set(struct zd_timers *alarms, struct zd_timer *alarm, uint64_t delay_ms);

/** All that are set ring in the next turn. */
void zd_timers_hasten(struct zd_timers *alarms);

/** Do not ring; accepts one that is not set. The loop waits for no timer then. */
void zd_timers_clear(struct zd_timers *alarms, struct zd_timer *alarm);

#endif
