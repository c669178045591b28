/* Work for the worker threads: libuv's pool, counted. */
#include "server/pool.h"

#include "core/base/num.h"
#include "server/server.h"

bool zd_pool_is_cheap(const struct zd_server *server, uint64_t cost_ns)
{
    return cost_ns / 1000 < server->config->settings.workers_inline_us;
}

static void on_work(uv_work_t *uv)
{
    struct zd_job *job = ZD_CONTAINER(uv, struct zd_job, uv);
    job->work(job);
}

static void on_done(uv_work_t *uv, int status)
{
    struct zd_job *job = ZD_CONTAINER(uv, struct zd_job, uv);
    const bool cancelled = status == UV_ECANCELED;
    job->server->metrics.n_jobs_dropped += cancelled ? 1 : 0;
    job->done(job, cancelled);
}

void zd_pool_submit(struct zd_server *server, struct zd_job *job)
{
    job->server = server;
    server->metrics.n_jobs++;
    /* It fails only without a work function. */
    (void)uv_queue_work(server->loop, &job->uv, on_work, on_done);
}

void zd_pool_cancel(struct zd_job *job)
{
    (void)uv_cancel((uv_req_t *)&job->uv);
}
