/* Request framing, fact by fact, whole and cut at every place. */
#include "server/http/guard.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct zd_guard_limits limits = {
    .target_bytes = 64,
    .head_bytes = 256,
    .n_fields = 6,
    .memory_bytes = 256 + 8 * ZD_GUARD_ENTRY_BYTES,
    .body_bytes = 100,
    .upload_bytes = 200,
};

#define GET  "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define PUT  "PUT / HTTP/1.1\r\nHost: a\r\n"
#define TE   POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
    const char *bytes;
    uint64_t n_requests;
    const char *code; /* NULL: no fault */
    enum zd_guard_place place;
} streams[] = {
    {"", 0, NULL, ZD_GUARD_BETWEEN},
    {"\r\n", 0, NULL, ZD_GUARD_BETWEEN}, /* what some clients send after a body */
    {"\r\nG", 0, NULL, ZD_GUARD_HEAD},
    {GET, 0, NULL, ZD_GUARD_HEAD},
    {GET "\r", 0, NULL, ZD_GUARD_HEAD},
    {GET "\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {GET "\r\n" GET "\r\n" GET, 2, NULL, ZD_GUARD_HEAD},
    {GET "\r\nx(", 1, "bad_request", ZD_GUARD_FAULT},
    {"GET / HTTP/1.0\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {"GET / HTTP/1.1\r\n\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {"OPTIONS * HTTP/1.1\r\nHost: \r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {"OPTIONS ** HTTP/1.1\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {"GET * HTTP/1.1\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {"GET hTTps://b:1/x HTTP/1.1\r\nHost: a\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {"GET httpss://b HTTP/1.1\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {"GET http:// HTTP/1.1\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {"GET http://[::1 HTTP/1.1\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    /* the limits, and one more */
    {"GET /23456789012345678901234567890123456789012345678901234567890123 "
     "HTTP/1.1\r\nHost:\r\n\r\n",
        1, NULL, ZD_GUARD_BETWEEN},
    {"GET /234567890123456789012345678901234567890123456789012345678901234 "
     "HTTP/1.1\r\nHost:\r\n\r\n",
        1, NULL, ZD_GUARD_BETWEEN},
    {"GET /2345678901234567890123456789012345678901234567890123456789012345 HTTP/1.1\r\n", 0,
        "uri_too_long", ZD_GUARD_FAULT},
    {"GET http://6789012345678901234567890123456789012345678901234567890123456/", 0, "uri_too_long",
        ZD_GUARD_FAULT},
    {GET "A:\r\nB:\r\nC:\r\nD:\r\nE:\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {GET "A:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\n\r\n", 0, "headers_too_large", ZD_GUARD_FAULT},
    {"GET /?a&b&c&d&e&f HTTP/1.1\r\nHost: a\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {"GET /?a&b&c&d&e&f&g&h&i&j&k HTTP/1.1\r\nHost: a\r\n\r\n", 0, "headers_too_large",
        ZD_GUARD_FAULT},
    {GET "Cookie: a; b; c; d; e; f; g; h; i; j\r\n\r\n", 0, "headers_too_large", ZD_GUARD_FAULT},
    {POST "Content-Length: 100\r\n\r\n", 0, NULL, ZD_GUARD_BODY},
    {POST "Content-Length: 101\r\n\r\n", 0, "too_large", ZD_GUARD_FAULT},
    {PUT "Content-Length: 200\r\n\r\n", 0, NULL, ZD_GUARD_BODY},
    {PUT "Content-Length: 201\r\n\r\n", 0, "too_large", ZD_GUARD_FAULT},
    {PUT "Transfer-Encoding: chunked\r\n\r\nc8\r\n", 0, NULL, ZD_GUARD_BODY},
    {PUT "Transfer-Encoding: chunked\r\n\r\nc9\r\n", 0, "too_large", ZD_GUARD_FAULT},
    {POST "Content-Length: 18446744073709551615\r\n\r\n", 0, "too_large", ZD_GUARD_FAULT},
    {POST "Content-Length: 18446744073709551616\r\n\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    /* bodies */
    {POST "Content-Length: 0\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {POST "content-LENGTH:3\r\n\r\nab", 0, NULL, ZD_GUARD_BODY},
    {POST "Content-Length: 3\r\n\r\nabc", 1, NULL, ZD_GUARD_BETWEEN},
    {POST "Content-Length: 3\r\n\r\nabc" GET "\r\n", 2, NULL, ZD_GUARD_BETWEEN},
    {POST "Content-Length: 3\r\n\r\nabcd", 1, NULL, ZD_GUARD_HEAD},
    {POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 0, "bad_request", ZD_GUARD_FAULT},
    {POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 0, "bad_request",
        ZD_GUARD_FAULT},
    {TE, 0, NULL, ZD_GUARD_BODY},
    {TE "0\r\n", 0, NULL, ZD_GUARD_BODY},
    {TE "0\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {TE "3\r\nabc\r\n0\r\n\r\n" GET "\r\n", 2, NULL, ZD_GUARD_BETWEEN},
    {TE "3;x=\"\\\"\"\r\nabc\r\n0;y\r\nA: b\r\n\r\n", 1, NULL, ZD_GUARD_BETWEEN},
    {TE "3\r\nabcd\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {TE "3\nabc", 0, "bad_request", ZD_GUARD_FAULT},
    {TE "64\r\n", 0, NULL, ZD_GUARD_BODY},
    {TE "65\r\n", 0, "too_large", ZD_GUARD_FAULT},
    {TE "ffffffffffffffff\r\n", 0, "too_large", ZD_GUARD_FAULT},
    {TE "00000000000000003\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {TE "0\r\nHost: a\r\n\r\n", 0, "bad_request", ZD_GUARD_FAULT},
    {TE "0\r\n a\r\n\r\n", 0, "bad_request", ZD_GUARD_FAULT},
};

struct verdict {
    uint64_t n_requests;
    const char *code;
    enum zd_guard_place place;
    size_t n_whole; /* of what is left */
    size_t n_kept;
    uint8_t kept[512];
};

static bool take(struct zd_guard *guard, struct verdict *verdict, const void *bytes, size_t len)
{
    uint8_t *to = verdict->kept + verdict->n_kept;
    const size_t n = len;
    size_t n_whole = 0;
    ck_assert_uint_le(verdict->n_kept + len, sizeof verdict->kept);
    memcpy(to, bytes, len);
    const bool ok = zd_guard_take(guard, to, &len, &n_whole);
    ck_assert(ok == (guard->code == NULL));
    ck_assert(len <= n && n_whole <= len);
    verdict->n_whole = n_whole > 0 ? verdict->n_kept + n_whole : verdict->n_whole;
    verdict->n_kept += len;
    verdict->n_requests = guard->n_requests;
    verdict->code = guard->code;
    verdict->place = zd_guard_place(guard);
    return ok;
}

/* Feed a stream in pieces of which the first two end at these places. */
static struct verdict judge(struct zd_span bytes, size_t first, size_t second)
{
    struct zd_guard guard;
    struct verdict verdict = {0};
    const size_t cuts[] = {0, first, second, bytes.len};
    zd_guard_init(&guard, &limits);
    for (size_t i = 0; i + 1 < ZD_COUNT_OF(cuts) && guard.code == NULL; i++) {
        (void)take(&guard, &verdict, bytes.ptr + cuts[i], cuts[i + 1] - cuts[i]);
    }
    return verdict;
}

static bool takes(struct zd_guard *guard, const void *bytes, size_t len)
{
    struct verdict verdict = {0};
    return take(guard, &verdict, bytes, len);
}

static bool takes_text(struct zd_guard *guard, const char *text)
{
    return takes(guard, text, strlen(text));
}

START_TEST(streams_are_judged_the_same_however_they_are_cut)
{
    const struct zd_span bytes = zd_span_of(streams[_i].bytes);
    const struct verdict whole = judge(bytes, bytes.len, bytes.len);
    ck_assert_uint_eq(whole.n_requests, streams[_i].n_requests);
    ck_assert_int_eq(whole.place, streams[_i].place);
    ck_assert_pstr_eq(whole.code, streams[_i].code);
    for (size_t first = 0; first <= bytes.len; first++) {
        for (size_t second = first; second <= bytes.len; second += 1 + second % 5) {
            const struct verdict cut = judge(bytes, first, second);
            ck_assert_uint_eq(cut.n_requests, whole.n_requests);
            ck_assert_int_eq(cut.place, whole.place);
            ck_assert_uint_eq(cut.n_whole, whole.n_whole);
            ck_assert_ptr_eq(cut.code, whole.code);
            ck_assert_uint_eq(cut.n_kept, whole.n_kept);
            ck_assert_mem_eq(cut.kept, whole.kept, whole.n_kept);
        }
    }
}
END_TEST

static const struct {
    const char *bytes;
    const char *kept; /* what the library gets of them */
} shortened[] = {
    {"\r\n\r\n" GET "\r\n\r\n" GET, GET "\r\n" GET},
    {POST "Content-Length:\t3 \t \r\n\r\nabc", POST "Content-Length:\t3\r\n\r\nabc"},
    {"GET / HTTP/1.1\r\nHost: a\t\r\nX: y \r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: y \r\n\r\n"},
    {POST "Transfer-Encoding: chunked \r\n\r\n3 ;a=\"b\" ; c\r\nabc\r\n0;d\r\n\r\n",
        TE "3\r\nabc\r\n0\r\n\r\n"},
};

START_TEST(members_without_meaning_are_taken_out)
{
    const struct zd_span bytes = zd_span_of(shortened[_i].bytes);
    const struct verdict verdict = judge(bytes, bytes.len, bytes.len);
    ck_assert_ptr_null(verdict.code);
    ck_assert_uint_eq(verdict.n_kept, strlen(shortened[_i].kept));
    ck_assert_mem_eq(verdict.kept, shortened[_i].kept, verdict.n_kept);
}
END_TEST

START_TEST(every_byte_has_its_place)
{
    static const char separators[] = "\"(),/:;<=>?@[\\]{}";
    struct zd_guard guard;
    for (int byte = 0; byte < 256; byte++) {
        const uint8_t bytes[] = {(uint8_t)byte, 'x'};
        const bool is_token = byte > 0x20 && byte < 0x7f && strchr(separators, byte) == NULL;
        zd_guard_init(&guard, &limits);
        const bool ok = takes_text(&guard, GET "X") && takes(&guard, bytes, sizeof bytes);
        ck_assert_msg(ok == (is_token || byte == ':'), "name, byte %d", byte);
        zd_guard_init(&guard, &limits);
        const bool is_text = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
        ck_assert(takes_text(&guard, GET "X: 12345678"));
        ck_assert_msg(takes(&guard, bytes, sizeof bytes) == is_text, "value, byte %d", byte);
    }
}
END_TEST

START_TEST(eight_bytes_at_once_hide_no_control_character)
{
    for (int byte = 0; byte < 256; byte++) {
        for (size_t at = 0; at < 24; at++) {
            struct zd_guard guard;
            uint8_t bytes[25]; /* what follows a CR is judged too */
            memset(bytes, '~', sizeof bytes);
            bytes[at] = (uint8_t)byte;
            zd_guard_init(&guard, &limits);
            ck_assert(takes_text(&guard, GET "X:"));
            const bool ok = takes(&guard, bytes, sizeof bytes);
            const bool is_text = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
            ck_assert_msg(ok == is_text, "byte %d at %zu", byte, at);
        }
    }
}
END_TEST

START_TEST(a_stream_ends_between_requests_only)
{
    struct zd_guard guard;
    zd_guard_init(&guard, &limits);
    ck_assert(zd_guard_end(&guard));
    ck_assert(takes_text(&guard, "\r\n"));
    ck_assert(zd_guard_end(&guard));
    ck_assert(takes_text(&guard, "HEAD / HTTP/1.1\r\n"));
    ck_assert(guard.is_head);
    ck_assert(!zd_guard_end(&guard));
    ck_assert_str_eq(guard.code, "bad_request");
    ck_assert(guard.is_head);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, streams_are_judged_the_same_however_they_are_cut, 0, ZD_COUNT_OF(streams));
    tcase_add_loop_test(tests, members_without_meaning_are_taken_out, 0, ZD_COUNT_OF(shortened));
    tcase_add_test(tests, every_byte_has_its_place);
    tcase_add_test(tests, eight_bytes_at_once_hide_no_control_character);
    tcase_add_test(tests, a_stream_ends_between_requests_only);
}
