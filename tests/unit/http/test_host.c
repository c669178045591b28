/* Hosts that requests are meant for. */
#include "server/http/host.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct {
    const char *host;
    const char *names;
    bool is_own;
} hosts[] = {
    {"localhost", "", true},
    {"localhost:8080", "", true},
    {"LOCALHOST:80", "", true},
    {"LocalHost:", "", true}, /* an empty port is the scheme's (RFC 3986, 3.2.3) */
    {"127.0.0.1", "", true},
    {"127.0.0.1:8080", "", true},
    {"192.0.2.7:8080", "", true}, /* a browser asks no name service for it */
    {"[::1]", "", true},
    {"[::1]:8080", "", true},
    {"[::FFFF:127.0.0.1]:1", "", true},
    {"", "", false},
    {":", "", false},
    {":8080", "", false},
    {"localhost.", "", true}, /* the same name (RFC 1034, 3.1) */
    {"localhost..", "", false},
    {"localhost.evil.example", "", false},
    {"a.localhost", "", true}, /* RFC 6761, 6.3 */
    {"a-1.B.localhost.:80", "", true},
    {".localhost", "", false},
    {"a..localhost", "", false},
    {"evillocalhost", "", false},
    {"evil@a.localhost", "", false},
    {"evil/.localhost", "", false},
    {"localhost:80:80", "", false},
    {"localhost:x", "", false},
    {"localhost:8080@evil.example", "", false},
    {"me@localhost", "", false},
    {"local", "", false},
    {"127.0.0.1.", "", false},
    {"127.0.0.1.evil.example", "", false},
    {"127.1", "", false},
    {"127.0.0.01", "", false},
    {"0x7f.1", "", false},
    {"2130706433", "", false},
    {"::1", "", false}, /* whose port? */
    {"[::1", "", false},
    {"[::1]x", "", false},
    {"[::1]]", "", false},
    {"[]", "", false},
    {"[127.0.0.1]", "", false},
    {"[fe80::1%eth0]", "", false},
    {"[evil.example]", "", false},
    {"evil.example", "", false},
    {"evil.example:8080", "localhost", false},
    {"data.example", "data.example", true},
    {"Data.Example:443", "a.example  data.example ", true},
    {"data.example.", "data.example", false},
    {"data.example.evil", "data.example", false},
    {"data", "data.example", false},
    {"xdata.example", "data.example", false},
    {"", "data.example", false},
    {"evil.example", "*", true},
    {"*", "data.example", false},
    {"00000000000000000000000000000000000000000000000000127.0.0.1", "", false},
};

START_TEST(a_host_is_an_address_or_named)
{
    ck_assert_int_eq(zd_host_is_own(zd_span_of(hosts[_i].host), hosts[_i].names), hosts[_i].is_own);
}
END_TEST

START_TEST(a_nul_ends_no_host)
{
    static const uint8_t bytes[] = "127.0.0.1\0.evil.example";
    ck_assert(!zd_host_is_own((struct zd_span){bytes, sizeof bytes - 1}, "127.0.0.1"));
    ck_assert(!zd_host_is_own((struct zd_span){NULL, 0}, ""));
}
END_TEST

static const struct {
    const char *target;
    const char *host;
} targets[] = {
    {"/", ""},
    {"*", ""},
    {"", ""},
    {"/http://a/", ""},
    {"//a/b", ""},
    {"http://a", "a"},
    {"http://a/b?c", "a"},
    {"http://a?b/c", "a"},
    {"hTTps://[::1]:80/", "[::1]:80"},
    {"http://", ""},
    {"ftp://a/", ""},
};

START_TEST(an_absolute_target_has_a_host)
{
    ck_assert(zd_span_is(zd_host_of_target(targets[_i].target), targets[_i].host));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_host_is_an_address_or_named, 0, ZD_COUNT_OF(hosts));
    tcase_add_test(tests, a_nul_ends_no_host);
    tcase_add_loop_test(tests, an_absolute_target_has_a_host, 0, ZD_COUNT_OF(targets));
}
