/* Ends the waits of an exchange when its client hangs up, or its deadline passes. */
#include "server/front/exchange_watch.h"

#include <poll.h>

#include "server/front/exchange.h"
#include "server/request/connection.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define CLIENT_CLOSED_REQUEST 499 /* in the log alone, as elsewhere */
#define HANGUP_MS             50

/* ---- clients that hang up ---- */

static void hung_up(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    zd_exchange_release(exchange);
    exchange->now.has_left = true;
    exchange->front->server->metrics.n_left++;
    if (zd_stream_is_open(&req->stream)) {
        zd_stream_cut(&req->stream);
    } else {
        exchange->now.access.http_status = CLIENT_CLOSED_REQUEST;
    }
    zd_connection_wake(req);
}

/* Gathers the sockets of all sleeping exchanges, in the order of the list; without memory, the
 * first of them. */
static size_t gather_sockets(struct zd_front *front)
{
    const struct zd_list *waiting = &front->waiting.running;
    size_t n = 0;
    for (const struct zd_list *link = waiting->next; link != waiting; link = link->next) {
        n++;
    }
    if (n > front->n_sockets_max) {
        struct pollfd *socket = zd_alloc_zero(2 * n, sizeof *socket);
        if (socket != NULL) {
            zd_free(front->socket);
            front->socket = socket;
            front->n_sockets_max = 2 * n;
        }
    }
    size_t i = 0;
    for (struct zd_list *link = waiting->next; link != waiting && i < front->n_sockets_max;
        link = link->next) {
        const struct zd_exchange *exchange = ZD_CONTAINER(link, struct zd_exchange, deadline.link);
        front->socket[i++] = (struct pollfd){.fd = exchange->now.fd, .events = POLLRDHUP};
    }
    return i;
}

/* Finds clients that have hung up: libmicrohttpd does not watch sleeping connections, so one system
 * call looks at all of them. A client that will send no more counts as gone: nobody can know
 * whether it still reads. */
static void on_hangup_timer(uv_timer_t *timer)
{
    struct zd_front *front = timer->data;
    if (zd_list_is_empty(&front->waiting.running)) {
        uv_timer_stop(timer);
        return;
    }
    const size_t n = gather_sockets(front);
    if (poll(front->socket, n, 0) <= 0) {
        return;
    }
    struct zd_list *link = front->waiting.running.next;
    for (size_t i = 0; i < n; i++) {
        struct zd_exchange *exchange = ZD_CONTAINER(link, struct zd_exchange, deadline.link);
        link = link->next;
        if ((front->socket[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
            hung_up(exchange);
        }
    }
}

/* ---- deadlines ---- */

/* Gives a change that is being stored more time: it cannot be withdrawn, so the request waits for
 * the outcome. */
static bool waits_on(struct zd_exchange *exchange)
{
    struct zd_front *front = exchange->front;
    const uint64_t now_ms = uv_now(front->server->loop);
    struct zd_exchange_now *now = &exchange->now;
    if (!zd_exchange_is_storing(exchange)) {
        return false;
    }
    if (now->outcome_ms == 0) {
        now->outcome_ms = now_ms + front->server->config->settings.http_commit_ms;
    }
    if (now->outcome_ms <= now_ms) {
        return false;
    }
    zd_deadline_start(&front->waiting, &exchange->deadline);
    return true;
}

static enum zd_status describe_delay(const struct zd_exchange *exchange, struct zd_error *err)
{
    const struct zd_settings *settings = &exchange->front->server->config->settings;
    if (zd_exchange_is_storing(exchange)) {
        return zd_fail(err, ZD_TIMEOUT,
            "the change was not stored within http.commit_ms (%llu ms), and its outcome is "
            "unknown: read the stored data before sending the change again",
            (unsigned long long)settings->http_commit_ms);
    }
    return zd_fail(err, ZD_TIMEOUT, "%s within http.request_ms (%llu ms)",
        zd_stream_is_open(&exchange->request.stream) ? "the answer was not complete"
                                                     : "there was no answer",
        (unsigned long long)settings->http_request_ms);
}

static void on_deadline(struct zd_deadline *deadline)
{
    struct zd_exchange *exchange = ZD_CONTAINER(deadline, struct zd_exchange, deadline);
    struct zd_request *req = &exchange->request;
    if (waits_on(exchange)) {
        return;
    }
    struct zd_error err = {0};
    err.status = describe_delay(exchange, &err);
    zd_exchange_release(exchange);
    (void)zd_respond_error(req, NULL, &err);
    zd_connection_wake(req);
}

/* ---- all of a front's ---- */

void zd_exchange_watch_init(struct zd_front *front)
{
    uv_loop_t *loop = front->server->loop;
    zd_deadlines_init(
        &front->waiting, loop, front->server->config->settings.http_request_ms, on_deadline);
    uv_timer_init(loop, &front->hangup);
    front->hangup.data = front;
    /* zd_exchange_suspend starts it again. */
    uv_timer_start(&front->hangup, on_hangup_timer, HANGUP_MS, HANGUP_MS);
}

void zd_exchange_watch_close(struct zd_front *front)
{
    zd_deadlines_close(&front->waiting);
    uv_close((uv_handle_t *)&front->hangup, NULL);
}

void zd_exchange_watch_done(struct zd_front *front)
{
    zd_free(front->socket);
}
