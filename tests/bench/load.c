/* zarrd-bench-load PORT CONNECTIONS SECONDS FILE [BODY]: asks 127.0.0.1 as fast as it answers, over
 * keep-alive connections.
 *
 * FILE holds request heads, each ended by an empty line; each connection sends the next of them
 * when its answer has come, and behind it all bytes of the file BODY. Prints one line: answers,
 * microseconds, median and 99th percentile of the time to an answer (us), failed answers, and this
 * process's own CPU microseconds. Failed are answers that stay away, break off, or have another
 * status than the first one. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/scan.h"

#define CONNECTIONS_MAX 65536
#define REQUESTS_MAX    100000
#define SECONDS_MAX     3600.0
#define HEAD_BYTES      16384
#define BODY_BYTES      (256U << 10) /* of one read */
#define SENT_BYTES      (1U << 20)   /* most of a request's body */
#define TIMES_MAX       (16U << 20)  /* answers whose time is kept */
#define EVENTS_N        256
#define STALL_NS        UINT64_C(15000000000) /* an answer that takes longer has failed */

struct connection {
    int fd;
    uint64_t sent_ns; /* 0: no answer is awaited */
    uint64_t body_left;
    size_t head_len; /* 0 while the body comes */
    char head[HEAD_BYTES];
};

struct load {
    uint16_t port;
    int epoll;
    struct connection *connection;
    size_t n_connections;
    struct zd_span request[REQUESTS_MAX];
    size_t n_requests;
    size_t next_request;
    struct zd_span sent_body; /* of every request */
    uint64_t end_ns;          /* no request is sent later */
    uint64_t last_ns;         /* of the last answer */
    size_t n_waiting;
    uint64_t n_answers;
    uint64_t n_failed;
    unsigned status; /* of the first answer */
    uint32_t *time_us;
    uint8_t *body; /* BODY_BYTES: read and forgotten */
};

static void fail(const char *what)
{
    fprintf(stderr, "zarrd-bench-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void connection_open(struct load *load, struct connection *connection)
{
    const int on = 1;
    const int sent_bytes = 2 * (int)SENT_BYTES; /* so that no client waits until it is read */
    const struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_port = htons(load->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        (load->sent_body.len > 0 && setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &sent_bytes,
                                        sizeof sent_bytes) != 0) ||
        epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
        fail("cannot connect");
    }
}

static bool send_request(const struct load *load, int fd, struct zd_span head)
{
    struct iovec part[2] = {
        {.iov_base = (void *)(uintptr_t)head.ptr, .iov_len = head.len},
        {.iov_base = (void *)(uintptr_t)load->sent_body.ptr, .iov_len = load->sent_body.len},
    };
    const struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)(head.len + load->sent_body.len);
}

static void send_next(struct load *load, struct connection *connection)
{
    const struct zd_span request = load->request[load->next_request];
    connection->head_len = 0;
    connection->body_left = 0;
    connection->sent_ns = 0;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now >= load->end_ns) {
        return;
    }
    load->next_request = (load->next_request + 1) % load->n_requests;
    if (send_request(load, connection->fd, request)) {
        connection->sent_ns = now;
        load->n_waiting++;
    } else {
        load->n_failed++; /* the connection is given up */
    }
}

static void answer_failed(struct load *load, struct connection *connection)
{
    load->n_failed++;
    load->n_waiting -= connection->sent_ns != 0;
    connection->sent_ns = 0;
    close(connection->fd);
    connection_open(load, connection);
    send_next(load, connection);
}

static void answer_done(struct load *load, struct connection *connection)
{
    load->last_ns = clock_ns(CLOCK_MONOTONIC);
    if (load->n_answers < TIMES_MAX) {
        load->time_us[load->n_answers] = (uint32_t)((load->last_ns - connection->sent_ns) / 1000);
    }
    load->n_answers++;
    load->n_waiting--;
    send_next(load, connection);
}

/* The length of the body that follows a head; false when it does not say. */
static bool body_len(char *head, unsigned status, uint64_t *ret_len)
{
    static const char name[] = "\r\nContent-Length:";
    const char *field = strcasestr(head, name);
    *ret_len = 0;
    if (status == 304 || status == 204) {
        return true; /* RFC 9110, 15.4.5 and 15.3.5 */
    }
    if (field == NULL) {
        return false;
    }
    const char *digits = field + sizeof name - 1;
    digits += strspn(digits, " \t");
    const struct zd_span value = {
        .ptr = (const uint8_t *)digits, .len = strspn(digits, "0123456789")};
    return zd_scan_whole_u64(value, UINT64_MAX, ret_len) == ZD_OK;
}

/* A head has come, and perhaps a part of the body. False when it is not understood, or not as the
 * first one. */
static bool head_done(struct load *load, struct connection *connection, size_t head_end)
{
    uint64_t len = 0;
    uint64_t status = 0;
    const struct zd_span digits = {.ptr = (const uint8_t *)connection->head + 9, .len = 3};
    const size_t surplus = connection->head_len - head_end;
    connection->head[head_end - 1] = '\0';
    if (head_end < 16 || zd_scan_whole_u64(digits, 999, &status) != ZD_OK ||
        !body_len(connection->head, (unsigned)status, &len) || surplus > len) {
        return false;
    }
    load->status = load->status == 0 ? (unsigned)status : load->status;
    connection->head_len = 0;
    connection->body_left = len - surplus;
    return load->status == status;
}

static void read_head(struct load *load, struct connection *connection)
{
    static const char ending[] = "\r\n\r\n";
    const size_t room = sizeof connection->head - connection->head_len;
    const ssize_t n = recv(connection->fd, connection->head + connection->head_len, room, 0);
    if (n <= 0) {
        answer_failed(load, connection);
        return;
    }
    connection->head_len += (size_t)n;
    const char *end = memmem(connection->head, connection->head_len, ending, sizeof ending - 1);
    if (end == NULL) {
        if (connection->head_len == sizeof connection->head) {
            answer_failed(load, connection);
        }
        return;
    }
    const size_t head_end = (size_t)(end - connection->head) + sizeof ending - 1;
    if (!head_done(load, connection, head_end)) {
        answer_failed(load, connection);
    } else if (connection->body_left == 0) {
        answer_done(load, connection);
    }
}

static void read_body(struct load *load, struct connection *connection)
{
    const size_t wanted =
        connection->body_left < BODY_BYTES ? (size_t)connection->body_left : BODY_BYTES;
    const ssize_t n = recv(connection->fd, load->body, wanted, 0);
    if (n <= 0) {
        answer_failed(load, connection);
        return;
    }
    connection->body_left -= (size_t)n;
    if (connection->body_left == 0) {
        answer_done(load, connection);
    }
}

static void on_readable(struct load *load, struct connection *connection)
{
    if (connection->body_left > 0) {
        read_body(load, connection);
    } else if (connection->sent_ns != 0) {
        read_head(load, connection);
    } else {
        struct epoll_event none = {0}; /* closed by the server, with nothing awaited */
        epoll_ctl(load->epoll, EPOLL_CTL_DEL, connection->fd, &none);
    }
}

/* Until the time is over and every answer has come, or stays away. */
static void run(struct load *load)
{
    struct epoll_event event[EVENTS_N];
    for (size_t i = 0; i < load->n_connections; i++) {
        send_next(load, &load->connection[i]);
    }
    while (load->n_waiting > 0) {
        const int n = epoll_wait(load->epoll, event, EVENTS_N, (int)(STALL_NS / 1000000));
        for (int i = 0; i < n; i++) {
            on_readable(load, event[i].data.ptr);
        }
        if (n == 0 || clock_ns(CLOCK_MONOTONIC) > load->end_ns + STALL_NS) {
            break;
        }
    }
    load->n_failed += load->n_waiting;
}

/* All of the file, cut after each empty line. */
static void requests_read(struct load *load, const char *path)
{
    static char text[REQUESTS_MAX * 256U];
    static const char ending[] = "\r\n\r\n";
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(path);
    }
    const char *end = text + fread(text, 1, sizeof text, file);
    fclose(file);
    for (const char *at = text; at < end && load->n_requests < REQUESTS_MAX;) {
        const char *stop = memmem(at, (size_t)(end - at), ending, sizeof ending - 1);
        const char *next = stop == NULL ? end : stop + sizeof ending - 1;
        load->request[load->n_requests++] =
            (struct zd_span){.ptr = (const uint8_t *)at, .len = (size_t)(next - at)};
        at = next;
    }
    if (load->n_requests == 0) {
        fail("no request");
    }
}

static void body_read(struct load *load, const char *path)
{
    static uint8_t bytes[SENT_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(path);
    }
    load->sent_body = (struct zd_span){.ptr = bytes, .len = fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
}

static int compare_times(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void print(struct load *load, uint64_t began_ns)
{
    const size_t n = load->n_answers < TIMES_MAX ? (size_t)load->n_answers : TIMES_MAX;
    const uint64_t spent_ns = load->n_answers == 0 ? 0 : load->last_ns - began_ns;
    const uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    qsort(load->time_us, n, sizeof *load->time_us, compare_times);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
        load->n_answers, spent_ns / 1000, n == 0 ? 0 : load->time_us[n / 2],
        n == 0 ? 0 : load->time_us[n - 1 - n / 100], load->n_failed, cpu_ns / 1000);
}

static bool scan_arguments(struct load *load, char **argv, double *ret_seconds)
{
    uint64_t port = 0;
    uint64_t n_connections = 0;
    char *end = NULL;
    *ret_seconds = strtod(argv[3], &end);
    if (zd_scan_whole_u64(zd_span_of(argv[1]), UINT16_MAX, &port) != ZD_OK ||
        zd_scan_whole_u64(zd_span_of(argv[2]), CONNECTIONS_MAX, &n_connections) != ZD_OK ||
        n_connections == 0 || *end != '\0' || !(*ret_seconds > 0 && *ret_seconds < SECONDS_MAX)) {
        return false;
    }
    load->port = (uint16_t)port;
    load->n_connections = (size_t)n_connections;
    return true;
}

int main(int argc, char **argv)
{
    static struct load load;
    double seconds = 0;
    if (argc < 5 || argc > 6 || !scan_arguments(&load, argv, &seconds)) {
        fprintf(stderr, "usage: zarrd-bench-load PORT CONNECTIONS SECONDS FILE [BODY]\n");
        return 2;
    }
    requests_read(&load, argv[4]);
    if (argc == 6) {
        body_read(&load, argv[5]);
    }
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.connection = zd_alloc_zero(load.n_connections, sizeof *load.connection);
    load.time_us = zd_alloc(TIMES_MAX * sizeof *load.time_us);
    load.body = zd_alloc(BODY_BYTES);
    if (load.epoll < 0 || load.connection == NULL || load.time_us == NULL || load.body == NULL) {
        fail("cannot begin");
    }
    for (size_t i = 0; i < load.n_connections; i++) {
        connection_open(&load, &load.connection[i]);
    }
    const uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    load.end_ns = began_ns + (uint64_t)(seconds * 1e9);
    run(&load);
    print(&load, began_ns);
    return 0;
}
