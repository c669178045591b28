/* Single flight: one work on a cache entry for all its waiters. Thread: loop. */
#ifndef ZD_RUNTIME_FLIGHT_H
#define ZD_RUNTIME_FLIGHT_H

#include "server/runtime/cache.h"
#include "server/runtime/machine.h"

struct zd_flight;

/** How fresh an answer must be. */
enum zd_freshness {
    ZD_TRUSTED, /* the dataset's revalidate_ms decides */
    ZD_FRESH,   /* found by work that begins after the question */
    ZD_JOINING, /* asked again for a late waiter: any work under way began after its question */
};

/** The hooks of a kind of work. */
struct zd_flight_ops {
    /** A step of the work. */
    enum zd_next (*step)(struct zd_flight *flight);
    /** The same for work that needs no machine, where `step` is NULL: begin it.
     * @return ZD_WAIT: zd_flight_end will be called; ZD_DONE */
    enum zd_next (*begin)(struct zd_flight *flight);
    /** The work has succeeded: set the outputs of one waiter, its status included. All waiters get
     * theirs before the first one's `done` runs. */
    void (*give)(struct zd_flight *flight, struct zd_wait *wait);
    /** The work has ended and the entry is idle: let the cache keep or drop it. */
    void (*settle)(struct zd_flight *flight);
    /** Ask anew for a late waiter, as ZD_JOINING. @return ZD_NEXT: it is answered */
    enum zd_next (*again)(struct zd_flight *flight, struct zd_wait *wait);
    /** The last waiter has left, and the entry has left the cache. NULL: the work goes on.
     * @return ZD_WAIT: the machine will go on and end; ZD_DONE: the work has stopped */
    enum zd_next (*cancel)(struct zd_flight *flight);
    /** Release what the owner holds, but not the entry, and not the owner's own memory. NULL:
     * nothing. */
    void (*done)(struct zd_flight *flight);
};

/**
 * The work on one cache entry, embedded first in the object that does it.
 *
 *     idle entry --> zd_flight_begin --> steps --> give, give ... --> settle --> again ... --> done
 *                      busy entry: zd_flight_join, zd_flight_join_late --^
 */
struct zd_flight {
    uint64_t began_ms;     /* loop time */
    bool may_be_old;       /* what it finds may have been known before it began */
    enum zd_status status; /* set by the steps: a failure is every waiter's answer */
    struct zd_error err;   /* then: why */
    /* its own */
    struct zd_machine machine; /* of `step` */
    const struct zd_flight_ops *ops;
    struct zd_cache *cache;       /* borrowed */
    struct zd_cache_entry *entry; /* a reference */
    struct zd_list waiters;       /* struct zd_wait: answered when the work ends */
    struct zd_list late;          /* the same: the work began too early for them */
};

/**
 * An object with a flight on an idle entry, zeroed.
 *
 * @param bytes  of the object, which begins with the flight
 * @param entry  a reference, taken over; without memory the entry leaves the cache
 * @param now_ms loop time
 * @param wait   gets the failure, which says that there is no memory to load `what`
 * @return NULL: no memory
 */
void *zd_flight_new(size_t bytes, const struct zd_flight_ops *ops, struct zd_cache *cache,
    struct zd_cache_entry *entry, uint64_t now_ms, struct zd_wait *wait, const char *what);

/**
 * Begin the work for its first waiter. The inputs of the flight's owner are set, and its status:
 * after a failure no step runs.
 *
 * @return ZD_NEXT: the work has ended, `wait` is answered and the flight freed; ZD_WAIT
 */
enum zd_next zd_flight_begin(struct zd_flight *flight, struct zd_wait *wait);

/** The work has ended whose ops->begin returned ZD_WAIT. */
void zd_flight_end(struct zd_flight *flight);

/** The work has failed as a wait did. @return ZD_DONE, for a step */
enum zd_next zd_flight_fail(struct zd_flight *flight, const struct zd_wait *wait);

/** Wait for the work under way. */
void zd_flight_join(struct zd_flight *flight, struct zd_wait *wait);

/** Wait for the end of the work under way, and then for newer work. */
void zd_flight_join_late(struct zd_flight *flight, struct zd_wait *wait);

/** Stop waiting. The last waiter to leave cancels the work, where the work can be cancelled and the
 * entry holds nothing yet.
 * @param flight not looked at when the wait has ended */
void zd_flight_leave(struct zd_flight *flight, struct zd_wait *wait);

#endif
