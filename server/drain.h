/* The stop, step by step. Thread: loop.
 *
 *     signal --> lag: as ever, but not ready, so that a balancer notices
 *        --> drain: no new connections; each answer ends its connection
 *        --> quiet: nothing is under way; what clients have just sent may still come
 *        --> parting: all is closed; the last bytes are on their way to clients
 *        --> the loop stops
 *
 * Another signal, or the end of http.drain_ms, stops it where it is. */
#ifndef ZD_SERVER_DRAIN_H
#define ZD_SERVER_DRAIN_H

#include <stdbool.h>
#include <uv.h>

struct zd_server;

struct zd_drain {
    struct zd_server *server; /* borrowed */
    uv_timer_t timer;         /* of the lag, then of looking again and again */
    uint64_t began_ms;        /* loop time, as all of these */
    uint64_t until_ms;        /* when the drain ends at the latest */
    uint64_t busy_ms;         /* when something was under way last */
    uint64_t n_answered;      /* before the stop began */
    bool has_closed;          /* the front */
};

void zd_drain_init(struct zd_drain *drain, struct zd_server *server);

/** The server is asked to stop; the second time: at once. */
void zd_drain_signal(struct zd_drain *drain);

/** Close the timer; the loop must turn once more. */
void zd_drain_close(struct zd_drain *drain);

#endif
