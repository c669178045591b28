/* Hosts that are asked without a proxy. */
#include "core/store/transfer/transfer_host.h"

#include "tests/support/unit.h"

static const struct {
    const char *url;
    bool is_near;
} facts[] = {
    {"http://localhost/", true},
    {"http://LOCALHOST.:80/keys", true},
    {"https://a.b.LocalHost", true},
    {"http://user:word@localhost:1/", true},
    {"http://localhost@lake.example/", false},
    {"http://127.0.0.1@lake.example/", false},
    {"http://lake.example@127.0.0.1/", true},
    {"http://notlocalhost/", false},
    {"http://localhost.example/", false},
    {"http://local/", false},
    {"http://lake.example/localhost", false},
    {"http://lake.example/?@127.0.0.1", false},
    {"http://lake.example#@127.0.0.1", false},
    {"http://127.0.0.1:8080/", true},
    {"http://127.255.0.9/", true},
    {"http://127.1/", true},
    {"http://2130706433/", true},
    {"http://0x7f000001/", true},
    {"http://0X7F.1/", true},
    {"http://0177.0.0.1/", true},
    {"http://127.0.0.1./", true},
    {"http://%31%32%37.0.0.1/", true},
    {"http://0/", true},
    {"http://0.0.0.0:1/", true},
    {"http://126.255.255.255/", false},
    {"http://128.0.0.1/", false},
    {"http://0.0.0.1/", false},
    {"http://127.0.0.1.example/", false},
    {"http://169.254.169.254/latest", true},
    {"http://169.254.170.2/v2", true},
    {"http://2852039166/", true},
    {"http://169.253.0.1/", false},
    {"http://169.255.0.1/", false},
    {"http://10.0.0.1/", false},
    {"http://[::1]:8080/", true},
    {"http://[0:0:0:0:0:0:0:1]/", true},
    {"http://[::]/", true},
    {"http://[::2]/", false},
    {"http://[::ffff:127.0.0.1]/", true},
    {"http://[::ffff:7f00:1]/", true},
    {"http://[::ffff:169.254.169.254]/", true},
    {"http://[::ffff:10.0.0.1]/", false},
    {"http://[fe80::1]/", true},
    {"http://[fe80::1%25eth0]:1/", true},
    {"http://[febf::1]/", true},
    {"http://[fec0::1]/", false},
    {"http://[fd00:ec2::254]/", true},
    {"http://[fd00:ec2::23]/", true},
    {"http://[fd00:ec3::1]/", false},
    {"http://[2001:db8::1]/", false},
    {"", false},
    {"localhost", false},
    {"http://", false},
};

START_TEST(near_hosts_are_known_however_they_are_written)
{
    ck_assert_msg(
        zd_transfer_host_is_near(facts[_i].url) == facts[_i].is_near, "%s", facts[_i].url);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, near_hosts_are_known_however_they_are_written, 0, ZD_COUNT_OF(facts));
}
