/* Work for the worker threads: pure functions over immutable inputs. Thread: loop, but for `work`.
 *
 * libuv's pool is first come, first served, and cannot be asked to think again; so it is given only
 * what its threads can do next, and the rest waits here: jobs of small requests first, jobs of
 * large ones request by request in turn. */
#ifndef ZD_RUNTIME_WORKERS_H
#define ZD_RUNTIME_WORKERS_H

#include <uv.h>

#include "core/base/list.h"
#include "core/base/status.h"

struct zd_server;
struct zd_settings;

/** For whom a job is done: what tells one request from another, and its lane. */
struct zd_job_owner {
    const void *name; /* NULL: nobody in particular */
    bool is_large;    /* see zd_admit_want */
};

/** One piece of work: the caller's memory, from submit to done. */
struct zd_job {
    void (*work)(struct zd_job *job); /* worker thread; owns nothing but its inputs and outputs */
    void (*done)(struct zd_job *job,
        bool cancelled); /* loop thread, exactly once, never inside zd_workers_submit or _cancel */
    struct zd_job_owner owner;
    /* its own */
    uv_work_t uv;
    struct zd_server *server;
    uint64_t cost_ns;
    bool is_first;       /* of its owner's: link is in the turns, the others' in its `more` */
    struct zd_list link; /* while it waits here */
    struct zd_list more;
};

/** What waits in front of libuv's pool. */
struct zd_workers {
    uint32_t n_workers;
    uint32_t n_given; /* that libuv has */
    uint64_t given_ns;
    uint32_t n_small_in_a_row;
    uint64_t n_waiting;
    struct zd_list small;   /* the first job of each owner, the next one in front */
    struct zd_list large;   /* the same */
    struct zd_list dropped; /* cancelled: done is to be told */
    uv_idle_t idle;         /* tells them */
};

/** How many worker threads the settings ask for. Thread: any. */
uint32_t zd_workers_count(const struct zd_settings *settings);

/** Begin: server->loop and server->config are there. */
void zd_workers_init(struct zd_server *server);

/** Nothing waits any more: the loop was run until all work was done. The loop must run once more.
 */
void zd_workers_close(struct zd_server *server);

/** Whether work of that estimated cost is to be done on the loop thread, at once (setting
 * workers.inline_us). */
bool zd_workers_is_cheap(const struct zd_server *server, uint64_t cost_ns);

/** Give work of that estimated cost to a worker. */
void zd_workers_submit(struct zd_server *server, struct zd_job *job, uint64_t cost_ns);

/** Ask that work which has not begun is dropped; done still runs. */
void zd_workers_cancel(struct zd_job *job);

#endif
