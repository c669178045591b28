/* server/front/caching: what caches may do with an answer. */
#include "server/front/caching.h"

#include <microhttpd.h>

#include "server/config/config.h"
#include "server/request/dependence.h"
#include "server/request/request.h"
#include "server/runtime/server.h"
#include "tests/support/unit.h"

static const struct {
    const char *control;
    const char *to_credential;
} controls[] = {
    {"no-cache", "private, no-cache"},
    {"no-store", "private, no-store"},
    {"public, max-age=31536000, immutable", "private, max-age=31536000, immutable"},
    {"Public ,MAX-AGE=1,S-MaxAge=2", "private, MAX-AGE=1"},
    {"private", "private"},
    {"private=\"a, public\", max-age=1", "private, max-age=1"}, /* of that field alone */
    {"no-cache=\"a, b\", public", "private, no-cache=\"a, b\""},
    {"x=\"public", "private, x=\"public"},
    {"publicity, s-maxage = 5", "private, publicity"},
    {" , ,", "private"},
    {"", "private"},
};

static void check(struct zd_request *req, const char *control, const char *name, const char *value)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    zd_caching_add(req, control, response);
    const char *found = MHD_get_response_header(response, name);
    ck_assert_str_eq(found == NULL ? "" : found, value);
    MHD_destroy_response(response);
}

START_TEST(an_answer_to_a_credential_is_private)
{
    struct zd_config config;
    zd_unit_config(&config);
    struct zd_server server = {.config = &config};
    struct zd_request req = {.server = &server, .has_credential = true};
    check(&req, controls[_i].control, "Cache-Control", controls[_i].to_credential);
    check(&req, controls[_i].control, "Vary", "Authorization");
    zd_config_done(&config);
}
END_TEST

START_TEST(vary_names_what_was_noted)
{
    struct zd_config config;
    zd_unit_config(&config);
    struct zd_server server = {.config = &config};
    struct zd_request req = {.server = &server, .sent_accept = "text/html"};
    check(&req, "no-cache", "Vary", "");
    check(&req, "public", "Cache-Control", "public");
    ck_assert_str_eq(zd_dependence_accept(&req), "text/html");
    zd_dependence_note(&req, ZD_DEPENDENCE_ORIGIN | ZD_DEPENDENCE_X_FORWARDED_PREFIX);
    check(&req, "no-cache", "Vary", "Accept, Origin, X-Forwarded-Prefix");
    zd_dependence_note(&req, UINT32_MAX >> (32 - ZD_DEPENDENCE_N));
    check(&req, "no-cache", "Vary",
        "Accept, Accept-Encoding, Access-Control-Request-Headers, "
        "Access-Control-Request-Private-Network, Authorization, Forwarded, Host, Origin, "
        "X-Forwarded-Host, X-Forwarded-Prefix");
    zd_config_done(&config);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_answer_to_a_credential_is_private, 0, ZD_COUNT_OF(controls));
    tcase_add_test(tests, vary_names_what_was_noted);
}
