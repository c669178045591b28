/* An idle handle for each job, so that the loop neither sleeps nor ends before all jobs are done.
 */
#include "tests/support/work.h"

#include <stdbool.h>
#include <stdlib.h>
#include <uv.h>

#include "core/base/list.h"
#include "core/base/own.h"

struct job {
    uv_idle_t idle;
    struct zd_list link; /* in jobs */
    uv_work_t *work;
    uv_work_cb run;
    uv_after_work_cb after;
    bool is_cancelled;
};

static struct zd_list jobs = {&jobs, &jobs};
static size_t n_jobs;

static void on_close(uv_handle_t *handle)
{
    free(ZD_CONTAINER(handle, struct job, idle));
}

static void on_idle(uv_idle_t *idle)
{
    struct job *job = ZD_CONTAINER(idle, struct job, idle);
    uv_close((uv_handle_t *)idle, on_close);
    zd_list_remove(&job->link);
    n_jobs--;
    if (!job->is_cancelled) {
        job->run(job->work);
    }
    job->after(job->work, job->is_cancelled ? UV_ECANCELED : 0);
}

int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb after)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return UV_ENOMEM;
    }
    job->work = work;
    job->run = run;
    job->after = after;
    work->loop = loop;
    uv_idle_init(loop, &job->idle);
    uv_idle_start(&job->idle, on_idle);
    zd_list_push_back(&jobs, &job->link);
    n_jobs++;
    return 0;
}

int uv_cancel(uv_req_t *req)
{
    for (struct zd_list *at = jobs.next; at != &jobs; at = at->next) {
        struct job *job = ZD_CONTAINER(at, struct job, link);
        if ((uv_req_t *)job->work == req) {
            job->is_cancelled = true;
            return 0;
        }
    }
    return UV_EBUSY;
}

size_t zd_test_work_count(void)
{
    return n_jobs;
}
