/* Facts about core/store/s3/s3_read: what is an object, what is absence, and what is a fault. */
#include "core/store/s3/s3_read.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/store/transfer/curl_loop.h"
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
    zd_text_addf(&text, "{\"endpoint\": \"%s\", \"anonymous\": true}", server.url);
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

#define WHOLE "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"a\"\r\n\r\n0123456789"
#define PART(range, len, bytes)                                                                    \
    "HTTP/1.1 206 Partial\r\nContent-Length: " len "\r\nETag: \"a\"\r\nContent-Range: " range      \
    "\r\n\r\n" bytes
#define EMPTY(line) "HTTP/1.1 " line "\r\nContent-Length: 0\r\n\r\n"
#define ERROR(line, len, code)                                                                     \
    "HTTP/1.1 " line "\r\nContent-Length: " len "\r\n\r\n<Error><Code>" code "</Code></Error>"

static const struct fact {
    const char *answer;
    struct zd_range range;
    enum zd_status status;
    const char *bytes; /* or a part of the error's text */
} facts[] = {
    {WHOLE, {ZD_RANGE_WHOLE, 0, 0}, ZD_OK, "0123456789"},
    {WHOLE, {ZD_RANGE_FROM_TO, 3, 4}, ZD_OK, "3456"},
    {WHOLE, {ZD_RANGE_SUFFIX, 2, 3}, ZD_OK, "567"},
    {WHOLE, {ZD_RANGE_SUFFIX, 30, 4}, ZD_OK, ""}, /* all of it lies before the object */
    {PART("bytes 0-9/10", "10", "0123456789"), {ZD_RANGE_SUFFIX, 30, 4}, ZD_OK, ""},
    {PART("bytes 5-9/10", "5", "56789"), {ZD_RANGE_SUFFIX, 2, 3}, ZD_OK, "567"},
    {PART("bytes 2-5/10", "4", "2345"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, "sent 4 bytes"},
    {ERROR("404 Not Found", "37", "NoSuchKey"), {ZD_RANGE_WHOLE, 0, 0}, ZD_NOT_FOUND, ""},
    /* Faults: nothing of them is absence, nor a condition that nobody has made. */
    {ERROR("404 Not Found", "40", "NoSuchBucket"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, "404 NoSuch"},
    {EMPTY("404 Not Found"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, "404"},
    {EMPTY("301 Moved"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, "301"},
    {EMPTY("304 Not Modified"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, "304"},
    {EMPTY("412 Precondition Failed"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, "412"},
};

START_TEST(an_answer_is_judged)
{
    const struct fact *fact = &facts[_i];
    const struct zd_reply reply = {.bytes = fact->answer};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, &reply, 1);
    zd_test_read_init(&read, "key");
    read.range = fact->range;
    read.bytes_max = 1000;
    const enum zd_status status = zd_test_read(&test, &read);
    ck_assert_msg(
        status == fact->status, "%d: %s: %s", _i, zd_status_name(status), read.op.err.text);
    if (status == ZD_OK) {
        ck_assert_msg(zd_span_is(zd_buf_span(read.bytes), fact->bytes), "%d", _i);
        ck_assert_uint_eq(read.stat.size, 10);
    } else {
        ck_assert_msg(strstr(read.op.err.text, fact->bytes) != NULL, "%s", read.op.err.text);
    }
    zd_buf_unref(read.bytes);
    end(&test);
}
END_TEST

START_TEST(not_modified_needs_a_condition)
{
    static const struct zd_reply whole[] = {{.bytes = WHOLE}};
    static const struct zd_reply same[] = {{.bytes = EMPTY("304 Not Modified")}};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, whole, 1);
    zd_test_read_init(&read, "key");
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    zd_buf_unref(read.bytes);
    read.unless_generation = read.stat.generation;
    server.reply = same;
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_NOT_MODIFIED);
    ck_assert_ptr_nonnull(strstr(server.last_request, "if-none-match: \"a\"\r\n"));
    end(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_answer_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, not_modified_needs_a_condition);
}
