/* server/front/response_headers.headers: every header that is answered has a row, and browsers may
 * read ours. */
#include "server/front/response_headers.h"

#include <string.h>

#include "tests/support/serve.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "{\"datasets\": {\"codecs\": {\"location\": \"" ZD_BINARY_DIR "/corpus/stores/v3/codecs\"}}}"

#define END       " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define GET(path) "GET " path END "\r\n"

static const char *const requests[] = {
    GET("/"),
    GET("/v1/datasets/codecs/nodes/gzip_6"),
    GET("/v1/datasets/codecs/slices/gzip_6"),
    GET("/v1/datasets/codecs/slices/gzip_6?slice=0:2&format=npy"),
    GET("/v1/datasets/codecs/chunks/gzip_6?index=0,0"),
    GET("/v1/datasets/codecs/chunks/gzip_6?index=0,0&decode=1"),
    GET("/v1/datasets/codecs/events"),
    GET("/zarr/codecs/gzip_6/zarr.json"),
    GET("/zarr/codecs/none"),
    GET("/v1/nowhere"),
    "GET /v1/nowhere" END "Accept: text/html\r\n\r\n",
    "PUT /zarr/codecs/a" END "Content-Length: 0\r\n\r\n",
    "OPTIONS /v1" END "Access-Control-Request-Private-Network: true\r\n\r\n",
};

START_TEST(every_header_of_an_answer_has_a_row)
{
    struct zd_test_serve serve;
    struct zd_test_answer answer;
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    if (strstr(requests[_i], "/events") != NULL) { /* its stream would not end */
        serve.config.settings.events_readers = 0;
    }
    zd_test_serve_ask(&serve, requests[_i], &answer);
    ck_assert_uint_gt(answer.status, 0);
    char *head = answer.bytes;
    char *end = strstr(head, "\r\n\r\n");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    for (char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        char name[64] = "";
        strncat(name, line, strcspn(line, ":") < sizeof name ? strcspn(line, ":") : 0);
        ck_assert_msg(zd_response_has_row(name), "'%s' has no row", name);
    }
    zd_test_answer_done(&answer);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(names_are_case_insensitive_and_unknown_ones_have_no_row)
{
    ck_assert(zd_response_has_row("etag"));
    ck_assert(zd_response_has_row("ZARR-SHAPE"));
    ck_assert(!zd_response_has_row("Zarr-Other"));
    ck_assert(!zd_response_has_row(""));
}
END_TEST

START_TEST(browsers_may_read_what_is_ours)
{
    ZD_SCOPED_TEXT(exposed, 1024);
    zd_response_add_exposed(&exposed);
    ck_assert_str_eq(exposed.at,
        "ETag, Content-Range, Content-Length, Content-Encoding, Accept-Ranges, Last-Modified, "
        "Date, Retry-After, RateLimit, RateLimit-Policy, Server-Timing, X-Request-Id, Zarr-Shape, "
        "Zarr-Dtype, Zarr-Data-Type, "
        "Zarr-Dimensions, Zarr-Selection, Zarr-Fill-Value, Zarr-Chunks, Zarr-Chunk, Zarr-Codecs, "
        "Zarr-Origin, Zarr-Level, Zarr-Range, Zarr-Units, Zarr-Warning");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, every_header_of_an_answer_has_a_row, 0, ZD_COUNT_OF(requests));
    tcase_add_test(tests, names_are_case_insensitive_and_unknown_ones_have_no_row);
    tcase_add_test(tests, browsers_may_read_what_is_ours);
}
