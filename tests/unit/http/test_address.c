/* Addresses as users write them. */
#include "server/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct {
    const char *text;
    const char *host; /* NULL: refused */
    uint16_t port;
    int family;
} addresses[] = {
    {"127.0.0.1:8080", "127.0.0.1", 8080, AF_INET},
    {"0.0.0.0:0", "0.0.0.0", 0, AF_INET},
    {"255.255.255.255:65535", "255.255.255.255", 65535, AF_INET},
    {"localhost:80", "localhost", 80, AF_INET},
    {"[::1]:80", "::1", 80, AF_INET6},
    {"[::]:8080", "::", 8080, AF_INET6},
    {"[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1, AF_INET6},
    {"", NULL, 0, 0},
    {":", NULL, 0, 0},
    {":80", "localhost", 80, AF_INET6}, /* all addresses; the host is that of a URL */
    {"*:80", "localhost", 80, AF_INET6},
    {"80", "localhost", 80, AF_INET},
    {":0", "localhost", 0, AF_INET6},
    {"65535", "localhost", 65535, AF_INET},
    {"65536", NULL, 0, 0},
    {":99999", NULL, 0, 0},
    {"[*]:80", NULL, 0, 0},
    {"127.0.0.1", NULL, 0, 0},
    {"127.0.0.1:", NULL, 0, 0},
    {"127.0.0.1:65536", NULL, 0, 0},
    {"127.0.0.1:-1", NULL, 0, 0},
    {"127.0.0.1:080", NULL, 0, 0},
    {"127.0.0.1:80 ", NULL, 0, 0},
    {"127.0.0.256:80", NULL, 0, 0},
    {"127.1:80", NULL, 0, 0},
    {"::1:80", NULL, 0, 0}, /* whose port? */
    {"[127.0.0.1]:80", NULL, 0, 0},
    {"[]:80", NULL, 0, 0},
    {"[::1]80", NULL, 0, 0},
    {"[fe80::1%lo]:80", NULL, 0, 0},
    {"example.org:80", NULL, 0, 0}, /* a name service would have to be asked */
    {"00000000000000000000000000000000000000000000127.0.0.1:80", NULL, 0, 0},
};

START_TEST(addresses_are_taken_apart)
{
    struct zd_address address;
    struct zd_error err = {0};
    const enum zd_status status = zd_address_parse(zd_span_of(addresses[_i].text), &address, &err);
    if (addresses[_i].host == NULL) {
        ck_assert_msg(status == ZD_INVALID, "'%s' is accepted", addresses[_i].text);
        ck_assert_msg(strstr(err.text, addresses[_i].text) != NULL, "%s", err.text);
        return;
    }
    ck_assert_msg(status == ZD_OK, "'%s': %s", addresses[_i].text, err.text);
    ck_assert(zd_span_is(address.host, addresses[_i].host));
    ck_assert_int_eq(address.socket.ss_family, addresses[_i].family);
    ck_assert_uint_eq(zd_address_port(&address), addresses[_i].port);
}
END_TEST

START_TEST(localhost_is_this_machine)
{
    struct zd_address address;
    ck_assert_int_eq(zd_address_parse(zd_span_of("localhost:80"), &address, NULL), ZD_OK);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address.socket;
    ck_assert_uint_eq(ntohl(v4->sin_addr.s_addr), INADDR_LOOPBACK);
    ck_assert_uint_eq(address.len, sizeof *v4);
}
END_TEST

static const struct {
    const char *text;
    bool is_loopback;
} reach[] = {
    {"127.0.0.1:0", true},
    {"127.255.0.9:0", true},
    {"localhost:0", true},
    {"80", true},
    {"[::1]:0", true},
    {"[::ffff:127.0.0.1]:0", true},
    {"[::ffff:10.0.0.1]:0", false},
    {"[::2]:0", false},
    {"[fe80::1]:0", false},
    {"128.0.0.1:0", false},
    {"0.0.0.0:0", false},
    {"[::]:0", false},
    {":0", false},
    {"*:0", false},
};

START_TEST(loopback_is_what_only_this_machine_reaches)
{
    struct zd_address address;
    ck_assert_int_eq(zd_address_parse(zd_span_of(reach[_i].text), &address, NULL), ZD_OK);
    ck_assert_int_eq(zd_address_is_loopback(&address), reach[_i].is_loopback);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, addresses_are_taken_apart, 0, ZD_COUNT_OF(addresses));
    tcase_add_test(tests, localhost_is_this_machine);
    tcase_add_loop_test(tests, loopback_is_what_only_this_machine_reaches, 0, ZD_COUNT_OF(reach));
}
