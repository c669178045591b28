/* A server that remote stores ask: its number of concurrent operations, its queue, whether it
 * answers at all, and its latency. All stores that ask it share it. Thread: loop.
 */
#ifndef ZD_CORE_STORE_REMOTE_ENDPOINT_H
#define ZD_CORE_STORE_REMOTE_ENDPOINT_H

#include "core/store/remote/timers.h"
#include "core/store/remote/breaker.h"
#include "core/store/remote/latency.h"
#include "core/store/remote/remote.h"

#define ZD_ENDPOINT_LINE_PARTS 16

struct zd_endpoint {
    struct zd_list link; /* in zd_remote.endpoints */
    uint64_t id;
    uint32_t refs;
    const struct zd_remote_settings *settings; /* borrowed */
    uv_loop_t *loop;                           /* borrowed */
    struct zd_timers alarms;
    struct zd_breaker breaker;
    struct zd_latency latency;
    struct zd_list lines; /* struct zd_line with somebody in it, the next one first */
    struct zd_list reads; /* struct zd_endpoint_read that are under way, the oldest first */
    uint32_t n_seated;
    uint32_t hedge_credit; /* percent of a read: 100 of them buy one */
    bool was_late;         /* the last read that ended */
    uint32_t n_reads;      /* under way */
    uint64_t n_in_time;    /* reads that ended, and were not late */
    uint64_t n_drawn;      /* random numbers */
    uint64_t seed;
};

/** The queue of one store. Its owners take turns; so do the stores. */
struct zd_endpoint_line {
    struct zd_list link;
    struct zd_list part[ZD_ENDPOINT_LINE_PARTS]; /* by a hash of the owner */
    uint32_t next;
    uint32_t n_waiting;
};

/** An operation that needs a place: its owner's memory. */
struct zd_endpoint_seat {
    struct zd_list link;                          /* while it waits */
    void (*sit)(struct zd_endpoint_seat *seat);   /* it has a place now */
    void (*leave)(struct zd_endpoint_seat *seat); /* the endpoint is left alone: it has none, and
                                                     waits no longer */
    struct zd_endpoint_line *line;
    const void *owner; /* for whom; operations of one owner may share their turns with another's */
};

/** A read that is under way: its owner's memory. */
struct zd_endpoint_read {
    struct zd_list link;
    struct zd_range range;
    uint64_t began_ns;
    uint64_t n_earlier; /* reads that were in time or under way when it began */
};

/**
 * The endpoint of that id, made when nobody has it. @param id 0: of this store alone
 * @return a reference, or NULL without memory
 */
struct zd_endpoint *zd_endpoint_join(struct zd_remote *remote, uint64_t id, uv_loop_t *loop);
void zd_endpoint_unref(
    struct zd_endpoint *endpoint); /* accepts NULL; the timer goes in a later turn */

void zd_endpoint_line_init(struct zd_endpoint_line *line);

/**
 * Want a place. It begins, or ends, by a call of `sit` or `leave`; `sit` may be called at once.
 * @retval ZD_PAUSED the endpoint is left alone; neither is called
 */
ZD_RESULT zd_endpoint_want(struct zd_endpoint *endpoint, struct zd_endpoint_seat *seat);

/** Take a place that nobody waits for. @return whether there was one */
bool zd_endpoint_take(struct zd_endpoint *endpoint);

/** Stop waiting; accepts one that does not wait. */
void zd_endpoint_forgo(struct zd_endpoint_seat *seat);

/** Give a place back; the next ones in line sit down. */
void zd_endpoint_give(struct zd_endpoint *endpoint);

/** How an operation ended: the endpoint answered, or it failed (and those who wait may leave). */
void zd_endpoint_answered(struct zd_endpoint *endpoint);
void zd_endpoint_failed(struct zd_endpoint *endpoint, uint64_t began_ms);

/** How long it is left alone from now on; 0 = it is not. */
uint64_t zd_endpoint_paused_ms(const struct zd_endpoint *endpoint);

/** The error of an operation that was not begun because of that. Always fails. @retval ZD_PAUSED */
ZD_RESULT zd_endpoint_refuse(const struct zd_endpoint *endpoint, struct zd_error *err);

/** A number below n, n >= 1. */
uint64_t zd_endpoint_random(struct zd_endpoint *endpoint, uint64_t n);

/** A read begins, and ends; n_bytes of one that succeeded, or UINT64_MAX. */
void zd_endpoint_begin(struct zd_endpoint *endpoint, struct zd_endpoint_read *read);
void zd_endpoint_end(struct zd_endpoint *endpoint, struct zd_endpoint_read *read, uint64_t n_bytes);

/** When to look whether a read that begins now is late, in milliseconds; 0 = never. */
uint64_t zd_endpoint_late_ms(const struct zd_endpoint *endpoint, const struct zd_range *range);

/** Whether most reads are late: then the endpoint is slow, and not one of them. */
bool zd_endpoint_is_slow(const struct zd_endpoint *endpoint);

/** Take a place for the second request of a late read, and pay for it. @return false: there is no
 * place, or remote.hedge_percent are spent */
bool zd_endpoint_take_hedge(struct zd_endpoint *endpoint);

#endif
