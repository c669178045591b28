/* Targets to routes, and to a route's answer or the problem that it is, fact by fact. */
#include "server/request/route.h"

#include <string.h>

#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

static const struct zd_route datasets[] = {
    {.method = "GET", .path = "/v1/datasets"},
    {.method = "GET", .path = "/v1/datasets/{d}"},
};
static const struct zd_route nodes[] = {
    {.method = "GET", .path = "/v1/datasets/{d}/nodes/{path}"},
    {.method = "PUT", .path = "/v1/datasets/{d}/nodes/{path}", .scope = ZD_SCOPE_WRITE},
};
static const struct zd_route keys[] = {
    {.method = "GET", .path = "/zarr/{d}/{key}", .collapse_slashes = true},
};
static const struct zd_handler handler_datasets = {datasets, ZD_COUNT_OF(datasets)};
static const struct zd_handler handler_nodes = {nodes, ZD_COUNT_OF(nodes)};
static const struct zd_handler handler_keys = {keys, ZD_COUNT_OF(keys)};
static const struct zd_handler *const handlers[] = {
    &handler_datasets, &handler_nodes, &handler_keys, NULL};

static const struct {
    const char *method;
    const char *path;
    enum zd_route_answer answer;
    uint32_t number;
    const char *dataset;
    const char *rest;
    bool ends_in_slash;
} routes[] = {
    {"GET", "/v1/datasets", ZD_ROUTE_FOUND, 1, "", "", false},
    {"HEAD", "/v1/datasets", ZD_ROUTE_FOUND, 1, "", "", false},
    {"GET", "/v1/datasets/era", ZD_ROUTE_FOUND, 2, "era", "", false},
    {"GET", "/v1/datasets/era/nodes", ZD_ROUTE_FOUND, 3, "era", "", false},
    {"GET", "/v1/datasets/era/nodes/", ZD_ROUTE_FOUND, 3, "era", "", true},
    {"GET", "/v1/datasets/era/nodes/a/b", ZD_ROUTE_FOUND, 3, "era", "a/b", false},
    {"GET", "/v1/datasets/era/nodes/a/b/", ZD_ROUTE_FOUND, 3, "era", "a/b", true},
    {"PUT", "/v1/datasets/era/nodes/a", ZD_ROUTE_FOUND, 4, "era", "a", false},
    {"GET", "/zarr/era", ZD_ROUTE_FOUND, 5, "era", "", false},
    {"GET", "/zarr/era/", ZD_ROUTE_FOUND, 5, "era", "", true},
    {"GET", "/zarr/era///", ZD_ROUTE_FOUND, 5, "era", "", true},
    {"GET", "/zarr/era//a///b", ZD_ROUTE_FOUND, 5, "era", "a/b", false}, /* R4 */
    {"GET", "/zarr/era/a//", ZD_ROUTE_FOUND, 5, "era", "a", true},
    {"POST", "/v1/datasets", ZD_ROUTE_METHOD, 0, NULL, NULL, false},
    {"get", "/v1/datasets", ZD_ROUTE_METHOD, 0, NULL, NULL, false}, /* methods have a case */
    {"DELETE", "/zarr/era/x", ZD_ROUTE_METHOD, 0, NULL, NULL, false},
    {"GET", "/", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/", ZD_ROUTE_FOUND, 1, "", "", false}, /* one slash changes nothing */
    {"GET", "/v1/datasets/era/", ZD_ROUTE_FOUND, 2, "era", "", false},
    {"POST", "/v1/datasets/era/", ZD_ROUTE_METHOD, 0, NULL, NULL, false},
    {"GET", "/v1/datasets//", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/era//", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
    {"GET", "/v1/dataset", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/v1/datasetsx", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/era/node", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/era/nodesx", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/zarr", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/zarr/", ZD_ROUTE_UNKNOWN, 0, NULL, NULL, false},
    {"GET", "/zarr//era", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
    {"GET", "//v1", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/era/nodes//a", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/era/nodes/a//b", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
    {"GET", "/v1/datasets/era/nodes/a//", ZD_ROUTE_BAD_SLASHES, 0, NULL, NULL, false},
};

START_TEST(paths_lead_to_routes)
{
    ZD_SCOPED_TEXT(path, 256);
    zd_text_add(&path, routes[_i].path);
    struct zd_match match = {0};
    const enum zd_route_answer answer = zd_route_find(handlers, routes[_i].method, path.at, &match);
    ck_assert_msg(answer == routes[_i].answer, "%s: %d", routes[_i].path, (int)answer);
    if (answer == ZD_ROUTE_FOUND) {
        ck_assert_uint_eq(match.number, routes[_i].number);
        ck_assert(zd_route_of(handlers, match.number) == match.route);
        ck_assert(zd_span_is(match.dataset, routes[_i].dataset));
        ck_assert_str_eq(match.path, routes[_i].rest);
        ck_assert_msg(match.ends_in_slash == routes[_i].ends_in_slash, "%s", routes[_i].path);
    }
}
END_TEST

START_TEST(allow_lists_every_method_of_a_path)
{
    ZD_SCOPED_TEXT(allow, 256);
    zd_route_allow(handlers, &nodes[0], true, &allow);
    ck_assert_str_eq(allow.at, "GET, HEAD, PUT, OPTIONS");
    zd_text_clear(&allow);
    zd_route_allow(handlers, &nodes[0], false, &allow);
    ck_assert_str_eq(allow.at, "GET, HEAD, OPTIONS");
}
END_TEST

START_TEST(route_numbers_past_the_end_are_none)
{
    ck_assert_ptr_null(zd_route_of(handlers, 0));
    ck_assert_ptr_null(zd_route_of(handlers, 6));
    ck_assert_ptr_null(zd_route_of(handlers, UINT32_MAX));
}
END_TEST

static const struct {
    const char *target;
    const char *path;
    const char *query;
} targets[] = {
    {"/a?b=c", "/a", "b=c"},
    {"/a", "/a", ""},
    {"/a?", "/a", ""},
    {"/a?b?c", "/a", "b?c"},
    {"http://host:80/a/b?c", "/a/b", "c"}, /* RFC 9112, 3.2.2 */
    {"HTTPS://host", "/", ""},
    {"http://host?q", "/", "q"},
    {"*", "*", ""},
    {"", "", ""},
};

START_TEST(targets_have_a_path_and_a_query)
{
    struct zd_span query;
    const struct zd_span path = zd_route_path(targets[_i].target, &query);
    ck_assert_msg(zd_span_is(path, targets[_i].path), "%s", targets[_i].target);
    ck_assert_msg(zd_span_is(query, targets[_i].query), "%s", targets[_i].target);
}
END_TEST

static const struct {
    const char *raw;
    enum zd_status status;
} decodings[] = {
    {"/", ZD_OK},
    {"/a/.zarray", ZD_OK},
    {"/a/...", ZD_OK},
    {"/a/..b", ZD_OK},
    {"/a/.", ZD_INVALID},
    {"/./a", ZD_INVALID},
    {"/a/..", ZD_INVALID},
    {"/a/../b", ZD_INVALID},
    {"/a/%2e%2E/b", ZD_INVALID},
    {"/a/.%2e", ZD_INVALID},
    {"*", ZD_INVALID},
    {"a", ZD_INVALID},
    {"", ZD_INVALID},
    {"/a%2fb", ZD_INVALID},
};

START_TEST(paths_without_dot_segments_are_decoded)
{
    ZD_SCOPED_TEXT(path, 256);
    struct zd_error err = {0};
    const enum zd_status status = zd_route_decode(zd_span_of(decodings[_i].raw), &path, &err);
    ck_assert_msg(status == decodings[_i].status, "%s: %s", decodings[_i].raw, err.text);
}
END_TEST

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
    ck_assert(zd_route_begin(req));
    ck_assert(req->route->streams_body);
    ck_assert(req->step != NULL && req->step != zd_route_dispatch);
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

START_TEST(every_route_has_a_scope)
{
    uint32_t n_open = 0;
    for (uint32_t i = 1; i <= zd_route_count(zd_handlers); i++) {
        const struct zd_route *route = zd_route_of(zd_handlers, i);
        const bool is_get = strcmp(route->method, "GET") == 0;
        ck_assert_msg(
            route->scope != ZD_SCOPE_UNSAID, "%s %s has none", route->method, route->path);
        ck_assert_msg(!(is_get && route->scope == ZD_SCOPE_WRITE), "GET %s writes", route->path);
        ck_assert_msg(
            is_get || route->scope == ZD_SCOPE_WRITE || strcmp(route->method, "POST") == 0,
            "%s %s does not write", route->method, route->path);
        n_open += route->scope == ZD_SCOPE_NONE ? 1 : 0;
    }
    ck_assert_uint_eq(n_open, 10); /* health, and pages without data */
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, every_route_has_a_scope);
    tcase_add_loop_test(tests, paths_lead_to_routes, 0, ZD_COUNT_OF(routes));
    tcase_add_test(tests, allow_lists_every_method_of_a_path);
    tcase_add_test(tests, route_numbers_past_the_end_are_none);
    tcase_add_loop_test(tests, targets_have_a_path_and_a_query, 0, ZD_COUNT_OF(targets));
    tcase_add_loop_test(tests, paths_without_dot_segments_are_decoded, 0, ZD_COUNT_OF(decodings));
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_target_leads_to_its_answer, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_streamed_route_is_found_once);
    tcase_add_test(tests, options_name_the_methods_of_the_path);
}
