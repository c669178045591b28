/* server/front/cors: whose web pages may read an answer. */
#include "server/front/cors.h"

#include "server/request/dependence.h"
#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define PAGE  "https://page.example"
#define OTHER "https://other.example"
#define MINE  "http://localhost:3000"

static const struct {
    bool is_local; /* the server */
    const char *of_all;
    const char *named;
    const char *method;
    const char *origin;  /* NULL: the client sends none */
    const char *allowed; /* NULL: no header */
    bool depends;
} rows[] = {
    {false, "", "", "GET", PAGE, "*", false}, {false, "", "", "PUT", PAGE, "*", false},
    {false, "", PAGE, "GET", PAGE, "*", false}, /* all pages may read */
    {false, "", PAGE, "PUT", PAGE, PAGE, true}, {false, "", PAGE, "PUT", OTHER, "*", true},
    {false, OTHER, "", "GET", PAGE, OTHER, false}, {false, OTHER, PAGE, "GET", PAGE, PAGE, true},
    {false, OTHER, PAGE, "GET", NULL, OTHER, true}, {true, "", "", "GET", PAGE, NULL, true},
    {true, "", "", "GET", MINE, MINE, true}, {true, "", "", "PUT", MINE, MINE, true},
    {true, "", "", "GET", NULL, NULL, true}, /* another page gets another answer */
    {true, "", "", "GET", "null", NULL, true}, {true, "", PAGE, "GET", PAGE, PAGE, true},
    {true, "*", "", "GET", PAGE, "*", false},
    {true, OTHER, "", "GET", MINE, OTHER, false}, /* a setting replaces the default */
};

START_TEST(only_pages_that_may_read_find_their_origin)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    const struct zd_header header = {.name = "Origin", .value = rows[_i].origin};
    ZD_SCOPED_TEXT(config, 1000);
    zd_text_addf(&config,
        "{\"datasets\": {\"m\": {\"location\": \"mem:\"}},"
        " \"http\": {\"cors_origin\": \"%s\", \"cors_origins\": \"%s\"}}",
        rows[_i].of_all, rows[_i].named);
    ck_assert_int_eq(zd_test_serve_open(&serve, config.at), ZD_OK);
    serve.server->is_local = rows[_i].is_local;
    zd_fake_init(&exchange, &serve, rows[_i].method, "/");
    exchange.header = &header;
    exchange.n_headers = rows[_i].origin == NULL ? 0 : 1;
    const char *const allowed = zd_cors_origin(&exchange.request);
    ck_assert_str_eq(
        allowed == NULL ? "none" : allowed, rows[_i].allowed == NULL ? "none" : rows[_i].allowed);
    ck_assert_uint_eq(
        zd_dependence_of(&exchange.request), rows[_i].depends ? ZD_DEPENDENCE_ORIGIN : 0);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, only_pages_that_may_read_find_their_origin, 0, ZD_COUNT_OF(rows));
}
