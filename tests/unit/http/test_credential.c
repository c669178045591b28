/* Credentials in request targets: found however they are spelled, and gone afterwards. */
#include "server/http/credential.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *target;
    uint32_t n;
    const char *token;
    const char *left;
} targets[] = {
    {"/v1", 0, "", "/v1"},
    {"/", 0, "", "/"},
    {"*", 0, "", "*"},
    {"", 0, "", ""},
    {"/t", 0, "", "/t"},
    {"/t/", 0, "", "/t/"},
    {"/t?x=1", 0, "", "/t?x=1"},
    {"/zarr/t/T", 0, "", "/zarr/t/T"},
    {"/tt/T/v1", 0, "", "/tt/T/v1"},
    {"/t/T", 1, "T", "/"},
    {"/t/T/", 1, "T", "/"},
    {"/t/T?pretty=1", 1, "T", "/?pretty=1"},
    {"/t/T/v1/datasets?pretty=1", 1, "T", "/v1/datasets?pretty=1"},
    {"/t/a.b-c_d~e/zarr/x//y", 1, "a.b-c_d~e", "/zarr/x//y"},
    {"/t/T//zarr", 1, "T", "//zarr"},
    {"/%74/T/v1", 1, "T", "/v1"}, /* a server would take it for the same */
    {"//t/T/v1", 1, "T", "/v1"},
    {"/t//T/v1", 1, "T", "/v1"},
    {"/t/%54%2f/v1", 1, "T/", "/v1"},
    {"/t/%00/v1", 1, "", "/v1"},
    {"/t/%5/v1", 1, "", "/v1"},
    {"/t/A/t/B/v1", 2, "A", "/v1"},
    {"/t/A/v1?access_token=B", 2, "A", "/v1"},
    {"http://h:1/t/T/v1", 1, "T", "http://h:1/v1"},
    {"http://h?access_token=T", 1, "T", "http://h"},
    {"/v1?access_token=T", 1, "T", "/v1"},
    {"/v1?access_token=", 1, "", "/v1"},
    {"/v1?access_token", 1, "", "/v1"},
    {"/v1?access%5ftoken=T", 1, "T", "/v1"},
    {"/v1?a=1&access_token=T", 1, "T", "/v1?a=1"},
    {"/v1?access_token=T&a=1", 1, "T", "/v1?a=1"},
    {"/v1?a=1&access_token=T&b=2", 1, "T", "/v1?a=1&b=2"},
    {"/v1?access_token=A&access_token=B", 2, "A", "/v1"},
    {"/v1?a&access_token=A&&access_token=B", 2, "A", "/v1?a&"},
    {"/v1?my_access_token=T", 0, "", "/v1?my_access_token=T"},
    {"/v1?access_token=a%2eb", 1, "a.b", "/v1"},
    {"/v1?x=?access_token=T", 0, "", "/v1?x=?access_token=T"},
    {"/v1?a=1&", 0, "", "/v1?a=1&"},
    {"/v1?", 0, "", "/v1?"},
    {"/v1?access_token=%ff%", 1, "", "/v1"},
};

START_TEST(a_credential_is_taken_out)
{
    char target[100];
    ZD_SCOPED_TEXT(token, 100);
    zd_text_add(&token, "of the request before");
    const size_t len = strlen(targets[_i].target) + 1;
    ck_assert_uint_le(len, sizeof target);
    memcpy(target, targets[_i].target, len);
    ck_assert_uint_eq(zd_credential_take(target, &token), targets[_i].n);
    ck_assert_str_eq(target, targets[_i].left);
    ck_assert(zd_span_is(zd_text_span(&token), targets[_i].token));
    memcpy(target, targets[_i].target, len);
    ck_assert_uint_eq(zd_credential_take(target, NULL), targets[_i].n);
    ck_assert_str_eq(target, targets[_i].left);
}
END_TEST

static const struct {
    const char *value;
    const char *token; /* NULL: of another scheme */
} headers[] = {
    {"Bearer T", "T"},
    {"bearer T", "T"},
    {"BEARER   a.b-c", "a.b-c"},
    {"Bearer a b", "a b"}, /* no token, and nobody's */
    {"Bearer", ""},
    {"Bearer ", ""},
    {"bearer\tT", ""},
    {"Bearer,T", ""},
    {"Bearer=T", ""},
    {"Bearer \tT", "\tT"},
    {"Bearer2 T", NULL},
    {"BearerT", NULL},
    {"Bear T", NULL},
    {"Basic YTpi", NULL},
    {"Basic x, Bearer T", NULL},
    {"token T", NULL},
    {"T", NULL},
    {"", NULL},
};

START_TEST(a_header_of_another_scheme_is_not_ours)
{
    const char *value = headers[_i].value;
    ck_assert_int_eq(zd_credential_is_bearer(value), headers[_i].token != NULL);
    ck_assert(
        headers[_i].token == NULL || zd_span_is(zd_credential_of_bearer(value), headers[_i].token));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_header_of_another_scheme_is_not_ours, 0, ZD_COUNT_OF(headers));
    tcase_add_loop_test(tests, a_credential_is_taken_out, 0, ZD_COUNT_OF(targets));
}
