/* Many waits at once: a machine goes on when the last of them has ended. Thread: loop. */
#ifndef ZD_RUNTIME_GATHER_H
#define ZD_RUNTIME_GATHER_H

#include "server/runtime/machine.h"
#include "server/runtime/workers.h"

/**
 * Belongs to the object that waits, so that two of one machine never share a count.
 * A step asks like this:
 *
 *     zd_gather_begin(&gather);
 *     for each: want.wait = zd_gather_wait(&gather); zd_gather_add(&gather, zd_x_want(&want));
 *     return zd_gather_end(&gather);
 */
struct zd_gather {
    struct zd_machine *machine; /* borrowed */
    struct zd_job_owner owner;  /* of jobs that belong to the waits */
    uint32_t n;                 /* waits under way */
    uint32_t n_at_once;         /* 0: the machine goes on when all have ended; else already when
                                 * fewer than so many are under way */
    bool is_asking;             /* between begin and end */
};

/** Begin to ask. Nothing is under way, unless n_at_once is set. */
void zd_gather_begin(struct zd_gather *gather);

/** Count one wait. @param next what the call that wants something has returned */
static inline void zd_gather_add(struct zd_gather *gather, enum zd_next next)
{
    gather->n += next == ZD_WAIT;
}

/** Whether one more may be asked for. */
static inline bool zd_gather_has_room(const struct zd_gather *gather)
{
    return gather->n_at_once == 0 || gather->n < gather->n_at_once;
}

/** All are asked. @return ZD_NEXT: nothing is under way; ZD_WAIT: the machine will go on */
enum zd_next zd_gather_end(struct zd_gather *gather);

/** All waits were cancelled by their owner: the machine is not woken for them. */
static inline void zd_gather_cancel(struct zd_gather *gather)
{
    gather->n = 0;
    gather->is_asking = false;
}

/** Count a store operation, before it is started, and let its end arrive. */
void zd_gather_await(struct zd_gather *gather, struct zd_store_op *op);

/** Count a wait as ended that has no zd_wait. */
void zd_gather_arrived(struct zd_gather *gather);

/** The `done` of a wait whose context is a gather. */
void zd_gather_wake(struct zd_wait *wait);

/** A wait that the gather counts once it is added. */
static inline struct zd_wait zd_gather_wait(struct zd_gather *gather)
{
    return (struct zd_wait){.done = zd_gather_wake, .context = gather};
}

#endif
