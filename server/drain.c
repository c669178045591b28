/* The stop, step by step. */
#include "server/drain.h"

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/data/events.h"
#include "server/front/front.h"
#include "server/runtime/server.h"

#define POLL_MS        10
#define QUIET_LEAST_MS 50   /* of http.drain_lag_ms: for what clients have just sent, */
#define QUIET_MOST_MS  1000 /* and for them to hang up */

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* Stop now: requests without an answer, and bytes not taken by clients, are lost. */
static void stop(struct zd_drain *drain, const char *why)
{
    struct zd_server *server = drain->server;
    const uint64_t n_answered = server->metrics.n_answered - drain->n_answered;
    const uint64_t n_cut = server->metrics.n_in_flight + zd_front_end_parting(server->front);
    uv_timer_stop(&drain->timer);
    zd_front_close(server->front);
    zd_log(&server->log, n_cut == 0 ? ZD_LOG_INFO : ZD_LOG_WARNING,
        "stopped: %llu answers finished, %llu cut, in %llu ms%s%s", ull(n_answered), ull(n_cut),
        ull(uv_now(server->loop) - drain->began_ms), n_cut == 0 ? "" : ": ", n_cut == 0 ? "" : why);
    uv_stop(server->loop);
}

static uint64_t quiet_ms(const struct zd_server *server)
{
    if (server->metrics.n_connections == 0) {
        return 0;
    }
    const uint64_t lag_ms = server->config->settings.http_drain_lag_ms;
    return zd_min_u64(zd_max_u64(lag_ms, QUIET_LEAST_MS), QUIET_MOST_MS);
}

static void look(uv_timer_t *timer)
{
    struct zd_drain *drain = timer->data;
    struct zd_server *server = drain->server;
    const uint64_t now_ms = uv_now(server->loop);
    if (now_ms >= drain->until_ms) {
        stop(drain, "http.drain_ms is over");
        return;
    }
    if (!drain->has_closed && !zd_front_is_idle(server->front)) {
        drain->busy_ms = now_ms;
        return;
    }
    if (!drain->has_closed && now_ms - drain->busy_ms >= quiet_ms(server)) {
        zd_front_close(server->front);
        drain->has_closed = true;
    }
    if (zd_front_look_parting(server->front, QUIET_LEAST_MS) == 0 && drain->has_closed) {
        stop(drain, "");
    }
}

static void begin(uv_timer_t *timer)
{
    struct zd_drain *drain = timer->data;
    struct zd_server *server = drain->server;
    server->is_draining = true;
    zd_front_drain(server->front);
    zd_log(&server->log, ZD_LOG_INFO, "stopping: %llu requests are running",
        ull(server->metrics.n_in_flight));
    for (size_t i = 0; i < server->n_datasets; i++) {
        zd_events_end(server->dataset[i]->events);
    }
    uv_update_time(server->loop);
    drain->busy_ms = uv_now(server->loop);
    drain->until_ms = drain->busy_ms + server->config->settings.http_drain_ms;
    uv_timer_start(&drain->timer, look, 0, POLL_MS);
}

void zd_drain_init(struct zd_drain *drain, struct zd_server *server)
{
    *drain = (struct zd_drain){.server = server};
    uv_timer_init(server->loop, &drain->timer);
    drain->timer.data = drain;
}

void zd_drain_signal(struct zd_drain *drain)
{
    struct zd_server *server = drain->server;
    const uint64_t lag_ms = server->config->settings.http_drain_lag_ms;
    if (server->is_stopping) {
        stop(drain, "a second signal came");
        return;
    }
    server->is_stopping = true;
    drain->began_ms = uv_now(server->loop);
    drain->n_answered = server->metrics.n_answered;
    if (lag_ms == 0) {
        begin(&drain->timer);
        return;
    }
    zd_log(&server->log, ZD_LOG_INFO,
        "stopping: /readyz fails; new connections are accepted for another %llu ms "
        "(http.drain_lag_ms)",
        ull(lag_ms));
    uv_timer_start(&drain->timer, begin, lag_ms, 0);
}

void zd_drain_close(struct zd_drain *drain)
{
    uv_close((uv_handle_t *)&drain->timer, NULL);
}
