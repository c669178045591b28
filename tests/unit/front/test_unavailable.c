/* Every answer 503 leaves its reason in the log and in the metrics, whatever its cause. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/store/contract/store_impl.h"
#include "server/front/front.h"
#include "server/request/admit.h"
#include "tests/support/serve.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "{\"datasets\": {\"codecs\": {\"location\": \"" ZD_BINARY_DIR "/corpus/stores/v3/codecs\"}}}"

#define END       " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define GET(path) "GET " path END "\r\n"
#define SLICE     GET("/v1/datasets/codecs/slices/gzip_6")

#define LOG_BYTES_MAX 65536
#define ALLOCS_MAX    1000
#define FEW_ALLOCS    30
#define LONG_BYTES    4000 /* of a target */

static void fill_lanes(struct zd_server *server)
{
    for (size_t i = 0; i < ZD_LANES; i++) {
        struct zd_lane *lane = &server->admit->admission.lane[i];
        lane->here.n_working = lane->places_max;
    }
}

static void fill_queue(struct zd_server *server)
{
    fill_lanes(server);
    server->admit->admission.limits.waiting_max = 0;
}

static void slow_down(struct zd_server *server)
{
    fill_lanes(server);
    for (size_t i = 0; i < ZD_LANES; i++) {
        struct zd_lane *lane = &server->admit->admission.lane[i];
        lane->here.n_waiting = 1;
        lane->here.bytes_waiting = 1U << 30;
        lane->here.rate = 1;
        lane->here.window_ms = uv_now(server->loop) + 10000;
    }
}

static void wait_briefly(struct zd_server *server)
{
    fill_lanes(server);
    server->admit->admission.limits.wait_ms = 1;
}

static void take_body_memory(struct zd_server *server)
{
    server->memory.body_bytes = 0;
}

static void close_front(struct zd_server *server)
{
    server->front->is_closing = true;
}

static void drain(struct zd_server *server)
{
    server->is_draining = true;
}

static void take_readers(struct zd_server *server)
{
    ((struct zd_settings *)(uintptr_t)&server->config->settings)->events_readers = 0;
}

static void stop_writes(struct zd_server *server)
{
    zd_store_stop_writes(server->dataset[0]->store, "fsync: Input/output error");
}

static const struct {
    void (*prepare)(struct zd_server *server);
    const char *request;
    enum zd_unavailable why;
    const char *reason; /* in the log */
} facts[] = {
    {fill_queue, SLICE, ZD_UNAVAILABLE_QUEUE_FULL, ": 0 requests already wait"},
    {slow_down, SLICE, ZD_UNAVAILABLE_WAIT_EXPECTED, ": the expected wait for memory"},
    {wait_briefly, SLICE, ZD_UNAVAILABLE_WAIT_OVER,
        ": no memory or worker became free within admission.wait_ms (1 ms)"},
    {take_body_memory, "POST /v1" END "Content-Length: 2\r\n\r\n{}", ZD_UNAVAILABLE_BODIES,
        ": memory for request bodies is exhausted"},
    {close_front, SLICE, ZD_UNAVAILABLE_DRAINING, ": the server is shutting down"},
    {drain, GET("/readyz"), ZD_UNAVAILABLE_DRAINING, " draining from "},
    {take_readers, GET("/v1/datasets/codecs/events"), ZD_UNAVAILABLE_READERS, "events.readers"},
    {stop_writes, GET("/readyz"), ZD_UNAVAILABLE_STORE, ": dataset 'codecs'"},
};

static void open_serve(struct zd_test_serve *serve)
{
    ck_assert_int_eq(zd_test_serve_open(serve, CONFIG), ZD_OK);
    struct zd_log *log = &serve->server->log;
    log->fd = memfd_create("log", MFD_CLOEXEC);
    log->may_block = false;
    log->requests = true;
    log->level = ZD_LOG_INFO;
}

static char log_text[LOG_BYTES_MAX];

static bool log_has(struct zd_test_serve *serve, const char *reason)
{
    zd_log(&serve->server->log, ZD_LOG_ERROR, "the end"); /* what waits is written before it */
    const ssize_t n = pread(serve->server->log.fd, log_text, sizeof log_text - 1, 0);
    ck_assert_int_gt(n, 0);
    log_text[n] = '\0';
    return strstr(log_text, reason) != NULL;
}

static unsigned ask(struct zd_test_serve *serve, const char *request)
{
    struct zd_test_answer answer;
    zd_test_serve_ask(serve, request, &answer);
    const unsigned status = answer.status;
    zd_test_answer_done(&answer);
    return status;
}

static void close_serve(struct zd_test_serve *serve)
{
    struct zd_server *server = serve->server;
    server->front->is_closing = false;
    for (size_t i = 0; i < ZD_LANES; i++) {
        server->admit->admission.lane[i].here.n_waiting = 0;
    }
    close(server->log.fd);
    server->log.fd = STDOUT_FILENO;
    zd_test_serve_close(serve);
}

START_TEST(a_503_leaves_its_reason)
{
    struct zd_test_serve serve;
    open_serve(&serve);
    facts[_i].prepare(serve.server);
    ck_assert_uint_eq(ask(&serve, facts[_i].request), 503);
    ck_assert_uint_eq(serve.server->metrics.n_unavailable[facts[_i].why], 1);
    ck_assert_msg(log_has(&serve, facts[_i].reason), "no '%s' in the log", facts[_i].reason);
    close_serve(&serve);
}
END_TEST

/* Lines of requests say it; without them one event does. */
START_TEST(a_503_leaves_its_reason_once_without_lines_of_requests)
{
    struct zd_test_serve serve;
    open_serve(&serve);
    serve.server->log.requests = false;
    facts[_i].prepare(serve.server);
    ck_assert_uint_eq(ask(&serve, facts[_i].request), 503);
    ck_assert_msg(log_has(&serve, facts[_i].reason), "no '%s' in the log", facts[_i].reason);
    const char *line = strstr(log_text, " warning ");
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_null(strstr(line + 1, " warning "));
    close_serve(&serve);
}
END_TEST

START_TEST(a_long_target_does_not_hide_the_reason)
{
    struct zd_test_serve serve;
    open_serve(&serve);
    serve.server->log.requests = false;
    close_front(serve.server);
    char request[LONG_BYTES + 100];
    char rest[LONG_BYTES];
    memset(rest, 'a', sizeof rest);
    (void)snprintf(request, sizeof request, "GET /%.*s%s\r\n", LONG_BYTES - 1, rest, END);
    ck_assert_uint_eq(ask(&serve, request), 503);
    ck_assert(log_has(&serve, ": the server is shutting down"));
    close_serve(&serve);
}
END_TEST

static const char *const short_of_memory[] = {SLICE, GET("/openapi.json")};

START_TEST(a_failed_allocation_leaves_its_reason)
{
    struct zd_test_serve serve;
    open_serve(&serve);
    const uint64_t *n = &serve.server->metrics.n_unavailable[ZD_UNAVAILABLE_NO_MEMORY];
    for (uint64_t k = 1; k < ALLOCS_MAX && *n == 0; k++) {
        zd_alloc_fail_at(k);
        (void)ask(&serve, short_of_memory[_i]);
        zd_alloc_fail_at(0);
        zd_test_serve_forget(&serve);
    }
    ck_assert_uint_gt(*n, 0);
    ck_assert(log_has(&serve, ": no memory"));
    close_serve(&serve);
}
END_TEST

START_TEST(an_answer_500_in_place_of_a_503_is_not_counted_as_one)
{
    struct zd_test_serve serve;
    open_serve(&serve);
    close_front(serve.server);
    uint64_t n_503 = 0;
    uint64_t n_500 = 0;
    for (uint64_t k = 1; k < FEW_ALLOCS; k++) {
        zd_text_done(&serve.server->front->scratch);
        zd_alloc_fail_at(k);
        const unsigned status = ask(&serve, SLICE);
        zd_alloc_fail_at(0);
        n_503 += status == 503;
        n_500 += status == 500;
    }
    ck_assert_uint_gt(n_500, 0);
    ck_assert_uint_eq(serve.server->metrics.n_unavailable[ZD_UNAVAILABLE_DRAINING], n_503);
    close_serve(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_503_leaves_its_reason, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(
        tests, a_503_leaves_its_reason_once_without_lines_of_requests, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_long_target_does_not_hide_the_reason);
    tcase_add_loop_test(
        tests, a_failed_allocation_leaves_its_reason, 0, ZD_COUNT_OF(short_of_memory));
    tcase_add_test(tests, an_answer_500_in_place_of_a_503_is_not_counted_as_one);
}
