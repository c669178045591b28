/* Waiting for something that others may wait for too. Thread: loop. */
#ifndef ZD_RUNTIME_WAIT_H
#define ZD_RUNTIME_WAIT_H

#include "core/base/list.h"
#include "core/base/status.h"

/**
 * A wait for one thing: embedded in the waiter's object. The call that wants something returns
 * ZD_NEXT when the outputs are set already (then `done` never runs), or ZD_WAIT (then it runs once,
 * later, never inside that call, unless the wait is cancelled). This is the only way in which
 * anything in the server says that it is over.
 */
struct zd_wait {
    struct zd_list link; /* in the list of the thing waited for; unlinked = does not wait */
    void (*done)(struct zd_wait *wait); /* zd_machine_wake, zd_gather_wake, or the waiter's own */
    void *context;                      /* of done; borrowed */
    enum zd_status status;
    struct zd_error err; /* set when status is a failure */
};

/** What a step, or a call that wants something, returns. */
enum zd_next {
    ZD_NEXT, /* go on at once */
    ZD_WAIT, /* a wait is under way: its end goes on */
    ZD_DONE, /* the machine is done; of a request: it is answered */
};

/** Stop waiting. The work goes on: dropping what nobody waits for is for those who know it
 * (zd_objects_release, zd_chunks_release). Accepts one that does not wait. */
static inline void zd_wait_cancel(struct zd_wait *wait)
{
    zd_list_remove(&wait->link);
}

/** Sets how it ended: the status, and the error's story when there is one (not NULL). */
void zd_wait_answer(struct zd_wait *wait, enum zd_status status, const struct zd_error *err);

/**
 * Tells all who wait; each is out of the list before its done runs. A done may cancel others of the
 * list; one who begins to wait meanwhile waits for the next time.
 */
void zd_wait_tell(struct zd_list *waiters, enum zd_status status, const struct zd_error *err);

#endif
