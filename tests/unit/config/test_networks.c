/* Lists of IP addresses and prefixes. */
#include "server/config/networks.h"

#include <netinet/in.h>
#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct {
    const char *text;
    const char *name; /* NULL: it is no address */
} ips[] = {
    {"192.0.2.1", "192.0.2.1"},
    {"0.0.0.0", "0.0.0.0"},
    {"255.255.255.255", "255.255.255.255"},
    {"2001:DB8::1", "2001:db8::1"},
    {"::", "::"},
    {"::ffff:192.0.2.1", "192.0.2.1"},
    {"::ffff:c000:201", "192.0.2.1"},
    {"::192.0.2.1", "::192.0.2.1"}, /* deprecated, and of IPv6 */
    {"", NULL},
    {" 192.0.2.1", NULL},
    {"192.0.2.1 ", NULL},
    {"192.0.2", NULL},
    {"192.0.2.256", NULL},
    {"192.0.2.01", NULL},
    {"192.0.2.1:80", NULL},
    {"[::1]", NULL},
    {"::1%lo", NULL},
    {"2001:db8::1::2", NULL},
    {"localhost", NULL},
    {"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", NULL},
};

START_TEST(an_address_is_parsed_and_named)
{
    struct zd_networks_ip ip;
    char name[ZD_NETWORKS_IP_TEXT_BYTES];
    const bool is_ip = zd_networks_parse_ip(ips[_i].text, strlen(ips[_i].text), &ip);
    ck_assert_msg(is_ip == (ips[_i].name != NULL), "'%s'", ips[_i].text);
    if (is_ip) {
        struct sockaddr_storage socket;
        ck_assert_str_eq(zd_networks_name_ip(&ip, name), ips[_i].name);
        zd_networks_set_socket(&ip, &socket);
        const struct zd_networks_ip again = zd_networks_ip_of((const struct sockaddr *)&socket);
        ck_assert(zd_networks_same_ip(&again, &ip));
    }
}
END_TEST

START_TEST(a_nul_ends_no_address)
{
    struct zd_networks_ip ip;
    ck_assert(!zd_networks_parse_ip("::1\0", 4, &ip));
}
END_TEST

START_TEST(a_socket_of_no_ip_has_none)
{
    char name[ZD_NETWORKS_IP_TEXT_BYTES];
    const struct sockaddr local = {.sa_family = AF_UNIX};
    struct zd_networks_ip ip = zd_networks_ip_of(&local);
    ck_assert_str_eq(zd_networks_name_ip(&ip, name), "unknown");
    ip = zd_networks_ip_of(NULL);
    ck_assert_str_eq(zd_networks_name_ip(&ip, name), "unknown");
}
END_TEST

static const struct {
    const char *list;
    const char *ip;
    bool is_in;
} members[] = {
    {"", "192.0.2.1", false},
    {"192.0.2.1", "192.0.2.1", true},
    {"192.0.2.1", "192.0.2.2", false},
    {"192.0.2.1", "::ffff:192.0.2.1", true},
    {"::ffff:192.0.2.1", "192.0.2.1", true},
    {"::ffff:192.0.2.0/120", "192.0.2.7", true},
    {"::ffff:192.0.2.0/120", "192.0.3.7", false},
    {"10.0.0.0/8", "10.255.255.255", true},
    {"10.0.0.0/8", "11.0.0.0", false},
    {"10.1.2.3/8", "10.9.9.9", true},
    {"192.0.2.128/25", "192.0.2.127", false},
    {"192.0.2.128/25", "192.0.2.128", true},
    {"192.0.2.2/31", "192.0.2.3", true},
    {"192.0.2.2/31", "192.0.2.4", false},
    {"0.0.0.0/0", "203.0.113.9", true},
    {"0.0.0.0/0", "2001:db8::1", false},
    {"::/0", "2001:db8::1", true},
    {"::/0", "203.0.113.9", false}, /* IPv4 is named by itself */
    {"2001:db8::/33", "2001:db8:7fff::", true},
    {"2001:db8::/33", "2001:db8:8000::", false},
    {"  ::1  192.0.2.1 ", "::1", true},
    {"  ::1  192.0.2.1 ", "192.0.2.1", true},
    {"::1/128", "::1", true},
};

START_TEST(a_list_has_its_members)
{
    struct zd_networks networks;
    struct zd_networks_ip ip;
    ck_assert_int_eq(zd_networks_init(members[_i].list, &networks, NULL), ZD_OK);
    ck_assert(zd_networks_parse_ip(members[_i].ip, strlen(members[_i].ip), &ip));
    ck_assert_msg(zd_networks_have(&networks, &ip) == members[_i].is_in, "'%s' and %s",
        members[_i].list, members[_i].ip);
    const struct zd_networks_ip none = {.bits = 0};
    ck_assert(!zd_networks_have(&networks, &none));
    zd_networks_done(&networks);
}
END_TEST

static const char *const refused[] = {"10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/x",
    "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8", "/8", "10/8", "*", "10.0.0.0,::1",
    "::ffff:10.0.0.0/95", "::1 proxy.example"};

START_TEST(a_list_of_other_words_is_refused)
{
    struct zd_networks networks = {.n = 0};
    struct zd_error err = {0};
    ck_assert_int_eq(zd_networks_init(refused[_i], &networks, &err), ZD_INVALID);
    ck_assert(networks.prefix == NULL);
    ck_assert_msg(strstr(err.text, "neither an address nor a prefix") != NULL, "%s", err.text);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_address_is_parsed_and_named, 0, ZD_COUNT_OF(ips));
    tcase_add_test(tests, a_nul_ends_no_address);
    tcase_add_test(tests, a_socket_of_no_ip_has_none);
    tcase_add_loop_test(tests, a_list_has_its_members, 0, ZD_COUNT_OF(members));
    tcase_add_loop_test(tests, a_list_of_other_words_is_refused, 0, ZD_COUNT_OF(refused));
}
