/* A request's work for a worker thread, in memory that outlives the request when it must. */
#include "server/request/task.h"

#include "server/runtime/server.h"

struct zd_job_owner zd_task_owner(const struct zd_request *req)
{
    const bool has_lane = req->ticket.state != ZD_TICKET_NONE;
    return (struct zd_job_owner){
        .name = req,
        .is_large = has_lane && req->ticket.lane == ZD_LANE_LARGE,
        .traceparent = req->traceparent,
    };
}

struct zd_gather zd_task_gather(struct zd_request *req)
{
    return (struct zd_gather){.machine = &req->machine, .owner = zd_task_owner(req)};
}

static void work_on_worker(struct zd_job *job)
{
    struct zd_task *task = ZD_CONTAINER(job, struct zd_task, job);
    task->work(task);
}

static void work_is_done(struct zd_wait *wait)
{
    struct zd_task *task = ZD_CONTAINER(wait, struct zd_task, job.wait);
    task->is_running = false;
    if (task->req == NULL) {
        task->release(task);
        return;
    }
    zd_machine_go_on(&task->req->machine);
}

void zd_task_init(struct zd_task *task, struct zd_request *req, void (*work)(struct zd_task *task),
    void (*release)(struct zd_task *task))
{
    *task = (struct zd_task){
        .job = {.work = work_on_worker, .wait.done = work_is_done},
        .req = req,
        .work = work,
        .release = release,
    };
}

enum zd_next zd_task_run(struct zd_task *task, uint64_t cost_ns)
{
    struct zd_times *times = &task->req->times;
    const uint64_t began_ns = uv_hrtime();
    task->job.owner = zd_task_owner(task->req);
    const enum zd_next next = zd_workers_run(&task->req->server->workers, &task->job, cost_ns);
    task->is_running = next == ZD_WAIT;
    if (next == ZD_WAIT) {
        times->waits_for = ZD_TIME_ENCODE;
    } else {
        const uint64_t ended_ns = uv_hrtime();
        times->ns[ZD_TIME_ENCODE] += ended_ns - began_ns;
        zd_trace_add(task->req->trace, "encode", began_ns, ended_ns);
    }
    return next;
}

void zd_task_leave(struct zd_task *task)
{
    task->req = NULL;
    if (task->is_running) {
        zd_workers_cancel(&task->job);
        return;
    }
    task->release(task);
}

void zd_task_leave_state(struct zd_request *req)
{
    zd_task_leave(req->state);
}
