/* An HTTP exchange with a remote store: libcurl on the loop that the store runs on.
 *
 * A transfer waits for its turn at its endpoint, then it has a run. Runs are kept for the next
 * transfers. */
#include "core/store/transfer/transfer.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/store/remote/remote.h"
#include "core/store/transfer/transfer_run.h"

#define SPARE_RUNS_MAX 64
#define WATCH_MS_MIN   10
#define WATCH_MS_MAX   1000

/* Where transfers take turns. */
struct endpoint {
    struct zd_list link;    /* of the pool */
    struct zd_list waiting; /* struct zd_transfer */
    char *url;              /* "http://host:port"; owned */
    uint32_t n_running;
};

struct zd_transfer_pool {
    struct zd_curl_loop *multi;
    struct zd_list endpoints;
    struct zd_list running; /* struct zd_transfer_run */
    struct zd_list spare;   /* struct zd_transfer_run */
    struct zd_list over;    /* struct zd_transfer: done is to be called in the next turn */
    uv_timer_t soon;        /* calls it; the data of both is the pool */
    uv_timer_t watch;       /* looks for silent ones */
    uint32_t n_spare;
    uint32_t n_users;
    uint32_t n_handles; /* until they are closed */
    bool is_stopped;
    struct zd_transfer_counts counts;
};

/* ---- its end ---- */

static void on_soon(uv_timer_t *timer)
{
    struct zd_transfer_pool *pool = timer->data;
    struct zd_list ready;
    zd_list_take_all(&pool->over, &ready);
    for (struct zd_list *link; (link = zd_list_pop_front(&ready)) != NULL;) {
        struct zd_transfer *transfer = ZD_CONTAINER(link, struct zd_transfer, link);
        transfer->done(transfer);
    }
}

static void end_soon(struct zd_transfer *transfer)
{
    struct zd_transfer_pool *pool = transfer->pool;
    zd_list_remove(&transfer->link);
    transfer->is_over = true;
    zd_list_push_back(&pool->over, &transfer->link);
    (void)uv_timer_start(&pool->soon, on_soon, 0, 0);
}

const double zd_transfer_bounds[ZD_TRANSFER_TIMES] = {
    .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

static void count_time(struct zd_transfer_pool *pool, const struct zd_transfer *transfer)
{
    struct zd_transfer_times *times = &pool->counts.times[transfer->method];
    const double seconds = (double)(uv_hrtime() - transfer->began_ns) / 1e9;
    times->n++;
    times->seconds += seconds;
    for (size_t i = 0; i < ZD_TRANSFER_TIMES; i++) {
        times->within[i] += seconds <= zd_transfer_bounds[i] ? 1 : 0;
    }
}

/* The connection stays with the pool. */
static void put_aside(struct zd_transfer_pool *pool, struct zd_transfer_run *run)
{
    struct endpoint *endpoint = run->turns;
    zd_list_remove(&run->link);
    endpoint->n_running--;
    pool->counts.n_bytes += run->body_bytes;
    if (run->transfer->began_ns != 0) {
        count_time(pool, run->transfer);
    }
    run->transfer->run = NULL;
    if (zd_list_is_empty(&pool->running)) {
        (void)uv_timer_stop(&pool->watch);
    }
    if (pool->n_spare >= SPARE_RUNS_MAX) {
        zd_transfer_run_free(run);
        return;
    }
    zd_transfer_run_clear(run);
    zd_list_push_front(&pool->spare, &run->link);
    pool->n_spare++;
}

static void give_turns(struct zd_transfer_pool *pool, struct endpoint *endpoint);

static void on_over(void *context, CURL *easy, CURLcode code)
{
    struct zd_transfer_pool *pool = context;
    struct zd_transfer_run *run = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&run);
    if (zd_transfer_run_follow(run, code)) {
        return;
    }
    struct zd_transfer *transfer = run->transfer;
    struct endpoint *endpoint = run->turns;
    zd_transfer_run_note(run);
    zd_transfer_run_settle(run, code);
    put_aside(pool, run);
    transfer->is_over = true;
    give_turns(pool, endpoint);
    transfer->done(transfer);
}

/* ---- silence ---- */

static void stop(struct zd_transfer_run *run)
{
    struct zd_transfer *transfer = run->transfer;
    struct zd_transfer_pool *pool = transfer->pool;
    struct endpoint *endpoint = run->turns;
    zd_transfer_run_note(run);
    zd_curl_loop_remove(pool->multi, run->easy);
    put_aside(pool, run);
    end_soon(transfer);
    give_turns(pool, endpoint);
}

static void on_watch(uv_timer_t *timer)
{
    struct zd_transfer_pool *pool = timer->data;
    const uint64_t now_ms = uv_now(timer->loop);
    for (struct zd_list *link = pool->running.next; link != &pool->running;) {
        struct zd_transfer_run *run = ZD_CONTAINER(link, struct zd_transfer_run, link);
        link = link->next;
        const uint32_t silence_ms = run->transfer->settings->silence_ms;
        if (!zd_transfer_run_is_connected(run)) {
            run->heard_ms = now_ms;
        } else if (now_ms - run->heard_ms >= silence_ms) {
            run->transfer->fault.kind = ZD_REMOTE_FAULT_TIMEOUT;
            run->transfer->status = zd_fail(&run->transfer->err, ZD_TIMEOUT,
                "the store was silent for %u ms (remote.silence_ms)", silence_ms);
            stop(run);
        }
    }
}

/* A timer that runs is early enough, or the next one will be. */
static void watch(struct zd_transfer_pool *pool, uint32_t silence_ms)
{
    const uint64_t every_ms = zd_min_u64(zd_max_u64(silence_ms / 4, WATCH_MS_MIN), WATCH_MS_MAX);
    if (!uv_is_active((uv_handle_t *)&pool->watch) ||
        uv_timer_get_repeat(&pool->watch) > every_ms) {
        (void)uv_timer_start(&pool->watch, on_watch, every_ms, every_ms);
    }
}

/* ---- its beginning ---- */

static struct zd_transfer_run *spare_run(struct zd_transfer_pool *pool)
{
    struct zd_list *link = zd_list_pop_front(&pool->spare);
    if (link == NULL) {
        return zd_transfer_run_new();
    }
    pool->n_spare--;
    return ZD_CONTAINER(link, struct zd_transfer_run, link);
}

static void give_turn(
    struct zd_transfer_pool *pool, struct endpoint *endpoint, struct zd_transfer *transfer)
{
    struct zd_transfer_run *run = spare_run(pool);
    if (run == NULL) {
        zd_transfer_run_fail_memory(transfer);
        end_soon(transfer);
        return;
    }
    run->transfer = transfer;
    run->multi = pool->multi;
    run->loop = pool->watch.loop;
    run->turns = endpoint;
    run->endpoint = endpoint->url;
    run->n_connected = &pool->counts.n_connected;
    transfer->run = run;
    endpoint->n_running++;
    pool->counts.n_started[transfer->method]++;
    zd_list_push_back(&pool->running, &run->link);
    if (!zd_transfer_run_begin(run)) {
        put_aside(pool, run);
        zd_transfer_run_fail_memory(transfer);
        end_soon(transfer);
        return;
    }
    watch(pool, transfer->settings->silence_ms);
}

static void give_turns(struct zd_transfer_pool *pool, struct endpoint *endpoint)
{
    while (!zd_list_is_empty(&endpoint->waiting)) {
        struct zd_transfer *first = ZD_CONTAINER(endpoint->waiting.next, struct zd_transfer, link);
        if (endpoint->n_running >= first->settings->connections) {
            return;
        }
        zd_list_remove(&first->link);
        give_turn(pool, endpoint, first);
    }
}

static struct endpoint *endpoint_of(struct zd_transfer_pool *pool, const char *url)
{
    const size_t len = zd_transfer_endpoint_len(url);
    for (struct zd_list *link = pool->endpoints.next; link != &pool->endpoints; link = link->next) {
        struct endpoint *endpoint = ZD_CONTAINER(link, struct endpoint, link);
        if (strncmp(endpoint->url, url, len) == 0 && endpoint->url[len] == '\0') {
            return endpoint;
        }
    }
    struct endpoint *endpoint = zd_alloc_zero(1, sizeof *endpoint);
    if (endpoint != NULL) {
        endpoint->url = zd_strndup(url, len);
    }
    if (endpoint == NULL || endpoint->url == NULL) {
        zd_free(endpoint);
        return NULL;
    }
    zd_list_init(&endpoint->waiting);
    zd_list_push_front(&pool->endpoints, &endpoint->link);
    return endpoint;
}

void zd_transfer_start(struct zd_transfer_pool *pool, struct zd_transfer *transfer)
{
    assert(transfer->settings->connections >= 1 && transfer->settings->silence_ms >= 1);
    transfer->status = ZD_OK;
    transfer->err = (struct zd_error){0};
    transfer->fault = (struct zd_remote_fault){0};
    transfer->bytes = NULL;
    transfer->n_bytes = 0;
    transfer->began_ns = 0;
    transfer->first_ns = 0;
    transfer->link = (struct zd_list){0};
    transfer->pool = pool;
    transfer->run = NULL;
    transfer->is_over = false;
    zd_transfer_head_init(&transfer->head, transfer->field, transfer->n_fields);
    if (pool->is_stopped) {
        zd_transfer_cancel(transfer);
        return;
    }
    struct endpoint *endpoint = endpoint_of(pool, transfer->url);
    if (endpoint == NULL) {
        zd_transfer_run_fail_memory(transfer);
        end_soon(transfer);
        return;
    }
    zd_list_push_back(&endpoint->waiting, &transfer->link);
    give_turns(pool, endpoint);
}

void zd_transfer_cancel(struct zd_transfer *transfer)
{
    if (transfer->is_over) {
        return;
    }
    zd_transfer_run_fail(
        transfer, ZD_CANCELLED, ZD_REMOTE_FAULT_NONE, "cancelled before the store had answered");
    if (transfer->run != NULL) {
        stop(transfer->run);
    } else {
        end_soon(transfer);
    }
}

/* ---- the pool ---- */

static enum zd_status pool_new(
    uv_loop_t *loop, struct zd_transfer_pool **ret_pool, struct zd_error *err)
{
    struct zd_transfer_pool *pool = zd_alloc_zero(1, sizeof *pool);
    if (pool == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for connections to remote stores");
    }
    const enum zd_status status = zd_curl_loop_open(loop, on_over, pool, &pool->multi, err);
    if (status != ZD_OK) {
        zd_free(pool);
        return status;
    }
    zd_list_init(&pool->endpoints);
    zd_list_init(&pool->running);
    zd_list_init(&pool->spare);
    zd_list_init(&pool->over);
    (void)uv_timer_init(loop, &pool->soon);
    (void)uv_timer_init(loop, &pool->watch);
    pool->soon.data = pool;
    pool->watch.data = pool;
    pool->n_handles = 2;
    *ret_pool = pool;
    return ZD_OK;
}

enum zd_status zd_transfer_pool_take(
    struct zd_transfer_pool **shared, uv_loop_t *loop, struct zd_error *err)
{
    if (*shared == NULL) {
        ZD_TRY(pool_new(loop, shared, err));
    }
    (*shared)->n_users++;
    return ZD_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct zd_transfer_pool *pool = handle->data;
    if (--pool->n_handles == 0) {
        zd_free(pool);
    }
}

void zd_transfer_pool_leave(struct zd_transfer_pool **shared)
{
    struct zd_transfer_pool *pool = *shared;
    if (--pool->n_users > 0) {
        return;
    }
    assert(zd_list_is_empty(&pool->running) && zd_list_is_empty(&pool->over));
    *shared = NULL;
    for (struct zd_list *link; (link = zd_list_pop_front(&pool->spare)) != NULL;) {
        zd_transfer_run_free(ZD_CONTAINER(link, struct zd_transfer_run, link));
    }
    for (struct zd_list *link; (link = zd_list_pop_front(&pool->endpoints)) != NULL;) {
        struct endpoint *endpoint = ZD_CONTAINER(link, struct endpoint, link);
        zd_free(endpoint->url);
        zd_free(endpoint);
    }
    zd_curl_loop_close(pool->multi);
    uv_close((uv_handle_t *)&pool->soon, on_closed);
    uv_close((uv_handle_t *)&pool->watch, on_closed);
}

static void cancel_waiting(struct endpoint *endpoint)
{
    while (!zd_list_is_empty(&endpoint->waiting)) {
        zd_transfer_cancel(ZD_CONTAINER(endpoint->waiting.next, struct zd_transfer, link));
    }
}

void zd_transfer_pool_stop(struct zd_transfer_pool *pool)
{
    pool->is_stopped = true;
    for (struct zd_list *link = pool->endpoints.next; link != &pool->endpoints; link = link->next) {
        cancel_waiting(ZD_CONTAINER(link, struct endpoint, link));
    }
    while (!zd_list_is_empty(&pool->running)) {
        zd_transfer_cancel(
            ZD_CONTAINER(pool->running.next, struct zd_transfer_run, link)->transfer);
    }
}

struct zd_transfer_counts zd_transfer_pool_counts(const struct zd_transfer_pool *pool)
{
    return pool->counts;
}
