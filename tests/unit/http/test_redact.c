/* Targets and sentences for the log: secrets are hidden however they are spelled, names stay. */
#include "server/http/redact.h"

#include <string.h>

#include "tests/support/unit.h"

#define HEX        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define BASE64     "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA"
#define JWT        "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln"
#define LONG_BYTES (64U << 10) /* of the longest target */
#define N_SECRETS  5000
#define N_SHOWN    16 /* places */

static const struct {
    const char *target;
    const char *shown; /* NULL: as it is */
} targets[] = {
    {"", NULL},
    {"*", NULL},
    {"/", NULL},
    {"/v1/datasets/era/slices/t2m?slice=0:10,::2,5&format=npy", NULL},
    {"/zarr/era/t/c/0/0", NULL}, /* an array of temperatures */
    {"/zarr/era/t/zarr.json", NULL},
    {"/zarr/era/t/.zarray", NULL},
    {"/zarr/era/t/0.12.7", NULL},
    {"/zarr/t/x/0.0", NULL},
    {"/v1/datasets/t/nodes/x", NULL},
    {"/v1/datasets/tokens/slices/x", NULL},
    {"/zarr/a/surface_air_temperature_at_2_metres_monthly_mean/c/0", NULL},
    {"/zarr/a/550e8400-e29b-41d4-a716-446655440000/c/0", NULL},
    {"/zarr/a/20200101000000202101010000002022/c/0", NULL},
    {"/v1/datasets/a/slices/x?sel=time:2020-01-01T00:00:00/2020-02-01T00:00:00", NULL},
    {"/v1/datasets/a/slices/x?sel=t%3D5", NULL},
    {"/zarr/a/caf%C3%A9%20x/c/0", NULL},
    {"/zarr/a/100%", NULL},
    {"/T/short/v1", "/T/***/v1"},
    {"/%54/short", "/%54/***"},
    {"//t/short/v1", "//t/***/v1"},
    {"/token/short/", "/token/***/"},
    {"/to%6Ben/short", "/to%6Ben/***"},
    {"/Access-Token/short", "/Access-Token/***"},
    {"/zarr/t/longer-than-that/x", "/zarr/t/***/x"},
    {"/t%2fshort/v1", "/***/v1"},
    {"/%2574%252fshort/v1", "/***/v1"},
    {"/v1?ACCESS_TOKEN=a", "/v1?ACCESS_TOKEN=***"},
    {"/v1?access-token=a/b:c,d=e&pretty=1", "/v1?access-token=***&pretty=1"},
    {"/v1?pretty=1;AccessToken=a", "/v1?pretty=1;AccessToken=***"},
    {"/v1?x=1&token=a", "/v1?x=1&token=***"},
    {"/v1?acces_tokn=a", "/v1?acces_tokn=***"},
    {"/v1?%73ignature=a", "/v1?%73ignature=***"},
    {"/v1?sig=a", "/v1?sig=***"},
    {"/v1?t=a&key=b&api_key=c", "/v1?t=***&key=***&api_key=***"},
    {"/v1?X-Amz-Security-Token=a&X-Amz-Credential=b",
        "/v1?X-Amz-Security-Token=***&X-Amz-Credential=***"},
    {"/v1?token%3Dsecret", "/v1?***"},
    {"/v1?x=%3Ftoken%3Dsecret", "/v1?x=***"},
    {"http://a@" HEX "/T/b", "http://***@***/T/***"},
    {"//a@x.%39" HEX ":80/v1", "//***@***/v1"},
    {"/v1?access_token[]=a&token[0]=b", "/v1?access_token[]=***&token[0]=***"},
    {"/v1?(token)=a&token\\=b&slice[0]=c", "/v1?(token)=***&token\\=***&slice[0]=c"},
    {"/v1?Authorization:Bearer%20a", "/v1?Authorization:***"},
    {"/v1?q=Bearer+a&x=bearer%20b", "/v1?q=***&x=***"},
    {"/v1/BEARER%20a/bearers/c", "/v1/***/bearers/c"},
    {"/v1?token=", NULL},
    {"/v1?token", NULL},
    {"/v1;token=a/x", "/v1;token=***"},
    {"http://ada:word@h/v1", "http://***@h/v1"},
    {"HTTPS://ada@h/t/c", "HTTPS://***@h/t/***"},
    {"//ada@h/v1", "//***@h/v1"},
    {"http://h:1/v1", NULL},
    {"http://ada:word", "http://***"},
    {"/%2574/short/v1", "/%2574/***/v1"},
    {"/v1/datasets/" HEX "/nodes", "/v1/datasets/***/nodes"},
    {"/zarr/a/" BASE64, "/zarr/a/***"},
    {"/zarr/a/x." BASE64 ".y", "/zarr/a/***"},
    {"/v1?slice=" HEX, "/v1?slice=***"},
    {"/v1?" HEX, "/v1?***"},
    {"/v1?" HEX "=1", "/v1?***=***"},
    {"/" JWT "/x", "/***/x"},
    {"/eyJhbGciOiJFUzI1NiJ9", "/***"},
    {"/%65yJhbGciOiJFUzI1NiJ9", "/***"},
    {"/v1?x=%39f86d081884c7d659a2feaa0c55ad01", "/v1?x=***"},
};

START_TEST(secrets_are_hidden_and_names_stay)
{
    ZD_SCOPED_TEXT(secrets, 1000);
    ZD_SCOPED_TEXT(shown, 1000);
    const bool hides = zd_redact_target(targets[_i].target, &secrets, &shown);
    ck_assert_str_eq(
        hides ? shown.at : "as it is", targets[_i].shown == NULL ? "as it is" : targets[_i].shown);
    ck_assert(hides || shown.len == 0);
}
END_TEST

START_TEST(a_secret_of_the_request_is_hidden_wherever_it_stands)
{
    ZD_SCOPED_TEXT(secrets, 1000);
    ZD_SCOPED_TEXT(shown, 1000);
    zd_redact_know(&secrets, zd_span_of("hunter22"));
    zd_redact_know(&secrets, zd_span_of("hunter22x"));
    zd_redact_know(&secrets, zd_span_of("v1")); /* too short */
    ck_assert(zd_redact_target("/v1/a-hunter22x/hunter22", &secrets, &shown));
    ck_assert_str_eq(shown.at, "/v1/a-***/***");
    ck_assert(!zd_redact_target("/v1/a", &secrets, &shown));
}
END_TEST

static const struct {
    const char *target;
    const char *text;
    const char *shown; /* NULL: as it is */
} texts[] = {
    {"/v1/x", "no resource has the path '/v1/x'", NULL},
    {"/T/short/x", "no resource has the path '/T/short/x'", "no resource has the path '/T/***/x'"},
    {"/T/sh%6Frt/x", "nothing is at 'short'", "nothing is at '***'"},
    {"/v1?Token=a%2Bb%2Bc", "the parameter 'Token' has the value a+b+c",
        "the parameter 'Token' has the value ***"},
    {"/v1?Authorization:Bearer%20a", "the parameter 'Authorization:Bearer a' is unknown",
        "the parameter 'Authorization:***' is unknown"},
    {"/v1/Bearer%20a", "no resource has the path '/v1/Bearer a'",
        "no resource has the path '/v1/Bearer ***'"},
    {"/v1", "the header X is '" JWT "'", "the header X is '***'"},
    {"/v1", "member '" BASE64 "' is unknown", "member '***' is unknown"},
    {"/v1", "c/0: the store answered 403 AccessDenied", NULL},
    {"/v1", "credentials: the token: none", NULL},
    {"/v1", "line 1: invalid token near 'it's'", "line 1: invalid token near '***'"},
    {"/v1", "line 1: invalid token near 'it", "line 1: invalid token near '***"},
    {"/v1", "line 1: invalid token near '", NULL},
};

START_TEST(a_sentence_does_not_quote_secrets)
{
    ZD_SCOPED_TEXT(secrets, 1000);
    ZD_SCOPED_TEXT(shown, 1000);
    (void)zd_redact_target(texts[_i].target, &secrets, &shown);
    const bool hides = zd_redact_text(texts[_i].text, &secrets, &shown);
    ck_assert_str_eq(
        hides ? shown.at : "as it is", texts[_i].shown == NULL ? "as it is" : texts[_i].shown);
}
END_TEST

START_TEST(no_memory_shows_nothing)
{
    ZD_SCOPED_TEXT(secrets, 4);
    ZD_SCOPED_TEXT(shown, 1000);
    ck_assert(zd_redact_target("/T/longer/x", &secrets, &shown));
    ck_assert_uint_eq(shown.len, 0);
}
END_TEST

START_TEST(a_sentence_is_not_shown_when_secrets_were_lost)
{
    ZD_SCOPED_TEXT(secrets, 4);
    ZD_SCOPED_TEXT(shown, 1000);
    (void)zd_redact_target("/T/longer/x", &secrets, &shown);
    ck_assert(zd_redact_text("nothing is at 'longer'", &secrets, &shown));
    ck_assert_uint_eq(shown.len, 0);
}
END_TEST

/* A target is hostile, and is shown before anybody is asked for a credential. */
START_TEST(a_word_that_is_encoded_without_end_is_hidden)
{
    ZD_SCOPED_TEXT(secrets, 2 * LONG_BYTES);
    ZD_SCOPED_TEXT(shown, LONG_BYTES);
    ZD_SCOPED_TEXT(target, LONG_BYTES);
    zd_text_add(&target, "/v1/%");
    while (target.len + 2 < LONG_BYTES) {
        zd_text_add(&target, "25");
    }
    ck_assert(zd_redact_target(target.at, &secrets, &shown));
    ck_assert_str_eq(shown.at, "/v1/***");
}
END_TEST

/* Each secret that is found is searched for in all of the text. */
START_TEST(behind_many_secrets_all_is_hidden)
{
    ZD_SCOPED_TEXT(secrets, 2 * LONG_BYTES);
    ZD_SCOPED_TEXT(shown, LONG_BYTES);
    ZD_SCOPED_TEXT(target, LONG_BYTES);
    ZD_SCOPED_TEXT(expected, LONG_BYTES);
    zd_text_add(&target, "/v1/10000/x");
    zd_text_add(&expected, "/v1/***/x");
    for (size_t i = 0; i < N_SECRETS; i++) {
        zd_text_addf(&target, ";key=%zu", 10000 + i);
        zd_text_add(&expected, i < N_SHOWN ? ";key=***" : "");
    }
    zd_text_add(&expected, ";key=***");
    ck_assert(zd_redact_target(target.at, &secrets, &shown));
    ck_assert(strcmp(shown.at, expected.at) == 0);
}
END_TEST

START_TEST(a_word_is_hidden_by_its_shape)
{
    ck_assert_str_eq(zd_redact_word("GET"), "GET");
    ck_assert_str_eq(zd_redact_word(HEX), ZD_REDACT_MARK);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, secrets_are_hidden_and_names_stay, 0, ZD_COUNT_OF(targets));
    tcase_add_test(tests, a_secret_of_the_request_is_hidden_wherever_it_stands);
    tcase_add_loop_test(tests, a_sentence_does_not_quote_secrets, 0, ZD_COUNT_OF(texts));
    tcase_add_test(tests, no_memory_shows_nothing);
    tcase_add_test(tests, a_sentence_is_not_shown_when_secrets_were_lost);
    tcase_add_test(tests, a_word_that_is_encoded_without_end_is_hidden);
    tcase_add_test(tests, behind_many_secrets_all_is_hidden);
    tcase_add_test(tests, a_word_is_hidden_by_its_shape);
}
