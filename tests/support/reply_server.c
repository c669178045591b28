/* A server of HTTP on the loop of the test, which answers each path as a table says. */
#include "tests/support/reply_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/own.h"
#include "tests/support/check.h"

#define DRIP_MS 20

struct connection {
    struct zd_list link;
    struct zd_reply_server *server;
    uv_tcp_t tcp;     /* its data is the connection, as is that of the timer */
    uv_timer_t timer; /* of what drips */
    unsigned n_closed;
    char request[8192];
    size_t len;
};

struct sending {
    uv_write_t write; /* first member */
    char *bytes;
};

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    if (++connection->n_closed == 2) {
        free(connection);
    }
}

static void end(struct connection *connection)
{
    if (!uv_is_closing((uv_handle_t *)&connection->tcp)) {
        zd_list_remove(&connection->link);
        uv_close((uv_handle_t *)&connection->timer, on_closed);
        uv_close((uv_handle_t *)&connection->tcp, on_closed);
    }
}

static void reset(struct connection *connection)
{
    zd_list_remove(&connection->link);
    uv_close((uv_handle_t *)&connection->timer, on_closed);
    (void)uv_tcp_close_reset(&connection->tcp, on_closed);
}

static void on_sent(uv_write_t *write, int uv_status)
{
    struct sending *sending = ZD_CONTAINER(write, struct sending, write);
    (void)uv_status;
    free(sending->bytes);
    free(sending);
}

static void on_last_sent(uv_write_t *write, int uv_status)
{
    struct connection *connection = write->handle->data;
    on_sent(write, uv_status);
    end(connection);
}

static void say(struct connection *connection, const char *bytes, uv_write_cb sent)
{
    struct sending *sending = malloc(sizeof *sending);
    sending->bytes = strdup(bytes);
    uv_buf_t part = uv_buf_init(sending->bytes, (unsigned)strlen(bytes));
    ck_assert_int_eq(uv_write(&sending->write, (uv_stream_t *)&connection->tcp, &part, 1, sent), 0);
}

static void on_drip(uv_timer_t *timer)
{
    say(timer->data, "x", on_sent);
}

static void answer(struct connection *connection, const struct zd_reply *reply)
{
    switch (reply->end) {
    case ZD_REPLY_RESET:
        if (reply->bytes != NULL) {
            uv_buf_t part = uv_buf_init((char *)reply->bytes, (unsigned)strlen(reply->bytes));
            (void)uv_try_write((uv_stream_t *)&connection->tcp, &part, 1);
        }
        reset(connection);
        return;
    case ZD_REPLY_DRIP:
        uv_timer_start(&connection->timer, on_drip, DRIP_MS, DRIP_MS);
        break;
    case ZD_REPLY_KEEP:
    case ZD_REPLY_CLOSE:
        break;
    }
    if (reply->bytes != NULL) {
        say(connection, reply->bytes, reply->end == ZD_REPLY_CLOSE ? on_last_sent : on_sent);
    } else if (reply->end == ZD_REPLY_CLOSE) {
        end(connection);
    }
}

/* The length of a complete request, with the body that its head promises; 0 = not all is there. */
static size_t request_len(const char *request)
{
    const char *head_end = strstr(request, "\r\n\r\n");
    if (head_end == NULL) {
        return 0;
    }
    const char *field = strcasestr(request, "\r\nContent-Length:");
    const size_t body = field == NULL || field > head_end ? 0 : strtoul(field + 17, NULL, 10);
    const size_t len = (size_t)(head_end + 4 - request) + body;
    return strlen(request) >= len ? len : 0;
}

static bool is_for(const struct zd_reply *reply, const char *method, const char *target)
{
    return (reply->method == NULL || strcmp(reply->method, method) == 0) &&
           (reply->target == NULL || strcmp(reply->target, target) == 0);
}

static void take_request(struct connection *connection, size_t len)
{
    struct zd_reply_server *server = connection->server;
    char method[16];
    char target[2048];
    ck_assert_int_eq(sscanf(connection->request, "%15s %2047s", method, target), 2);
    server->n_requests++;
    snprintf(
        server->last_request, sizeof server->last_request, "%.*s", (int)len, connection->request);
    connection->len -= len;
    memmove(connection->request, connection->request + len, connection->len + 1);
    for (size_t i = 0; i < server->n_replies; i++) {
        if (is_for(&server->reply[i], method, target)) {
            answer(connection, &server->reply[i]);
            return;
        }
    }
    say(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", on_sent);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    struct connection *connection = handle->data;
    (void)wanted;
    *room = uv_buf_init(connection->request + connection->len,
        (unsigned)(sizeof connection->request - 1 - connection->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct connection *connection = stream->data;
    (void)room;
    if (n < 0) {
        end(connection);
        return;
    }
    connection->len += (size_t)n;
    connection->request[connection->len] = '\0';
    for (size_t len;
        !uv_is_closing((uv_handle_t *)stream) && (len = request_len(connection->request)) > 0;) {
        take_request(connection, len);
    }
}

static void on_connection(uv_stream_t *listener, int uv_status)
{
    struct zd_reply_server *server = listener->data;
    struct connection *connection = calloc(1, sizeof *connection);
    ck_assert_int_eq(uv_status, 0);
    connection->server = server;
    uv_tcp_init(listener->loop, &connection->tcp);
    uv_timer_init(listener->loop, &connection->timer);
    connection->tcp.data = connection;
    connection->timer.data = connection;
    ck_assert_int_eq(uv_accept(listener, (uv_stream_t *)&connection->tcp), 0);
    uv_read_start((uv_stream_t *)&connection->tcp, on_room, on_read);
    uv_unref((uv_handle_t *)&connection->tcp);
    uv_unref((uv_handle_t *)&connection->timer);
    zd_list_push_back(&server->connections, &connection->link);
    server->n_connections++;
}

void zd_reply_server_open(
    struct zd_reply_server *server, uv_loop_t *loop, const struct zd_reply *reply, size_t n_replies)
{
    struct sockaddr_in address;
    int len = sizeof address;
    server->reply = reply;
    server->n_replies = n_replies;
    zd_list_init(&server->connections);
    uv_tcp_init(loop, &server->listener);
    server->listener.data = server;
    ck_assert_int_eq(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    ck_assert_int_eq(uv_tcp_bind(&server->listener, (const struct sockaddr *)&address, 0), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&server->listener, 128, on_connection), 0);
    uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &len);
    snprintf(
        server->url, sizeof server->url, "http://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    uv_unref((uv_handle_t *)&server->listener);
}

void zd_reply_server_close(struct zd_reply_server *server)
{
    while (!zd_list_is_empty(&server->connections)) {
        end(ZD_CONTAINER(server->connections.next, struct connection, link));
    }
    uv_close((uv_handle_t *)&server->listener, NULL);
}
