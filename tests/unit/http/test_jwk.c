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
    const char *kid;
    const char *alg;
} taken[] = {
    {"{\"kid\": \"a\", " ED "}", "a", "EdDSA"},
    {"{\"kid\": \"a\", " EC ", \"alg\": \"ES256\", \"use\": \"sig\"}", "a", "ES256"},
    {"{\"kid\": \"a\", " RSA ", \"x5c\": [\"x\"]}", "a", "RS256"},
    {"{" ED "}, {\"kid\": \"b\", " ED "}", "b", "EdDSA"}, /* without kid: no token can name it */
    {"{\"kid\": \"a\", \"kty\": \"oct\", \"k\": \"AAAA\"}, {\"kid\": \"a\", " ED "}", "a", "EdDSA"},
    {"{\"kid\": \"a\", " ED "}, {\"kid\": \"a\", " ED "}", "a", "EdDSA"}, /* the same twice */
    {"{\"kid\": \"a\", " ED "}, {\"kid\": \"b\", " ED
     ", \"use\": \"enc\"}, 7, [[[[[[[[[[]]]]]]]]]]",
        "a", "EdDSA"},
    {"{\"kid\": \"a\", " ED ", \"key_ops\": [\"sign\", \"verify\"]}", "a", "EdDSA"},
};

START_TEST(jwk_set_has_the_keys_that_are_of_use)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    ZD_SCOPED_TEXT(text, 8192);
    zd_text_addf(&text, " {\"keys\": [%s], \"more\": 1}\n", taken[_i].keys);
    ck_assert_int_eq(zd_jwk_parse(zd_text_span(&text), &set, NULL), ZD_OK);
    const struct zd_jwk *jwk = zd_jwk_find(set, zd_span_of(taken[_i].kid));
    ck_assert_uint_eq(set->n_good, 1);
    ck_assert_ptr_nonnull(jwk);
    ck_assert_str_eq(jwk->alg, taken[_i].alg);
    ck_assert_ptr_null(zd_jwk_find(set, zd_span_of("")));
}
END_TEST

#define NAMED(members) "{\"kid\": \"a\", " members "}"

/* None of them counts; another key beside them does. */
static const struct {
    const char *keys;
    const char *why;
} left[] = {
    {NAMED("\"kty\": \"oct\", \"k\": \"AAAA\""), "its type"},
    {NAMED("\"kty\": \"EC\", \"crv\": \"P-384\""), "its type"},
    {NAMED("\"kty\": \"EC\", \"crv\": \"Ed25519\""), "its type"},
    {NAMED("\"kty\": [\"RSA\"]"), "its type"},
    {NAMED("\"kty\": \"rsa\""), "its type"},
    {NAMED("\"kid2\": 1"), "its type"},
    {NAMED(ED ", \"use\": \"enc\""), "\"use\""},
    {NAMED(ED ", \"use\": null"), "\"use\""},
    {NAMED(ED ", \"key_ops\": [\"sign\"]"), "\"key_ops\""},
    {NAMED(ED ", \"key_ops\": \"verify\""), "\"key_ops\""},
    {NAMED(RSA ", \"alg\": \"RS512\""), "\"alg\""},
    {NAMED(RSA ", \"alg\": \"HS256\""), "\"alg\""},
    {NAMED(EC ", \"alg\": \"EdDSA\""), "\"alg\""},
    {"1", "not an object"},
    {"null", "not an object"},
    {"[{" ED "}]", "not an object"},
    {"\""
     "a\"",
        "not an object"},
    {NAMED(ED ", \"kty\": \"OKP\""), "repeats a member"},
    {"{" ED "}", "no \"kid\""},
    {"{\"kid\": \"\", " ED "}", "no \"kid\""},
    {"{\"kid\": 1, " ED "}", "no \"kid\""},
    {"{\"kid\": \"a\\u0000\", " ED "}", "no \"kid\""},
    {"{\"kid\": \"\\ud800\", " ED "}", "no \"kid\""},
    {NAMED(EC "}, {\"kid\": \"a\", " ED), "another key has its"},
    {NAMED(EC "}, {\"kid\": \"a\", " ED "}, {\"kid\": \"a\", " EC), "another key has its"},
    {NAMED(EC "}, {\"kid\": \"\\u0061\", " EC "}, {\"kid\": \"a\", " RSA), "another key has its"},
    {NAMED(ED ", \"d\": \"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\""), "private"},
    {NAMED(RSA ", \"p\": \"AQAB\""), "private"},
    {NAMED(ED ", \"d\": 1}, {\"kid\": \"a\", " ED), "private"},
    {NAMED(ED "}, {\"kid\": \"a\", \"d\": 1, " ED), "another key has its"},
    {NAMED("\"kty\": \"OKP\", \"crv\": \"Ed25519\""), "its numbers"},
    {NAMED("\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": 1"), "its numbers"},
    {NAMED("\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": "
           "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=\""),
        "its numbers"},
    {NAMED("\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": \"AAAA\""), "its numbers"},
    {NAMED("\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"AAAA\", \"y\": \"AAAA\""), "its numbers"},
    /* no point of the curve */
    {NAMED("\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": "
           "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\", "
           "\"y\": \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
        "its numbers"},
    {NAMED("\"kty\": \"RSA\", \"e\": \"AQAB\", \"n\": \"AQAB\""), "its numbers"},
    {NAMED("\"kty\": \"RSA\", \"n\": \"AQAB\""), "its numbers"},
};

START_TEST(jwk_that_is_no_use_is_left_out_alone)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    ZD_SCOPED_TEXT(text, 8192);
    zd_text_addf(&text, "{\"keys\": [%s, {\"kid\": \"good\", " EC "}]}", left[_i].keys);
    ck_assert_int_eq(zd_jwk_parse(zd_text_span(&text), &set, NULL), ZD_OK);
    ck_assert_uint_eq(set->n_good, 1);
    ck_assert_ptr_nonnull(zd_jwk_find(set, zd_span_of("good")));
    ck_assert_ptr_null(zd_jwk_find(set, zd_span_of("a")));
    ck_assert_ptr_null(zd_jwk_find(set, zd_span_of("")));
    ck_assert_msg(strstr(set->jwk[0].why_not, left[_i].why) != NULL, "%s", set->jwk[0].why_not);
}
END_TEST

static const char *const empty[] = {"{\"keys\": []}", "{\"k\\u0065ys\": [ ]}", "{\"keys\": [{}]}",
    "{\"more\": {\"keys\": 1}, \"keys\": [null]}"};

START_TEST(jwk_set_may_be_without_keys)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    ck_assert_int_eq(zd_jwk_parse(zd_span_of(empty[_i]), &set, NULL), ZD_OK);
    ck_assert_uint_eq(set->n_good, 0);
    ck_assert_ptr_null(zd_jwk_find(set, zd_span_of("")));
}
END_TEST

#define KEY(members) "{\"keys\": [{\"kid\": \"a\", " members "}]}"

static const struct {
    const char *text;
    const char *said;
} refused[] = {
    {"", ""},
    {"{\"keys\": {}}", "expected {\"keys\": [...]}"},
    {"{}", "expected {\"keys\": [...]}"},
    {"{\"Keys\": []}", "expected {\"keys\": [...]}"},
    {"{\"keys\": [], \"k\\u0065ys\": []}", "more than one"},
    {"[{" ED "}]", "expected {\"keys\": [...]}"},
    {"\"keys\"", "expected {\"keys\": [...]}"},
    {KEY(ED) "x", ""},
    {"{\"keys\": [{]}", ""},
};

START_TEST(jwk_text_that_is_no_set_is_refused)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_jwk_parse(zd_span_of(refused[_i].text), &set, &err), ZD_INVALID);
    ck_assert_msg(strstr(err.text, refused[_i].said) != NULL, "%s", err.text);
}
END_TEST

START_TEST(jwk_set_has_a_size_that_it_may_have)
{
    for (size_t n = ZD_JWK_KEYS_MAX - 1; n <= ZD_JWK_KEYS_MAX + 1; n++) {
        ZD_AUTO(zd_jwk_set) set = NULL;
        ZD_SCOPED_TEXT(text, ZD_JWK_BYTES_MAX);
        zd_text_add(&text, "{\"keys\": [" NAMED(ED));
        for (size_t i = 1; i < n; i++) {
            zd_text_add(&text, ", {}");
        }
        zd_text_add(&text, "]}");
        const enum zd_status status = zd_jwk_parse(zd_text_span(&text), &set, NULL);
        ck_assert_int_eq(status, n <= ZD_JWK_KEYS_MAX ? ZD_OK : ZD_TOO_LARGE);
        ck_assert(status != ZD_OK || (set->n == n && set->n_good == 1));
    }
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

/* SHA-256 of a key's SubjectPublicKeyInfo, computed by another program. */
START_TEST(a_key_has_a_digest_of_its_own)
{
    ZD_AUTO(zd_jwk_set) set = NULL;
    uint8_t digest[ZD_DIGEST_BYTES];
    char hex[ZD_DIGEST_CHARS + 1];
    ck_assert_int_eq(zd_jwk_parse(zd_span_of(KEY(ED)), &set, NULL), ZD_OK);
    ck_assert_int_eq(zd_public_key_digest(set->jwk[0].key, digest), ZD_OK);
    zd_digest_format(digest, hex);
    ck_assert_str_eq(hex, "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9");
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
    tcase_add_loop_test(tests, jwk_that_is_no_use_is_left_out_alone, 0, ZD_COUNT_OF(left));
    tcase_add_loop_test(tests, jwk_set_may_be_without_keys, 0, ZD_COUNT_OF(empty));
    tcase_add_loop_test(tests, jwk_text_that_is_no_set_is_refused, 0, ZD_COUNT_OF(refused));
    tcase_add_test(tests, jwk_set_has_a_size_that_it_may_have);
    tcase_add_test(tests, jwk_of_rsa_has_bounds);
    tcase_add_test(tests, a_key_has_a_digest_of_its_own);
    tcase_add_test(tests, jwk_set_survives_want_of_memory);
}
