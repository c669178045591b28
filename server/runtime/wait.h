/* Waiting for something that others may wait for too. Thread: loop. */
#ifndef ZD_RUNTIME_WAIT_H
#define ZD_RUNTIME_WAIT_H

#include "core/base/list.h"
#include "core/base/status.h"

/**
 * A wait for one thing: embedded in the waiter's object. The call that wants something returns
 * ZD_NEXT when the outputs are set already (then `done` never runs), or ZD_WAIT (then it runs once,
 * later, never inside that call, unless the wait is cancelled). This is the only way in which
 * anything in the server reports its end.
 */
struct zd_wait {
    struct zd_list link; /* in the list of the thing waited for; unlinked = does not wait */
    void (*done)(struct zd_wait *wait); /* zd_machine_wake, zd_gather_wake, or the waiter's own */
    void *context;                      /* of done; borrowed */
    enum zd_status status;
    struct zd_error err; /* set when status is a failure */
};

/*
 * How to stop: zd_..._release(want) stops waiting and gives back what the want holds; the want may
 * be freed at once. zd_..._leave(object) gives the object up: it is freed then, or when the work
 * that still uses it has ended.
 */

/** The result of a step, or of a call that wants something. */
enum zd_next {
    ZD_NEXT, /* go on at once */
    ZD_WAIT, /* a wait is under way: its end goes on */
    ZD_DONE, /* the machine is done; of a request: it is answered */
};

/** Stop waiting. The work goes on; zd_flight_leave can cancel it too. Accepts one that does not
 * wait. */
static inline void zd_wait_cancel(struct zd_wait *wait)
{
    zd_list_remove(&wait->link);
}

/** Set how it ended. @param err NULL: there is no error */
void zd_wait_answer(struct zd_wait *wait, enum zd_status status, const struct zd_error *err);

/** Set how it ended, and run its done. */
void zd_wait_end(struct zd_wait *wait, enum zd_status status, const struct zd_error *err);

/**
 * Answer all waits of a list; each leaves the list before its done runs. A done may cancel others
 * of the list; a wait that joins during the call is not answered.
 */
void zd_wait_tell(struct zd_list *waiters, enum zd_status status, const struct zd_error *err);

#endif
