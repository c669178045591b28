/* server/request/access/signable: a client signs what it may do itself, and no more. */
#include "server/request/access/signable.h"

#include "server/request/identity.h"
#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "{\"datasets\": {\"lake\": {\"location\": \"mem:\", \"writable\": true},"                      \
    " \"era\": {\"location\": \"mem:\"},"                                                          \
    " \"own\": {\"location\": \"mem:\", \"writable\": true, \"access\": \"private\"}}}"

static const struct {
    const char *method;
    const char *path;
    bool is_prefix;
    enum zd_signable_answer answer;
    const char *dataset;
    bool is_write;
} rows[] = {
    {"GET", "/v1/datasets/lake/nodes/a", false, ZD_SIGNABLE_ALLOWED, "lake", false},
    {"GET", "/v1/datasets/lake/nodes/b", false, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/datasets/lake/tree/", false, ZD_SIGNABLE_REFUSED, "", false}, /* all below */
    {"PUT", "/v1/datasets/lake/nodes/a/x", false, ZD_SIGNABLE_ALLOWED, "lake", true},
    {"DELETE", "/v1/datasets/lake/nodes/b", false, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/datasets/era/nodes/b", false, ZD_SIGNABLE_ALLOWED, "era", false}, /* public */
    {"PUT", "/v1/datasets/era/nodes/b", false, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/datasets/own/nodes/a", false, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/datasets/none/nodes/a", false, ZD_SIGNABLE_REFUSED, "", false}, /* the same */
    {"GET", "/v1", false, ZD_SIGNABLE_ALLOWED, "", false},
    {"POST", "/v1/sign", false, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/nowhere", false, ZD_SIGNABLE_NO_PATH, "", false},
    {"DELETE", "/v1", false, ZD_SIGNABLE_NO_METHOD, "", false},
    {"GET", "/v1/datasets/lake", true, ZD_SIGNABLE_ALLOWED, "lake", false},
    {"PUT", "/v1/datasets/lake/nodes", true, ZD_SIGNABLE_ALLOWED, "lake", true},
    {"PUT", "/v1/datasets/lake/nodes/b", true, ZD_SIGNABLE_REFUSED, "", false},
    {"PUT", "/v1/datasets/era/nodes", true, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/datasets/own", true, ZD_SIGNABLE_REFUSED, "", false},
    {"GET", "/v1/datasets", true, ZD_SIGNABLE_ALLOWED, "", false},
    {"GET", "/nowhere", true, ZD_SIGNABLE_NO_PATH, "", false},
};

START_TEST(a_url_is_judged_as_its_signers_request)
{
    static const struct zd_grant grants[] = {
        {.scopes = ZD_IDENTITY_READ | ZD_IDENTITY_WRITE, .dataset = "lake", .path = "a/**"},
    };
    const struct zd_identity like = {.name = "ada",
        .from = "token",
        .expires_ms = ZD_IDENTITY_NEVER,
        .n_grants = ZD_COUNT_OF(grants),
        .grant = grants};
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    struct zd_signable_found found;
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    zd_fake_init(&exchange, &serve, "POST", "/v1/sign");
    exchange.request.identity = zd_identity_new(&like);
    const struct zd_signable asked = {
        .method = rows[_i].method, .path = rows[_i].path, .is_prefix = rows[_i].is_prefix};
    ck_assert_int_eq(zd_signable_judge(&exchange.request, &asked, &found), rows[_i].answer);
    if (rows[_i].answer == ZD_SIGNABLE_ALLOWED) {
        ck_assert_str_eq(found.dataset, rows[_i].dataset);
        ck_assert_int_eq(found.is_write, rows[_i].is_write);
    }
    zd_identity_unref(ZD_TAKE(exchange.request.identity));
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_url_is_judged_as_its_signers_request, 0, ZD_COUNT_OF(rows));
}
