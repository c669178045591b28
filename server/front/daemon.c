/* The front as a whole: libmicrohttpd in external epoll mode on libuv's loop.
 *
 *   uv_poll(MHD's epoll) --> run() --> MHD_run: reads, target, request, writes, completed
 *                              ^                                  |
 *         uv_timer, uv_idle ---+      the steps answer: queued at once; they wait: the connection
 *                                     sleeps until zd_connection_wake
 */
#include "server/front/front.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/front/exchange.h"
#include "server/front/exchange_head.h"
#include "server/front/exchange_record.h"
#include "server/front/exchange_watch.h"
#include "server/front/expiry.h"
#include "server/front/listen.h"
#include "server/front/reply_cache.h"
#include "server/front/response.h"
#include "server/front/connection_limits.h"
#include "server/front/wire.h"
#include "server/front/wires.h"
#include "server/http/address.h"
#include "server/request/access/access.h"
#include "server/request/access/audit.h"
#include "server/request/client.h"
#include "server/request/identity.h"
#include "server/request/permission.h"
#include "server/request/rates.h"
#include "server/request/route.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define RUNS_IN_A_ROW     8   /* before the loop's other work gets its turn */
#define SPARE_FILES       320 /* for other files, and for connections beyond the limit */
#define LEAST_CONNECTIONS 16
#define FILES_EACH        2          /* the socket, and the file that is sent through it */
#define MEMORY_PART       4          /* one part of the memory is for connections, at most, */
#define CONNECTION_BYTES  (16 << 10) /* each of which takes so much beside its head, measured */
#define KEPT_PART         2          /* one part of the metadata cache is for prepared answers */

/* ---- requests ---- */

/* MHD_OPTION_URI_LOG_CALLBACK: the only one that sees the target as it was sent. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    const struct zd_listener *listener = cls;
    return zd_exchange_begin(listener->front, target, connection);
}

static enum MHD_Result queue(struct zd_exchange *exchange)
{
    struct zd_exchange_now *now = &exchange->now;
    if (now->response_id != NULL) {
        memcpy(now->response_id, now->id, ZD_FRONT_MADE_ID_LEN);
    }
    if (now->length_is_unknown || now->access.http_status == MHD_HTTP_NOT_MODIFIED) {
        zd_wire_omit_length(zd_wire_of(now->connection));
    }
    zd_exchange_audit(exchange);
    zd_wire_begin_answer(zd_wire_of(now->connection));
    now->is_given = true;
    const enum MHD_Result result =
        MHD_queue_response(now->connection, now->access.http_status, now->response);
    zd_exchange_drop_response(exchange);
    return result;
}

static enum MHD_Result sleep_or_end(struct zd_exchange *exchange)
{
    return zd_exchange_suspend(exchange) ? MHD_YES : MHD_NO;
}

/* ---- a body that is taken while it comes ----
 *
 *     head --> begin_upload --> leave_head --> take_upload ... end_upload
 *
 * An answer that is given while the body still comes ends the connection, unless little is left to
 * be read. */

static enum zd_next step_refuse_long(struct zd_request *req)
{
    const struct zd_settings *settings = &req->server->config->settings;
    const struct zd_upload *upload = &req->upload;
    const uint64_t least = settings->limits_body_bytes + 1;
    struct zd_error err = {0};
    err.status = zd_fail_limit(&err, settings->limits_body_bytes,
        upload->has_length ? upload->length : least, "the body exceeds limits.body_bytes (%llu)",
        (unsigned long long)settings->limits_body_bytes);
    return zd_respond_error(req, "too_large", &err);
}

/* Begins a body. @return whether the steps run now, a refusal among them; else all of the body
 * comes first */
static bool begin_upload(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    if (req->step == NULL && !(zd_route_begin(req) && req->route->streams_body)) {
        if (upload->length <= req->server->config->settings.limits_body_bytes) {
            return false;
        }
        req->step = step_refuse_long;
    }
    upload->state = ZD_UPLOAD_HEAD;
    return true;
}

/* Goes on when the steps have run, or the connection was woken, and nothing of the body was read
 * yet. */
static enum MHD_Result leave_head(struct zd_exchange *exchange)
{
    struct zd_upload *upload = &exchange->request.upload;
    const bool has_answer = exchange->now.response != NULL;
    const bool has_body = !upload->has_length || upload->length > 0;
    if (has_answer && upload->expects_continue && has_body) {
        return queue(exchange); /* to read on would ask for the body (RFC 9110, 10.1.1) */
    }
    if (!has_answer && !upload->is_asked) {
        return sleep_or_end(exchange);
    }
    upload->state = ZD_UPLOAD_OPEN;
    zd_exchange_answered(exchange);
    return MHD_YES;
}

/* @param len how many bytes; then how many were left because the window is full */
static enum MHD_Result take_upload(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    struct zd_upload *upload = &exchange->request.upload;
    size_t n_put = 1;
    size_t at = 0;
    while (upload->state == ZD_UPLOAD_OPEN && *len > 0 && n_put > 0) {
        n_put = zd_upload_put(upload, bytes + at, *len);
        at += n_put;
        *len -= n_put;
    }
    if (upload->state == ZD_UPLOAD_DROPPED) {
        upload->came_bytes += *len;
        upload->dropped_bytes += *len;
        *len = 0;
        zd_exchange_send_last(exchange);
    }
    return *len == 0 ? MHD_YES : sleep_or_end(exchange);
}

/* All of the body has come. */
static enum MHD_Result end_upload(struct zd_exchange *exchange)
{
    struct zd_upload *upload = &exchange->request.upload;
    if (exchange->now.is_answered) {
        return MHD_NO; /* past libmicrohttpd */
    }
    if (upload->state == ZD_UPLOAD_OPEN) {
        zd_upload_end(upload);
    }
    return exchange->now.response == NULL ? sleep_or_end(exchange) : queue(exchange);
}

static enum MHD_Result on_upload(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    if (exchange->now.has_left) {
        return MHD_NO;
    }
    zd_expiry_check(exchange);
    if (*len > 0) {
        return take_upload(exchange, bytes, len);
    }
    return exchange->request.upload.state == ZD_UPLOAD_HEAD ? leave_head(exchange)
                                                            : end_upload(exchange);
}

/* ---- all requests ---- */

/* Judges the request within its first call, or within the call after a sleep that repeats it. */
static enum MHD_Result judge(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    if (exchange->now.has_left) {
        return MHD_NO;
    }
    const bool was_answered = exchange->now.response != NULL; /* while it slept */
    if (!was_answered && zd_access_judge(req) == ZD_WAIT) {
        return sleep_or_end(exchange);
    }
    exchange->now.is_judged = true;
    if (req->identity != NULL) {
        zd_expiry_watch(exchange);
    }
    if (was_answered) {
        req->upload.state = zd_request_is_reading(req) ? req->upload.state : ZD_UPLOAD_HEAD;
        return zd_request_is_reading(req) ? MHD_YES : leave_head(exchange);
    }
    zd_rates_judge(req);
    zd_audit_begin(req);
    if (zd_request_is_reading(req) || !begin_upload(req)) {
        return MHD_YES;
    }
    zd_exchange_start(exchange);
    return leave_head(exchange);
}

/* Takes the first call for a request: its head is there. An answer given now would end the
 * connection; the next call has the whole request, or a part of its body. */
static enum MHD_Result begin(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    if (!zd_wire_is_judged(zd_wire_of(exchange->now.connection))) {
        zd_log(&req->server->log, ZD_LOG_ERROR,
            "libmicrohttpd has read a request without zarrd's guard; zarrd refuses it");
        return MHD_NO;
    }
    exchange->now.has_begun = true;
    if (zd_exchange_read_head(exchange, method) != ZD_OK) {
        return MHD_NO; /* a condition is lost */
    }
    return zd_client_find(req) == ZD_OK ? judge(exchange) : MHD_NO;
}

/* Takes the whole request: it was refused, has a prepared answer, or its steps run. */
static enum MHD_Result finish(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_text *body = &exchange->memory.body;
    if (!zd_request_is_reading(req) && zd_identity_is_over(req->identity)) {
        req->step = zd_permission_refuse_credential; /* it has ended while the body came */
    }
    const bool is_refused = req->step != NULL;
    if (!is_refused && zd_request_is_reading(req) && zd_reply_cache_answer(req)) {
        return queue(exchange);
    }
    if (body->len > 0 && zd_text_buf(body, &req->body) != ZD_OK) {
        return MHD_NO;
    }
    zd_exchange_start(exchange);
    return exchange->now.response != NULL ? queue(exchange) : sleep_or_end(exchange);
}

static enum zd_next step_refuse_body(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "overloaded",
        .detail = "memory for request bodies is exhausted; retry later",
        .unavailable = ZD_UNAVAILABLE_BODIES,
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

/* The answer does not wait for the rest of the body. */
static enum MHD_Result refuse_body(
    struct zd_exchange *exchange, zd_step *step, const char *bytes, size_t *len)
{
    struct zd_request *req = &exchange->request;
    req->upload.state = ZD_UPLOAD_OPEN;
    req->upload.came_bytes = exchange->memory.body.len;
    req->step = step;
    zd_exchange_drop_body(exchange);
    zd_exchange_start(exchange);
    return take_upload(exchange, bytes, len);
}

static enum MHD_Result take_body(struct zd_exchange *exchange, const char *bytes, size_t *len)
{
    struct zd_front *front = exchange->front;
    const uint64_t n_free = front->server->memory.body_bytes - front->body_bytes;
    if (*len > n_free) {
        return refuse_body(exchange, step_refuse_body, bytes, len);
    }
    switch (zd_text_add_bytes(&exchange->memory.body, bytes, *len)) {
    case ZD_OK:
        front->body_bytes += *len;
        *len = 0;
        return MHD_YES;
    case ZD_TOO_LARGE:
        return refuse_body(exchange, step_refuse_long, bytes, len);
    default:
        return MHD_NO;
    }
}

/* The access handler: first the head, then pieces of the body, then its end; once more after a
 * sleep. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload, size_t *upload_len, void **con_cls)
{
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    struct zd_exchange *exchange = *con_cls;
    if (exchange == NULL) {
        return MHD_NO; /* no memory for it */
    }
    if (!exchange->now.has_begun) {
        return begin(exchange, method);
    }
    if (!exchange->now.is_judged) {
        return judge(exchange);
    }
    if (zd_upload_is_open(&exchange->request.upload)) {
        return on_upload(exchange, upload, upload_len);
    }
    if (*upload_len > 0) {
        return take_body(exchange, upload, upload_len);
    }
    if (exchange->now.has_left) {
        return MHD_NO;
    }
    if (exchange->now.response != NULL) {
        return queue(exchange);
    }
    return exchange->now.has_started ? MHD_YES : finish(exchange);
}

/* MHD_OPTION_NOTIFY_COMPLETED: answered in full, or the client is gone. */
static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
    enum MHD_RequestTerminationCode code)
{
    (void)cls;
    struct zd_exchange *exchange = *con_cls;
    *con_cls = NULL;
    zd_wire_answered(zd_wire_of(connection));
    if (exchange != NULL) {
        zd_exchange_end(exchange, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    }
}

/* MHD_OPTION_NOTIFY_CONNECTION. */
static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    struct zd_listener *listener = cls;
    struct zd_front *front = listener->front;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = zd_wire_open(front->wires,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
        front->server->metrics.n_connections++;
    } else {
        zd_wire_close(*socket_context);
        *socket_context = NULL;
        listener->has_closed = true;
        front->server->metrics.n_connections--;
    }
}

/* ---- libmicrohttpd on the loop ---- */

static void on_idle(uv_idle_t *idle);
static void on_timer(uv_timer_t *timer);

/* Runs libmicrohttpd until it has nothing to do. Its sockets are edge-triggered: after every run
 * its timeout says whether ready work is left. Ignoring that stalls connections. */
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

/* In this mode libmicrohttpd has no descriptor that resuming could wake. */
void zd_front_run_soon(struct zd_front *front, const struct MHD_Daemon *daemon)
{
    for (size_t i = 0; i < front->n_listeners; i++) {
        struct zd_listener *listener = &front->listener[i];
        if (listener->daemon == daemon && !front->is_closing) {
            uv_idle_start(&listener->again, on_idle);
        }
    }
}

/* ---- listeners ---- */

static enum MHD_Result may_connect(void *cls, const struct sockaddr *address, socklen_t address_len)
{
    (void)address_len;
    const struct zd_front *front = ((struct zd_listener *)cls)->front;
    return zd_wires_may_open(front->wires, address) ? MHD_YES : MHD_NO;
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
    zd_log(&listener->front->server->log, ZD_LOG_DEBUG, "libmicrohttpd: %s", line);
}

static struct MHD_Daemon *start_daemon(struct zd_listener *listener, int fd)
{
    const struct zd_settings *settings = &listener->front->server->config->settings;
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        may_connect, listener, on_request, listener, MHD_OPTION_EXTERNAL_LOGGER, on_message,
        listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)zd_wires_memory_bytes(settings), MHD_OPTION_CONNECTION_LIMIT,
        (unsigned int)(listener->front->n_connections_max + ZD_CONNECTION_LIMITS_SURPLUS_MAX),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)zd_div_up(settings->http_idle_ms, 1000),
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, listener, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_as_sent, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_END);
}

static enum zd_status listen_on(
    struct zd_listener *listener, const char *address, struct zd_error *err)
{
    uv_loop_t *loop = listener->front->server->loop;
    int fd = -1;
    ZD_TRY(zd_listen_bind(listener, address, &fd, err));
    listener->daemon = start_daemon(listener, fd);
    if (listener->daemon == NULL) {
        close(fd);
        return zd_fail(err, ZD_INTERNAL, "libmicrohttpd cannot start on '%s'", address);
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL || uv_poll_init(loop, &listener->poll, info->epoll_fd) != 0) {
        return zd_fail(err, ZD_INTERNAL, "cannot create an epoll descriptor for '%s'", address);
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

/* ---- the whole ---- */

/* Allows as many connections as there is memory for. */
static uint64_t connections_of_memory(struct zd_server *server, uint64_t n_wished)
{
    const uint64_t bytes = server->memory.bytes / MEMORY_PART;
    const uint64_t each = server->config->settings.http_connection_bytes + CONNECTION_BYTES;
    const uint64_t n = zd_max_u64(bytes / each, LEAST_CONNECTIONS);
    if (n >= n_wished) {
        return n_wished;
    }
    zd_log(&server->log, ZD_LOG_WARNING,
        "http.connections is %llu, but memory of %llu MiB (%s) allows only %llu connections",
        (unsigned long long)n_wished, (unsigned long long)(server->memory.bytes / ZD_MIB),
        server->memory.bounded_by, (unsigned long long)n);
    return n;
}

/* Allows as many connections as are configured, if the system gives enough descriptors and there is
 * memory for them. At the limit, connections wait to be accepted, and nothing spins. */
static uint64_t connections_max(struct zd_server *server)
{
    const uint64_t n_wished =
        connections_of_memory(server, server->config->settings.http_connections);
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
        "http.connections is %llu, but the system's limit of %llu file descriptors allows only "
        "%llu connections",
        (unsigned long long)n_wished, (unsigned long long)n_files, (unsigned long long)n);
    return n;
}

static enum zd_status open_front(struct zd_front *front, struct zd_error *err)
{
    struct zd_server *server = front->server;
    const struct zd_config *config = server->config;
    zd_exchange_init_front(front);
    zd_exchange_watch_init(front);
    zd_expiry_init_front(front);
    zd_reply_cache_init(front, server->memory.metadata_bytes / KEPT_PART);
    ZD_TRY(
        zd_wires_new(server, front->n_connections_max, zd_wire_term_is_over, &front->wires, err));
    for (size_t i = 0; i < config->n_listen; i++) {
        front->listener[i].front = front;
        front->n_listeners++;
        ZD_TRY(listen_on(&front->listener[i], config->listen[i], err));
        server->is_local = (i == 0 || server->is_local) && front->listener[i].is_loopback;
    }
    return zd_response_init(front, err);
}

enum zd_status zd_front_new(
    struct zd_server *server, struct zd_front **ret_front, struct zd_error *err)
{
    struct zd_front *front = zd_alloc_zero(1, sizeof *front);
    struct zd_listener *listener = zd_alloc_zero(server->config->n_listen, sizeof *listener);
    if (front == NULL || listener == NULL) {
        zd_free(front);
        zd_free(listener);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the HTTP front");
    }
    front->server = server;
    front->listener = listener;
    front->id_seed = zd_hash_random_seed();
    front->n_connections_max = connections_max(server);
    const enum zd_status status = open_front(front, err);
    if (status != ZD_OK) {
        zd_front_close(front);
        (void)uv_run(server->loop, UV_RUN_NOWAIT); /* the handles are in the front */
        zd_front_free(front);
        return status;
    }
    *ret_front = front;
    return ZD_OK;
}

void zd_front_drain(struct zd_front *front)
{
    front->wires->is_draining = true;
    for (size_t i = 0; i < front->n_listeners; i++) {
        zd_listen_end(&front->listener[i]);
    }
}

bool zd_front_is_idle(const struct zd_front *front)
{
    return front->server->metrics.n_in_flight == 0 && zd_wire_all_idle(front->wires);
}

size_t zd_front_look_parting(struct zd_front *front, uint64_t linger_ms)
{
    return zd_linger_look(&front->wires->partings, uv_now(front->server->loop), linger_ms);
}

size_t zd_front_end_parting(struct zd_front *front)
{
    return zd_linger_done(&front->wires->partings);
}

void zd_front_close(struct zd_front *front)
{
    if (front->is_closing) {
        return;
    }
    front->is_closing = true;
    zd_exchange_wake_all(front);
    for (size_t i = 0; i < front->n_listeners; i++) {
        struct zd_listener *listener = &front->listener[i];
        if (listener->has_handles) {
            uv_close((uv_handle_t *)&listener->poll, NULL);
            uv_close((uv_handle_t *)&listener->timer, NULL);
            uv_close((uv_handle_t *)&listener->again, NULL);
        }
        if (listener->daemon != NULL) {
            (void)MHD_run(listener->daemon); /* send the last answers */
            MHD_stop_daemon(listener->daemon);
            listener->daemon = NULL;
        }
    }
    zd_exchange_close_front(front);
    zd_exchange_watch_close(front);
    zd_expiry_close_front(front);
    zd_wires_close(front->wires);
}

void zd_front_free(struct zd_front *front)
{
    if (front == NULL) {
        return;
    }
    for (size_t i = 0; i < front->n_listeners; i++) {
        zd_free(front->listener[i].host);
    }
    zd_free(front->listener);
    zd_exchange_done_front(front);
    zd_exchange_watch_done(front);
    zd_wires_free(front->wires);
    zd_cache_done(&front->prepared);
    zd_response_done(front);
    zd_free(front);
}
