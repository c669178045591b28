/* Facts about core/store/s3/s3_batch: which erasures become one request, and who may leave it. */
#include "core/store/s3/s3_batch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/store/transfer/curl_loop.h"
#include "tests/support/reply_server.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define FOUND                                                                                      \
    "HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\nContent-Range: bytes 0-0/1\r\n"          \
    "ETag: \"t\"\r\n\r\n0"
#define TOLD(inner, len)                                                                           \
    "HTTP/1.1 200 OK\r\nContent-Length: " len "\r\n\r\n<DeleteResult>" inner "</DeleteResult>"
#define DELETED(key) "<Deleted><Key>p/" key "</Key></Deleted>"
#define GONE         "HTTP/1.1 204 No Content\r\n\r\n"
#define N_MANY       20 /* more than write at once */

static struct zd_reply_server server;
static struct zd_remote remote;

static void begin(struct zd_test_store *test, const struct zd_reply *reply, size_t n_replies)
{
    struct zd_error err = {0};
    struct zd_json *options = NULL;
    ZD_SCOPED_TEXT(text, 200);
    const struct zd_json_limits limits = {.bytes_max = 200, .nodes_max = 10, .depth_max = 2};
    (void)signal(SIGPIPE, SIG_IGN);
    *test = (struct zd_test_store){0};
    server = (struct zd_reply_server){0};
    remote = (struct zd_remote){
        .settings = {.connections = 4, .connect_ms = 5000, .silence_ms = 60000, .ca_file = ""}};
    ck_assert_int_eq(uv_loop_init(&test->loop), 0);
    zd_reply_server_open(&server, &test->loop, reply, n_replies);
    zd_text_addf(&text, "{\"endpoint\": \"%s\", \"anonymous\": true}", server.url);
    ck_assert_int_eq(zd_json_parse(zd_text_span(&text), &limits, &options, NULL), ZD_OK);
    const struct zd_store_config config = {.location = "s3://lake/p",
        .loop = &test->loop,
        .writable = true,
        .remote = &remote,
        .options = options};
    ck_assert_msg(zd_store_open(&config, &test->store, &err) == ZD_OK, "%s", err.text);
    zd_json_unref(options);
    zd_test_count = 0;
}

static void end(struct zd_test_store *test)
{
    ck_assert_ptr_null(zd_s3_store_of(test->store)->gathering);
    ck_assert(zd_turns_are_idle(&zd_s3_store_of(test->store)->turns));
    zd_store_close(test->store);
    ck_assert(!zd_curl_loop_is_needed());
    zd_reply_server_close(&server);
    ck_assert_int_eq(uv_run(&test->loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&test->loop), 0);
}

static void erase(struct zd_test_store *test, struct zd_store_write *erase, const char *key)
{
    *erase = (struct zd_store_write){.op.done = zd_test_done};
    (void)snprintf(erase->key, sizeof erase->key, "%s", key);
    zd_store_erase(test->store, erase);
}

static void wait_for_requests(struct zd_test_store *test, unsigned n)
{
    while (server.n_requests < n) {
        uv_run(&test->loop, UV_RUN_ONCE);
    }
}

START_TEST(erasures_that_are_ready_together_are_one_request)
{
    static const struct zd_reply reply[] = {
        {.method = "GET", .bytes = FOUND},
        {.method = "POST",
            .target = "/lake?delete=",
            .bytes =
                TOLD(DELETED("a") "<Error><Key>p/b</Key><Code>AccessDenied</Code></Error>", "116")},
    };
    struct zd_test_store test;
    struct zd_store_write a;
    struct zd_store_write b;
    begin(&test, reply, ZD_COUNT_OF(reply));
    erase(&test, &a, "a");
    erase(&test, &b, "b");
    zd_test_wait(&test, 2);
    ck_assert_int_eq(a.op.status, ZD_OK);
    ck_assert_int_eq(b.op.status, ZD_STORE);
    ck_assert_ptr_nonnull(strstr(b.op.err.text, "b: the store answered 200 with the error Access"));
    ck_assert_uint_eq(server.n_requests, 3);
    end(&test);
}
END_TEST

static struct zd_store_write *other;

static void cancel_other(struct zd_store_op *op)
{
    zd_store_cancel(&other->op);
    zd_test_done(op);
}

/* The outcome of the others is known already. */
START_TEST(the_first_told_may_cancel_the_others)
{
    static const struct zd_reply reply[] = {
        {.method = "GET", .bytes = FOUND},
        {.method = "POST", .bytes = TOLD(DELETED("a") DELETED("b"), "95")},
    };
    struct zd_test_store test;
    struct zd_store_write a;
    struct zd_store_write b;
    begin(&test, reply, ZD_COUNT_OF(reply));
    other = &b;
    erase(&test, &a, "a");
    a.op.done = cancel_other;
    erase(&test, &b, "b");
    zd_test_wait(&test, 2);
    ck_assert_int_eq(a.op.status, ZD_OK);
    ck_assert_int_eq(b.op.status, ZD_OK);
    end(&test);
}
END_TEST

/* An erasure is ready, while another still looks: if either leaves, the other one goes alone. */
START_TEST(the_remaining_erasure_goes_alone)
{
    static const struct zd_reply reply[] = {
        {.method = "GET", .target = "/lake/p/a", .bytes = FOUND},
        {.method = "GET", .target = "/lake/p/b", .bytes = NULL},
        {.method = "DELETE", .target = "/lake/p/a", .bytes = GONE},
    };
    struct zd_test_store test;
    struct zd_store_write a;
    struct zd_store_write b;
    begin(&test, reply, ZD_COUNT_OF(reply));
    erase(&test, &a, "a");
    erase(&test, &b, "b");
    wait_for_requests(&test, 2);
    while (zd_s3_store_of(test.store)->turns.n_running == 2) { /* until it is ready */
        uv_run(&test.loop, UV_RUN_ONCE);
    }
    const bool ready_leaves = _i == 1;
    zd_store_cancel(ready_leaves ? &a.op : &b.op);
    if (ready_leaves) {
        zd_store_cancel(&b.op);
    }
    zd_test_wait(&test, 2);
    ck_assert_int_eq(a.op.status, ready_leaves ? ZD_CANCELLED : ZD_OK);
    ck_assert_int_eq(b.op.status, ZD_CANCELLED);
    ck_assert_uint_eq(server.n_requests, ready_leaves ? 2 : 3);
    end(&test);
}
END_TEST

/* Once it has been sent, what becomes of it is waited for. */
START_TEST(a_batch_that_was_sent_is_left_by_nobody)
{
    static const struct zd_reply reply[] = {
        {.method = "GET", .bytes = FOUND},
        {.method = "POST", .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 95\r\n\r\n<DeleteResult>"},
    };
    struct zd_test_store test;
    struct zd_store_write a;
    struct zd_store_write b;
    begin(&test, reply, ZD_COUNT_OF(reply));
    erase(&test, &a, "a");
    erase(&test, &b, "b");
    wait_for_requests(&test, 3);
    zd_store_cancel(&a.op);
    uv_run(&test.loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(zd_test_count, 0);
    zd_reply_server_close(&server); /* the answer ends too early: both objects are looked at */
    zd_test_wait(&test, 2);
    ck_assert_int_eq(a.op.status, ZD_STORE);
    ck_assert_int_eq(b.op.status, ZD_STORE);
    ck_assert(a.op.fault.was_begun);
    zd_store_close(test.store);
    ck_assert_int_eq(uv_run(&test.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&test.loop), 0);
}
END_TEST

/* Ready erasures let others have their threads. */
START_TEST(more_of_them_than_write_at_once_gather)
{
    static const struct zd_reply reply[] = {
        {.method = "GET", .bytes = FOUND},
        {.method = "POST", .bytes = "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n"},
        {.method = "DELETE", .bytes = GONE},
    };
    struct zd_test_store test;
    struct zd_store_write many[N_MANY];
    char key[16];
    begin(&test, reply, ZD_COUNT_OF(reply));
    for (int i = 0; i < N_MANY; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        erase(&test, &many[i], key);
    }
    zd_test_wait(&test, N_MANY);
    for (int i = 0; i < N_MANY; i++) {
        ck_assert_int_eq(many[i].op.status, ZD_OK);
    }
    /* The engine has no batches, which is found out once: two keys may share a turn. */
    ck_assert_uint_ge(server.n_requests, 2 * N_MANY + 1);
    ck_assert_uint_le(server.n_requests, 2 * N_MANY + 3);
    ck_assert(zd_s3_store_of(test.store)->lacks_batches);
    end(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, erasures_that_are_ready_together_are_one_request);
    tcase_add_test(tests, the_first_told_may_cancel_the_others);
    tcase_add_loop_test(tests, the_remaining_erasure_goes_alone, 0, 2);
    tcase_add_test(tests, a_batch_that_was_sent_is_left_by_nobody);
    tcase_add_test(tests, more_of_them_than_write_at_once_gather);
}
