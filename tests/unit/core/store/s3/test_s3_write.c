/* Facts about core/store/s3/s3_write: what waits in memory, and for how much of it there is room.
 */
#include "core/store/s3/s3_write.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/store/transfer/curl_loop.h"
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
    ck_assert(!zd_curl_loop_is_needed());
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

START_TEST(staged_bytes_have_a_bound)
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

/* ---- uploads in parts ---- */

#define HEAD(n) "HTTP/1.1 200 OK\r\nContent-Length: " n "\r\n"
#define CREATED                                                                                    \
    HEAD("96")                                                                                     \
    "\r\n<InitiateMultipartUploadResult><UploadId>&lt;u&amp;1></UploadId></"                       \
    "InitiateMultipartUploadResult>"
#define PART(id) "/lake/p/key?partNumber=" id "&uploadId=%3Cu%261%3E"
#define UPLOAD   "/lake/p/key?uploadId=%3Cu%261%3E"
#define DIGEST   "\r\nETag: \"0123456789abcdef0123456789abcdef\"\r\n\r\n"

static enum zd_status put(struct zd_test_store *test, struct zd_store_write *write)
{
    zd_s3_store_of(test->store)->sizes =
        (struct zd_s3_sizes){.upload_over = 4, .part_bytes = 4, .put_bytes = 6};
    write->bytes = zd_buf_copy(zd_span_of("0123456"));
    const enum zd_status status = zd_test_write(test, write);
    zd_buf_unref(write->bytes);
    return status;
}

/* The answer to the completion: the status, and whether the upload is aborted after it. */
static const struct {
    const char *answer;
    enum zd_status status;
    const char *said;
} completions[] = {
    {HEAD("115") "\r\n  <?xml "
                 "version=\"1.0\"?>\n<CompleteMultipartUploadResult><ETag>&quot;a-2&quot;</ETag></"
                 "CompleteMultipartUploadResult>",
        ZD_OK, NULL},
    {HEAD("46") "\r\n<Error><Code>InternalError</Code></Error>     ", ZD_STORE,
        "200 with the error InternalError"},
    {HEAD("0") "\r\n", ZD_STORE, "200 without a result"},
    {HEAD("6") "\r\n<html>", ZD_STORE, "200 without a result"},
    {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", ZD_STORE, "403"},
    {"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n", ZD_STORE, "412"},
};

START_TEST(an_upload_ends_as_its_completion_says)
{
    const struct zd_reply reply[] = {
        {.method = "POST", .target = "/lake/p/key?uploads=", .bytes = CREATED},
        {.method = "PUT",
            .target = PART("1"),
            .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0" DIGEST},
        {.method = "PUT",
            .target = PART("2"),
            .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0" DIGEST},
        {.method = "POST", .target = UPLOAD, .bytes = completions[_i].answer},
        {.method = "DELETE", .target = UPLOAD, .bytes = "HTTP/1.1 204 No Content\r\n\r\n"},
    };
    struct zd_test_store test;
    struct zd_store_write write = {.key = "key"};
    begin(&test, reply, ZD_COUNT_OF(reply));
    ck_assert_int_eq(put(&test, &write), completions[_i].status);
    if (completions[_i].said == NULL) {
        ck_assert_uint_eq(write.stat.size, 7);
        ck_assert(zd_generation_equal(write.stat.generation, zd_s3_store_generation("a-2", 7)));
        ck_assert_uint_eq(server.n_requests, 4);
        ck_assert_ptr_nonnull(strstr(server.last_request,
            "<Part><PartNumber>2</PartNumber><ETag>&#34;0123456789abcdef0123456789abcdef&#34;</"
            "ETag></Part></Comp"));
    } else {
        ck_assert_msg(
            strstr(write.op.err.text, completions[_i].said) != NULL, "%s", write.op.err.text);
        ck_assert_uint_ge(server.n_requests, 5);
    }
    end(&test);
}
END_TEST

/* Its parts are cancelled, and what was there of it is aborted. */
START_TEST(an_upload_that_is_cancelled_is_aborted)
{
    static const struct zd_reply reply[] = {
        {.method = "POST", .bytes = CREATED},
        {.method = "PUT", .bytes = NULL},
        {.method = "DELETE", .target = UPLOAD, .bytes = "HTTP/1.1 204 No Content\r\n\r\n"},
    };
    struct zd_test_store test;
    begin(&test, reply, ZD_COUNT_OF(reply));
    zd_s3_store_of(test.store)->sizes =
        (struct zd_s3_sizes){.upload_over = 4, .part_bytes = 4, .put_bytes = 6};
    struct zd_store_write write = {
        .key = "key", .op.done = zd_test_done, .bytes = zd_buf_copy(zd_span_of("0123456"))};
    zd_test_count = 0;
    zd_store_write(test.store, &write);
    while (server.n_requests < 3) {
        uv_run(&test.loop, UV_RUN_ONCE);
    }
    zd_store_cancel(&write.op);
    zd_test_wait(&test, 1);
    ck_assert_int_eq(write.op.status, ZD_CANCELLED);
    ck_assert_uint_eq(server.n_requests, 4);
    ck_assert_ptr_nonnull(strstr(server.last_request, "DELETE " UPLOAD));
    zd_buf_unref(write.bytes);
    end(&test);
}
END_TEST

/* Where the condition of a completion is not obeyed, one request must do. */
START_TEST(an_object_too_large_for_a_condition_is_refused)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}};
    struct zd_test_store test;
    struct zd_store_write write = {.key = "key", .condition = ZD_CONDITION_ABSENT};
    begin(&test, reply, ZD_COUNT_OF(reply));
    struct zd_s3_store *s3 = zd_s3_store_of(test.store);
    s3->able = (struct zd_s3_abilities){.is_known = true, .creates = true};
    s3->uploads = (struct zd_s3_upload_abilities){.is_known = true};
    ck_assert_int_eq(put(&test, &write), ZD_UNABLE);
    ck_assert_uint_eq(server.n_requests, 0);
    end(&test);
}
END_TEST

/* It is looked at, as a PUT is. */
START_TEST(an_erasure_that_is_not_answered_is_found_out)
{
    static const struct zd_reply reply[] = {
        {.method = "DELETE", .bytes = NULL, .end = ZD_REPLY_CLOSE},
        {.method = "GET",
            .bytes = "HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\nContent-Range: bytes "
                     "0-0/1\r\nETag: \"a\"\r\n\r\n0"},
    };
    struct zd_test_store test;
    struct zd_store_write erase = {.key = "key"};
    begin(&test, reply, ZD_COUNT_OF(reply));
    ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_STORE); /* the object is still there */
    ck_assert(erase.op.fault.was_begun);
    end(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, an_upload_ends_as_its_completion_says, 0, (int)ZD_COUNT_OF(completions));
    tcase_add_test(tests, an_upload_that_is_cancelled_is_aborted);
    tcase_add_test(tests, an_object_too_large_for_a_condition_is_refused);
    tcase_add_test(tests, an_erasure_that_is_not_answered_is_found_out);
    tcase_add_test(tests, staged_bytes_have_a_bound);
    tcase_add_test(tests, an_old_object_that_is_too_large_to_be_kept_stays);
}
