/* A request's work for a worker thread, in memory that outlives the request when it must. */
#ifndef ZD_REQUEST_TASK_H
#define ZD_REQUEST_TASK_H

#include "server/request/request.h"
#include "server/runtime/workers.h"

/**
 * Embedded in a handler's state. While a worker holds it, the state stays where it is, even when
 * the request ends: zd_task_leave frees it, then or later. Thread: loop, but for `work`.
 */
struct zd_task {
    struct zd_job job;
    struct zd_request *req;                /* NULL once the request has ended */
    void (*work)(struct zd_task *task);    /* worker or loop: touches only what the state owns */
    void (*release)(struct zd_task *task); /* loop: frees the state */
    bool is_running;
};

/** For whom workers work: that request, in the lane it was admitted to. */
struct zd_job_owner zd_task_owner(const struct zd_request *req);

/** An idle gather whose waits wake the request. */
struct zd_gather zd_task_gather(struct zd_request *req);

/** Begin; release the request's state with zd_task_leave. */
void zd_task_init(struct zd_task *task, struct zd_request *req, void (*work)(struct zd_task *task),
    void (*release)(struct zd_task *task));

/**
 * Do the work: at once when its cost is small (zd_workers_is_cheap), else on a worker; then
 * req->step runs.
 * @return ZD_NEXT or ZD_WAIT, for the step to return
 */
enum zd_next zd_task_run(struct zd_task *task, uint64_t cost_ns);

/** The request has ended: the state is freed, at once or when the worker gives it back. */
void zd_task_leave(struct zd_task *task);

/** The same for a request whose state begins with its task. */
void zd_task_leave_state(struct zd_request *req);

#endif
