/* When an exchange goes on: turns, sleep, deadlines and hang-ups. */
#include "server/front/suspend.h"

#include <microhttpd.h>
#include <poll.h>

#include "server/front/exchange.h"
#include "server/front/response.h"
#include "server/front/wire.h"
#include "server/request/admit.h"
#include "server/request/connection.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define ANSWER_BYTES_MAX      (2U << 20) /* of a problem that is sent past libmicrohttpd */
#define CLIENT_CLOSED_REQUEST 499        /* in the log alone, as elsewhere */
#define HANGUP_MS             50
#define REST_BYTES_MAX        (64U << 10) /* that are read and dropped: the connection lives on */

/* ---- turns ---- */

/* One at a time: other sockets and answers come in between. */
static void on_turn(uv_idle_t *idle)
{
    struct zd_front *front = idle->data;
    struct zd_list *link = zd_list_pop_front(&front->turns);
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    zd_machine_go_on(&ZD_CONTAINER(link, struct zd_exchange, turn)->request.machine);
}

void zd_connection_queue_turn(struct zd_request *req)
{
    struct zd_exchange *exchange = zd_front_exchange(req);
    zd_list_push_back(&exchange->front->turns, &exchange->turn);
    uv_idle_start(&exchange->front->next_turn, on_turn);
}

/* ---- sleep ---- */

struct zd_wire *zd_suspend_wire(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

static void arm_deadline(struct zd_front *front);
static void on_hangup_timer(uv_timer_t *timer);

bool zd_suspend_exchange(struct zd_exchange *exchange)
{
    struct zd_front *front = exchange->front;
    struct zd_exchange_now *now = &exchange->now;
    if (front->is_closing) {
        return false;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(now->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    now->fd = info->connect_fd;
    now->is_suspended = true;
    now->deadline_ms =
        uv_now(front->server->loop) + front->server->config->settings.http_request_ms;
    zd_list_push_back(&front->waiting, &exchange->link);
    arm_deadline(front);
    if (!uv_is_active((uv_handle_t *)&front->hangup)) {
        uv_timer_start(&front->hangup, on_hangup_timer, HANGUP_MS, HANGUP_MS);
    }
    if (zd_upload_is_open(&exchange->request.upload)) {
        zd_wire_pause(zd_suspend_wire(now->connection));
    }
    MHD_suspend_connection(now->connection);
    return true;
}

/* More is still to come than is worth reading. */
static bool is_rest_long(const struct zd_upload *upload)
{
    return upload->has_length ? upload->length - upload->came_bytes > REST_BYTES_MAX
                              : upload->dropped_bytes > REST_BYTES_MAX;
}

void zd_suspend_send_last(struct zd_exchange *exchange)
{
    if (exchange->now.is_answered || !is_rest_long(&exchange->request.upload)) {
        return;
    }
    exchange->now.is_answered = true;
    ZD_SCOPED_TEXT(answer, ANSWER_BYTES_MAX);
    zd_response_add_last(exchange, &answer);
    zd_wire_answer(zd_suspend_wire(exchange->now.connection), &answer);
}

void zd_suspend_answered(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    if (req->upload.state == ZD_UPLOAD_OPEN && exchange->now.response != NULL &&
        !req->machine.is_running) {
        zd_upload_drop(&req->upload);
        zd_suspend_send_last(exchange);
    }
}

void zd_connection_wake(struct zd_request *req)
{
    struct zd_exchange *exchange = zd_front_exchange(req);
    struct zd_exchange_now *now = &exchange->now;
    const bool is_upload = zd_upload_is_open(&req->upload);
    if (is_upload) {
        zd_suspend_answered(exchange);
    }
    if (now->is_suspended) {
        now->is_suspended = false;
        zd_list_remove(&exchange->link);
        if (is_upload) {
            zd_wire_go_on(zd_suspend_wire(now->connection));
        }
        MHD_resume_connection(now->connection);
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(now->connection, MHD_CONNECTION_INFO_DAEMON);
        exchange->front->run_soon(exchange->front, info->daemon);
    }
}

void zd_connection_answered(struct zd_request *req)
{
    zd_admit_answered(req);
    zd_connection_wake(req);
}

/* ---- clients that hang up, deadlines ---- */

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

/* The sockets of all that sleep, in the order of the list; without memory, of the first of them. */
static size_t gather_sockets(struct zd_front *front)
{
    const struct zd_list *waiting = &front->waiting;
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
        const struct zd_exchange *exchange = ZD_CONTAINER(link, struct zd_exchange, link);
        front->socket[i++] = (struct pollfd){.fd = exchange->now.fd, .events = POLLRDHUP};
    }
    return i;
}

/* libmicrohttpd does not watch connections that sleep: one system call looks at all of them. A
 * client that will send no more is taken to be gone: whether it still reads cannot be known. */
static void on_hangup_timer(uv_timer_t *timer)
{
    struct zd_front *front = timer->data;
    if (zd_list_is_empty(&front->waiting)) {
        uv_timer_stop(timer);
        return;
    }
    const size_t n = gather_sockets(front);
    if (poll(front->socket, n, 0) <= 0) {
        return;
    }
    struct zd_list *link = front->waiting.next;
    for (size_t i = 0; i < n; i++) {
        struct zd_exchange *exchange = ZD_CONTAINER(link, struct zd_exchange, link);
        link = link->next;
        if ((front->socket[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
            hung_up(exchange);
        }
    }
}

static void on_deadline(uv_timer_t *timer)
{
    struct zd_front *front = timer->data;
    const uint64_t now_ms = uv_now(front->server->loop);
    while (!zd_list_is_empty(&front->waiting)) {
        struct zd_exchange *exchange = ZD_CONTAINER(front->waiting.next, struct zd_exchange, link);
        struct zd_request *req = &exchange->request;
        if (exchange->now.deadline_ms > now_ms) {
            break;
        }
        zd_exchange_release(exchange);
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_TIMEOUT, "%s within http.request_ms (%llu ms)",
            zd_stream_is_open(&req->stream) ? "no more of the answer" : "no answer",
            (unsigned long long)front->server->config->settings.http_request_ms);
        (void)zd_respond_error(req, NULL, &err);
        zd_connection_wake(req);
    }
    arm_deadline(front);
}

/* One timer for all: every request has the same time, so the list is in order. */
static void arm_deadline(struct zd_front *front)
{
    if (zd_list_is_empty(&front->waiting) || uv_is_active((uv_handle_t *)&front->deadline)) {
        return;
    }
    const struct zd_exchange *first = ZD_CONTAINER(front->waiting.next, struct zd_exchange, link);
    const uint64_t now_ms = uv_now(front->server->loop);
    const uint64_t wait_ms = first->now.deadline_ms > now_ms ? first->now.deadline_ms - now_ms : 0;
    uv_timer_start(&front->deadline, on_deadline, wait_ms, 0);
}

/* ---- all of a front's ---- */

void zd_suspend_init(struct zd_front *front)
{
    uv_loop_t *loop = front->server->loop;
    zd_list_init(&front->spare);
    zd_list_init(&front->waiting);
    zd_list_init(&front->turns);
    uv_idle_init(loop, &front->next_turn);
    front->next_turn.data = front;
    uv_timer_init(loop, &front->deadline);
    front->deadline.data = front;
    uv_timer_init(loop, &front->hangup);
    front->hangup.data = front;
}

void zd_suspend_close(struct zd_front *front)
{
    uv_close((uv_handle_t *)&front->next_turn, NULL);
    uv_close((uv_handle_t *)&front->deadline, NULL);
    uv_close((uv_handle_t *)&front->hangup, NULL);
}

void zd_suspend_wake_all(struct zd_front *front)
{
    while (!zd_list_is_empty(&front->waiting)) {
        struct zd_exchange *exchange = ZD_CONTAINER(front->waiting.next, struct zd_exchange, link);
        zd_exchange_release(exchange);
        (void)zd_exchange_step_draining(&exchange->request);
        zd_connection_wake(&exchange->request);
    }
}
