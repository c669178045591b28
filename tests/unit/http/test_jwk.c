/* Sets of keys: which are taken, left out and refused. */
#include "server/http/jwk.h"

#include <string.h>

#include "tests/support/jose.h"
#include "tests/support/unit.h"

/* RFC 8037, A.2, and RFC 7517, A.1: published keys. */
#define ED                                                                                         \
    "\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": "                                              \
    "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""
#define EC                                                                                         \
    "\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\"," \
    "\"y\": \"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\""
#define RSA                                                                                        \
    "\"kty\": \"RSA\", \"e\": \"AQAB\", \"n\": \"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78L" \
    "hWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-"                \
    "5JsGY4Hc5n9yBXAr"                                                                             \
    "wl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_"                                                           \
    "FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1"                                  \
    "n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-"   \
    "kEg"                                                                                          \
    "U8awapJzKnqDKgw\""

static const struct {
    const char *keys;
    const char *kid; /* NULL: none is left */
    const char *alg;
} taken[] = {
    {"{\"kid\": \"a\", " ED "}", "a", "EdDSA"},
    {"{\"kid\": \"a\", " EC ", \"alg\": \"ES256\", \"use\": \"sig\"}", "a", "ES256"},
    {"{\"kid\": \"a\", " RSA ", \"x5c\": [\"x\"]}", "a", "RS256"},
    {"{" ED "}, {\"kid\": \"b\", " ED "}", "b", "EdDSA"}, /* without kid: no token can name it */
    {"{\"kid\": \"a\", \"kty\": \"oct\", \"k\": \"AAAA\"}, {\"kid\": \"a\", " ED "}", "a", "EdDSA"},
    {"{\"kid\": \"a\", \"kty\": \"oct\", \"k\": \"AAAA\"}", NULL, NULL},
    {"{\"kid\": \"a\", " ED ", \"use\": \"enc\"}", NULL, NULL},
    {"{\"kid\": \"a\", " RSA ", \"alg\": \"RS512\"}", NULL, NULL},
    {"{\"kid\": \"a\", " RSA ", \"alg\": \"HS256\"}", NULL, NULL},
    {"{\"kid\": \"a\", " EC ", \"alg\": \"EdDSA\"}", NULL, NULL},
    {"{\"kid\": \"a\", \"kty\": \"EC\", \"crv\": \"P-384\"}", NULL, NULL},
    {"{\"kid\": \"a\", \"kty\": \"EC\", \"crv\": \"Ed25519\"}", NULL, NULL},
    {"{\"kid\": \"a\", \"kty\": [\"RSA\"]}", NULL, NULL},
    {"", NULL, NULL},
    {"1, null, \"x\"", NULL, NULL},
};

START_TEST(jwk_set_has_the_keys_that_are_of_use)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    ZD_SCOPED_TEXT(text, 8192);
    zd_text_addf(&text, "{\"keys\": [%s], \"more\": 1}", taken[_i].keys);
    const enum zd_status status = zd_jwk_parse(zd_text_span(&text), &set, NULL);
    ck_assert_int_eq(status, taken[_i].kid == NULL ? ZD_INVALID : ZD_OK);
    if (status == ZD_OK) {
        const struct zd_jwk *jwk = zd_jwk_find(set, zd_span_of(taken[_i].kid));
        ck_assert_uint_eq(set->n, 1);
        ck_assert_ptr_nonnull(jwk);
        ck_assert_str_eq(jwk->alg, taken[_i].alg);
    }
    ck_assert_ptr_null(zd_jwk_find(set, zd_span_of("")));
}
END_TEST

#define KEY(members) "{\"keys\": [{\"kid\": \"a\", " members "}]}"

static const struct {
    const char *text;
    const char *said;
} refused[] = {
    {"", ""},
    {"{\"keys\": {}}", "is expected"},
    {"[{" ED "}]", "is expected"},
    {KEY(ED) " ", ""}, /* taken: set below */
    {KEY(ED) "x", ""},
    {KEY(ED "}, {\"kid\": \"a\", " EC), "has the \"kid\" of an earlier one"},
    {KEY(ED ", \"kty\": \"OKP\""), ""}, /* repeated members */
    {KEY(ED ", \"d\": \"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\""), "is a private key"},
    {"{\"keys\": [{\"kid\": \"\", " ED "}]}", "has no \"kid\""},
    {"{\"keys\": [{\"kid\": 1, " ED "}]}", "has no \"kid\""},
    {"{\"keys\": [{\"kid\": \"a\\u0000\", " ED "}]}", "has no \"kid\""},
    {KEY("\"kty\": \"OKP\", \"crv\": \"Ed25519\""), "not base64"},
    {KEY("\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": 1"), "not base64"},
    {KEY("\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": "
         "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=\""),
        "not base64"},
    {KEY("\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": \"AAAA\""), "3 bytes"},
    {KEY("\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"AAAA\", \"y\": \"AAAA\""), "3 and 3"},
    /* no point of the curve */
    {KEY("\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": "
         "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\", "
         "\"y\": \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
        "no public key"},
    {KEY("\"kty\": \"RSA\", \"e\": \"AQAB\", \"n\": \"AQAB\""), "24 bits"},
    {KEY("\"kty\": \"RSA\", \"n\": \"AQAB\""), "not base64"},
};

START_TEST(jwk_set_is_refused_as_a_whole)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    struct zd_error err = {0};
    const bool is_good = strcmp(refused[_i].text, KEY(ED) " ") == 0;
    ck_assert_int_eq(
        zd_jwk_parse(zd_span_of(refused[_i].text), &set, &err), is_good ? ZD_OK : ZD_INVALID);
    ck_assert_msg(is_good || strstr(err.text, refused[_i].said) != NULL, "%s", err.text);
}
END_TEST

START_TEST(jwk_of_rsa_has_bounds)
{
    static const struct {
        size_t n_bytes;
        const char *exponent; /* hexadecimal */
        bool is_good;
    } keys[] = {
        {256, "010001", true},
        {512, "03", true},
        {255, "010001", false},
        {513, "010001", false},
        {256, "", false},
        {256, "00", false},
        {256, "01", false},
        {256, "0000010001", true},
        {256, "010000", false}, /* even */
        {256, "ffffffffffffffffff", false},
    };
    uint8_t modulus[514];
    memset(modulus, 0xff, sizeof modulus);
    for (size_t i = 0; i < ZD_COUNT_OF(keys); i++) {
        ZD_AUTO(zd_public_key) key = NULL;
        ZD_AUTO(zd_buf) exponent = zd_unit_hex(keys[i].exponent);
        const struct zd_span n = {.ptr = modulus, .len = keys[i].n_bytes};
        const enum zd_status status = zd_public_key_new_rsa(n, zd_buf_span(exponent), &key, NULL);
        ck_assert_msg((status == ZD_OK) == keys[i].is_good, "%zu", i);
    }
}
END_TEST

static enum zd_status parse(void *context)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    (void)context;
    return zd_jwk_parse(zd_span_of(KEY(RSA)), &set, NULL);
}

START_TEST(jwk_set_survives_want_of_memory)
{
    zd_unit_with_failing_memory(parse, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, jwk_set_has_the_keys_that_are_of_use, 0, ZD_COUNT_OF(taken));
    tcase_add_loop_test(tests, jwk_set_is_refused_as_a_whole, 0, ZD_COUNT_OF(refused));
    tcase_add_test(tests, jwk_of_rsa_has_bounds);
    tcase_add_test(tests, jwk_set_survives_want_of_memory);
}
