/* zarrd-bench-fetch PORT WAYS BATCHES FILE: what fetching costs with libcurl's multi interface and
 * nothing around it.
 *
 * FILE holds targets, one a line. A batch asks 127.0.0.1 for all of them, WAYS at the same time;
 * the connections are kept from batch to batch. Prints a line for each batch: microseconds, this
 * process's own CPU microseconds, and bytes. */
#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#define WAYS_MAX      256
#define TARGETS_MAX   10000
#define URL_BYTES     4096
#define EVENTS_N      256
#define RECEIVE_BYTES (64L << 10)

struct loop {
    CURLM *multi;
    int epoll;
    long wait_ms; /* as libcurl has said; -1: for nothing but sockets */
    CURL *easy[WAYS_MAX];
    char *url[TARGETS_MAX];
    size_t n_urls;
    size_t next;
    size_t n_running;
    uint64_t n_bytes;
};

static void fail(const char *what)
{
    fprintf(stderr, "zarrd-bench-fetch: %s\n", what);
    exit(1);
}

static uint64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *context)
{
    struct loop *loop = context;
    (void)bytes;
    (void)one;
    loop->n_bytes += len;
    return len;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    struct loop *loop = context;
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    (void)epoll_ctl(loop->epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    curl_multi_assign(loop->multi, fd, loop);
    return 0;
}

static int on_timer(CURLM *multi, long wait_ms, void *context)
{
    struct loop *loop = context;
    (void)multi;
    loop->wait_ms = wait_ms;
    return 0;
}

static void begin_next(struct loop *loop, CURL *easy)
{
    if (loop->next < loop->n_urls) {
        curl_easy_setopt(easy, CURLOPT_URL, loop->url[loop->next++]);
        curl_multi_add_handle(loop->multi, easy);
        loop->n_running++;
    }
}

static void take_ended(struct loop *loop)
{
    int n_left;
    long status = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &n_left)) != NULL;) {
        CURL *easy = message->easy_handle;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (message->data.result != CURLE_OK || status != 200) {
            fail("a request failed");
        }
        curl_multi_remove_handle(loop->multi, easy);
        loop->n_running--;
        begin_next(loop, easy);
    }
}

static void fetch_all(struct loop *loop, size_t n_ways)
{
    int n_running;
    struct epoll_event event[EVENTS_N];
    loop->next = 0;
    for (size_t i = 0; i < n_ways; i++) {
        begin_next(loop, loop->easy[i]);
    }
    while (loop->n_running > 0) {
        const int n = epoll_wait(loop->epoll, event, EVENTS_N, (int)loop->wait_ms);
        if (n == 0) {
            loop->wait_ms = -1;
            curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
        }
        for (int i = 0; i < n; i++) {
            const int what = (event[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                             (event[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                             (event[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(loop->multi, event[i].data.fd, what, &n_running);
        }
        take_ended(loop);
    }
}

static void read_targets(struct loop *loop, const char *port, const char *path)
{
    char target[URL_BYTES / 2];
    char url[URL_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail("cannot read the targets");
    }
    while (loop->n_urls < TARGETS_MAX && fscanf(file, "%2047s", target) == 1) {
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%s%s", port, target);
        loop->url[loop->n_urls++] = strdup(url);
    }
    (void)fclose(file);
}

int main(int argc, char **argv)
{
    static struct loop loop = {.wait_ms = -1};
    const size_t n_ways = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
    const size_t n_batches = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    if (n_ways == 0 || n_ways > WAYS_MAX || n_batches == 0) {
        fprintf(stderr, "usage: zarrd-bench-fetch PORT WAYS BATCHES FILE\n");
        return 2;
    }
    read_targets(&loop, argv[1], argv[4]);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    loop.multi = curl_multi_init();
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    curl_multi_setopt(loop.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop.multi, CURLMOPT_SOCKETDATA, &loop);
    curl_multi_setopt(loop.multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(loop.multi, CURLMOPT_TIMERDATA, &loop);
    curl_multi_setopt(loop.multi, CURLMOPT_MAXCONNECTS, (long)n_ways);
    for (size_t i = 0; i < n_ways; i++) {
        loop.easy[i] = curl_easy_init();
        curl_easy_setopt(loop.easy[i], CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(loop.easy[i], CURLOPT_WRITEDATA, &loop);
        curl_easy_setopt(loop.easy[i], CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
        curl_easy_setopt(loop.easy[i], CURLOPT_NOSIGNAL, 1L);
    }
    for (size_t i = 0; i < n_batches; i++) {
        const uint64_t began_us = clock_us(CLOCK_MONOTONIC);
        const uint64_t cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        loop.n_bytes = 0;
        fetch_all(&loop, n_ways);
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", clock_us(CLOCK_MONOTONIC) - began_us,
            clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us, loop.n_bytes);
    }
    return 0;
}
