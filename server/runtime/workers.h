/* Work for the worker threads: pure functions over immutable inputs. Thread: loop, but for `work`.
 *
 * libuv's pool is first come, first served; so it is given only what its threads can do next, and
 * the other jobs wait here, request by request in turn. Small requests have as many threads as
 * large ones, and of their own: however long a job of a large one takes, they share the cores with
 * it and do not wait for its end. Work that can be cut is done in pieces: its request goes to the
 * end of the queue after each. */
#ifndef ZD_RUNTIME_WORKERS_H
#define ZD_RUNTIME_WORKERS_H

#include <uv.h>

#include "core/base/list.h"
#include "server/config/settings.h"
#include "server/runtime/metrics.h"
#include "server/runtime/wait.h"

#define ZD_WORKERS_PIECE_NS 1000000 /* of work, then others have their turn */

/** The request that a job is done for. */
struct zd_job_owner {
    const void *name;        /* unique to the request; NULL: no request */
    bool is_large;           /* see zd_admit_want */
    const char *traceparent; /* of it, as long as it lasts; or NULL */
};

/** A job: the caller's memory, from submit to the end of its
 * wait. */
struct zd_job {
    void (*work)(struct zd_job *job); /* worker thread; owns nothing but its inputs and outputs */
    struct zd_wait wait; /* its end, never inside zd_workers_submit or _cancel; status: ZD_OK, or
                            ZD_CANCELLED: it was dropped, its work has not run, or not to its end */
    struct zd_job_owner owner;
    bool has_more; /* set by each run of `work`, which does a piece: it is to run again */
    /* its own */
    uv_work_t uv;
    struct zd_workers *workers;
    uint64_t cost_ns;
    bool is_cancelled;   /* libuv has it: no other piece is done */
    bool is_first;       /* of its owner's: link is in the turns, the others' in its `more` */
    struct zd_list link; /* while it waits here */
    struct zd_list more;
};

/** The jobs of small requests, or of large ones. */
struct zd_workers_queue {
    struct zd_list turns; /* the first job of each owner, the next one in front */
    uint32_t n_given;     /* that libuv has */
    uint64_t given_ns;
};

/** The queues in front of libuv's pool. */
struct zd_workers {
    uv_loop_t *loop;                    /* borrowed */
    const struct zd_settings *settings; /* borrowed */
    struct zd_metrics *metrics;         /* borrowed */
    uint32_t n_workers;                 /* of each queue */
    uint64_t n_waiting;
    struct zd_workers_queue small;
    struct zd_workers_queue large;
    struct zd_list dropped; /* cancelled jobs, whose wait has not ended */
    uv_idle_t idle;         /* runs it */
};

/** How many threads that takes. Thread: any. */
uint32_t zd_workers_threads(const struct zd_settings *settings);

/** @param loop, settings, metrics borrowed */
void zd_workers_init(struct zd_workers *workers, uv_loop_t *loop,
    const struct zd_settings *settings, struct zd_metrics *metrics);

/** No job is left: the loop was run until all were done. The loop must run once more. */
void zd_workers_close(struct zd_workers *workers);

/** Whether a job of that estimated cost belongs on the loop thread (setting workers.inline_us). */
bool zd_workers_is_cheap(const struct zd_workers *workers, uint64_t cost_ns);

/** The same for each of some jobs that are wanted together, which share the loop thread's time. */
bool zd_workers_are_cheap(const struct zd_workers *workers, uint64_t cost_ns, uint64_t n_together);

/** Do a job of that estimated cost: at once when it is cheap, else on a worker.
 * @return ZD_NEXT: its work has run, and its wait is left alone; ZD_WAIT */
enum zd_next zd_workers_run(struct zd_workers *workers, struct zd_job *job, uint64_t cost_ns);

/** Give a job to a worker, whatever it costs. */
void zd_workers_submit(struct zd_workers *workers, struct zd_job *job, uint64_t cost_ns);

/** Drop a job that has not begun, or what is left of one in pieces; its wait still ends. */
void zd_workers_cancel(struct zd_job *job);

#endif
