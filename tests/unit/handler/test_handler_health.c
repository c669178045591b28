/* server/handler/handler_health, request/route: every answer tells that the sync of a store has
 * failed. */
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "server/data/catalog.h"
#include "tests/support/serve.h"
#include "tests/support/unit.h"

#define REASON "fsync: Input/output error"
#define CONFIG                                                                                     \
    "{\"datasets\": {\"a\": {\"location\": \"mem:\", "                                             \
    "\"writable\": true},"                                                                         \
    " \"b\": {\"location\": \"mem:\", \"writable\": true}}}"

#define END       " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define GET(path) "GET " path END "\r\n"
#define PUT(path) "PUT " path END "Content-Length: 1\r\n\r\nx"

static const struct {
    const char *request;
    unsigned before;
    unsigned after;
    const char *told; /* in the answer, afterwards */
} facts[] = {
    {GET("/readyz"), 200, 503, "dataset 'a' stopped accepting writes after a failed sync: " REASON},
    {GET("/livez"), 200, 200, "alive"},
    {GET("/v1/datasets/a"), 200, 200, "\"writable\":false,\"failure\":\"" REASON "\""},
    {GET("/v1/datasets/b"), 200, 200, "\"writable\":true,\"immutable\""},
    {PUT("/zarr/a/k"), 200, 405, REASON}, {PUT("/zarr/b/k"), 200, 200, ""},
    {"DELETE /zarr/a/k" END "\r\n", 204, 405, "\"code\":\"read_only\""},
    {"DELETE /zarr/a/k" END "\r\n", 204, 405, "Allow: GET, HEAD, OPTIONS\r\n"},
    {GET("/zarr/a/other"), 404, 404, "key_not_found"}, /* what is there is read all the same */
};

static void ask(struct zd_test_serve *serve, const char *request, unsigned status, const char *told)
{
    struct zd_test_answer answer;
    zd_test_serve_ask(serve, request, &answer);
    ck_assert_msg(answer.status == status, "%.40s: %s", request, answer.bytes);
    ck_assert_msg(strstr(answer.bytes, told) != NULL, "%.40s: %s", request, answer.bytes);
    zd_test_answer_done(&answer);
}

START_TEST(a_store_that_takes_no_writes_any_more_is_told)
{
    struct zd_test_serve serve;
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    ask(&serve, facts[_i].request, facts[_i].before, "");
    zd_store_stop_writes(serve.server->dataset[0]->store, REASON);
    ask(&serve, facts[_i].request, facts[_i].after, facts[_i].told);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_store_that_takes_no_writes_any_more_is_told, 0, ZD_COUNT_OF(facts));
}
