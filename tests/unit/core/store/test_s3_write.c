/* Facts about core/store/s3_write: what waits in memory, and for how much of it there is room. */
#include "core/store/s3_write.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/store/multi.h"
#include "tests/support/reply_server.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

static struct zd_reply_server server;
static struct zd_remote remote;
static struct zd_store_memory memory;

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
    memory = (struct zd_store_memory){.bytes_max = 10};
    ck_assert_int_eq(uv_loop_init(&test->loop), 0);
    zd_reply_server_open(&server, &test->loop, reply, n_replies);
    zd_text_addf(&text, "{\"endpoint\": \"%s\", \"anonymous\": true}", server.url);
    ck_assert_int_eq(zd_json_parse(zd_text_span(&text), &limits, &options, NULL), ZD_OK);
    const struct zd_store_config config = {.location = "s3://lake/p",
        .loop = &test->loop,
        .writable = true,
        .memory = &memory,
        .remote = &remote,
        .options = options};
    ck_assert_msg(zd_store_open(&config, &test->store, &err) == ZD_OK, "%s", err.text);
    zd_json_unref(options);
}

static void end(struct zd_test_store *test)
{
    zd_store_close(test->store);
    ck_assert(!zd_multi_is_needed());
    zd_reply_server_close(&server);
    ck_assert_int_eq(uv_run(&test->loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&test->loop), 0);
}

static enum zd_status stage(
    struct zd_test_store *test, const char *text, struct zd_store_write *write)
{
    *write = (struct zd_store_write){
        .key = "key", .phase = ZD_PHASE_STAGE, .bytes = zd_buf_copy(zd_span_of(text))};
    const enum zd_status status = zd_test_write(test, write);
    zd_buf_unref(write->bytes);
    write->bytes = NULL;
    return status;
}

START_TEST(what_is_staged_has_a_bound)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}};
    struct zd_test_store test;
    struct zd_store_write one;
    struct zd_store_write other;
    begin(&test, reply, ZD_COUNT_OF(reply));
    ck_assert_int_eq(stage(&test, "12345678901", &one), ZD_NO_SPACE);
    ck_assert_int_eq(stage(&test, "123456", &one), ZD_OK);
    ck_assert_uint_eq(memory.bytes, 6);
    ck_assert_int_eq(stage(&test, "12345", &other), ZD_NO_SPACE);
    ck_assert_ptr_null(other.staged);
    one.phase = ZD_PHASE_DISCARD;
    ck_assert_int_eq(zd_test_write(&test, &one), ZD_OK);
    ck_assert_uint_eq(memory.bytes, 0);
    ck_assert_uint_eq(server.n_requests, 0);
    end(&test);
}
END_TEST

/* Where the old object cannot be kept, nothing is changed. */
START_TEST(an_old_object_that_is_too_large_to_be_kept_stays)
{
    static const struct zd_reply reply[] = {{.method = "GET",
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nETag: \"a\"\r\n\r\n01234567890"}};
    struct zd_test_store test;
    begin(&test, reply, ZD_COUNT_OF(reply));
    zd_s3_store_of(test.store)->able =
        (struct zd_s3_abilities){.is_known = true, .swaps = true, .erases = true};
    struct zd_store_write erase = {.key = "key", .keeps_old = true};
    ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_NO_SPACE);
    ck_assert_ptr_null(erase.staged);
    ck_assert_uint_eq(server.n_requests, 1);
    ck_assert_uint_eq(memory.bytes, 0);
    end(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, what_is_staged_has_a_bound);
    tcase_add_test(tests, an_old_object_that_is_too_large_to_be_kept_stays);
}
