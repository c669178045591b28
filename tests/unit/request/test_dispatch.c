/* server/request/dispatch: from a target to a route's answer, or to the problem that it is. */
#include "server/request/dispatch.h"

#include <string.h>

#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "{\"datasets\": {\"codecs\": {\"location\": \"" ZD_BINARY_DIR                                  \
    "/corpus/stores/v3/codecs\"}, \"m\": {\"location\": \"mem:\", \"writable\": true}}}"

static const struct {
    const char *method;
    const char *target;
    unsigned status;
    const char *told; /* in the answer or the problem */
} facts[] = {
    {"GET", "/v1/limits", 200, "\"limits\""},
    {"HEAD", "/v1/limits", 200, ""},
    {"GET", "http://host/v1/limits", 200, "\"limits\""}, /* RFC 9112, 3.2.2 */
    {"GET", "/v1/limts", 404, "did you mean '/v1/limits'?"},
    {"GET", "/v1/limits?prety=1", 400, "did you mean 'pretty'?"},
    {"GET", "/v1/limits?pretty=2", 400, "pretty"},
    {"POST", "/v1/limits", 405, "method POST is not allowed here"},
    {"GET", "/v1//limits", 400, "empty segment"},
    {"GET", "/v1/../limits", 400, "'.' or '..' segment"},
    {"GET", "/v1/datasets/codec", 404, "did you mean 'codecs'?"},
    {"GET", "/v1/datasets/codecs/nodes/none", 404, "has no node at 'none'"},
    {"GET", "/v1/datasets/codecs/nodes/gzip_6", 200, "\"gzip\""},
    {"PUT", "/v1/datasets/codecs/nodes/x", 405, "is read-only; start with --writable"},
    {"PUT", "/zarr/m/k", 200, ""},
    {"OPTIONS", "/v1/limits", 204, ""},
};

START_TEST(a_target_leads_to_its_answer)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    zd_fake_init(&exchange, &serve, facts[_i].method, facts[_i].target);
    zd_fake_run(&exchange);
    const char *told = exchange.code[0] != '\0' ? exchange.reason.at : exchange.answer.at;
    ck_assert_msg(exchange.http_status == facts[_i].status, "%s: %u %s", facts[_i].target,
        exchange.http_status, told);
    ck_assert_msg(facts[_i].told[0] == '\0' || strstr(told, facts[_i].told) != NULL, "%s: %s",
        facts[_i].target, told);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(a_streamed_route_is_found_once)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    zd_fake_init(&exchange, &serve, "PUT", "/zarr/m/k");
    struct zd_request *req = &exchange.request;
    ck_assert(zd_dispatch_route(req));
    ck_assert(req->route->streams_body);
    ck_assert(req->step != NULL && req->step != zd_dispatch);
    ck_assert_str_eq(req->path, "k");
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(options_name_the_methods_of_the_path)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    zd_fake_init(&exchange, &serve, "OPTIONS", "/v1/limits");
    zd_fake_run(&exchange);
    ck_assert(zd_fake_has(&exchange, "Allow", "GET, HEAD, OPTIONS"));
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_target_leads_to_its_answer, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_streamed_route_is_found_once);
    tcase_add_test(tests, options_name_the_methods_of_the_path);
}
