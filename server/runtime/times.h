/* Where the time of a request goes. Thread: loop. */
#ifndef ZD_RUNTIME_TIMES_H
#define ZD_RUNTIME_TIMES_H

#include <stdint.h>

/** The work or wait that a request's time is spent on. */
enum zd_time {
    ZD_TIME_STORE,   /* stored objects, and those who change them */
    ZD_TIME_QUEUE,   /* admission: memory and a place */
    ZD_TIME_DECODE,  /* of chunks; chunks from the cache take none */
    ZD_TIME_ENCODE,  /* of the answer: copying, counting, its format and compression */
    ZD_TIME_RECEIVE, /* the client, who sends a body */
    ZD_TIME_SEND,    /* the client, who takes the answer */
    ZD_TIMES,
};

#define ZD_TIME_NONE ZD_TIMES /* nothing that counts: a turn of the loop, an event */

/** The times of one request; zeroed = it has begun. Steps that take no time by themselves are in
 * none of them. */
struct zd_times {
    uint64_t ns[ZD_TIMES];
    uint64_t since_ns;      /* when it began to wait; 0: it does not */
    enum zd_time waits_for; /* set by whoever lets it wait; back to ZD_TIME_STORE when it goes on */
};

/** "store". Thread: any. */
const char *zd_times_name(enum zd_time time);

/** It waits from now on. */
static inline void zd_times_wait(struct zd_times *times, uint64_t now_ns)
{
    times->since_ns = now_ns;
}

/** It goes on, or ends; accepts one that does not wait. */
static inline void zd_times_go_on(struct zd_times *times, uint64_t now_ns)
{
    if (times->since_ns != 0 && times->waits_for != ZD_TIME_NONE) {
        times->ns[times->waits_for] += now_ns - times->since_ns;
    }
    times->since_ns = 0;
    times->waits_for = ZD_TIME_STORE;
}

/**
 * Add what it took until some chunks were there.
 *
 * @param whole_ns  as the request saw it
 * @param read_ns   of all these chunks together, read side by side
 * @param decode_ns the same; in proportion to the two the whole is shared out
 */
void zd_times_add_chunks(
    struct zd_times *times, uint64_t whole_ns, uint64_t read_ns, uint64_t decode_ns);

#endif
