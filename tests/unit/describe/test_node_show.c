/* server/describe/node_show: a node with its children, links and tag, as GET nodes answers it. */
#include "server/describe/node_show.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define CONFIG "{\"datasets\": {\"m\": {\"location\": \"mem:\", \"writable\": true}}}"
#define GROUP  "{\"zarr_format\": 3, \"node_type\": \"group\"}"
#define ARRAY                                                                                      \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"uint8\", "    \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2]}}, "         \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, \"codecs\": "             \
    "[{\"name\": \"bytes\"}]}"
#define NODES "/v1/datasets/m/nodes/"

static void open_nodes(struct zd_test_serve *serve)
{
    ck_assert_int_eq(zd_test_serve_open(serve, CONFIG), ZD_OK);
    zd_fake_put(serve, NODES, "application/json", zd_span_of(GROUP));
    zd_fake_put(serve, NODES "g", "application/json", zd_span_of(GROUP));
    zd_fake_put(serve, NODES "g/b", "application/json", zd_span_of(ARRAY));
    zd_fake_put(serve, NODES "g/a%20%C3%A9", "application/json", zd_span_of(GROUP));
}

static const struct show_fact {
    const char *target;
    const char *answer; /* a part of it */
} show_facts[] = {
    {NODES "g?fields=children", "\"children\":[{\"name\":\"a \xc3\xa9\",\"node_type\":\"group\"},"
                                "{\"name\":\"b\",\"node_type\":\"array\"}]"},
    {NODES "g/a%20%C3%A9?fields=children", "\"children\":[]"},
    {NODES "g/b?fields=path,node_type", "{\"path\":\"g/b\",\"node_type\":\"array\"}"},
    {NODES "g/b?fields=array.shape,array.n_bytes", "{\"array\":{\"shape\":[4],\"n_bytes\":4}}"},
    {NODES "g/b?fields=links",
        "{\"links\":{\"self\":\"/v1/datasets/m/nodes/g/b\",\"tree\":\"/v1/datasets/m/tree/g/b\","
        "\"slices\":\"/v1/datasets/m/slices/g/b\",\"chunks\":\"/v1/datasets/m/chunks/g/b\","
        "\"keys\":\"/zarr/m/g/b\",\"parent\":\"/v1/datasets/m/nodes/g\"}}"},
    {NODES "g/a%20%C3%A9?fields=links.self",
        "{\"links\":{\"self\":\"/v1/datasets/m/nodes/g/a%20%C3%A9\"}}"},
    {NODES "?fields=links.parent", "{\"links\":{}}"}, /* the root has none */
};

START_TEST(fields_choose_what_is_shown)
{
    const struct show_fact *fact = &show_facts[_i];
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    open_nodes(&serve);
    zd_fake_get(&exchange, &serve, fact->target, NULL);
    ck_assert_uint_eq(exchange.http_status, 200);
    ck_assert_msg(strstr(exchange.answer.at, fact->answer) != NULL, "%s", exchange.answer.at);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

/* The tag of a node's answer. */
static void read_tag(const struct zd_test_serve *serve, const char *target, char to[ZD_TAG_BYTES])
{
    struct zd_fake_exchange exchange;
    zd_fake_get(&exchange, serve, target, NULL);
    zd_fake_etag(&exchange, to);
    zd_fake_done(&exchange);
}

START_TEST(the_tag_covers_the_children_that_are_shown)
{
    struct zd_test_serve serve;
    char tag[4][ZD_TAG_BYTES];
    open_nodes(&serve);
    read_tag(&serve, NODES "g", tag[0]);
    read_tag(&serve, NODES "g?fields=metadata", tag[1]);
    zd_fake_put(&serve, NODES "g/c", "application/json", zd_span_of(GROUP));
    read_tag(&serve, NODES "g", tag[2]);
    read_tag(&serve, NODES "g?fields=metadata", tag[3]);
    ck_assert_str_ne(tag[0], tag[2]);
    ck_assert_str_eq(tag[1], tag[3]);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, fields_choose_what_is_shown, 0, ZD_COUNT_OF(show_facts));
    tcase_add_test(tests, the_tag_covers_the_children_that_are_shown);
}
