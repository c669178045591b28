/* server/front/reply_cache: which requests share a prepared answer. */
#include "server/front/reply_cache.h"

#include <microhttpd.h>
#include <string.h>

#include "server/config/config.h"
#include "server/front/exchange.h"
#include "server/front/response.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/runtime/server.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000
#define TARGET  "/v1/datasets/d/nodes/a"

static const struct zd_route shared = {.method = "GET", .path = "/v1/shared"};
static const struct zd_route own = {
    .method = "GET", .path = "/v1/own", .depends_on_identity = true};

static struct zd_identity ada = {.refs = 1, .number = 1, .name = "ada"};
static struct zd_identity bob = {.refs = 1, .number = 2, .name = "ada"}; /* of another credential */

struct bench {
    uv_loop_t loop;
    struct zd_config config;
    struct zd_server server;
    struct zd_front front;
};

static void open_bench(struct bench *bench)
{
    *bench = (struct bench){0};
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    zd_unit_config(&bench->config);
    bench->server.config = &bench->config;
    bench->server.loop = &bench->loop;
    zd_list_init(&bench->server.caches);
    bench->server.front = &bench->front;
    bench->front.server = &bench->server;
    zd_reply_cache_init(&bench->front, 1 << 20);
    ck_assert_int_eq(zd_response_init(&bench->front, NULL), ZD_OK);
}

static void close_bench(struct bench *bench)
{
    zd_cache_done(&bench->front.prepared);
    zd_response_done(&bench->front);
    zd_config_done(&bench->config);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
}

static void begin(struct bench *bench, struct zd_exchange *exchange, struct zd_identity *identity)
{
    *exchange = (struct zd_exchange){.front = &bench->front};
    struct zd_request *req = &exchange->request;
    zd_request_init(req, &bench->server, &exchange->memory.path);
    zd_text_init(&exchange->memory.target, 100);
    zd_text_init(&exchange->memory.reason, 100);
    zd_text_add(&exchange->memory.target, TARGET);
    req->target = exchange->memory.target.at;
    req->method = "GET";
    req->id = "0123456789abcdef";
    req->identity = identity;
}

static void end(struct zd_exchange *exchange)
{
    zd_reply_cache_release(&exchange->request);
    zd_exchange_drop_response(exchange);
    zd_text_done(&exchange->memory.target);
    zd_text_done(&exchange->memory.reason);
}

/* The handler of that route answers a first request. */
static void put(struct bench *bench, const struct zd_route *route, struct zd_identity *identity)
{
    struct zd_exchange exchange;
    begin(bench, &exchange, identity);
    ZD_AUTO(zd_buf) body = zd_buf_copy(zd_span_of("elements"));
    const struct zd_representation rep = {.body = body,
        .etag = "\"tag\"",
        .accepts_ranges = true,
        .keep_until_ms = uv_now(&bench->loop) + LONG_MS};
    exchange.request.route = route;
    ck_assert(zd_reply_cache_take(&exchange.request, &rep));
    ck_assert_int_eq(exchange.request.step(&exchange.request), ZD_DONE);
    ck_assert_uint_eq(exchange.now.access.http_status, 200);
    end(&exchange);
}

/* The status of the prepared answer; 0: there is none. */
static unsigned status_of(
    struct bench *bench, struct zd_identity *identity, const char *if_none_match)
{
    struct zd_exchange exchange;
    begin(bench, &exchange, identity);
    exchange.request.conditions.if_none_match = if_none_match;
    const bool is_answered = zd_reply_cache_answer(&exchange.request);
    ck_assert_int_eq(is_answered, exchange.now.response != NULL);
    const unsigned status = exchange.now.access.http_status;
    end(&exchange);
    return status;
}

START_TEST(an_answer_is_prepared_once_for_its_target)
{
    struct bench bench;
    open_bench(&bench);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 0);
    put(&bench, &shared, NULL);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 200);
    ck_assert_uint_eq(status_of(&bench, NULL, "\"tag\""), 304);
    close_bench(&bench);
}
END_TEST

START_TEST(all_clients_share_what_depends_on_none_of_them)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, &shared, &ada);
    ck_assert_uint_eq(status_of(&bench, &ada, NULL), 200);
    ck_assert_uint_eq(status_of(&bench, &bob, NULL), 200);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 200);
    close_bench(&bench);
}
END_TEST

START_TEST(nobody_else_gets_what_depends_on_the_client)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, &own, &ada);
    ck_assert_uint_eq(status_of(&bench, &ada, NULL), 200);
    ck_assert_uint_eq(status_of(&bench, &bob, NULL), 0);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 0);
    put(&bench, &own, NULL);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 200);
    ck_assert_uint_eq(status_of(&bench, &bob, NULL), 0);
    close_bench(&bench);
}
END_TEST

static void set_range(struct zd_exchange *exchange, struct zd_representation *rep)
{
    exchange->request.conditions.range = "bytes=0-3";
    rep->body_is_range = true;
    rep->length = 100;
    rep->range_len = rep->body->len;
}

/* Whether an answer is prepared while no memory is there for its key. */
static void put_without_key(struct bench *bench, const struct zd_route *route, bool is_part)
{
    struct zd_exchange exchange;
    begin(bench, &exchange, &ada);
    ZD_AUTO(zd_buf) body = zd_buf_copy(zd_span_of("elements"));
    struct zd_representation rep = {.body = body,
        .etag = "\"tag\"",
        .accepts_ranges = true,
        .keep_until_ms = uv_now(&bench->loop) + LONG_MS};
    exchange.request.route = route;
    if (is_part) {
        set_range(&exchange, &rep);
    }
    zd_text_done(&bench->front.scratch);
    zd_text_init(
        &bench->front.scratch, strlen(TARGET)); /* the target fits, what follows does not */
    ck_assert(zd_reply_cache_take(&exchange.request, &rep));
    ck_assert_int_eq(exchange.request.step(&exchange.request), ZD_DONE);
    end(&exchange);
    zd_text_done(&bench->front.scratch);
    zd_text_init(&bench->front.scratch, 1 << 20);
}

START_TEST(an_answer_whose_key_does_not_fit_is_not_kept)
{
    struct bench bench;
    open_bench(&bench);
    put_without_key(&bench, &own, false);
    ck_assert_uint_eq(status_of(&bench, &bob, NULL), 0);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 0);
    put_without_key(&bench, &shared, true);
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 0);
    ck_assert_uint_eq(bench.front.prepared.map.n_entries, 0);
    close_bench(&bench);
}
END_TEST

START_TEST(a_request_counts_as_one_miss)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, &own, &ada);
    const uint64_t n_misses = bench.front.prepared.n_misses;
    ck_assert_uint_eq(status_of(&bench, &bob, NULL), 0);
    ck_assert_uint_eq(bench.front.prepared.n_misses, n_misses + 1);
    const uint64_t n_hits = bench.front.prepared.n_hits;
    ck_assert_uint_eq(status_of(&bench, &ada, NULL), 200);
    ck_assert_uint_eq(bench.front.prepared.n_hits, n_hits + 1);
    ck_assert_uint_eq(bench.front.prepared.n_misses, n_misses + 1);
    close_bench(&bench);
}
END_TEST

/* The headers of an immutable dataset's answer. */
static void check_headers(const struct zd_route *route, const char *control, const char *vary)
{
    struct bench bench;
    open_bench(&bench);
    struct zd_dataset dataset = {.config = {.immutable = true}};
    struct zd_exchange exchange;
    begin(&bench, &exchange, &ada);
    exchange.request.route = route;
    exchange.request.dataset = &dataset;
    const struct zd_representation rep = {.media_type = "application/json"};
    (void)zd_dependence_accept(&exchange.request);
    struct MHD_Response *response = zd_response_prepare(&exchange.request, &rep);
    ck_assert_str_eq(MHD_get_response_header(response, "Cache-Control"), control);
    ck_assert_str_eq(MHD_get_response_header(response, "Vary"), vary);
    MHD_destroy_response(response);
    end(&exchange);
    close_bench(&bench);
}

START_TEST(no_proxy_shares_what_depends_on_the_client)
{
    check_headers(&own, "private, no-cache", "Accept, Accept-Encoding");
    check_headers(&shared, "public, max-age=31536000, immutable", "Accept, Accept-Encoding");
}
END_TEST

START_TEST(a_server_that_shuts_down_gives_no_prepared_answer)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, &shared, NULL);
    bench.server.is_draining = true;
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 0);
    bench.server.is_draining = false;
    ck_assert_uint_eq(status_of(&bench, NULL, NULL), 200);
    close_bench(&bench);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, an_answer_is_prepared_once_for_its_target);
    tcase_add_test(tests, all_clients_share_what_depends_on_none_of_them);
    tcase_add_test(tests, nobody_else_gets_what_depends_on_the_client);
    tcase_add_test(tests, an_answer_whose_key_does_not_fit_is_not_kept);
    tcase_add_test(tests, a_request_counts_as_one_miss);
    tcase_add_test(tests, no_proxy_shares_what_depends_on_the_client);
    tcase_add_test(tests, a_server_that_shuts_down_gives_no_prepared_answer);
}
