/* Origins of web pages. */
#include "server/http/origin.h"

#include "tests/support/unit.h"

static const struct {
    const char *origin;
    const char *list;
    bool is_listed;
} lists[] = {
    {"https://a.example", "", false},
    {"https://a.example", "   ", false},
    {"https://a.example", "https://a.example", true},
    {"HTTPS://A.example", " https://b.example  https://a.example ", true},
    {"https://a.example", "https://a.example:443", false},
    {"https://a.example:443", "https://a.example", false}, /* browsers leave the default port out */
    {"https://a.example.evil", "https://a.example", false},
    {"https://a", "https://a.example", false},
    {"http://a.example", "https://a.example", false},
    {"null", "https://a.example", false},
    {"null", "*", true},
    {"", "https://a.example", false},
};

START_TEST(an_origin_is_listed_as_a_whole)
{
    ck_assert_int_eq(zd_origin_is_listed(lists[_i].origin, lists[_i].list), lists[_i].is_listed);
}
END_TEST

static const struct {
    const char *origin;
    bool is_loopback;
} origins[] = {
    {"http://localhost", true},
    {"https://localhost:3000", true},
    {"HTTP://LOCALHOST:80", true},
    {"http://localhost.:80", true}, /* the same name */
    {"http://app.localhost:65535", true},
    {"http://127.0.0.1:8000", true},
    {"http://127.255.0.9", true},
    {"http://[::1]", true},
    {"http://[::1]:1", true},
    {"", false},
    {"null", false},
    {"http://", false},
    {"localhost", false},
    {"file://localhost", false},
    {"http:///localhost", false},
    {"http://localhost/", false},
    {"http://localhost?", false},
    {"http://localhost:", false},
    {"http://localhost:0", false},
    {"http://localhost:65536", false},
    {"http://localhost:80:80", false},
    {"http://localhost:8x", false},
    {"http://localhost evil", false},
    {"http://localhost#", false},
    {"http://localhost@evil", false},
    {"http://localhost:80@evil", false},
    {"http://evil@localhost", false},
    {"http://evil.example@a.localhost", false},
    {"http://localhost.evil.com", false},
    {"http://evillocalhost", false},
    {"http://.localhost", false},
    {"http://a..localhost", false},
    {"http://localhost..", false},
    {"http://127.0.0.1.evil.com", false},
    {"http://127.0.0.1.", false},
    {"http://127.1", false},
    {"http://0x7f.1", false},
    {"http://0177.0.0.1", false},
    {"http://2130706433", false},
    {"http://128.0.0.1", false},
    {"http://0.0.0.0", false},
    {"http://[::1].evil", false},
    {"http://[::1]evil", false},
    {"http://[::2]", false},
    {"http://[::ffff:127.0.0.1]", false}, /* no browser writes it so */
    {"http://[::1", false},
    {"http://::1", false},
};

START_TEST(a_page_of_this_machine_has_a_loopback_host)
{
    ck_assert_int_eq(zd_origin_is_loopback(origins[_i].origin), origins[_i].is_loopback);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_origin_is_listed_as_a_whole, 0, ZD_COUNT_OF(lists));
    tcase_add_loop_test(tests, a_page_of_this_machine_has_a_loopback_host, 0, ZD_COUNT_OF(origins));
}
