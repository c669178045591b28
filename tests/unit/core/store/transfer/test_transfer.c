/* Facts about core/store/transfer/transfer: what comes of the answers of a store, and of its
 * faults. */
#include "core/store/transfer/transfer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/transfer/curl_loop.h"
#include "core/store/remote/remote.h"
#include "tests/support/reply_server.h"
#include "tests/support/unit.h"

#define URL_BYTES 512

static uv_loop_t loop;
static struct zd_reply_server server;
static struct zd_transfer_pool *pool;
static unsigned n_done;

static struct zd_remote_settings settings = {
    .connections = 4,
    .connect_ms = 5000,
    .silence_ms = 60000,
    .ca_file = "",
};

static void begin(const struct zd_reply *reply, size_t n_replies)
{
    (void)signal(SIGPIPE, SIG_IGN);
    server = (struct zd_reply_server){0};
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    zd_reply_server_open(&server, &loop, reply, n_replies);
    ck_assert(!zd_curl_loop_is_needed());
    ck_assert_int_eq(zd_transfer_pool_take(&pool, &loop, NULL), ZD_OK);
    ck_assert(zd_curl_loop_is_needed());
    n_done = 0;
}

static void end(void)
{
    zd_transfer_pool_leave(&pool);
    ck_assert_ptr_null(pool);
    ck_assert(!zd_curl_loop_is_needed());
    zd_reply_server_close(&server);
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void on_done(struct zd_transfer *transfer)
{
    (void)transfer;
    n_done++;
}

static void start(struct zd_transfer *transfer, char url[URL_BYTES], const char *target)
{
    snprintf(url, URL_BYTES, "%s%s", server.url, target);
    transfer->settings = &settings;
    transfer->url = url;
    transfer->done = on_done;
    transfer->bytes_max = transfer->bytes_max == 0 ? 1000 : transfer->bytes_max;
    zd_transfer_start(pool, transfer);
}

static enum zd_status run(struct zd_transfer *transfer, const char *target)
{
    char url[URL_BYTES];
    n_done = 0;
    start(transfer, url, target);
    ck_assert_uint_eq(n_done, 0);
    while (n_done == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    ck_assert_uint_eq(n_done, 1);
    ck_assert((transfer->status == ZD_OK) == (transfer->bytes != NULL));
    ck_assert((transfer->status == ZD_OK) == (transfer->err.text[0] == '\0'));
    return transfer->status;
}

#define OK_10 "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"
#define BODY  "0123456789"

static const struct answer_fact {
    struct zd_reply reply;
    enum zd_status status;
    enum zd_remote_fault_kind kind;
    uint32_t code;
    const char *bytes;
} answer_facts[] = {
    {{.bytes = OK_10 "\r\n" BODY}, ZD_OK, ZD_REMOTE_FAULT_NONE, 200, BODY},
    {{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}, ZD_OK, ZD_REMOTE_FAULT_NONE, 200,
        ""},
    {{.bytes = "HTTP/1.1 200 OK\r\n\r\n" BODY, .end = ZD_REPLY_CLOSE}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        200, BODY}, /* as HTTP/1.0 does */
    {{.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n"
               "0\r\nETag: \"late\"\r\n\r\n"},
        ZD_OK, ZD_REMOTE_FAULT_NONE, 200, BODY},
    {{.bytes = "HTTP/1.1 100 Continue\r\n\r\n" OK_10 "\r\n" BODY}, ZD_OK, ZD_REMOTE_FAULT_NONE, 200,
        BODY},
    {{.bytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"}, ZD_OK,
        ZD_REMOTE_FAULT_NONE, 404, "gone"},
    {{.bytes = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        503, "busy"},
    {{.bytes = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        304, ""},
    {{.bytes = OK_10 "\r\n01234", .end = ZD_REPLY_CLOSE}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, 200,
        NULL},
    {{.bytes = OK_10 "\r\n01234", .end = ZD_REPLY_RESET}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, 0,
        NULL}, /* what was sent before may be lost */
    {{.bytes = OK_10, .end = ZD_REPLY_CLOSE}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, 200, NULL},
    {{.bytes = NULL, .end = ZD_REPLY_CLOSE}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, 0, NULL},
    {{.bytes = NULL, .end = ZD_REPLY_RESET}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, 0, NULL},
    {{.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n",
         .end = ZD_REPLY_CLOSE},
        ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, 200, NULL},
    {{.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0123\r\n"}, ZD_STORE,
        ZD_REMOTE_FAULT_RETRYABLE, 200, NULL},
    {{.bytes = "SSH-2.0-OpenSSH\r\n", .end = ZD_REPLY_CLOSE}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN, 0,
        NULL},
    {{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"}, ZD_TOO_LARGE,
        ZD_REMOTE_FAULT_NONE, 200, NULL},
    {{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"}, ZD_STORE,
        ZD_REMOTE_FAULT_BROKEN, 200, NULL},
};

START_TEST(transfer_tells_an_answer_from_a_fault)
{
    const struct answer_fact *fact = &answer_facts[_i];
    struct zd_transfer transfer = {0};
    begin(&fact->reply, 1);
    const enum zd_status status = run(&transfer, "/a");
    ck_assert_msg(status == fact->status, "%s: %s: %s", fact->reply.bytes, zd_status_name(status),
        transfer.err.text);
    ck_assert_msg(transfer.fault.kind == fact->kind, "%s: kind %u: %s", fact->reply.bytes,
        transfer.fault.kind, transfer.err.text);
    ck_assert(fact->bytes == NULL || zd_span_is(zd_buf_span(transfer.bytes), fact->bytes));
    ck_assert(fact->code == 0 || transfer.head.code == fact->code);
    ck_assert_ptr_null(strstr(transfer.err.text, "127.0.0.1"));
    zd_buf_unref(transfer.bytes);
    end();
}
END_TEST

START_TEST(transfer_uses_a_connection_again)
{
    static const struct zd_reply reply[] = {{.bytes = OK_10 "\r\n" BODY}};
    begin(reply, 1);
    for (int i = 0; i < 10; i++) {
        struct zd_transfer transfer = {0};
        ck_assert_int_eq(run(&transfer, "/a"), ZD_OK);
        zd_buf_unref(transfer.bytes);
    }
    ck_assert_uint_eq(server.n_connections, 1);
    ck_assert_uint_eq(server.n_requests, 10);
    ck_assert_uint_eq(zd_transfer_pool_counts(pool).n_started[ZD_TRANSFER_GET], 10);
    ck_assert_uint_eq(zd_transfer_pool_counts(pool).n_connected, 1);
    end();
}
END_TEST

START_TEST(transfers_take_turns_at_an_endpoint)
{
    static const struct zd_reply reply[] = {{.bytes = OK_10 "\r\n" BODY}};
    struct zd_transfer transfer[20] = {0};
    char url[URL_BYTES];
    begin(reply, 1);
    for (size_t i = 0; i < ZD_COUNT_OF(transfer); i++) {
        start(&transfer[i], url, "/a");
    }
    ck_assert_uint_eq(
        zd_transfer_pool_counts(pool).n_started[ZD_TRANSFER_GET], settings.connections);
    zd_transfer_cancel(&transfer[10]); /* it waits */
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(n_done, ZD_COUNT_OF(transfer));
    for (size_t i = 0; i < ZD_COUNT_OF(transfer); i++) {
        ck_assert_int_eq(transfer[i].status, i == 10 ? ZD_CANCELLED : ZD_OK);
        zd_buf_unref(transfer[i].bytes);
    }
    ck_assert_uint_le(server.n_connections, settings.connections);
    ck_assert_uint_eq(server.n_requests, ZD_COUNT_OF(transfer) - 1);
    end();
}
END_TEST

START_TEST(transfer_that_is_cancelled_ends_once_and_later)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}}; /* never an answer */
    struct zd_transfer transfer = {0};
    char url[URL_BYTES];
    begin(reply, 1);
    start(&transfer, url, "/a");
    while (server.n_requests == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    zd_transfer_cancel(&transfer);
    zd_transfer_cancel(&transfer);
    ck_assert_uint_eq(n_done, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(n_done, 1);
    ck_assert_int_eq(transfer.status, ZD_CANCELLED);
    end();
}
END_TEST

START_TEST(a_pool_that_is_stopped_cancels_what_runs_and_waits_and_comes)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}}; /* never an answer */
    struct zd_transfer transfer[20] = {0};
    struct zd_transfer late = {0};
    char url[URL_BYTES];
    begin(reply, 1);
    for (size_t i = 0; i < ZD_COUNT_OF(transfer); i++) {
        start(&transfer[i], url, "/a");
    }
    while (server.n_requests < settings.connections) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    zd_transfer_pool_stop(pool);
    start(&late, url, "/a");
    ck_assert_uint_eq(n_done, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(n_done, ZD_COUNT_OF(transfer) + 1);
    for (size_t i = 0; i < ZD_COUNT_OF(transfer); i++) {
        ck_assert_int_eq(transfer[i].status, ZD_CANCELLED);
    }
    ck_assert_int_eq(late.status, ZD_CANCELLED);
    ck_assert_uint_eq(server.n_requests, settings.connections);
    end();
}
END_TEST

static const struct zd_reply silent_replies[] = {
    {.bytes = NULL},
    {.bytes = OK_10 "\r\n0123"},
    {.bytes = "HTTP/1.1 200 OK\r\n"},
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", .end = ZD_REPLY_DRIP},
};

START_TEST(transfer_ends_when_the_store_is_silent)
{
    struct zd_transfer transfer = {0};
    settings.silence_ms = 60;
    begin(&silent_replies[_i], 1);
    ck_assert_int_eq(run(&transfer, "/a"), ZD_TIMEOUT);
    ck_assert_int_eq(transfer.fault.kind, ZD_REMOTE_FAULT_TIMEOUT);
    settings.silence_ms = 60000;
    end();
}
END_TEST

START_TEST(transfer_says_that_nobody_listens)
{
    struct zd_transfer transfer = {0};
    begin(NULL, 0);
    snprintf(server.url, sizeof server.url, "http://127.0.0.1:1");
    ck_assert_int_eq(run(&transfer, "/?secret=1"), ZD_STORE);
    ck_assert_int_eq(transfer.fault.kind, ZD_REMOTE_FAULT_RETRYABLE);
    ck_assert_ptr_nonnull(strstr(transfer.err.text, "Connection refused"));
    ck_assert_ptr_null(strstr(transfer.err.text, "secret"));
    end();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, transfer_tells_an_answer_from_a_fault, 0, ZD_COUNT_OF(answer_facts));
    tcase_add_test(tests, transfer_uses_a_connection_again);
    tcase_add_test(tests, transfers_take_turns_at_an_endpoint);
    tcase_add_test(tests, transfer_that_is_cancelled_ends_once_and_later);
    tcase_add_test(tests, a_pool_that_is_stopped_cancels_what_runs_and_waits_and_comes);
    tcase_add_loop_test(
        tests, transfer_ends_when_the_store_is_silent, 0, ZD_COUNT_OF(silent_replies));
    tcase_add_test(tests, transfer_says_that_nobody_listens);
}
