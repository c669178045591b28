/* A whole server in the test's own thread, and a client that turns its loop while it waits. */
#include "tests/support/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/config/config.h"
#include "server/data/dataset.h"
#include "server/front/front.h"
#include "server/start.h"
#include "tests/support/check.h"
#include "tests/support/work.h"

#define ANSWER_BYTES_MAX (256U << 10)
#define WAIT_MS          30000 /* an answer that takes longer is none */

/* Fields that differ from one answer to the next. */
static const char *const blanked[] = {"\r\nDate: ", "\r\nX-Request-Id: ", "\"instance\":\""};

void zd_test_serve_configure(struct zd_test_serve *serve, const char *config)
{
    FILE *file = fopen(serve->config_path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(config, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void silence(int fd)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(nowhere, 0);
    ck_assert_int_eq(dup2(nowhere, fd), fd);
    close(nowhere);
}

static ZD_RESULT read_config(
    struct zd_test_serve *serve, struct zd_config *ret_config, struct zd_error *err)
{
    static char *environment[] = {NULL};
    enum zd_command command;
    return zd_config_read(
        ZD_COUNT_OF(serve->arguments), serve->arguments, environment, &command, ret_config, err);
}

enum zd_status zd_test_serve_open(struct zd_test_serve *serve, const char *config)
{
    static char name[] = "zarrd";
    static char option[] = "--config";
    static char listen[] = "--listen=127.0.0.1:0";
    struct zd_error err = {0};
    *serve = (struct zd_test_serve){.config_path = "/tmp/zarrd-test-XXXXXX"};
    close(mkstemp(serve->config_path));
    zd_test_serve_configure(serve, config);
    serve->arguments[0] = name;
    serve->arguments[1] = option;
    serve->arguments[2] = serve->config_path;
    serve->arguments[3] = listen;
    (void)fflush(stdout);
    silence(STDOUT_FILENO);
    enum zd_status status = read_config(serve, &serve->config, &err);
    if (status == ZD_OK) {
        status = zd_start_begin(&serve->config, &serve->server, &err);
    }
    ck_assert_msg(status == ZD_OK || status == ZD_NO_MEMORY, "%s", err.text);
    if (status != ZD_OK) {
        zd_test_serve_close(serve);
        return status;
    }
    serve->server->log.fd = STDOUT_FILENO;
    return ZD_OK;
}

void zd_test_serve_close(struct zd_test_serve *serve)
{
    zd_start_end(serve->server);
    ck_assert_uint_eq(zd_test_work_count(), 0);
    zd_config_done(&serve->config);
    (void)unlink(serve->config_path);
}

enum zd_status zd_test_serve_reload(struct zd_test_serve *serve)
{
    struct zd_config config;
    struct zd_reload reload;
    ZD_TRY(read_config(serve, &config, NULL));
    const enum zd_status status = zd_datasets_reload(serve->server, &config, &reload, NULL);
    zd_config_done(&config);
    return status;
}

static bool is_any(const struct zd_cache_entry *entry)
{
    (void)entry;
    return true;
}

void zd_test_serve_forget(struct zd_test_serve *serve)
{
    zd_cache_drop_if(&serve->server->front->prepared, is_any);
    zd_cache_drop_if(&serve->server->chunks, is_any);
    zd_cache_drop_if(&serve->server->objects, is_any);
    zd_cache_drop_if(&serve->server->nodes, is_any);
}

static int connect_to(const struct zd_test_serve *serve)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(serve->server->front->listener[0].port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Everything that is there; false: the connection has ended. */
static bool receive(int fd, struct zd_test_answer *answer)
{
    while (true) {
        ck_assert_uint_lt(answer->len, ANSWER_BYTES_MAX);
        const ssize_t n =
            recv(fd, answer->bytes + answer->len, ANSWER_BYTES_MAX - answer->len, MSG_DONTWAIT);
        if (n <= 0) {
            return n < 0 && errno == EAGAIN;
        }
        answer->len += (size_t)n;
    }
}

/* Turns the loop until one of the two has something to do. */
static void turn(uv_loop_t *loop, int fd)
{
    (void)uv_run(loop, UV_RUN_NOWAIT);
    struct pollfd either[] = {
        {.fd = fd, .events = POLLIN}, {.fd = uv_backend_fd(loop), .events = POLLIN}};
    const int wait_ms = uv_backend_timeout(loop);
    (void)poll(either, ZD_COUNT_OF(either), wait_ms < 0 || wait_ms > WAIT_MS ? WAIT_MS : wait_ms);
}

static char *find(const struct zd_test_answer *answer, size_t len, const char *word)
{
    return memmem(answer->bytes, len, word, strlen(word));
}

/* The boundary between parts stands in the head, and around every part. */
static void blank_boundary(struct zd_test_answer *answer)
{
    static const char name[] = "boundary=";
    char boundary[128] = "";
    const char *told = find(answer, answer->len, name);
    if (told == NULL) {
        return;
    }
    (void)snprintf(boundary, sizeof boundary, "%.*s", (int)strcspn(told + strlen(name), "\r"),
        told + strlen(name));
    for (char *at = find(answer, answer->len, boundary); at != NULL;
        at = find(answer, answer->len, boundary)) {
        memset(at, 'x', strlen(boundary));
    }
}

static void blank(struct zd_test_answer *answer)
{
    blank_boundary(answer);
    for (size_t i = 0; i < ZD_COUNT_OF(blanked); i++) {
        char *at = find(answer, answer->len, blanked[i]);
        if (at != NULL) {
            at += strlen(blanked[i]);
            memset(at, 'x', strcspn(at, "\r\""));
        }
    }
}

static int hex_value(char c)
{
    const char *at = c == '\0' ? NULL : strchr("0123456789abcdef", c | 0x20);
    return at == NULL ? -1 : (int)(at - "0123456789abcdef");
}

/* A chunked body in place of its chunks (RFC 9112, 7.1); false: its last chunk did not come. */
static bool join_chunks(struct zd_test_answer *answer, size_t head_len)
{
    const char *at = answer->bytes + head_len;
    const char *const end = answer->bytes + answer->len;
    char *to = answer->bytes + head_len;
    while (at < end) {
        size_t len = 0;
        const char *digits = at;
        for (; hex_value(*at) >= 0; at++) {
            len = len * 16 + (size_t)hex_value(*at);
        }
        if (at == digits || end - at < 2 || memcmp(at, "\r\n", 2) != 0) {
            break;
        }
        at += 2;
        const bool is_whole = (size_t)(end - at) >= len + 2 && memcmp(at + len, "\r\n", 2) == 0;
        const size_t n = is_whole ? len : zd_min_u64(len, (size_t)(end - at));
        memmove(to, at, n);
        to += n;
        at += n + 2;
        if (!is_whole || len == 0) {
            answer->len = (size_t)(to - answer->bytes);
            return is_whole && at == end;
        }
    }
    answer->len = (size_t)(to - answer->bytes);
    return false;
}

/* The status, and how much of a head there is; 0: not even all of that. */
static size_t read_head(struct zd_test_answer *answer)
{
    const char *head_end = find(answer, answer->len, "\r\n\r\n");
    struct zd_scan scan = zd_scan_of(zd_span_of(answer->bytes));
    uint64_t status = 0;
    if (head_end == NULL || !zd_scan_word(&scan, "HTTP/1.1 ") ||
        zd_scan_u64(&scan, 999, &status) != ZD_OK) {
        return 0;
    }
    answer->status = (unsigned)status;
    return (size_t)(head_end - answer->bytes) + 4;
}

static void judge(struct zd_test_answer *answer, bool is_head)
{
    static const char length[] = "\r\nContent-Length: ";
    const size_t head_len = read_head(answer);
    if (head_len == 0) {
        return;
    }
    const bool has_none = is_head || answer->status == 304 || answer->status == 204;
    const char *told = find(answer, head_len, length);
    uint64_t promised = 0;
    if (told != NULL && !has_none) {
        struct zd_scan scan = zd_scan_of(zd_span_of(told + strlen(length)));
        ck_assert_int_eq(zd_scan_u64(&scan, UINT64_MAX, &promised), ZD_OK);
    }
    const bool is_chunked = find(answer, head_len, "\r\nTransfer-Encoding: chunked") != NULL;
    const bool has_end = is_chunked && !has_none && join_chunks(answer, head_len);
    answer->bytes[answer->len] = '\0';
    answer->body =
        (struct zd_span){(const uint8_t *)answer->bytes + head_len, answer->len - head_len};
    /* Without a length nobody could tell that the end is missing: no answer of ours is such. */
    answer->is_whole = has_end || ((told != NULL || has_none) && answer->body.len == promised);
}

void zd_test_serve_ask(
    struct zd_test_serve *serve, const char *request, struct zd_test_answer *ret_answer)
{
    const int fd = connect_to(serve);
    const size_t len = strlen(request);
    *ret_answer = (struct zd_test_answer){.bytes = malloc(ANSWER_BYTES_MAX + 1)};
    ck_assert_ptr_nonnull(ret_answer->bytes);
    ck_assert_int_eq(send(fd, request, len, MSG_NOSIGNAL), (ssize_t)len);
    const uint64_t began_ms = uv_hrtime() / 1000000;
    while (receive(fd, ret_answer)) {
        turn(serve->server->loop, fd);
        ck_assert_msg(uv_hrtime() / 1000000 - began_ms < WAIT_MS, "no answer to %s", request);
    }
    close(fd);
    ret_answer->bytes[ret_answer->len] = '\0';
    blank(ret_answer);
    judge(ret_answer, strncmp(request, "HEAD ", 5) == 0);
}

void zd_test_answer_done(struct zd_test_answer *answer)
{
    free(answer->bytes);
}
