/* server/handler/handler_stats: what is counted, and what is answered without counting. */
#include <string.h>

#include "core/base/num.h"
#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "{\"datasets\": {\"m\": {\"location\": \"mem:\", \"writable\": true}}, \"limits\": "           \
    "{\"stats_bytes\": 1024}}"
#define DOCUMENT                                                                                   \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 1000], \"data_type\": "         \
    "\"uint8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": "     \
    "[2, 2]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, "               \
    "\"codecs\": [{\"name\": \"bytes\"}]}"
#define NODE   "/v1/datasets/m/nodes/a"
#define SLICES "/v1/datasets/m/slices/a"
#define STATS  "/v1/datasets/m/stats/a"

/* The corner of the array is [[1,2,3],[4,5,0]]; the rest is the fill value, 0. */
static void open_array(struct zd_test_serve *serve)
{
    ck_assert_int_eq(zd_test_serve_open(serve, CONFIG), ZD_OK);
    zd_fake_put(serve, NODE, "application/json", zd_span_of(DOCUMENT));
    zd_fake_put(
        serve, SLICES "?slice=0:2,0:3", "application/json", zd_span_of("[[1,2,3],[4,5,0]]"));
}

static const struct stats_fact {
    const char *query;
    unsigned http_status;
    const char *answer; /* a part of the document */
} stats_facts[] = {
    {"?slice=0:2,0:2", 200, "\"count\":4,\"source\":\"computed\",\"min\":1,\"max\":5"},
    {"?slice=0:2,0:3", 200, "\"shape\":[2,3]"},
    {"?slice=0:2,0:3&fill=drop", 200, "\"count\":5,\"source\":\"computed\",\"min\":1,\"max\":5"},
    {"?slice=0:2,0:3", 200, "\"count\":6,\"source\":\"computed\",\"min\":0,\"max\":5"},
    {"?slice=0:2,0:3&fill=keep", 200, "\"count\":6,\"source\":\"computed\",\"min\":0,\"max\":5"},
    {"?slice=0:2,0:3&fields=mean,n_fill&fill=drop", 200, "\"mean\":3.0,\"n_fill\":1"},
    {"?slice=0:2,0:3&fields=mean,n_fill", 200, "\"mean\":2.5,\"n_fill\":1"},
    {"?slice=2:4,0:4", 200, "\"count\":8,\"source\":\"computed\",\"min\":0,\"max\":0"},
    {"?slice=2:4,0:4&fill=drop", 200,
        "\"count\":0,\"source\":\"computed\",\"min\":null,\"max\":null"},
    {"?slice=0:0,:", 200, "\"count\":0,\"source\":\"computed\",\"min\":null,\"max\":null"},
    {"", 413, "limits.stats_bytes is 1024"},
    {"?slice=5", 400, "out_of_bounds"},
    {"?fields=median", 400, "bad_parameter"},
    {"?fill=skip", 400, "bad_parameter"},
    {"?format=npy", 400, "unknown_parameter"},
};

START_TEST(selected_elements_are_counted)
{
    const struct stats_fact *fact = &stats_facts[_i];
    ZD_SCOPED_TEXT(target, 128);
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    zd_text_addf(&target, STATS "%s", fact->query);
    open_array(&serve);
    zd_fake_get(&exchange, &serve, target.at, NULL);
    ck_assert_uint_eq(exchange.http_status, fact->http_status);
    ck_assert_msg(strstr(exchange.answer.at, fact->answer) != NULL, "%s", exchange.answer.at);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(a_clients_own_share_is_not_counted_again)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    char etag[ZD_TAG_BYTES];
    open_array(&serve);
    zd_fake_get(&exchange, &serve, STATS "?slice=0:2,0:3", NULL);
    zd_fake_etag(&exchange, etag);
    zd_fake_done(&exchange);
    const struct zd_header same = {"If-None-Match", etag};
    zd_fake_get(&exchange, &serve, STATS "?slice=0:2,0:3", &same);
    ck_assert_uint_eq(exchange.http_status, 304);
    zd_fake_done(&exchange);
    zd_fake_put(&serve, SLICES "?slice=1,2", "application/json", zd_span_of("9"));
    zd_fake_get(&exchange, &serve, STATS "?slice=0:2,0:3", &same);
    ck_assert_uint_eq(exchange.http_status, 200);
    ck_assert_ptr_nonnull(strstr(exchange.answer.at, "\"max\":9"));
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, selected_elements_are_counted, 0, ZD_COUNT_OF(stats_facts));
    tcase_add_test(tests, a_clients_own_share_is_not_counted_again);
}
