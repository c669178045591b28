/* The HTTP front: libmicrohttpd in external epoll mode on libuv's loop.
 *
 *   uv_poll(MHD's epoll) --> run() --> MHD_run: reads, on_target, on_request, writes, on_completed
 *                              ^                                  |
 *         uv_timer, uv_idle ---+      steps answer: queued at once; they wait: the connection
 * sleeps until zd_connection_wake wakes it
 */
#include "server/front/front.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/datasets.h"
#include "server/front/head.h"
#include "server/front/listen.h"
#include "server/front/reply.h"
#include "server/front/reply_cache.h"
#include "server/front/wire.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/dispatch.h"
#include "server/runtime/access.h"
#include "server/runtime/server.h"

#define RUNS_IN_A_ROW     8          /* before the loop's other work gets its turn */
#define SPARE_BODY_BYTES  (4U << 10) /* that a spare request may go on holding */
#define ANSWER_BYTES_MAX  (2U << 20) /* of a problem that is told past libmicrohttpd */
#define SPARE_FILES       256        /* that are not connections */
#define LEAST_CONNECTIONS 16
#define FILES_EACH        2 /* the socket, and the file that is sent through it */
#define KEPT_PART         2 /* one part of the metadata cache is for prepared answers */

/* ---- requests: from the spare list, and back ---- */

static struct zd_request *request_new(struct zd_front *http)
{
    struct zd_list *link = zd_list_pop_front(&http->spare);
    if (link != NULL) {
        return ZD_CONTAINER(link, struct zd_request, link);
    }
    struct zd_request *req = zd_alloc_zero(1, sizeof *req);
    if (req == NULL) {
        return NULL;
    }
    const struct zd_settings *settings = &http->server->config->settings;
    zd_request_init(req, http->server);
    zd_text_init(&req->target_text, settings->limits_url_bytes);
    zd_text_init(&req->path_text, settings->limits_url_bytes);
    zd_text_init(&req->body_text, settings->limits_body_bytes);
    for (size_t i = 0; i < ZD_LIST_FIELDS; i++) {
        zd_text_init(&req->list_text[i], settings->http_connection_bytes); /* of the whole head */
    }
    return req;
}

static void drop_lists(struct zd_request *req)
{
    for (size_t i = 0; i < ZD_LIST_FIELDS; i++) {
        zd_text_done(&req->list_text[i]);
    }
}

static void request_free(struct zd_request *req)
{
    zd_text_done(&req->target_text);
    zd_text_done(&req->path_text);
    zd_text_done(&req->body_text);
    drop_lists(req);
    zd_free(req);
}

/* MHD_OPTION_URI_LOG_CALLBACK: the only place that sees the target as it was sent. What it returns
 * is the request's own pointer from here on. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct zd_listener *listener = cls;
    struct zd_request *req = request_new(listener->http);
    if (req == NULL) {
        return NULL;
    }
    zd_text_clear(&req->target_text);
    if (zd_text_add(&req->target_text, target) != ZD_OK) {
        request_free(req);
        return NULL;
    }
    req->target = req->target_text.at;
    req->connection = connection;
    req->began_ns = uv_hrtime();
    req->server->metrics.n_in_flight++;
    return req;
}

/* Ends what the request still holds or waits for. */
static void release_state(struct zd_request *req)
{
    zd_list_remove(&req->turn);
    zd_wait_cancel(&req->node_want.wait);
    zd_parent_groups_release(&req->look);
    zd_multiscale_release(&req->scales);
    zd_reply_cache_release(req);
    if (req->state_free != NULL) {
        req->state_free(req);
    }
    req->state = NULL;
    req->state_free = NULL;
    zd_body_release(req);
    zd_json_unref(ZD_TAKE(req->json));
    zd_gather_cancel(&req->gather);
    zd_admit_release(req);
}

static void drop_answer(struct zd_request *req)
{
    if (req->answer != NULL && !req->answer_is_borrowed) {
        MHD_destroy_response(req->answer);
    }
    req->answer = NULL;
    req->answer_id = NULL;
    req->answer_is_borrowed = false;
}

static void drop_body(struct zd_request *req)
{
    req->server->front->body_bytes -= req->body_text.len;
    if (req->body_text.cap > SPARE_BODY_BYTES) {
        zd_text_done(&req->body_text);
    } else {
        zd_text_clear(&req->body_text);
    }
}

static void forget(struct zd_request *req)
{
    release_state(req);
    drop_answer(req);
    zd_node_unref(req->node);
    zd_node_unref(req->node_want.node);
    zd_buf_unref(req->body);
    zd_params_done(&req->params);
    req->connection = NULL;
    req->handler = NULL;
    req->route = NULL;
    req->route_number = 0;
    req->step = NULL;
    req->is_head = false;
    zd_dataset_unref(req->dataset);
    req->dataset = NULL;
    req->path = NULL;
    req->path_ends_in_slash = false;
    req->body = NULL;
    drop_body(req);
    zd_upload_done(&req->upload);
    req->deadline_ms = 0;
    req->conditions = (struct zd_conditions){0};
    req->accept = NULL;
    req->accept_encoding = NULL;
    req->content_encoding = NULL;
    drop_lists(req);
    zd_stream_done(&req->stream);
    req->has_left = false;
    req->was_cut = false;
    req->node_want.node = NULL;
    req->node = NULL;
    req->sent_id = NULL;
    req->has_begun = false;
    req->has_started = false;
    req->http_status = 0;
    req->body_bytes = 0;
    req->problem_code = NULL;
}

static struct zd_wire *wire_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/* What the log and the metrics tell of the body. */
static void measure_stream(struct zd_request *req, enum MHD_RequestTerminationCode code)
{
    if (zd_stream_is_open(&req->stream)) {
        req->body_bytes = req->stream.taken_bytes;
        req->was_cut = code != MHD_REQUEST_TERMINATED_COMPLETED_OK;
        req->server->metrics.n_cut += req->was_cut;
    }
}

/* MHD_OPTION_NOTIFY_COMPLETED: answered in full, or the client is gone. */
static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
    enum MHD_RequestTerminationCode code)
{
    (void)cls;
    struct zd_request *req = *con_cls;
    *con_cls = NULL;
    zd_wire_answered(wire_of(connection));
    if (req == NULL) {
        return;
    }
    struct zd_server *server = req->server;
    server->metrics.n_in_flight--;
    measure_stream(req, code);
    if (req->http_status != 0) {
        const struct zd_access access = {
            .method = req->method,
            .target = req->target,
            .id = req->id,
            .http_status = req->http_status,
            .route_number = req->route_number,
            .body_bytes = req->body_bytes,
            .duration_ns = uv_hrtime() - req->began_ns,
            .problem_code = req->problem_code,
            .was_cut = req->was_cut,
        };
        zd_metrics_access(&server->metrics, &access);
        zd_log_access(&server->log, &access);
    }
    zd_list_remove(&req->link);
    req->is_suspended = false;
    forget(req);
    zd_list_push_front(&server->front->spare, &req->link);
}

/* ---- the body and the steps ---- */

static enum MHD_Result queue(struct zd_request *req)
{
    struct MHD_Response *response = req->answer;
    if (req->answer_id != NULL) {
        memcpy(req->answer_id, req->id, ZD_MADE_ID_LEN);
    }
    const enum MHD_Result result = MHD_queue_response(req->connection, req->http_status, response);
    drop_answer(req); /* the connection has its own reference */
    return result;
}

static void arm_deadline(struct zd_front *http);
static void on_idle(uv_idle_t *idle);

/* MHD must not be stopped while a connection sleeps: what still comes in may not wait. */
static enum zd_next step_refuse(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "draining",
        .detail = "the server is shutting down",
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

static enum zd_next step_refuse_body(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "overloaded",
        .detail = "memory for request bodies is exhausted; retry later",
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

static void run_steps(struct zd_request *req)
{
    req->has_started = true;
    if (req->server->front->is_closing) {
        req->step = step_refuse;
    } else if (req->step == NULL) {
        req->step = zd_dispatch;
    }
    zd_request_go_on(req);
}

/* Runs the steps, and either queues the answer or lets the connection sleep. */
static enum MHD_Result start(struct zd_request *req)
{
    if (req->body_text.len > 0 && zd_text_buf(&req->body_text, &req->body) != ZD_OK) {
        return MHD_NO;
    }
    run_steps(req);
    if (req->answer != NULL) {
        return queue(req);
    }
    return zd_connection_sleep(req) ? MHD_YES : MHD_NO;
}

bool zd_connection_sleep(struct zd_request *req)
{
    struct zd_front *http = req->server->front;
    if (http->is_closing) {
        return false;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    req->fd = info->connect_fd;
    req->is_suspended = true;
    req->deadline_ms = uv_now(req->server->loop) + req->server->config->settings.http_request_ms;
    zd_list_push_back(&http->waiting, &req->link);
    arm_deadline(http);
    zd_hangup_watch(&http->leaving);
    if (zd_upload_is_open(&req->upload)) {
        zd_wire_pause(wire_of(req->connection));
    }
    MHD_suspend_connection(req->connection);
    return true;
}

/* In this mode MHD has no descriptor that resuming could wake: it has to be run. */
static void run_soon(struct zd_front *http, const struct MHD_Daemon *daemon)
{
    for (size_t i = 0; i < http->n_listeners; i++) {
        struct zd_listener *listener = &http->listener[i];
        if (listener->daemon == daemon && !http->is_closing) {
            uv_idle_start(&listener->again, on_idle);
        }
    }
}

void zd_connection_wake(struct zd_request *req)
{
    if (zd_upload_is_open(&req->upload)) {
        zd_upload_answered(req);
    }
    if (req->is_suspended) {
        req->is_suspended = false;
        zd_list_remove(&req->link);
        if (zd_upload_is_open(&req->upload)) {
            zd_wire_go_on(wire_of(req->connection));
        }
        MHD_resume_connection(req->connection);
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_DAEMON);
        run_soon(req->server->front, info->daemon);
    }
}

void zd_connection_answered(struct zd_request *req)
{
    zd_admit_answered(req);
    zd_connection_wake(req);
}

void zd_connection_send_last(struct zd_request *req)
{
    ZD_SCOPED_TEXT(answer, ANSWER_BYTES_MAX);
    zd_reply_last(req, &answer);
    zd_wire_answer(wire_of(req->connection), &answer);
}

static enum MHD_Result obey(struct zd_request *req, enum zd_upload_verdict verdict)
{
    switch (verdict) {
    case ZD_UPLOAD_READ:
        return MHD_YES;
    case ZD_UPLOAD_SLEEP:
        return zd_connection_sleep(req) ? MHD_YES : MHD_NO;
    case ZD_UPLOAD_ANSWER:
        return queue(req);
    case ZD_UPLOAD_CLOSE:
        break;
    }
    return MHD_NO;
}

/* The first call for a request: its head is there. An answer given now would end the connection;
 * the call that follows has the whole request, or a part of its body. */
static enum MHD_Result begin(struct zd_request *req, const char *method)
{
    if (!zd_wire_is_judged(wire_of(req->connection))) {
        zd_log(&req->server->log, ZD_LOG_ERROR,
            "a request that the guard has not seen: libmicrohttpd does not read with our recv(), "
            "or there is no memory");
        return MHD_NO;
    }
    req->has_begun = true;
    if (zd_head_read(req, method) != ZD_OK) {
        return MHD_NO; /* a condition is lost */
    }
    if (zd_request_is_reading(req) || !zd_upload_begin(req)) {
        return MHD_YES;
    }
    run_steps(req);
    return obey(req, zd_upload_leave_head(req));
}

/* The whole request is there. */
static enum MHD_Result finish(struct zd_request *req)
{
    if (zd_request_is_reading(req) && zd_reply_cache_answer(req)) {
        return queue(req);
    }
    return start(req);
}

/* The answer does not wait for the rest of the body. */
static enum MHD_Result refuse_body(
    struct zd_request *req, zd_step *step, const char *bytes, size_t *len)
{
    zd_upload_refuse(req, step, req->body_text.len);
    drop_body(req);
    run_steps(req);
    return obey(req, zd_upload_come(req, bytes, len));
}

static enum MHD_Result take_body(struct zd_request *req, const char *bytes, size_t *len)
{
    struct zd_front *http = req->server->front;
    const uint64_t n_free = req->server->memory.body_bytes - http->body_bytes;
    if (*len > n_free) {
        return refuse_body(req, step_refuse_body, bytes, len);
    }
    switch (zd_text_add_bytes(&req->body_text, bytes, *len)) {
    case ZD_OK:
        http->body_bytes += *len;
        *len = 0;
        return MHD_YES;
    case ZD_TOO_LARGE:
        return refuse_body(req, zd_upload_step_too_long, bytes, len);
    default:
        return MHD_NO;
    }
}

/* Of a request whose steps run before its body is there. */
static enum MHD_Result on_upload(struct zd_request *req, const char *bytes, size_t *len)
{
    if (req->has_left) {
        return MHD_NO;
    }
    if (*len > 0) {
        return obey(req, zd_upload_come(req, bytes, len));
    }
    return obey(
        req, req->upload.state == ZD_UPLOAD_HEAD ? zd_upload_leave_head(req) : zd_upload_end(req));
}

/* MHD's access handler: first the head, then pieces of the body, then its end; once more after a
 * sleep. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload, size_t *upload_len, void **con_cls)
{
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    struct zd_request *req = *con_cls;
    if (req == NULL) {
        return MHD_NO; /* no memory for it */
    }
    if (!req->has_begun) {
        return begin(req, method);
    }
    if (zd_upload_is_open(&req->upload)) {
        return on_upload(req, upload, upload_len);
    }
    if (*upload_len > 0) {
        return take_body(req, upload, upload_len);
    }
    if (req->has_left) {
        return MHD_NO;
    }
    if (req->answer != NULL) {
        return queue(req);
    }
    return req->has_started ? MHD_YES : finish(req);
}

/* ---- turns ---- */

/* One at a time: the others' sockets and answers come in between. */
static void on_turn(uv_idle_t *idle)
{
    struct zd_front *http = idle->data;
    struct zd_list *link = zd_list_pop_front(&http->turns);
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    zd_request_go_on(ZD_CONTAINER(link, struct zd_request, turn));
}

void zd_connection_queue_turn(struct zd_request *req)
{
    struct zd_front *http = req->server->front;
    zd_list_push_back(&http->turns, &req->turn);
    uv_idle_start(&http->next_turn, on_turn);
}

/* ---- clients that leave, deadlines ---- */

#define CLIENT_CLOSED_REQUEST 499 /* in the log alone, as elsewhere */

void zd_connection_hung_up(struct zd_request *req)
{
    release_state(req);
    req->has_left = true;
    req->server->metrics.n_left++;
    if (zd_stream_is_open(&req->stream)) {
        zd_stream_cut(&req->stream);
    } else {
        req->http_status = CLIENT_CLOSED_REQUEST;
    }
    zd_connection_wake(req);
}

static void on_deadline(uv_timer_t *timer)
{
    struct zd_front *http = timer->data;
    const uint64_t now_ms = uv_now(http->server->loop);
    while (!zd_list_is_empty(&http->waiting)) {
        struct zd_request *req = ZD_CONTAINER(http->waiting.next, struct zd_request, link);
        if (req->deadline_ms > now_ms) {
            break;
        }
        release_state(req);
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_TIMEOUT, "%s within http.request_ms (%llu ms)",
            zd_stream_is_open(&req->stream) ? "no more of the answer" : "no answer",
            (unsigned long long)http->server->config->settings.http_request_ms);
        (void)zd_respond_error(req, NULL, &err);
        zd_connection_wake(req);
    }
    arm_deadline(http);
}

/* One timer for all: every request has the same time, so the list is in order. */
static void arm_deadline(struct zd_front *http)
{
    if (zd_list_is_empty(&http->waiting) || uv_is_active((uv_handle_t *)&http->deadline)) {
        return;
    }
    const struct zd_request *first = ZD_CONTAINER(http->waiting.next, struct zd_request, link);
    const uint64_t now_ms = uv_now(http->server->loop);
    const uint64_t wait_ms = first->deadline_ms > now_ms ? first->deadline_ms - now_ms : 0;
    uv_timer_start(&http->deadline, on_deadline, wait_ms, 0);
}

/* ---- MHD on the loop ---- */

static void on_timer(uv_timer_t *timer);

/* MHD's sockets are edge-triggered: after every run its timeout says whether ready work is left,
 * and ignoring that stalls connections. */
static void run(struct zd_listener *listener)
{
    for (int i = 0; i < RUNS_IN_A_ROW; i++) {
        MHD_UNSIGNED_LONG_LONG wait_ms = 0;
        listener->has_closed = false;
        (void)MHD_run(listener->daemon);
        if (listener->has_closed) {
            continue;
        }
        if (MHD_get_timeout(listener->daemon, &wait_ms) != MHD_YES) {
            uv_timer_stop(&listener->timer);
            uv_idle_stop(&listener->again);
            return;
        }
        if (wait_ms > 0) {
            uv_timer_start(&listener->timer, on_timer, wait_ms, 0);
            uv_idle_stop(&listener->again);
            return;
        }
    }
    uv_idle_start(&listener->again, on_idle);
}

static void on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_idle(uv_idle_t *idle)
{
    run(idle->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    struct zd_listener *listener = cls;
    struct zd_front *http = listener->http;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = info == NULL ? NULL : zd_wire_open(http->wires, info->connect_fd);
        http->server->metrics.n_connections++;
    } else {
        zd_wire_close(*socket_context);
        *socket_context = NULL;
        listener->has_closed = true;
        http->server->metrics.n_connections--;
    }
}

/* Each listener's daemon knows the limit; together they may have no more either. */
static enum MHD_Result may_connect(void *cls, const struct sockaddr *address, socklen_t address_len)
{
    (void)address;
    (void)address_len;
    const struct zd_front *http = ((struct zd_listener *)cls)->http;
    return http->server->metrics.n_connections < http->n_connections_max ? MHD_YES : MHD_NO;
}

/* The target is decoded by us, once, from its raw form. */
static size_t keep_as_sent(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void on_message(
    void *cls, const char *format, va_list args)
{
    struct zd_listener *listener = cls;
    char line[ZD_ERROR_TEXT_BYTES]; /* longer ones are cut */
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    zd_log(&listener->http->server->log, ZD_LOG_DEBUG, "libmicrohttpd: %s", line);
}

static struct MHD_Daemon *start_daemon(struct zd_listener *listener, int fd)
{
    const struct zd_settings *settings = &listener->http->server->config->settings;
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        may_connect, listener, on_request, listener, MHD_OPTION_EXTERNAL_LOGGER, on_message,
        listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)zd_wire_memory_bytes(settings), MHD_OPTION_CONNECTION_LIMIT,
        (unsigned int)listener->http->n_connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned int)settings->http_address_connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned int)zd_div_up(settings->http_idle_ms, 1000), MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK, on_target, listener,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_as_sent, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_END);
}

static enum zd_status listen_on(
    struct zd_listener *listener, const char *address, struct zd_error *err)
{
    uv_loop_t *loop = listener->http->server->loop;
    int fd = -1;
    ZD_TRY(zd_listen_bind(address, &listener->host, &listener->port, &fd, err));
    listener->daemon = start_daemon(listener, fd);
    if (listener->daemon == NULL) {
        close(fd);
        return zd_fail(err, ZD_INTERNAL, "libmicrohttpd does not start on '%s'", address);
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL || uv_poll_init(loop, &listener->poll, info->epoll_fd) != 0) {
        return zd_fail(err, ZD_INTERNAL, "no epoll descriptor for '%s'", address);
    }
    uv_timer_init(loop, &listener->timer);
    uv_idle_init(loop, &listener->again);
    listener->has_handles = true;
    listener->poll.data = listener;
    listener->timer.data = listener;
    listener->again.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_poll);
    uv_idle_start(&listener->again, on_idle); /* the first run begins to accept */
    return ZD_OK;
}

/* As many as are wished, if the system gives that many descriptors: at the limit they wait to be
 * accepted, and nothing spins. */
static uint64_t connections_max(struct zd_server *server)
{
    const uint64_t n_wished = server->config->settings.http_connections;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur >= FILES_EACH * n_wished + SPARE_FILES) {
        return n_wished;
    }
    const uint64_t n_files = limit.rlim_cur;
    const uint64_t n = n_files > SPARE_FILES + FILES_EACH * LEAST_CONNECTIONS
                           ? (n_files - SPARE_FILES) / FILES_EACH
                           : LEAST_CONNECTIONS;
    zd_log(&server->log, ZD_LOG_WARNING,
        "http.connections is %llu, but the system allows %llu descriptors: at most %llu "
        "connections",
        (unsigned long long)n_wished, (unsigned long long)n_files, (unsigned long long)n);
    return n;
}

enum zd_status zd_front_new(
    struct zd_server *server, struct zd_front **ret_http, struct zd_error *err)
{
    const struct zd_config *config = server->config;
    struct zd_front *http = zd_alloc_zero(1, sizeof *http);
    struct zd_listener *listener = zd_alloc_zero(config->n_listen, sizeof *listener);
    if (http == NULL || listener == NULL) {
        zd_free(http);
        zd_free(listener);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the HTTP front");
    }
    http->server = server;
    http->listener = listener;
    http->id_seed = zd_hash_random_seed();
    http->n_connections_max = connections_max(server);
    zd_list_init(&http->spare);
    zd_list_init(&http->waiting);
    zd_list_init(&http->turns);
    uv_idle_init(server->loop, &http->next_turn);
    http->next_turn.data = http;
    uv_timer_init(server->loop, &http->deadline);
    http->deadline.data = http;
    zd_hangup_init(&http->leaving, http);
    zd_reply_cache_init(http, server->memory.metadata_bytes / KEPT_PART);
    enum zd_status status = zd_replies_init(http, err);
    if (status == ZD_OK) {
        status = zd_wires_new(server, &http->wires, err);
    }
    for (size_t i = 0; status == ZD_OK && i < config->n_listen; i++) {
        http->listener[i].http = http;
        http->n_listeners++;
        status = listen_on(&http->listener[i], config->listen[i], err);
    }
    if (status != ZD_OK) {
        zd_front_close(http);
        (void)uv_run(server->loop, UV_RUN_NOWAIT); /* the handles are in http */
        zd_front_free(http);
        return status;
    }
    *ret_http = http;
    return ZD_OK;
}

/* ---- the end ---- */

void zd_front_drain(struct zd_front *http)
{
    for (size_t i = 0; i < http->n_listeners; i++) {
        if (http->listener[i].daemon != NULL) {
            const int fd = MHD_quiesce_daemon(http->listener[i].daemon);
            if (fd >= 0) {
                close(fd);
            }
        }
    }
}

/* Those who wait are told why; MHD must not be stopped while a connection sleeps. */
static void wake_all(struct zd_front *http)
{
    while (!zd_list_is_empty(&http->waiting)) {
        struct zd_request *req = ZD_CONTAINER(http->waiting.next, struct zd_request, link);
        release_state(req);
        (void)step_refuse(req);
        zd_connection_wake(req);
    }
}

void zd_front_close(struct zd_front *http)
{
    if (http->is_closing) {
        return;
    }
    http->is_closing = true;
    wake_all(http);
    for (size_t i = 0; i < http->n_listeners; i++) {
        struct zd_listener *listener = &http->listener[i];
        if (listener->has_handles) {
            uv_close((uv_handle_t *)&listener->poll, NULL);
            uv_close((uv_handle_t *)&listener->timer, NULL);
            uv_close((uv_handle_t *)&listener->again, NULL);
        }
        if (listener->daemon != NULL) {
            (void)MHD_run(listener->daemon); /* what was just answered goes out */
            MHD_stop_daemon(listener->daemon);
            listener->daemon = NULL;
        }
    }
    uv_close((uv_handle_t *)&http->next_turn, NULL);
    uv_close((uv_handle_t *)&http->deadline, NULL);
    zd_wires_close(http->wires);
    zd_hangup_close(&http->leaving);
}

void zd_front_free(struct zd_front *http)
{
    if (http == NULL) {
        return;
    }
    for (size_t i = 0; i < http->n_listeners; i++) {
        zd_free(http->listener[i].host);
    }
    zd_free(http->listener);
    struct zd_list *link = NULL;
    while ((link = zd_list_pop_front(&http->spare)) != NULL) {
        request_free(ZD_CONTAINER(link, struct zd_request, link));
    }
    zd_wires_free(http->wires);
    zd_reply_cache_done(http);
    zd_hangup_done(&http->leaving);
    zd_replies_done(http);
    zd_free(http);
}
