/* Facts about core/store/http/store_http: what is an object, what is absence, and what is a fault.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/transfer/curl_loop.h"
#include "core/store/remote/remote.h"
#include "core/store/contract/store_impl.h"
#include "tests/support/reply_server.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define OPTION_BYTES 300

static struct zd_reply_server server;
static struct zd_remote remote;

static enum zd_status open_at(
    struct zd_test_store *test, const char *location, const char *options, struct zd_error *err)
{
    struct zd_json *json = NULL;
    const struct zd_json_limits limits = {
        .bytes_max = OPTION_BYTES, .nodes_max = 10, .depth_max = 2};
    if (options != NULL) {
        ck_assert_int_eq(zd_json_parse(zd_span_of(options), &limits, &json, NULL), ZD_OK);
    }
    const struct zd_store_config config = {
        .location = location, .loop = &test->loop, .remote = &remote, .options = json};
    const enum zd_status status = zd_store_open(&config, &test->store, err);
    zd_json_unref(json);
    return status;
}

static void begin(
    struct zd_test_store *test, const struct zd_reply *reply, size_t n_replies, const char *options)
{
    char location[100];
    struct zd_error err = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    *test = (struct zd_test_store){0};
    server = (struct zd_reply_server){0};
    remote = (struct zd_remote){
        .settings = {.connections = 4, .connect_ms = 5000, .silence_ms = 60000, .ca_file = ""}};
    ck_assert_int_eq(uv_loop_init(&test->loop), 0);
    zd_reply_server_open(&server, &test->loop, reply, n_replies);
    snprintf(location, sizeof location, "%s/s", server.url);
    ck_assert_msg(open_at(test, location, options, &err) == ZD_OK, "%s", err.text);
    ck_assert_str_eq(test->store->ops->scheme, "http");
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
#define CODED(code, range, len, bytes)                                                             \
    "HTTP/1.1 " code "\r\nContent-Length: " len "\r\nETag: \"a\"\r\nContent-Range: " range         \
    "\r\n\r\n" bytes
#define PART(range, len, bytes)     CODED("206 Partial", range, len, bytes)
#define WHOLE_OF(range, len, bytes) CODED("200 OK", range, len, bytes)
#define EMPTY(line, fields)         "HTTP/1.1 " line "\r\nContent-Length: 0\r\n" fields "\r\n"

static const struct read_fact {
    const char *answer;
    struct zd_range range;
    enum zd_status status;
    enum zd_remote_fault_kind kind;
    const char *bytes; /* or a part of the error's text */
} read_facts[] = {
    {WHOLE, {ZD_RANGE_WHOLE, 0, 0}, ZD_OK, ZD_REMOTE_FAULT_NONE, "0123456789"},
    {PART("bytes 3-6/10", "4", "3456"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        "3456"},
    {PART("bytes 8-9/10", "2", "89"), {ZD_RANGE_FROM_TO, 8, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE, "89"},
    {PART("bytes 6-9/10", "4", "6789"), {ZD_RANGE_SUFFIX, 0, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        "6789"},
    {PART("bytes 6-9/10", "4", "6789"), {ZD_RANGE_SUFFIX, 1, 3}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        "678"},
    {PART("bytes 0-9/10", "10", "0123456789"), {ZD_RANGE_SUFFIX, 0, 400}, ZD_OK,
        ZD_REMOTE_FAULT_NONE, "0123456789"},
    /* The server knows no ranges. */
    {WHOLE, {ZD_RANGE_FROM_TO, 3, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE, "3456"},
    {WHOLE, {ZD_RANGE_FROM_TO, 3, 400}, ZD_OK, ZD_REMOTE_FAULT_NONE, "3456789"},
    {WHOLE, {ZD_RANGE_FROM_TO, 30, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE, ""},
    {WHOLE, {ZD_RANGE_SUFFIX, 2, 3}, ZD_OK, ZD_REMOTE_FAULT_NONE, "567"},
    {"HTTP/1.0 200 OK\r\nETag: \"a\"\r\n\r\n0123456789", {ZD_RANGE_SUFFIX, 2, 3}, ZD_OK,
        ZD_REMOTE_FAULT_NONE, "567"},
    {"HTTP/1.0 200 OK\r\n\r\n0123456789", {ZD_RANGE_FROM_TO, 3, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        "3456"},
    {"HTTP/1.0 200 OK\r\n\r\n0123456789", {ZD_RANGE_FROM_TO, 8, 400}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        "89"},
    {"HTTP/1.0 200 OK\r\n\r\n0123456789", {ZD_RANGE_FROM_TO, 30, 4}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        ""},
    {"HTTP/1.0 200 OK\r\n\r\n0123456789", {ZD_RANGE_WHOLE, 0, 0}, ZD_OK, ZD_REMOTE_FAULT_NONE,
        "0123456789"},
    /* Absence. */
    {EMPTY("404 Not Found", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_NOT_FOUND, ZD_REMOTE_FAULT_NONE, ""},
    {EMPTY("410 Gone", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_NOT_FOUND, ZD_REMOTE_FAULT_NONE, ""},
    {EMPTY("301 Moved", "Location: key/\r\n"), {ZD_RANGE_WHOLE, 0, 0}, ZD_NOT_FOUND,
        ZD_REMOTE_FAULT_NONE, ""}, /* a directory */
    /* Faults. */
    {EMPTY("403 Forbidden", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_REFUSED, "403"},
    {EMPTY("401 Unauthorized", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_REFUSED,
        "401"},
    {EMPTY("400 Bad", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_NONE, "400"},
    {EMPTY("500 Oops", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, "500"},
    {EMPTY("502 Oops", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, "502"},
    {EMPTY("503 Oops", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, "503"},
    {EMPTY("503 Oops", "Retry-After: 7\r\n"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE,
        ZD_REMOTE_FAULT_THROTTLED, "503"},
    {EMPTY("429 Slow", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_THROTTLED, "429"},
    {"HTTP/1.1 500 Oops\r\nContent-Length: 35\r\n\r\n<Error><Code>InternalError</Code></E",
        {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, "500 InternalError"},
    {EMPTY("204 No Content", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN, "204"},
    {EMPTY("304 Not Modified", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_NONE, "304"},
    {EMPTY("300 Multiple Choices", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_NONE,
        "300"},
    {EMPTY("305 Use Proxy", "Location: key/\r\n"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE,
        ZD_REMOTE_FAULT_NONE, "305"},
    {EMPTY("302 Found", "Location: http://example.com/?secret=1\r\n"), {ZD_RANGE_WHOLE, 0, 0},
        ZD_STORE, ZD_REMOTE_FAULT_BROKEN, "http://example.com"},
    {EMPTY("302 Found", "Location: key\r\n"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE,
        ZD_REMOTE_FAULT_BROKEN, "more than 5 times"},
    {EMPTY("302 Found", ""), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "without a Location"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\n<html>",
        {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN, "HTML"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Encoding: gzip\r\n\r\n1234",
        {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN, "Content-Encoding"},
    {PART("bytes 3-6/10", "4", "3456"), {ZD_RANGE_WHOLE, 0, 0}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "206"},
    {WHOLE_OF("bytes 3-6/10", "4", "3456"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE,
        ZD_REMOTE_FAULT_BROKEN, "Content-Range"},
    {WHOLE_OF("bytes 0-3/10", "4", "0123"), {ZD_RANGE_FROM_TO, 0, 4}, ZD_STORE,
        ZD_REMOTE_FAULT_BROKEN, "Content-Range"},
    {WHOLE_OF("bytes 0-9/10", "10", "0123456789"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_OK,
        ZD_REMOTE_FAULT_NONE, "3456"},
    {PART("bytes 2-5/10", "4", "2345"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "Content-Range"},
    {PART("bytes 3-5/10", "3", "345"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "Content-Range"},
    {PART("bytes 3-6/10", "3", "345"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "Content-Length"},
    {PART("bytes 3-6/*", "4", "3456"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "Content-Range"},
    {PART("bytes 3-6/5", "4", "3456"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "Content-Range"},
    {PART("bytes 6-3/10", "4", "3456"), {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_BROKEN,
        "Content-Range"},
    {"HTTP/1.1 206 Partial\r\nContent-Length: 4\r\n\r\n3456", {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE,
        ZD_REMOTE_FAULT_BROKEN, "Content-Range"},
    {"HTTP/1.0 206 Partial\r\nETag: \"a\"\r\nContent-Range: bytes 3-6/10\r\n\r\n345",
        {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, "cut short"},
    {"HTTP/1.0 206 Partial\r\nContent-Length: 4\r\nContent-Range: bytes 3-6/10\r\n\r\n34",
        {ZD_RANGE_FROM_TO, 3, 4}, ZD_STORE, ZD_REMOTE_FAULT_RETRYABLE, ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", {ZD_RANGE_WHOLE, 0, 0}, ZD_TOO_LARGE,
        ZD_REMOTE_FAULT_NONE, "1001"},
};

START_TEST(store_http_reads_an_answer)
{
    const struct read_fact *fact = &read_facts[_i];
    const bool is_old = strncmp(fact->answer, "HTTP/1.0", 8) == 0;
    const struct zd_reply reply = {
        .bytes = fact->answer, .end = is_old ? ZD_REPLY_CLOSE : ZD_REPLY_KEEP};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, &reply, 1, NULL);
    zd_test_read_init(&read, "key");
    read.range = fact->range;
    read.bytes_max = 1000;
    const enum zd_status status = zd_test_read(&test, &read);
    ck_assert_msg(
        status == fact->status, "%d: %s: %s", _i, zd_status_name(status), read.op.err.text);
    ck_assert_msg(read.op.fault.kind == fact->kind, "%d: kind %u: %s", _i, read.op.fault.kind,
        read.op.err.text);
    if (status == ZD_OK) {
        ck_assert_msg(zd_span_is(zd_buf_span(read.bytes), fact->bytes), "%d", _i);
        ck_assert_uint_eq(read.stat.size, 10);
        ck_assert(zd_generation_is_set(read.stat.generation));
    } else {
        ck_assert_msg(strstr(read.op.err.text, fact->bytes) != NULL, "%s", read.op.err.text);
        ck_assert_ptr_null(strstr(read.op.err.text, "secret"));
    }
    zd_buf_unref(read.bytes);
    end(&test);
}
END_TEST

/* The server sends no lengths: a reader of a part has memory for that part and not for all. */
START_TEST(store_http_holds_no_more_than_the_part)
{
    enum { BODY = 100000 };
    static const char head[] = "HTTP/1.0 200 OK\r\nETag: \"a\"\r\n\r\n";
    static char answer[sizeof head + BODY];
    const struct zd_reply reply = {.bytes = answer, .end = ZD_REPLY_CLOSE};
    struct zd_test_store test;
    struct zd_store_read read;
    memcpy(answer, head, sizeof head - 1);
    memset(answer + sizeof head - 1, 'x', BODY);
    begin(&test, &reply, 1, NULL);
    zd_test_read_init(&read, "key");
    read.range = (struct zd_range){ZD_RANGE_SUFFIX, 1, 3};
    read.bytes_max = 3;
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    ck_assert_uint_eq(read.bytes->len, 3);
    ck_assert_uint_eq(read.bytes->cap, 3);
    ck_assert_uint_eq(read.stat.size, BODY);
    zd_buf_unref(read.bytes);
    end(&test);
}
END_TEST

#define HEAD_10(fields) "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n" fields "\r\n"

/* Requests for the length of an object, one after the other, and their outcome. */
static const struct size_fact {
    struct zd_reply reply[2]; /* to HEAD, to GET; NULL = 404 */
    enum zd_status status;
    unsigned n_first; /* requests for the first time, and for the second time */
    unsigned n_second;
} size_facts[] = {
    /* the first byte is enough */
    {{{.method = "HEAD", .bytes = HEAD_10("")},
         {.method = "GET", .bytes = PART("bytes 0-0/10", "1", "0")}},
        ZD_OK, 1, 1},
    /* and so is its absence, whatever HEAD says */
    {{{.method = "HEAD", .bytes = HEAD_10("")},
         {.method = "GET", .bytes = EMPTY("404 Not Found", "")}},
        ZD_NOT_FOUND, 1, 1},
    /* without ranges, HEAD from then on */
    {{{.method = "HEAD", .bytes = HEAD_10("ETag: \"a\"\r\n")}, {.method = "GET", .bytes = WHOLE}},
        ZD_OK, 1, 1},
    /* ... but for one that refuses it, or knows nothing of it */
    {{{.method = "HEAD", .bytes = EMPTY("405 Method Not Allowed", "")},
         {.method = "GET", .bytes = WHOLE}},
        ZD_OK, 1, 2},
    {{{.method = "HEAD", .bytes = EMPTY("404 Not Found", "")}, {.method = "GET", .bytes = WHOLE}},
        ZD_OK, 1, 2},
    /* a part of an object of unknown length */
    {{{.method = "HEAD", .bytes = HEAD_10("")},
         {.method = "GET", .bytes = PART("bytes 0-0/*", "1", "0")}},
        ZD_OK, 2, 1},
    {{{.method = "HEAD", .bytes = EMPTY("404 Not Found", "")},
         {.method = "GET", .bytes = PART("bytes 0-0/*", "1", "0")}},
        ZD_STORE, 3, 2},
};

START_TEST(store_http_asks_for_a_length)
{
    const struct size_fact *fact = &size_facts[_i];
    struct zd_test_store test;
    struct zd_store_status status = {.key = "key"};
    begin(&test, fact->reply, ZD_COUNT_OF(fact->reply), NULL);
    for (unsigned i = 0, n = fact->n_first; i < 2; i++, n += fact->n_second) {
        ck_assert_int_eq(zd_test_status(&test, &status), fact->status);
        ck_assert_uint_eq(server.n_requests, n);
        ck_assert(fact->status != ZD_OK || status.stat.size == 10);
    }
    end(&test);
}
END_TEST

/* A range of an object of one byte, or of none, may be answered with the whole. */
START_TEST(store_http_learns_nothing_of_ranges_from_a_short_object)
{
    static const struct zd_reply reply[] = {
        {.target = "/s/empty", .bytes = EMPTY("200 OK", "")},
        {.target = "/s/byte", .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0"},
        {.method = "GET", .bytes = PART("bytes 0-0/10", "1", "0")},
    };
    struct zd_test_store test;
    struct zd_store_status status = {.key = "empty"};
    begin(&test, reply, ZD_COUNT_OF(reply), NULL);
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    ck_assert_uint_eq(status.stat.size, 0);
    memcpy(status.key, "byte", sizeof "byte");
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    ck_assert_uint_eq(status.stat.size, 1);
    memcpy(status.key, "key", sizeof "key");
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    ck_assert_uint_eq(status.stat.size, 10);
    ck_assert_uint_eq(server.n_requests, 3);
    end(&test);
}
END_TEST

/* The server has no ranges: 404 may mean that it has no HEAD, until it has answered one. */
START_TEST(store_http_believes_a_head_that_has_answered)
{
    static const struct zd_reply reply[] = {
        {.target = "/s/there", .method = "GET", .bytes = WHOLE},
        {.target = "/s/there", .bytes = HEAD_10("ETag: \"a\"\r\n")},
        {.target = NULL, .bytes = EMPTY("404 Not Found", "")},
    };
    static const struct {
        const char *key;
        enum zd_status status;
        unsigned n_requests;
    } asked[] = {
        {"absent", ZD_NOT_FOUND, 1},
        {"there", ZD_OK, 2}, /* it has no ranges */
        {"absent", ZD_NOT_FOUND, 4},
        {"there", ZD_OK, 5},
        {"absent", ZD_NOT_FOUND, 6},
    };
    struct zd_test_store test;
    begin(&test, reply, ZD_COUNT_OF(reply), NULL);
    for (size_t i = 0; i < ZD_COUNT_OF(asked); i++) {
        struct zd_store_status status = {0};
        (void)snprintf(status.key, sizeof status.key, "%s", asked[i].key);
        ck_assert_int_eq(zd_test_status(&test, &status), asked[i].status);
        ck_assert_uint_eq(server.n_requests, asked[i].n_requests);
    }
    end(&test);
}
END_TEST

START_TEST(store_http_reads_only_one_generation)
{
    static const struct zd_reply old[] = {{.bytes = WHOLE}};
    static const struct zd_reply fresh[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"b\"\r\n\r\n9876543210"}};
    static const struct zd_reply refusal[] = {{.bytes = EMPTY("412 Precondition Failed", "")}};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, old, 1, NULL);
    zd_test_read_init(&read, "key");
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    zd_buf_unref(read.bytes);
    read.only_generation = read.stat.generation;
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    ck_assert_ptr_nonnull(strstr(server.last_request, "\r\nIf-Match: \"a\"\r\n"));
    zd_buf_unref(read.bytes);
    server.reply = fresh; /* it does not even know If-Match */
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_PRECONDITION);
    read.unless_generation = read.only_generation;
    read.only_generation = (struct zd_generation){0};
    server.reply = old;
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_NOT_MODIFIED);
    ck_assert_ptr_nonnull(strstr(server.last_request, "\r\nIf-None-Match: \"a\"\r\n"));
    server.reply = refusal; /* of a condition that nobody has made */
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_STORE);
    end(&test);
}
END_TEST

static const struct validator_fact {
    const char *one;
    const char *other;
    bool are_equal;
} validator_facts[] = {
    {HEAD_10("ETag: \"a\"\r\n"), HEAD_10("ETag: \"a\"\r\n"), true},
    {HEAD_10("ETag: \"a\"\r\n"), HEAD_10("ETag: \"b\"\r\n"), false},
    {HEAD_10("ETag: W/\"a\"\r\n"), HEAD_10("ETag: W/\"b\"\r\n"), false},
    {HEAD_10("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"),
        HEAD_10("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"), true},
    {HEAD_10("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"),
        HEAD_10("Last-Modified: Mon, 01 Jan 2024 00:00:01 GMT\r\n"), false},
    {HEAD_10("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"),
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n"
        "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n",
        false},
    {HEAD_10(""), HEAD_10(""), true},
    {HEAD_10(""), "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", false},
};

START_TEST(store_http_tells_generations_apart)
{
    const struct validator_fact *fact = &validator_facts[_i];
    struct zd_reply reply = {.bytes = fact->one};
    struct zd_test_store test;
    struct zd_store_status status = {.key = "key"};
    begin(&test, &reply, 1, NULL);
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    const struct zd_generation one = status.stat.generation;
    ck_assert(zd_generation_is_set(one));
    reply.bytes = fact->other;
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    ck_assert_int_eq(zd_generation_equal(one, status.stat.generation), fact->are_equal);
    end(&test);
}
END_TEST

START_TEST(store_http_takes_403_for_absence_if_it_is_told_so)
{
    static const struct zd_reply reply[] = {{.bytes = EMPTY("403 Forbidden", "")}};
    struct zd_test_store test;
    begin(&test, reply, 1, "{\"store_403\": \"absent\"}");
    zd_test_expect(&test, "key", NULL);
    end(&test);
}
END_TEST

START_TEST(store_http_sends_keys_encoded_and_secrets_from_a_file)
{
    static const struct zd_reply reply[] = {{.bytes = EMPTY("404 Not Found", "")}};
    char path[] = "/tmp/zarrd-test-XXXXXX";
    char options[OPTION_BYTES];
    const char text[] = "# a comment\nAuthorization: Bearer s3cret\r\n\n?sig=a%2Fb&x=1\n";
    const int fd = mkstemp(path);
    struct zd_test_store test;
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    snprintf(options, sizeof options, "{\"headers_file\": \"%s\"}", path);
    begin(&test, reply, 1, options);
    zd_test_expect(&test, "a b/c%20?#+\xc3\xa9", NULL);
    ck_assert_ptr_nonnull(strstr(
        server.last_request, "GET /s/a%20b/c%2520%3F%23%2B%C3%A9?sig=a%2Fb&x=1 HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(server.last_request, "\r\nAuthorization: Bearer s3cret\r\n"));
    end(&test);
    struct zd_error err = {0};
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(uv_loop_init(&test.loop), 0);
    ck_assert_int_eq(open_at(&test, "http://host/", options, &err), ZD_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "lets other users read"));
    ck_assert_int_eq(uv_loop_close(&test.loop), 0);
    unlink(path);
}
END_TEST

static const struct open_fact {
    const char *location;
    const char *options;
} open_facts[] = {
    {"http://user:secret@host/", NULL},
    {"http://secret@host/", NULL},
    {"https://host/a?secret=1", NULL},
    {"https://host/a#secret", NULL},
    {"http://", NULL},
    {"http:///path", NULL},
    {"http://:80/path", NULL},
    {"http://host/a b", NULL},
    {"http://host/", "{\"password\": \"secret\"}"},
    {"http://host/", "{\"headers_file\": \"/nonexistent/file\"}"},
    {"http://host/", "{\"store_403\": \"secret\"}"},
};

START_TEST(store_http_refuses_without_repeating_secrets)
{
    struct zd_test_store test = {0};
    struct zd_error err = {0};
    ck_assert_int_eq(uv_loop_init(&test.loop), 0);
    ck_assert_int_eq(
        open_at(&test, open_facts[_i].location, open_facts[_i].options, &err), ZD_INVALID);
    ck_assert_str_ne(err.text, "");
    ck_assert_msg(strstr(err.text, "secret") == NULL || _i == 10, "%s", err.text);
    ck_assert(!zd_curl_loop_is_needed());
    ck_assert_int_eq(uv_loop_close(&test.loop), 0);
}
END_TEST

#define PAGE(title, links)                                                                         \
    "HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<html><head><title>" title   \
    "</title></head><body><h1>" title "</h1>" links "</body></html>"

START_TEST(store_http_lists_an_index)
{
    static const struct zd_reply reply[] = {
        {.target = "/s/",
            .end = ZD_REPLY_CLOSE,
            .bytes = PAGE("Index of /s/",
                "<a href=\"../\">../</a><a href=\"b/\">b/</a><a href=\"a%20b\">a b</a>"
                "<a href=\"?C=N;O=D\">Name</a><a href=\"/\">up</a><a href='c&amp;d'>c</a>"
                "<a href=\"http://x/y\">x</a><a href=\"z%2Fy\">z</a><a href=\"%00\">0</a>")},
        {.target = NULL, .bytes = EMPTY("404 Not Found", "")},
    };
    struct zd_test_store test;
    ZD_SCOPED_TEXT(text, 1000);
    begin(&test, reply, ZD_COUNT_OF(reply), NULL);
    struct zd_store_list list = {.n_max = 2};
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
    zd_test_list_text(&list, &text);
    ck_assert_str_eq(text.at, "a b b/ +");
    ck_assert_int_eq(zd_test_list_next(&test, &list), ZD_OK);
    zd_text_clear(&text);
    zd_test_list_text(&list, &text);
    ck_assert_str_eq(text.at, "c&d");
    ck_assert_uint_eq(server.n_requests, 1); /* all pages cost one */
    zd_store_list_done(&list);
    list = (struct zd_store_list){.n_max = 2, .prefix = "absent/"};
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_NOT_FOUND);
    ck_assert(!list.is_incomplete);
    zd_store_list_done(&list);
    end(&test);
}
END_TEST

static const char *const no_index_answers[] = {
    EMPTY("404 Not Found", ""),
    EMPTY("403 Forbidden", ""),
    EMPTY("405 Method Not Allowed", ""),
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 17\r\n\r\n<a href=\"x\">x</a>",
};

START_TEST(store_http_says_that_it_has_no_listings)
{
    const struct zd_reply reply = {.bytes = no_index_answers[_i]};
    struct zd_test_store test;
    begin(&test, &reply, 1, NULL);
    struct zd_store_list list = {.n_max = 2};
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_NOT_FOUND);
    ck_assert(list.is_incomplete);
    zd_store_list_done(&list);
    end(&test);
}
END_TEST

START_TEST(store_http_does_not_take_a_fault_for_an_empty_directory)
{
    static const struct zd_reply reply[] = {{.bytes = EMPTY("500 Oops", "")}};
    struct zd_test_store test;
    begin(&test, reply, 1, NULL);
    struct zd_store_list list = {.n_max = 2};
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_STORE);
    zd_store_list_done(&list);
    end(&test);
}
END_TEST

/* Answers in place of an index, and their outcome: beside the index of the root, beside none, and
 * for a root that has had one. */
static const struct odd_fact {
    const char *answer;
    enum zd_status beside_index;
    enum zd_status beside_none;
    enum zd_status again;
} odd_facts[] = {
    {EMPTY("403 Forbidden", ""), ZD_STORE, ZD_NOT_FOUND, ZD_STORE},
    {EMPTY("401 Unauthorized", ""), ZD_STORE, ZD_NOT_FOUND, ZD_STORE},
    {PAGE("Please log in", ""), ZD_STORE, ZD_NOT_FOUND, ZD_STORE},
    {EMPTY("404 Not Found", ""), ZD_NOT_FOUND, ZD_NOT_FOUND, ZD_NOT_FOUND},
};

static void expect_listing(
    struct zd_test_store *test, const char *prefix, enum zd_status status, bool is_incomplete)
{
    struct zd_store_list list = {.n_max = 2};
    snprintf(list.prefix, sizeof list.prefix, "%s", prefix);
    ck_assert_int_eq(zd_test_list(test, &list), status);
    ck_assert_int_eq(list.is_incomplete, is_incomplete);
    zd_store_list_done(&list);
}

START_TEST(store_http_knows_where_an_index_is_due)
{
    const struct odd_fact *fact = &odd_facts[_i];
    const struct zd_reply has_index[] = {
        {.target = "/s/", .end = ZD_REPLY_CLOSE, .bytes = PAGE("Index of /s/", "")},
        {.target = NULL, .end = ZD_REPLY_CLOSE, .bytes = fact->answer},
    };
    const struct zd_reply has_none = {.end = ZD_REPLY_CLOSE, .bytes = fact->answer};
    struct zd_test_store test;
    begin(&test, has_index, ZD_COUNT_OF(has_index), NULL);
    expect_listing(&test, "a/", fact->beside_index, false);
    expect_listing(&test, "a/", fact->beside_index, false);
    server.reply = &has_none;
    server.n_replies = 1;
    expect_listing(&test, "", fact->again, fact->again == ZD_NOT_FOUND);
    end(&test);
    begin(&test, &has_none, 1, NULL);
    expect_listing(&test, "a/", fact->beside_none, true);
    end(&test);
}
END_TEST

START_TEST(store_http_cancels_what_waits)
{
    static const struct zd_reply reply[] = {{.bytes = NULL}};
    struct zd_test_store test;
    struct zd_store_read read;
    begin(&test, reply, 1, NULL);
    zd_test_read_init(&read, "key");
    zd_test_count = 0;
    read.op.done = zd_test_done;
    zd_store_read(test.store, &read);
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
    tcase_add_loop_test(tests, store_http_reads_an_answer, 0, ZD_COUNT_OF(read_facts));
    tcase_add_test(tests, store_http_holds_no_more_than_the_part);
    tcase_add_loop_test(tests, store_http_asks_for_a_length, 0, (int)ZD_COUNT_OF(size_facts));
    tcase_add_test(tests, store_http_learns_nothing_of_ranges_from_a_short_object);
    tcase_add_test(tests, store_http_believes_a_head_that_has_answered);
    tcase_add_test(tests, store_http_reads_only_one_generation);
    tcase_add_loop_test(tests, store_http_tells_generations_apart, 0, ZD_COUNT_OF(validator_facts));
    tcase_add_test(tests, store_http_takes_403_for_absence_if_it_is_told_so);
    tcase_add_test(tests, store_http_sends_keys_encoded_and_secrets_from_a_file);
    tcase_add_loop_test(
        tests, store_http_refuses_without_repeating_secrets, 0, ZD_COUNT_OF(open_facts));
    tcase_add_test(tests, store_http_lists_an_index);
    tcase_add_loop_test(
        tests, store_http_says_that_it_has_no_listings, 0, ZD_COUNT_OF(no_index_answers));
    tcase_add_test(tests, store_http_does_not_take_a_fault_for_an_empty_directory);
    tcase_add_loop_test(tests, store_http_knows_where_an_index_is_due, 0, ZD_COUNT_OF(odd_facts));
    tcase_add_test(tests, store_http_cancels_what_waits);
}
