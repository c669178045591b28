/* Fields in which proxies name their client. 10.0.0.0/8 and ::1 are trusted. */
#include "server/http/forwarded.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/text.h"
#include "tests/support/unit.h"

#define TRUSTED "10.0.0.0/8 ::1"
#define UNKNOWN "unknown"

static struct zd_networks trusted;

static void setup(void)
{
    ck_assert_int_eq(zd_networks_init(TRUSTED, &trusted, NULL), ZD_OK);
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
    {NULL, NULL, UNKNOWN},
    {"for=192.0.2.1", NULL, "192.0.2.1"},
    {"For=\"192.0.2.1\"", NULL, "192.0.2.1"},
    {"for=\"192.0.2.1:4711\"", NULL, "192.0.2.1"},
    {"for=192.0.2.1:4711", NULL, "192.0.2.1"}, /* a colon needs quotes, and is written without */
    {"for=\"[2001:db8::1]\"", NULL, "2001:db8::1"},
    {"for=\"[2001:db8::1]:4711\";proto=https", NULL, "2001:db8::1"},
    {"for=\"[::ffff:192.0.2.1]\"", NULL, "192.0.2.1"},
    {"for=\"2001:db8::1\"", NULL, "2001:db8::1"}, /* brackets belong to it */
    {"by=10.0.0.1; FOR=192.0.2.1 ;proto=http", NULL, "192.0.2.1"},
    /* the right-most that is not trusted */
    {"for=198.51.100.1, for=192.0.2.1", NULL, "192.0.2.1"},
    {"for=198.51.100.1, for=192.0.2.1, for=10.0.0.2", NULL, "192.0.2.1"},
    {"for=198.51.100.1,for=192.0.2.1,for=\"[::1]\",for=10.0.0.2", NULL, "192.0.2.1"},
    {"for=10.0.0.3, for=10.0.0.2", NULL, "10.0.0.3"}, /* of trusted ones the left-most */
    {"for=10.0.0.2", NULL, "10.0.0.2"},
    /* what a client wrote does not reach past what its proxy added */
    {"for=\"x, for=192.0.2.1", NULL, "192.0.2.1"},
    {"for=\"x\\\", for=192.0.2.1", NULL, "192.0.2.1"},
    {"\x01\xff;;;===, for=192.0.2.1", NULL, "192.0.2.1"},
    /* what makes the client unknown, wherever the search meets it */
    {"for=unknown", NULL, UNKNOWN},
    {"for=_hidden", NULL, UNKNOWN},
    {"for=\"_SEVKISEK\", for=10.0.0.2", NULL, UNKNOWN},
    {"for=192.0.2.1, for=unknown", NULL, UNKNOWN},
    {"for=192.0.2.1,", NULL, UNKNOWN},
    {"for=192.0.2.1, ", NULL, UNKNOWN},
    {",", NULL, UNKNOWN},
    {"", NULL, UNKNOWN},
    {" \t", NULL, UNKNOWN},
    {", for=10.0.0.2", NULL, UNKNOWN},
    {" , for=10.0.0.2", NULL, UNKNOWN},
    {"for=192.0.2.1, , for=10.0.0.2", NULL, UNKNOWN},
    {"for=192.0.2.1,,", NULL, UNKNOWN},
    {"for=unix:", NULL, UNKNOWN},
    {"for=\"unix:/run/zarrd\"", NULL, UNKNOWN},
    {"x", NULL, UNKNOWN},
    {"by=192.0.2.1", NULL, UNKNOWN},
    {"for=\"192.0.2.1, for=10.0.0.2\"", NULL, UNKNOWN}, /* a comma between quotes */
    {"for=", NULL, UNKNOWN},
    {"for", NULL, UNKNOWN},
    {"for=\"\"", NULL, UNKNOWN},
    {"for=\"", NULL, UNKNOWN},
    {"for=\"192.0.2.1", NULL, UNKNOWN},
    {"for=192.0.2.1\"", NULL, UNKNOWN},
    {"for=192.0.2.1;for=192.0.2.1", NULL, UNKNOWN},
    {"for=192.0.2.1;proto=https;proto=http", NULL, UNKNOWN},
    {"proto=https", NULL, UNKNOWN},
    {"for=192.0.2.1 for=192.0.2.2", NULL, UNKNOWN},
    {"for=[2001:db8::1", NULL, UNKNOWN},
    {"for=\"[2001:db8::1]x\"", NULL, UNKNOWN},
    {"for=\"[192.0.2.1]\"", NULL, UNKNOWN},
    {"for=192.0.2.1:65536", NULL, UNKNOWN},
    {"for=192.0.2.1:x", NULL, UNKNOWN},
    {"for=client.example", NULL, UNKNOWN},
    /* X-Forwarded-For */
    {NULL, "192.0.2.1", "192.0.2.1"},
    {NULL, "192.0.2.1:80", "192.0.2.1"},
    {NULL, "2001:db8::1", "2001:db8::1"},
    {NULL, "[2001:db8::1]:80", "2001:db8::1"},
    {NULL, "::ffff:192.0.2.1", "192.0.2.1"},
    {NULL, "198.51.100.1, 192.0.2.1", "192.0.2.1"},
    {NULL, "198.51.100.1,\t192.0.2.1 , 10.0.0.2", "192.0.2.1"},
    {NULL, "10.0.0.3,10.0.0.2", "10.0.0.3"},
    {NULL, "10.0.0.9, unknown, 10.0.0.2", UNKNOWN},
    {NULL, "192.0.2.1,", UNKNOWN},
    {NULL, "\"192.0.2.1\"", UNKNOWN},
    {NULL, "for=192.0.2.1", UNKNOWN},
    {NULL, ",,,,", UNKNOWN},
    {NULL, "", UNKNOWN},
    {NULL, " ", UNKNOWN},
    {NULL, ", 10.0.0.2", UNKNOWN},
    {NULL, ",10.0.0.2", UNKNOWN},
    {NULL, "192.0.2.1, , 10.0.0.2", UNKNOWN},
    {NULL, "unix:", UNKNOWN},
    {NULL, "_hidden", UNKNOWN},
    {NULL, "192.0.2.1 10.0.0.2", UNKNOWN},
    {NULL, "0x7f.1", UNKNOWN},
    {NULL, "127.1", UNKNOWN},
    {NULL, "localhost", UNKNOWN},
    {NULL, "fe80::1%eth0", UNKNOWN},
    {NULL, "<script>", UNKNOWN},
    /* both */
    {"for=192.0.2.1", "192.0.2.1", "192.0.2.1"},
    {"for=192.0.2.1", "192.0.2.2", UNKNOWN},
    {"for=192.0.2.1", "unknown", UNKNOWN},
    {"for=_x", "192.0.2.2", UNKNOWN},
    {"for=_x", "unknown", UNKNOWN},
    {"", "192.0.2.1", UNKNOWN},
    {"for=192.0.2.1", "", UNKNOWN},
    {"", "", UNKNOWN},
    {"for=10.0.0.2", "10.0.0.3", UNKNOWN},
    {"for=192.0.2.1", "192.0.2.1, 10.0.0.2", "192.0.2.1"},
    {"for=\"[::ffff:192.0.2.1]:1\"", "192.0.2.1", "192.0.2.1"},
};

/* @param text NULL: not sent */
static struct zd_span list_of(const char *text)
{
    return text == NULL ? (struct zd_span){0} : zd_span_of(text);
}

static struct zd_forwarded read_all(const struct zd_forwarded_fields *fields)
{
    return zd_forwarded_read(fields, &trusted);
}

START_TEST(the_client_is_the_rightmost_that_is_not_trusted)
{
    const struct zd_forwarded_fields fields = {
        .forwarded = list_of(clients[_i].forwarded), .x_for = list_of(clients[_i].x_for)};
    const struct zd_forwarded said = read_all(&fields);
    char name[ZD_NETWORKS_IP_TEXT_BYTES];
    ck_assert_msg(strcmp(zd_networks_name_ip(&said.client, name), clients[_i].client) == 0,
        "row %d: %s in place of %s", _i, name, clients[_i].client);
}
END_TEST

static const struct {
    const char *forwarded;
    const char *x_proto;
    const char *x_host;
    const char *proto;
    const char *host;   /* of Forwarded */
    const char *x_said; /* of X-Forwarded-Host */
} ways[] = {
    {"", "", "", "", "", ""},
    {"", "https", "data.example", "https", "", "data.example"},
    {"", "HTTPS", "Data.Example:8443", "HTTPS", "", "Data.Example:8443"},
    {"", "http, https", "a.example, b.example", "https", "", "b.example"},
    {"", "https,", "a.example,", "", "", ""},
    {"", "ftp", "", "", "", ""},
    {"", "https://", "", "", "", ""},
    {"", "", "[::1]:80", "", "", "[::1]:80"},
    {"", "", "[::1", "", "", ""},
    {"", "", "[evil.example]", "", "", ""},
    {"", "", "a.example:", "", "", "a.example:"},
    {"", "", ":80", "", "", ""},
    {"", "", "a.example:80:80", "", "", ""},
    {"", "", "a.example/evil", "", "", ""},
    {"", "", "a.example\\evil", "", "", ""},
    {"", "", "me@a.example", "", "", ""},
    {"", "", "a.example\"", "", "", ""},
    {"", "", "a b", "", "", ""},
    {"", "", "a\x7f", "", "", ""},
    {"", "", "\xc3\xa4.example", "", "", ""},
    {"for=192.0.2.1;proto=https;host=a.example", "", "", "https", "a.example", ""},
    {"for=192.0.2.1;host=\"a.example:80\";proto=http", "", "", "http", "a.example:80", ""},
    {"for=192.0.2.1;proto=https;host=a.example", "http", "b.example", "https", "a.example",
        "b.example"},
    {"for=192.0.2.1;proto=https", "http", "b.example", "https", "", "b.example"},
    {"for=192.0.2.1;proto=x;host=\"a/b\"", "", "", "", "", ""},
    {"for=_x;proto=https;host=a.example", "", "", "https", "a.example",
        ""}, /* its proxy is trusted */
    {"proto=http;host=evil, for=192.0.2.1;proto=https;host=a.example", "", "", "https", "a.example",
        ""},
    {"for=192.0.2.1;proto=https;host=a.example, for=10.0.0.2;proto=http;host=inner", "", "",
        "https", "a.example", ""},
    {"for=192.0.2.1, for=10.0.0.2;host=inner", "", "", "", "inner", ""},
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
    ck_assert(zd_span_is(said.x_host, ways[_i].x_said));
}
END_TEST

/* A page cannot hide the host that it was asked for behind a contradiction. */
START_TEST(a_contradiction_says_no_client_but_every_host)
{
    const struct zd_forwarded_fields fields = {
        .forwarded = zd_span_of("for=192.0.2.1;proto=https;host=evil.example"),
        .x_for = zd_span_of("192.0.2.2"),
        .x_proto = zd_span_of("https"),
        .x_host = zd_span_of("a.example"),
        .x_prefix = zd_span_of("/data"),
    };
    const struct zd_forwarded said = read_all(&fields);
    ck_assert_uint_eq(said.client.bits + said.proto.len, 0);
    ck_assert(zd_span_is(said.host, "evil.example"));
    ck_assert(zd_span_is(said.x_host, "a.example"));
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
    /* So many trusted proxies count: beyond them anybody may have written. */
    for (size_t n = ZD_FORWARDED_HOPS_MAX - 1; n <= ZD_FORWARDED_HOPS_MAX; n++) {
        zd_text_clear(&list);
        zd_text_add(&list, "for=192.0.2.1, ");
        add_many(&list, n, "for=10.0.0.2");
        fields.forwarded = zd_text_span(&list);
        said = read_all(&fields);
        ck_assert_str_eq(zd_networks_name_ip(&said.client, name),
            n < ZD_FORWARDED_HOPS_MAX ? "192.0.2.1" : UNKNOWN);
    }
}
END_TEST

START_TEST(names_that_are_too_long_do_not_count)
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
    ck_assert_uint_eq(said.x_host.len + said.prefix.len, 0);
}
END_TEST

/* ---- random lists ---- */

#define LISTS_N  20000
#define PIECES_N 6

/* Fields that a proxy may find, and pass on. */
static const char *const pieces[] = {
    "for=192.0.2.1",
    "for=10.0.0.2",
    "for=\"[::1]\"",
    "for=unknown",
    "for=_hidden",
    "for=",
    "192.0.2.1",
    "10.0.0.2",
    "::1",
    "127.0.0.1",
    "unix:",
    ",",
    ", ",
    ";",
    "=",
    "\"",
    "\\",
    " ",
    "\t",
    "for=127.0.0.1",
    "proto=https",
    "host=localhost",
    "x",
    "\xff",
};

static void make_list(struct zd_text *list)
{
    zd_text_clear(list);
    for (uint64_t n = zd_unit_random() % PIECES_N; n > 0; n--) {
        zd_text_add(list, pieces[zd_unit_random() % ZD_COUNT_OF(pieces)]);
    }
}

/* A client may write what it likes to the left of what its proxy appends to either field, and all
 * of the other one. */
START_TEST(a_client_is_itself_or_unknown_whatever_it_sends)
{
    ZD_SCOPED_TEXT(forwarded, 1024);
    ZD_SCOPED_TEXT(x_for, 1024);
    char name[ZD_NETWORKS_IP_TEXT_BYTES];
    for (size_t i = 0; i < LISTS_N; i++) {
        const uint64_t how = zd_unit_random();
        make_list(&forwarded);
        make_list(&x_for);
        zd_text_add(how % 2 == 0 ? &forwarded : &x_for,
            how % 2 == 0 ? ", for=203.0.113.9" : ", 203.0.113.9");
        struct zd_forwarded_fields fields = {
            .forwarded = zd_text_span(&forwarded), .x_for = zd_text_span(&x_for)};
        struct zd_span *other = how % 2 == 0 ? &fields.x_for : &fields.forwarded;
        const bool is_alone = how / 2 % 2 == 0;
        *other = is_alone ? (struct zd_span){0} : *other;
        const struct zd_forwarded said = read_all(&fields);
        (void)zd_networks_name_ip(&said.client, name);
        ck_assert_msg(strcmp(name, "203.0.113.9") == 0 || (!is_alone && strcmp(name, UNKNOWN) == 0),
            "'%s' and '%s': %s", forwarded.at, x_for.at, name);
    }
}
END_TEST

/* ---- names ---- */

static const struct {
    const char *name;
    bool is_of_proxies;
} fields_sent[] = {
    {"Forwarded", true},
    {"forwarded", true},
    {"Forwarded-For", true},
    {"X-Forwarded", true},
    {"X-FORWARDED-FOR", true},
    {"X-Forwarded-Host", true},
    {"X-Forwarded-Prefix", true},
    {"X-Forwarded-Server", true},
    {"X-Original-Forwarded-For", true},
    {"X-Real-IP", true},
    {"Via", true},
    {"X-Client-IP", true},
    {"Client-Ip", true},
    {"True-Client-IP", true},
    {"X-Cluster-Client-IP", true},
    {"X-Azure-ClientIP", true},
    {"CF-Connecting-IP", true},
    {"CF-Connecting-IPv6", true},
    {"X-Envoy-External-Address", true},
    {"X-Varnish", true},
    {"CDN-Loop", true},
    {"", false},
    {"Viable", false},
    {"-I", false},
    {"X-Forward", false},
    {"Host", false},
    {"Origin", false},
    {"Accept", false},
    {"User-Agent", false},
    {"Connection", false},
    {"Content-Length", false},
    {"Cookie", false},
    {"X-Request-Id", false},
    {"X-Requested-With", false},
    {"traceparent", false},
    {"Proxy-Connection", false}, /* clients send it to their own proxies */
    {"Sec-Fetch-Site", false},
};

START_TEST(fields_of_proxies_are_known_by_their_names)
{
    const char *name = fields_sent[_i].name;
    ck_assert_msg(
        zd_forwarded_is_field(name, strlen(name)) == fields_sent[_i].is_of_proxies, "'%s'", name);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_client_is_itself_or_unknown_whatever_it_sends);
    tcase_add_loop_test(
        tests, fields_of_proxies_are_known_by_their_names, 0, ZD_COUNT_OF(fields_sent));
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(
        tests, the_client_is_the_rightmost_that_is_not_trusted, 0, ZD_COUNT_OF(clients));
    tcase_add_loop_test(tests, proxies_say_how_they_were_asked, 0, ZD_COUNT_OF(ways));
    tcase_add_test(tests, a_contradiction_says_no_client_but_every_host);
    tcase_add_loop_test(tests, a_prefix_is_a_path, 0, ZD_COUNT_OF(prefixes));
    tcase_add_test(tests, long_lists_are_read_from_their_end);
    tcase_add_test(tests, names_that_are_too_long_do_not_count);
}
