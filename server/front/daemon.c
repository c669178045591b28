/* The front as a whole: libmicrohttpd in external epoll mode on libuv's loop.
 *
 *   uv_poll(MHD's epoll) --> run() --> MHD_run: reads, target, request, writes, completed
 *                              ^                                  |
 *         uv_timer, uv_idle ---+      the steps answer: queued at once; they wait: the connection
 *                                     sleeps until zd_connection_wake
 */
#include "server/front/daemon.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/front/callbacks.h"
#include "server/front/exchange.h"
#include "server/front/reply_cache.h"
#include "server/front/response.h"
#include "server/front/wire.h"
#include "server/http/address.h"
#include "server/runtime/server.h"

#define LISTEN_BACKLOG    1024
#define RUNS_IN_A_ROW     8   /* before the loop's other work gets its turn */
#define SPARE_FILES       256 /* that are not connections */
#define LEAST_CONNECTIONS 16
#define FILES_EACH        2 /* the socket, and the file that is sent through it */
#define KEPT_PART         2 /* one part of the metadata cache is for prepared answers */

/* ---- libmicrohttpd on the loop ---- */

static void on_idle(uv_idle_t *idle);
static void on_timer(uv_timer_t *timer);

/* Its sockets are edge-triggered: after every run its timeout says whether ready work is left, and
 * ignoring that stalls connections. */
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
static void run_soon(struct zd_front *front, const struct MHD_Daemon *daemon)
{
    for (size_t i = 0; i < front->n_listeners; i++) {
        struct zd_listener *listener = &front->listener[i];
        if (listener->daemon == daemon && !front->is_closing) {
            uv_idle_start(&listener->again, on_idle);
        }
    }
}

/* ---- listeners ---- */

/* Each listener's daemon knows the limit; all of them together may have no more either. */
static enum MHD_Result may_connect(void *cls, const struct sockaddr *address, socklen_t address_len)
{
    (void)address;
    (void)address_len;
    const struct zd_front *front = ((struct zd_listener *)cls)->front;
    return front->server->metrics.n_connections < front->n_connections_max ? MHD_YES : MHD_NO;
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

static int open_socket(const struct zd_address *where)
{
    const int on = 1;
    const int fd =
        socket(where->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (where->socket.ss_family == AF_INET6) {
        /* So that [::]:8080 and 0.0.0.0:8080 can both be listened on. */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(fd, (const struct sockaddr *)&where->socket, where->len) != 0 ||
        listen(fd, LISTEN_BACKLOG) != 0) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    struct zd_address address = {.len = sizeof address.socket};
    if (getsockname(fd, (struct sockaddr *)&address.socket, &address.len) != 0) {
        return 0;
    }
    return zd_address_port(&address);
}

/* @param ret_fd non-blocking; owned */
static enum zd_status bind_address(
    struct zd_listener *listener, const char *address, int *ret_fd, struct zd_error *err)
{
    struct zd_address where;
    ZD_TRY(zd_address_parse(zd_span_of(address), &where, err));
    const int fd = open_socket(&where);
    if (fd < 0) {
        return zd_fail(err, ZD_INVALID, "cannot listen on '%s': %s", address, strerror(errno));
    }
    listener->host = zd_strndup((const char *)where.host.ptr, where.host.len);
    if (listener->host == NULL) {
        close(fd);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for an address");
    }
    listener->port = port_of(fd);
    *ret_fd = fd;
    return ZD_OK;
}

static struct MHD_Daemon *start_daemon(struct zd_listener *listener, int fd)
{
    const struct zd_settings *settings = &listener->front->server->config->settings;
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        may_connect, listener, zd_callbacks_request, listener, MHD_OPTION_EXTERNAL_LOGGER,
        on_message, listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)zd_wire_memory_bytes(settings), MHD_OPTION_CONNECTION_LIMIT,
        (unsigned int)listener->front->n_connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned int)settings->http_address_connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned int)zd_div_up(settings->http_idle_ms, 1000), MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK, zd_callbacks_target,
        listener, MHD_OPTION_UNESCAPE_CALLBACK, keep_as_sent, NULL, MHD_OPTION_NOTIFY_COMPLETED,
        zd_callbacks_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION, zd_callbacks_connection,
        listener, MHD_OPTION_END);
}

static enum zd_status listen_on(
    struct zd_listener *listener, const char *address, struct zd_error *err)
{
    uv_loop_t *loop = listener->front->server->loop;
    int fd = -1;
    ZD_TRY(bind_address(listener, address, &fd, err));
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

/* ---- the whole ---- */

/* As many as are configured, if the system gives that many descriptors: at the limit they wait to
 * be accepted, and nothing spins. */
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

static enum zd_status begin(struct zd_front *front, struct zd_error *err)
{
    struct zd_server *server = front->server;
    const struct zd_config *config = server->config;
    zd_exchange_init_front(front);
    zd_reply_cache_init(front, server->memory.metadata_bytes / KEPT_PART);
    ZD_TRY(zd_response_init(front, err));
    ZD_TRY(zd_wires_new(server, &front->wires, err));
    for (size_t i = 0; i < config->n_listen; i++) {
        front->listener[i].front = front;
        front->n_listeners++;
        ZD_TRY(listen_on(&front->listener[i], config->listen[i], err));
    }
    return ZD_OK;
}

enum zd_status zd_daemon_new(
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
    front->run_soon = run_soon;
    front->id_seed = zd_hash_random_seed();
    front->n_connections_max = connections_max(server);
    const enum zd_status status = begin(front, err);
    if (status != ZD_OK) {
        zd_daemon_close(front);
        (void)uv_run(server->loop, UV_RUN_NOWAIT); /* the handles are in the front */
        zd_daemon_free(front);
        return status;
    }
    *ret_front = front;
    return ZD_OK;
}

void zd_daemon_drain(struct zd_front *front)
{
    for (size_t i = 0; i < front->n_listeners; i++) {
        if (front->listener[i].daemon != NULL) {
            const int fd = MHD_quiesce_daemon(front->listener[i].daemon);
            if (fd >= 0) {
                close(fd);
            }
        }
    }
}

void zd_daemon_close(struct zd_front *front)
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
            (void)MHD_run(listener->daemon); /* what was just answered goes out */
            MHD_stop_daemon(listener->daemon);
            listener->daemon = NULL;
        }
    }
    zd_exchange_close_front(front);
    zd_wires_close(front->wires);
}

void zd_daemon_free(struct zd_front *front)
{
    if (front == NULL) {
        return;
    }
    for (size_t i = 0; i < front->n_listeners; i++) {
        zd_free(front->listener[i].host);
    }
    zd_free(front->listener);
    zd_exchange_done_front(front);
    zd_wires_free(front->wires);
    zd_reply_cache_done(front);
    zd_response_done(front);
    zd_free(front);
}
