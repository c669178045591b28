/* Facts about core/store/s3/s3_access: who waits for credentials, and who leaves. */
#include "core/store/s3/s3_access.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/transfer/curl_loop.h"
#include "core/store/s3/s3_store.h"
#include "tests/support/reply_server.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

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
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url, 1);
    zd_text_addf(&text, "{\"endpoint\": \"%s\"}", server.url);
    ck_assert_int_eq(zd_json_parse(zd_text_span(&text), &limits, &options, NULL), ZD_OK);
    const struct zd_store_config config = {
        .location = "s3://lake/p", .loop = &test->loop, .remote = &remote, .options = options};
    ck_assert_msg(zd_store_open(&config, &test->store, &err) == ZD_OK, "%s", err.text);
    zd_json_unref(options);
}

static void end(struct zd_test_store *test)
{
    zd_store_close(test->store);
    ck_assert(!zd_curl_loop_is_needed());
    zd_reply_server_close(&server);
    ck_assert_int_eq(uv_run(&test->loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&test->loop), 0);
}

static void start(struct zd_test_store *test, struct zd_store_read *read)
{
    zd_test_read_init(read, "key");
    read->op.done = zd_test_done;
    zd_test_count = 0;
    zd_store_read(test->store, read);
}

/* The worker has said which request is due, and the loop has not made it: there is nothing to
 * cancel yet. */
START_TEST(leaving_before_the_search_sends_no_request)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, reply, ZD_COUNT_OF(reply));
    start(&test, &read);
    zd_store_cancel(&read.op);
    zd_test_wait(&test, 1);
    ck_assert_int_eq(read.op.status, ZD_CANCELLED);
    ck_assert_uint_eq(server.n_requests, 0);
    end(&test);
}
END_TEST

START_TEST(the_last_one_who_leaves_ends_the_search)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, reply, ZD_COUNT_OF(reply));
    start(&test, &read);
    while (server.n_requests == 0) {
        uv_run(&test.loop, UV_RUN_ONCE);
    }
    zd_store_cancel(&read.op);
    zd_test_wait(&test, 1);
    ck_assert_int_eq(read.op.status, ZD_CANCELLED);
    end(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, leaving_before_the_search_sends_no_request);
    tcase_add_test(tests, the_last_one_who_leaves_ends_the_search);
}
