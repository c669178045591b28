/* Work for the worker threads: a queue of our own in front of libuv's pool.
 *
 *   submit --> small --> as many as there are workers --\
 *          \-> large --> as many as there are workers ---+--> uv_queue_work --> done
 *   cancel --> dropped ---------------------------------------------------------> done
 */
#include "server/runtime/workers.h"

#include <sys/resource.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/own.h"

#define WORKERS_AT_LEAST 2
#define QUEUES           2      /* of small and of large requests */
#define AHEAD_NS         500000 /* of work a worker may find waiting when it has done its own */
#define GIVEN_MAX        8      /* jobs a worker, however cheap */
#define LOT_SHARE        2      /* jobs together hold the loop for no more than 2 cheap ones */
#define NICENESS         5      /* of workers, more than the loop thread's, which goes first */

static uint32_t count_of(const struct zd_settings *settings)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t n_default = n_cores > WORKERS_AT_LEAST ? (uint64_t)n_cores : WORKERS_AT_LEAST;
    return (uint32_t)(settings->workers_count == 0 ? n_default : settings->workers_count);
}

uint32_t zd_workers_threads(const struct zd_settings *settings)
{
    return count_of(settings) * QUEUES;
}

bool zd_workers_is_cheap(const struct zd_workers *workers, uint64_t cost_ns)
{
    return cost_ns / 1000 < workers->settings->workers_inline_us;
}

bool zd_workers_are_cheap(const struct zd_workers *workers, uint64_t cost_ns, uint64_t n_together)
{
    uint64_t share_ns;
    return zd_workers_is_cheap(workers, cost_ns) &&
           !ckd_mul(&share_ns, cost_ns, zd_div_up(n_together, LOT_SHARE)) &&
           zd_workers_is_cheap(workers, share_ns);
}

static struct zd_job *job_of(struct zd_list *link)
{
    return ZD_CONTAINER(link, struct zd_job, link);
}

/* ---- the queue ---- */

static struct zd_workers_queue *queue_of(const struct zd_job *job)
{
    return job->owner.is_large ? &job->workers->large : &job->workers->small;
}

/* There are no more owners than requests that were admitted. */
static struct zd_job *first_of_owner(struct zd_list *turns, const void *name)
{
    for (struct zd_list *at = turns->next; at != turns; at = at->next) {
        if (job_of(at)->owner.name == name) {
            return job_of(at);
        }
    }
    return NULL;
}

static void put(struct zd_workers *workers, struct zd_job *job)
{
    struct zd_list *turns = &queue_of(job)->turns;
    struct zd_job *first = first_of_owner(turns, job->owner.name);
    zd_list_init(&job->more);
    job->is_first = first == NULL;
    zd_list_push_back(first == NULL ? turns : &first->more, &job->link);
    workers->n_waiting++;
}

/* The owner's next job takes the place: behind all others when the owner had its turn, else where
 * the job was. */
static void take_out(struct zd_workers *workers, struct zd_job *job, struct zd_list *place)
{
    workers->n_waiting--;
    if (job->is_first && !zd_list_is_empty(&job->more)) {
        struct zd_job *next = job_of(zd_list_pop_front(&job->more));
        zd_list_take_all(&job->more, &next->more);
        next->is_first = true;
        zd_list_insert_after(place, &next->link);
    }
    zd_list_remove(&job->link);
}

static struct zd_job *next_job(struct zd_workers *workers, struct zd_workers_queue *queue)
{
    if (zd_list_is_empty(&queue->turns)) {
        return NULL;
    }
    struct zd_job *job = job_of(queue->turns.next);
    take_out(workers, job, queue->turns.prev);
    return job;
}

/* ---- libuv's pool ---- */

/* Decoding is long, answering is short: worker threads give way to the loop thread. */
static void give_way(void)
{
    static _Thread_local bool is_done;
    if (!is_done) {
        is_done = true;
        /* 0: on Linux the calling thread alone */
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
    }
}

static void on_work(uv_work_t *uv)
{
    struct zd_job *job = ZD_CONTAINER(uv, struct zd_job, uv);
    give_way();
    job->has_more = false;
    job->work(job);
}

static void tell(struct zd_job *job, bool cancelled)
{
    job->workers->metrics->n_jobs_dropped += cancelled ? 1 : 0;
    zd_wait_end(&job->wait, cancelled ? ZD_CANCELLED : ZD_OK, NULL);
}

static void give(struct zd_workers *workers, struct zd_workers_queue *queue);

static void on_done(uv_work_t *uv, int status)
{
    struct zd_job *job = ZD_CONTAINER(uv, struct zd_job, uv);
    struct zd_workers_queue *queue = queue_of(job);
    const bool is_over = !job->has_more || job->is_cancelled || status == UV_ECANCELED;
    queue->n_given--;
    queue->given_ns -= job->cost_ns;
    if (!is_over) {
        put(job->workers, job);
    }
    give(job->workers, queue);
    if (is_over) {
        tell(job, job->has_more || status == UV_ECANCELED);
    }
}

/* The queue takes one job for each worker, and a few more: a worker must not wait until the loop
 * has turned. */
static bool has_room(const struct zd_workers *workers, const struct zd_workers_queue *queue)
{
    return queue->n_given < workers->n_workers ||
           (queue->n_given < workers->n_workers * GIVEN_MAX &&
               queue->given_ns < (uint64_t)workers->n_workers * AHEAD_NS);
}

static void give(struct zd_workers *workers, struct zd_workers_queue *queue)
{
    while (has_room(workers, queue)) {
        struct zd_job *job = next_job(workers, queue);
        if (job == NULL) {
            return;
        }
        queue->n_given++;
        queue->given_ns += job->cost_ns;
        /* It fails only without a work function. */
        (void)uv_queue_work(workers->loop, &job->uv, on_work, on_done);
    }
}

void zd_workers_submit(struct zd_workers *workers, struct zd_job *job, uint64_t cost_ns)
{
    job->workers = workers;
    job->cost_ns = cost_ns;
    job->has_more = false;
    job->is_cancelled = false;
    workers->metrics->n_jobs++;
    put(workers, job);
    give(workers, queue_of(job));
}

enum zd_next zd_workers_run(struct zd_workers *workers, struct zd_job *job, uint64_t cost_ns)
{
    if (zd_workers_is_cheap(workers, cost_ns)) {
        do {
            job->has_more = false;
            job->work(job);
        } while (job->has_more);
        return ZD_NEXT;
    }
    zd_workers_submit(workers, job, cost_ns);
    return ZD_WAIT;
}

static void on_idle(uv_idle_t *idle)
{
    struct zd_workers *workers = ZD_CONTAINER(idle, struct zd_workers, idle);
    struct zd_list dropped;
    uv_idle_stop(idle);
    zd_list_take_all(&workers->dropped, &dropped);
    for (struct zd_list *link; (link = zd_list_pop_front(&dropped)) != NULL;) {
        tell(job_of(link), true);
    }
}

void zd_workers_cancel(struct zd_job *job)
{
    struct zd_workers *workers = job->workers;
    if (!zd_list_is_linked(&job->link)) {
        job->is_cancelled = true;
        (void)uv_cancel((uv_req_t *)&job->uv);
        return;
    }
    take_out(workers, job, &job->link);
    zd_list_push_back(&workers->dropped, &job->link);
    uv_idle_start(&workers->idle, on_idle);
}

/* ---- begin and end ---- */

void zd_workers_init(struct zd_workers *workers, uv_loop_t *loop,
    const struct zd_settings *settings, struct zd_metrics *metrics)
{
    *workers = (struct zd_workers){
        .loop = loop,
        .settings = settings,
        .metrics = metrics,
        .n_workers = count_of(settings),
    };
    zd_list_init(&workers->small.turns);
    zd_list_init(&workers->large.turns);
    zd_list_init(&workers->dropped);
    uv_idle_init(loop, &workers->idle);
}

void zd_workers_close(struct zd_workers *workers)
{
    assert(workers->small.n_given == 0 && workers->large.n_given == 0);
    assert(workers->n_waiting == 0);
    uv_close((uv_handle_t *)&workers->idle, NULL);
}
