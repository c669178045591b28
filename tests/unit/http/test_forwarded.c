/* What proxies say of the client behind them. 10.0.0.0/8 and ::1 are trusted; 10.0.0.1 sent it. */
#include "server/http/forwarded.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/text.h"
#include "tests/support/unit.h"

#define TRUSTED "10.0.0.0/8 ::1"
#define PROXY   "10.0.0.1"

static struct zd_networks trusted;
static struct zd_networks_ip proxy;

static void setup(void)
{
    ck_assert_int_eq(zd_networks_init(TRUSTED, &trusted, NULL), ZD_OK);
    ck_assert(zd_networks_parse_ip(PROXY, strlen(PROXY), &proxy));
}

static void teardown(void)
{
    zd_networks_done(&trusted);
}

static const struct {
    const char *forwarded;
    const char *x_for;
    const char *client;
} clients[] = {
    {"", "", PROXY},
    {"for=192.0.2.1", "", "192.0.2.1"},
    {"For=\"192.0.2.1\"", "", "192.0.2.1"},
    {"for=\"192.0.2.1:4711\"", "", "192.0.2.1"},
    {"for=192.0.2.1:4711", "", "192.0.2.1"}, /* a colon needs quotes, and is written without */
    {"for=\"[2001:db8::1]\"", "", "2001:db8::1"},
    {"for=\"[2001:db8::1]:4711\";proto=https", "", "2001:db8::1"},
    {"for=\"[::ffff:192.0.2.1]\"", "", "192.0.2.1"},
    {"for=\"2001:db8::1\"", "", "2001:db8::1"}, /* brackets belong to it */
    {"by=10.0.0.1; FOR=192.0.2.1 ;proto=http", "", "192.0.2.1"},
    /* the right-most that is not trusted */
    {"for=198.51.100.1, for=192.0.2.1", "", "192.0.2.1"},
    {"for=198.51.100.1, for=192.0.2.1, for=10.0.0.2", "", "192.0.2.1"},
    {"for=198.51.100.1,for=192.0.2.1,for=\"[::1]\",for=10.0.0.2", "", "192.0.2.1"},
    {"for=10.0.0.3, for=10.0.0.2", "", "10.0.0.3"}, /* of trusted ones the left-most */
    /* what a client wrote does not reach past what its proxy added */
    {"for=\"x, for=192.0.2.1", "", "192.0.2.1"},
    {"for=\"x\\\", for=192.0.2.1", "", "192.0.2.1"},
    {"\x01\xff;;;===, for=192.0.2.1", "", "192.0.2.1"},
    /* what ends the search: the proxy that wrote it */
    {"for=unknown", "", PROXY},
    {"for=_hidden", "", PROXY},
    {"for=\"_SEVKISEK\", for=10.0.0.2", "", "10.0.0.2"},
    {"for=192.0.2.1, for=unknown", "", PROXY},
    {"for=192.0.2.1,", "", PROXY},
    {"for=192.0.2.1, ", "", PROXY},
    {",", "", PROXY},
    {"for=", "", PROXY},
    {"for", "", PROXY},
    {"for=\"\"", "", PROXY},
    {"for=\"", "", PROXY},
    {"for=\"192.0.2.1", "", PROXY},
    {"for=192.0.2.1\"", "", PROXY},
    {"for=192.0.2.1;for=192.0.2.1", "", PROXY},
    {"for=192.0.2.1;proto=https;proto=http", "", PROXY},
    {"proto=https", "", PROXY},
    {"for=192.0.2.1 for=192.0.2.2", "", PROXY},
    {"for=[2001:db8::1", "", PROXY},
    {"for=\"[2001:db8::1]x\"", "", PROXY},
    {"for=\"[192.0.2.1]\"", "", PROXY},
    {"for=192.0.2.1:65536", "", PROXY},
    {"for=192.0.2.1:x", "", PROXY},
    {"for=client.example", "", PROXY},
    /* X-Forwarded-For */
    {"", "192.0.2.1", "192.0.2.1"},
    {"", "192.0.2.1:80", "192.0.2.1"},
    {"", "2001:db8::1", "2001:db8::1"},
    {"", "[2001:db8::1]:80", "2001:db8::1"},
    {"", "::ffff:192.0.2.1", "192.0.2.1"},
    {"", "198.51.100.1, 192.0.2.1", "192.0.2.1"},
    {"", "198.51.100.1,\t192.0.2.1 , 10.0.0.2", "192.0.2.1"},
    {"", "10.0.0.3,10.0.0.2", "10.0.0.3"},
    {"", "10.0.0.9, unknown, 10.0.0.2", "10.0.0.2"},
    {"", "192.0.2.1,", PROXY},
    {"", "\"192.0.2.1\"", PROXY},
    {"", "for=192.0.2.1", PROXY},
    {"", ",,,,", PROXY},
    {"", "<script>", PROXY},
    /* both */
    {"for=192.0.2.1", "192.0.2.1", "192.0.2.1"},
    {"for=192.0.2.1", "192.0.2.2", PROXY},
    {"for=192.0.2.1", "unknown", PROXY},
    {"for=_x", "192.0.2.2", PROXY},
};

static struct zd_forwarded read_all(const struct zd_forwarded_fields *fields)
{
    return zd_forwarded_read(fields, &proxy, &trusted);
}

START_TEST(the_client_is_the_rightmost_that_is_not_trusted)
{
    const struct zd_forwarded_fields fields = {
        .forwarded = zd_span_of(clients[_i].forwarded), .x_for = zd_span_of(clients[_i].x_for)};
    const struct zd_forwarded said = read_all(&fields);
    char name[ZD_NETWORKS_IP_TEXT_BYTES];
    ck_assert_msg(strcmp(zd_networks_name_ip(&said.client, name), clients[_i].client) == 0,
        "'%s' and '%s': %s", clients[_i].forwarded, clients[_i].x_for, name);
}
END_TEST

static const struct {
    const char *forwarded;
    const char *x_proto;
    const char *x_host;
    const char *proto;
    const char *host;
} ways[] = {
    {"", "", "", "", ""},
    {"", "https", "data.example", "https", "data.example"},
    {"", "HTTPS", "Data.Example:8443", "HTTPS", "Data.Example:8443"},
    {"", "http, https", "a.example, b.example", "https", "b.example"},
    {"", "https,", "a.example,", "", ""},
    {"", "ftp", "", "", ""},
    {"", "https://", "", "", ""},
    {"", "", "[::1]:80", "", "[::1]:80"},
    {"", "", "[::1", "", ""},
    {"", "", "[evil.example]", "", ""},
    {"", "", "a.example:", "", "a.example:"},
    {"", "", ":80", "", ""},
    {"", "", "a.example:80:80", "", ""},
    {"", "", "a.example/evil", "", ""},
    {"", "", "a.example\\evil", "", ""},
    {"", "", "me@a.example", "", ""},
    {"", "", "a.example\"", "", ""},
    {"", "", "a b", "", ""},
    {"", "", "a\x7f", "", ""},
    {"", "", "\xc3\xa4.example", "", ""},
    {"for=192.0.2.1;proto=https;host=a.example", "", "", "https", "a.example"},
    {"for=192.0.2.1;host=\"a.example:80\";proto=http", "", "", "http", "a.example:80"},
    {"for=192.0.2.1;proto=https;host=a.example", "http", "b.example", "https", "a.example"},
    {"for=192.0.2.1;proto=https", "http", "b.example", "https", "b.example"},
    {"for=192.0.2.1;proto=x;host=\"a/b\"", "", "", "", ""},
    {"for=_x;proto=https;host=a.example", "", "", "https", "a.example"}, /* its proxy is trusted */
    {"proto=http;host=evil, for=192.0.2.1;proto=https;host=a.example", "", "", "https",
        "a.example"},
    {"for=192.0.2.1;proto=https;host=a.example, for=10.0.0.2;proto=http;host=inner", "", "",
        "https", "a.example"},
    {"for=192.0.2.1, for=10.0.0.2;host=inner", "", "", "", "inner"},
};

START_TEST(proxies_say_how_they_were_asked)
{
    const struct zd_forwarded_fields fields = {
        .forwarded = zd_span_of(ways[_i].forwarded),
        .x_proto = zd_span_of(ways[_i].x_proto),
        .x_host = zd_span_of(ways[_i].x_host),
    };
    const struct zd_forwarded said = read_all(&fields);
    ck_assert(zd_span_is(said.proto, ways[_i].proto));
    ck_assert(zd_span_is(said.host, ways[_i].host));
}
END_TEST

START_TEST(a_contradiction_says_nothing_but_the_prefix)
{
    const struct zd_forwarded_fields fields = {
        .forwarded = zd_span_of("for=192.0.2.1;proto=https;host=evil.example"),
        .x_for = zd_span_of("192.0.2.2"),
        .x_proto = zd_span_of("https"),
        .x_host = zd_span_of("a.example"),
        .x_prefix = zd_span_of("/data"),
    };
    const struct zd_forwarded said = read_all(&fields);
    ck_assert_uint_eq(said.proto.len + said.host.len, 0);
    ck_assert(zd_span_is(said.prefix, "/data"));
}
END_TEST

static const struct {
    const char *x_prefix;
    const char *prefix;
} prefixes[] = {
    {"/data", "/data"},
    {"/data/", "/data"},
    {"/a/b-c_d.e~f", "/a/b-c_d.e~f"},
    {"/x, /data", "/data"},
    {"", ""},
    {"/", ""},
    {"//", ""},
    {"data", ""},
    {"//evil.example", ""},
    {"/a//b", ""},
    {"/a//", ""},
    {"/..", ""},
    {"/a/./b", ""},
    {"/a/../b", ""},
    {"https://evil.example/", ""},
    {"/\\evil.example", ""},
    {"/a?b", ""},
    {"/a#b", ""},
    {"/a b", ""},
    {"/%2e%2e", ""},
    {"/<script>", ""},
    {"/a\"b", ""},
    {"/\xc3\xa4", ""},
};

START_TEST(a_prefix_is_a_path)
{
    const struct zd_forwarded_fields fields = {.x_prefix = zd_span_of(prefixes[_i].x_prefix)};
    const struct zd_forwarded said = read_all(&fields);
    ck_assert_msg(zd_span_is(said.prefix, prefixes[_i].prefix), "'%s'", prefixes[_i].x_prefix);
}
END_TEST

static void add_many(struct zd_text *list, size_t n, const char *element)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(zd_text_addf(list, "%s%s", i == 0 ? "" : ", ", element), ZD_OK);
    }
}

START_TEST(long_lists_are_read_from_their_end)
{
    ZD_SCOPED_TEXT(list, 1U << 16);
    add_many(&list, 1000, "for=203.0.113.7");
    zd_text_add(&list, ", for=192.0.2.1, for=10.0.0.2");
    struct zd_forwarded_fields fields = {.forwarded = zd_text_span(&list)};
    char name[ZD_NETWORKS_IP_TEXT_BYTES];
    struct zd_forwarded said = read_all(&fields);
    ck_assert_str_eq(zd_networks_name_ip(&said.client, name), "192.0.2.1");
    /* Of trusted ones so many count. */
    zd_text_clear(&list);
    zd_text_add(&list, "for=192.0.2.1, ");
    ZD_SCOPED_TEXT(trust, 1U << 16);
    add_many(&trust, 1000, "for=10.0.0.2");
    zd_text_add(&list, trust.at);
    fields.forwarded = zd_text_span(&list);
    said = read_all(&fields);
    ck_assert_str_eq(zd_networks_name_ip(&said.client, name), "10.0.0.2");
}
END_TEST

START_TEST(what_is_too_long_does_not_count)
{
    ZD_SCOPED_TEXT(host, 1024);
    ZD_SCOPED_TEXT(prefix, 1024);
    zd_text_add(&prefix, "/");
    for (size_t i = 0; i < ZD_FORWARDED_HOST_BYTES; i++) {
        zd_text_add_char(&host, 'a');
        zd_text_add_char(&prefix, 'a');
    }
    const struct zd_forwarded_fields fields = {
        .x_host = zd_text_span(&host), .x_prefix = zd_text_span(&prefix)};
    const struct zd_forwarded said = read_all(&fields);
    ck_assert_uint_eq(said.host.len + said.prefix.len, 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(
        tests, the_client_is_the_rightmost_that_is_not_trusted, 0, ZD_COUNT_OF(clients));
    tcase_add_loop_test(tests, proxies_say_how_they_were_asked, 0, ZD_COUNT_OF(ways));
    tcase_add_test(tests, a_contradiction_says_nothing_but_the_prefix);
    tcase_add_loop_test(tests, a_prefix_is_a_path, 0, ZD_COUNT_OF(prefixes));
    tcase_add_test(tests, long_lists_are_read_from_their_end);
    tcase_add_test(tests, what_is_too_long_does_not_count);
}
