/* zarrd-bench-origin PORT DIRECTORY: files of a directory by HTTP/1.1, as an object store gives
 * them: the first byte of an answer waits, and then 80 MB/s come over each connection.
 *
 * Ranges and suffixes are served, an ETag is sent, conditions are ignored. Two targets are orders:
 *
 *     /-/delay/P50/P99/SHARE/SLOW  from now on: log-normal with these percentiles in ms (equal:
 *                                  fixed), and SHARE of 1,000 requests take SLOW ms
 *     /-/counters                  GETs and connections so far, these orders not counted, and then
 *                                  bytes of bodies that were sent */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define HEAD_BYTES  16384
#define PATH_BYTES  4096
#define PIECE_BYTES 80000 /* of each millisecond */
#define BACKLOG     1024
#define P99         2.326 /* standard deviations from the median to the 99th percentile */
#define OUT_OF      1000  /* requests, of which a share is slow */
#define FIXED_SEED  1

struct delays {
    double p50_ms;
    double p99_ms;
    unsigned slow_share;
    unsigned slow_ms;
};

static struct delays delays = {30, 30, 0, 0};
static const char *directory;
static uint64_t seed = FIXED_SEED;
static uint64_t n_gets;
static uint64_t n_connections;
static uint64_t n_bytes;

struct connection {
    uv_tcp_t tcp; /* first member */
    uv_timer_t timer;
    uv_write_t write;
    char head[HEAD_BYTES + 1];
    size_t head_len;
    char answer_head[512];
    uint8_t *body;
    size_t body_len;
    size_t n_sent;   /* of the body */
    unsigned n_open; /* handles */
    bool is_counted;
    bool is_head_sent;
};

/* ---- how long it takes ---- */

static double draw(void) /* 0 < . <= 1 */
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 33) + 1) / (double)(UINT64_C(1) << 31);
}

static uint64_t delay_ms(void)
{
    if (draw() * OUT_OF <= delays.slow_share) {
        return delays.slow_ms;
    }
    const double normal = sqrt(-2 * log(draw())) * cos(2 * M_PI * draw());
    const double sigma = log(delays.p99_ms / delays.p50_ms) / P99;
    return (uint64_t)(delays.p50_ms * exp(sigma * normal) + 0.5);
}

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    if (--connection->n_open == 0) {
        free(connection->body);
        free(connection);
    }
}

static void hang_up(struct connection *connection)
{
    if (!uv_is_closing((uv_handle_t *)&connection->tcp)) {
        uv_close((uv_handle_t *)&connection->tcp, on_closed);
        uv_close((uv_handle_t *)&connection->timer, on_closed);
    }
}

static void send_more(uv_timer_t *timer);

static void on_sent(uv_write_t *write, int status)
{
    struct connection *connection = write->data;
    if (status < 0) {
        hang_up(connection);
    } else if (connection->n_sent < connection->body_len) {
        uv_timer_start(&connection->timer, send_more, 1, 0);
    } else {
        free(connection->body);
        connection->body = NULL;
    }
}

/* The head goes with the first piece. */
static void send_more(uv_timer_t *timer)
{
    struct connection *connection = timer->data;
    uv_buf_t part[2];
    unsigned n = 0;
    size_t len = connection->body_len - connection->n_sent;
    len = len < PIECE_BYTES ? len : PIECE_BYTES;
    if (!connection->is_head_sent) {
        part[n++] = uv_buf_init(connection->answer_head, (unsigned)strlen(connection->answer_head));
        connection->is_head_sent = true;
    }
    if (len > 0) {
        part[n++] = uv_buf_init((char *)connection->body + connection->n_sent, (unsigned)len);
        connection->n_sent += len;
        n_bytes += connection->is_counted ? len : 0;
    }
    if (uv_write(&connection->write, (uv_stream_t *)&connection->tcp, part, n, on_sent) != 0) {
        hang_up(connection);
    }
}

/* ---- answers ---- */

static void set_head(struct connection *connection, const char *status, const char *more)
{
    (void)snprintf(connection->answer_head, sizeof connection->answer_head,
        "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n", status, connection->body_len, more);
}

static void set_text(struct connection *connection, const char *status, const char *text)
{
    connection->body = (uint8_t *)strdup(text);
    connection->body_len = strlen(text);
    set_head(connection, status, "Content-Type: text/plain\r\n");
}

/* The bytes that are asked for of so many: whether there is a range. */
static bool range_of(const char *head, size_t size, size_t *first, size_t *len)
{
    size_t last;
    const char *range = strcasestr(head, "\r\nrange: bytes=");
    *first = 0;
    *len = size;
    if (range == NULL) {
        return false;
    }
    range += strlen("\r\nrange: bytes=");
    if (*range == '-') {
        *len = strtoull(range + 1, NULL, 10);
        *len = *len < size ? *len : size;
        *first = size - *len;
        return true;
    }
    char *rest;
    *first = strtoull(range, &rest, 10);
    *first = *first < size ? *first : size;
    last = rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9' ? strtoull(rest + 1, NULL, 10)
                                                              : size - 1;
    *len = (last < size ? last + 1 : size) - *first;
    return true;
}

static void set_file(struct connection *connection, int fd, const struct stat *stat)
{
    char more[256];
    char range[128] = "";
    size_t first;
    size_t len;
    const size_t size = (size_t)stat->st_size;
    const bool is_part = range_of(connection->head, size, &first, &len);
    connection->body = malloc(len + 1);
    if (connection->body == NULL ||
        pread(fd, connection->body, len, (off_t)first) != (ssize_t)len) {
        set_text(connection, "500 Internal Server Error", "the file cannot be read\n");
        return;
    }
    connection->body_len = len;
    if (is_part) {
        (void)snprintf(range, sizeof range, "Content-Range: bytes %zu-%zu/%zu\r\n", first,
            first + len - 1, size);
    }
    (void)snprintf(more, sizeof more,
        "Content-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\nETag: "
        "\"%llx-%zx\"\r\n%s",
        (unsigned long long)stat->st_mtim.tv_sec, size, range);
    set_head(connection, is_part ? "206 Partial Content" : "200 OK", more);
}

static void set_answer(struct connection *connection, const char *target)
{
    char path[2 * PATH_BYTES];
    struct stat stat;
    (void)snprintf(path, sizeof path, "%s%s", directory, target);
    const int fd = strstr(target, "..") != NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        set_file(connection, fd, &stat);
    } else {
        set_text(connection, "404 Not Found", "there is no such file\n");
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void obey(struct connection *connection, const char *target)
{
    char text[128];
    struct delays next;
    if (sscanf(target, "/-/delay/%lf/%lf/%u/%u", &next.p50_ms, &next.p99_ms, &next.slow_share,
            &next.slow_ms) == 4) {
        delays = next;
        seed = FIXED_SEED;
    }
    (void)snprintf(
        text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n_gets, n_connections, n_bytes);
    set_text(connection, "200 OK", text);
}

static void answer(struct connection *connection)
{
    char method[8];
    char target[PATH_BYTES];
    if (sscanf(connection->head, "%7s %4095s", method, target) != 2) {
        hang_up(connection);
        return;
    }
    const bool is_order = strncmp(target, "/-/", 3) == 0;
    connection->n_sent = 0;
    connection->is_head_sent = false;
    n_connections += !is_order && !connection->is_counted;
    connection->is_counted = connection->is_counted || !is_order;
    if (is_order) {
        obey(connection, target);
    } else {
        n_gets += strcmp(method, "GET") == 0;
        set_answer(connection, target);
    }
    if (strcmp(method, "HEAD") == 0) {
        connection->n_sent = connection->body_len;
    }
    const uint64_t wait_ms = is_order ? 0 : delay_ms() + (connection->body_len > PIECE_BYTES / 2);
    uv_timer_start(&connection->timer, send_more, wait_ms, 0);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    struct connection *connection = handle->data;
    (void)wanted;
    *buf = uv_buf_init(
        connection->head + connection->head_len, (unsigned)(HEAD_BYTES - connection->head_len));
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct connection *connection = stream->data;
    (void)buf;
    if (n < 0) {
        hang_up(connection);
        return;
    }
    connection->head_len += (size_t)n;
    connection->head[connection->head_len] = '\0';
    if (strstr(connection->head, "\r\n\r\n") != NULL) {
        connection->head_len = 0;
        answer(connection);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (status < 0 || connection == NULL) {
        free(connection);
        return;
    }
    connection->n_open = 2;
    connection->tcp.data = connection->timer.data = connection->write.data = connection;
    uv_tcp_init(listener->loop, &connection->tcp);
    uv_timer_init(listener->loop, &connection->timer);
    if (uv_accept(listener, (uv_stream_t *)&connection->tcp) != 0 ||
        uv_read_start((uv_stream_t *)&connection->tcp, on_room, on_bytes) != 0) {
        hang_up(connection);
        return;
    }
    uv_tcp_nodelay(&connection->tcp, 1);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address;
    uv_tcp_t listener;
    if (argc != 3) {
        fprintf(stderr, "usage: zarrd-bench-origin PORT DIRECTORY\n");
        return 2;
    }
    directory = argv[2];
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_init(loop, &listener);
    uv_ip4_addr("127.0.0.1", atoi(argv[1]), &address);
    if (uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, BACKLOG, on_connection) != 0) {
        fprintf(stderr, "zarrd-bench-origin: cannot listen at port %s\n", argv[1]);
        return 1;
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
