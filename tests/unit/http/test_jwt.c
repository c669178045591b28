/* JSON Web Tokens: what opens doors, and all that does not. */
#include "server/http/jwt.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "core/base/base64.h"
#include "tests/support/jose.h"
#include "tests/support/unit.h"

#define NOW_S 1900000000 /* also in the claims below */

enum { RSA_PAIR, EC_PAIR, ED_PAIR, OTHER_PAIR, N_KEYS };

static EVP_PKEY *key[N_KEYS]; /* made once, before the tests fork */
static struct zd_jwk_set *set;
static size_t n_verified;  /* signatures */
static uint64_t n_counted; /* by the code */

/* Counts, and does what libcrypto's own does. */
int EVP_DigestVerify(EVP_MD_CTX *context, const unsigned char *signature, size_t signature_len,
    const unsigned char *bytes, size_t len)
{
    int (*own)(EVP_MD_CTX *, const unsigned char *, size_t, const unsigned char *, size_t) = NULL;
    void *const found = dlsym(RTLD_NEXT, "EVP_DigestVerify");
    memcpy(&own, &found, sizeof own);
    n_verified++;
    return own(context, signature, signature_len, bytes, len);
}

static void make_keys(void)
{
    static const char *const alg[N_KEYS] = {"RS256", "ES256", "EdDSA", "ES256"};
    static const char *const kid[N_KEYS] = {"rsa", "ec", "ed", NULL};
    ZD_SCOPED_TEXT(text, 16384);
    zd_text_add(&text, "{\"keys\": [");
    for (size_t i = 0; i < N_KEYS; i++) {
        key[i] = zd_jose_key(alg[i]);
        if (kid[i] != NULL) {
            zd_text_addf(&text, "%s{\"kid\": \"%s\", ", i == 0 ? "" : ", ", kid[i]);
            zd_jose_add_members(&text, key[i]);
            zd_text_add(&text, "}");
        }
    }
    zd_text_add(&text, "]}");
    struct zd_error err = {0};
    const enum zd_status status = zd_jwk_parse(zd_text_span(&text), &set, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
}

static enum zd_jwt_answer judge(const struct zd_text *token, struct zd_jwt *jwt)
{
    const struct zd_jwt_rules rules = {.keys = set,
        .issuer = "https://id.example",
        .audience = "zarrd",
        .leeway_s = 30,
        .n_verified = &n_counted};
    return zd_jwt_judge(zd_text_span(token), &rules, NOW_S, jwt);
}

static bool is_good(const struct zd_text *token)
{
    struct zd_jwt jwt = {0};
    const enum zd_jwt_answer answer = judge(token, &jwt);
    zd_jwt_done(&jwt);
    return answer == ZD_JWT_GOOD;
}

#define CLAIMS                                                                                     \
    "{\"iss\": \"https://id.example\", \"aud\": \"zarrd\", \"exp\": 1900000100, \"sub\": \"eve\"}"

static const struct {
    size_t key;
    const char *header;
    bool is_good;
} headers[] = {
    {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"rsa\"}", true},
    {EC_PAIR, "{\"alg\": \"ES256\", \"kid\": \"ec\"}", true},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\"}", true},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"typ\": \"JWT\"}", true},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"typ\": \"at+jwt\"}", true},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"typ\": \"dpop+jwt\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"typ\": 1}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"jku\": \"http://127.0.0.1:1/\"}", true},
    {ED_PAIR, " {\"kid\": \"ed\", \"alg\": \"EdDSA\"}\n", true},
    {ED_PAIR, "{\"alg\": \"none\", \"kid\": \"ed\"}", false},
    {ED_PAIR, "{\"alg\": \"None\", \"kid\": \"ed\"}", false},
    {ED_PAIR, "{\"alg\": \"eddsa\", \"kid\": \"ed\"}", false},
    {ED_PAIR, "{\"alg\": [\"EdDSA\"], \"kid\": \"ed\"}", false},
    {ED_PAIR, "{\"kid\": \"ed\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": 1}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\\u0000\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"kid\": \"ed\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"k\\u0069d\": \"ec\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"alg\": \"none\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"crit\": []}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\", \"crit\": [\"b64\"], \"b64\": false}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ed\"} x", false},
    {ED_PAIR, "[{\"alg\": \"EdDSA\", \"kid\": \"ed\"}]", false},
    {ED_PAIR, "\"EdDSA\"", false},
    {ED_PAIR, "", false},
    /* the algorithm of one key, the id of another; and a key that the set has not */
    {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"ec\"}", false},
    {EC_PAIR, "{\"alg\": \"ES256\", \"kid\": \"rsa\"}", false},
    {ED_PAIR, "{\"alg\": \"EdDSA\", \"kid\": \"ec\"}", false},
    {OTHER_PAIR, "{\"alg\": \"ES256\", \"kid\": \"ec\"}", false},
    {EC_PAIR, "{\"alg\": \"RS256\", \"kid\": \"rsa\"}", false},
    {RSA_PAIR, "{\"alg\": \"PS256\", \"kid\": \"rsa\"}", false},
    {RSA_PAIR, "{\"alg\": \"RS512\", \"kid\": \"rsa\"}", false},
};

START_TEST(jwt_header_says_what_its_key_says)
{
    ZD_SCOPED_TEXT(token, 1U << 20);
    zd_jose_add_token(&token, key[headers[_i].key], headers[_i].header, CLAIMS);
    ck_assert_msg(is_good(&token) == headers[_i].is_good, "%s", headers[_i].header);
}
END_TEST

#define BOTH "\"iss\": \"https://id.example\", \"aud\": \"zarrd\""
#define ISS  "\"iss\": \"https://id.example\""
#define LATE "\"exp\": 1900000100"

static const struct {
    const char *claims;
    bool is_good;
} all_claims[] = {
    {"{" BOTH ", " LATE "}", true},
    {"{" BOTH ", " LATE ", \"admin\": true, \"iat\": 9e99}", true},
    {"{" BOTH ", \"exp\": 1899999971}", true}, /* 29 s over: within the leeway */
    {"{" BOTH ", \"exp\": 1899999970}", false},
    {"{" BOTH ", \"exp\": 1900000100.5}", true},
    {"{" BOTH ", \"exp\": 1.9000001e9}", true},
    {"{" BOTH ", \"exp\": 9007199254740991}", true},
    {"{" BOTH ", \"exp\": 9007199254740992}", false},
    {"{" BOTH ", \"exp\": 18446744073709551616}", false},
    {"{" BOTH ", \"exp\": 1e300}", false},
    {"{" BOTH ", \"exp\": 1e400}", false},
    {"{" BOTH ", \"exp\": NaN}", false},
    {"{" BOTH ", \"exp\": Infinity}", false},
    {"{" BOTH ", \"exp\": -1}", false},
    {"{" BOTH ", \"exp\": -1900000100}", false},
    {"{" BOTH ", \"exp\": 0}", false},
    {"{" BOTH ", \"exp\": \"1900000100\"}", false},
    {"{" BOTH ", \"exp\": true}", false},
    {"{" BOTH ", \"exp\": null}", false},
    {"{" BOTH ", \"exp\": [1900000100]}", false},
    {"{" BOTH "}", false},
    {"{" BOTH ", \"exp\": 1, " LATE "}", false}, /* a member that repeats */
    {"{" BOTH ", " LATE ", \"nbf\": 1900000030}", true},
    {"{" BOTH ", " LATE ", \"nbf\": 1900000031}", false},
    {"{" BOTH ", " LATE ", \"nbf\": 0}", true},
    {"{" BOTH ", " LATE ", \"nbf\": -1}", false},
    {"{" BOTH ", " LATE ", \"nbf\": \"0\"}", false},
    {"{" BOTH ", " LATE ", \"nbf\": null}", false},
    {"{" ISS ", " LATE ", \"aud\": [\"other\", \"zarrd\"]}", true},
    {"{" ISS ", " LATE ", \"aud\": [\"other\"]}", false},
    {"{" ISS ", " LATE ", \"aud\": []}", false},
    {"{" ISS ", " LATE ", \"aud\": [\"zarrd\", 1]}", false},
    {"{" ISS ", " LATE ", \"aud\": [[\"zarrd\"]]}", false},
    {"{" ISS ", " LATE ", \"aud\": \"Zarrd\"}", false},
    {"{" ISS ", " LATE ", \"aud\": \"zarrd\\u0000\"}", false},
    {"{" ISS ", " LATE ", \"aud\": \"zarrd2\"}", false},
    {"{" ISS ", " LATE ", \"aud\": {\"zarrd\": 1}}", false},
    {"{" ISS ", " LATE "}", false},
    {"{\"iss\": \"https://id.example/\", \"aud\": \"zarrd\", " LATE "}", false},
    {"{\"iss\": [\"https://id.example\"], \"aud\": \"zarrd\", " LATE "}", false},
    {"{\"aud\": \"zarrd\", " LATE "}", false},
    {"{" BOTH ", " LATE ", \"sub\": 1}", false},
    {"{" BOTH ", " LATE ", \"sub\": \"a\\u0000b\"}", false},
    {"{" BOTH ", " LATE ", \"scope\": [\"read\"]}", false},
    {"[" LATE "]", false},
    {"null", false},
    {"", false},
    {"\xef\xbb\xbf{" BOTH ", " LATE "}", false},
};

START_TEST(jwt_claims_are_all_judged)
{
    ZD_SCOPED_TEXT(token, 1U << 20);
    zd_jose_add_token(
        &token, key[ED_PAIR], "{\"alg\": \"EdDSA\", \"kid\": \"ed\"}", all_claims[_i].claims);
    ck_assert_msg(is_good(&token) == all_claims[_i].is_good, "%s", all_claims[_i].claims);
}
END_TEST

/* A good token of each kind: any of its characters changed, one more, or one less, is none. */
START_TEST(jwt_is_none_with_any_character_changed)
{
    ZD_SCOPED_TEXT(token, 1U << 20);
    static const char *const header[] = {"{\"alg\": \"RS256\", \"kid\": \"rsa\"}",
        "{\"alg\": \"ES256\", \"kid\": \"ec\"}", "{\"alg\": \"EdDSA\", \"kid\": \"ed\"}"};
    static const char others[] = "A_.=+/ \n\x01";
    zd_jose_add_token(&token, key[_i], header[_i], CLAIMS);
    ck_assert(is_good(&token));
    for (size_t i = 0; i < token.len; i += 1 + i % 3) {
        const char held = token.at[i];
        for (const char *other = others; *other != '\0'; other++) {
            if (*other != held) {
                token.at[i] = *other;
                ck_assert_msg(!is_good(&token), "%zu %s", i, token.at);
            }
        }
        token.at[i] = held;
    }
    for (const char *more = "A=.\n "; *more != '\0'; more++) {
        zd_text_add_char(&token, *more);
        ck_assert(!is_good(&token));
        zd_text_cut(&token, token.len - 1);
    }
    zd_text_cut(&token, token.len - 1);
    ck_assert(!is_good(&token));
}
END_TEST

static void add_start(struct zd_text *token, const char *header)
{
    zd_jose_add_base64(token, header);
    zd_text_add(token, ".");
    zd_jose_add_base64(token, CLAIMS);
    zd_text_add(token, ".");
}

START_TEST(jwt_without_a_signature_is_none)
{
    static const char *const header[] = {
        "{\"alg\": \"none\", \"kid\": \"ed\"}", "{\"alg\": \"EdDSA\", \"kid\": \"ed\"}"};
    for (size_t i = 0; i < ZD_COUNT_OF(header); i++) {
        ZD_SCOPED_TEXT(token, 1U << 20);
        add_start(&token, header[i]);
        ck_assert(!is_good(&token));
        zd_text_add(&token, "AAAA");
        ck_assert(!is_good(&token));
    }
}
END_TEST

/* The public key is no secret: who takes it for one lets everybody sign. */
START_TEST(jwt_with_a_public_key_as_a_secret_is_none)
{
    ZD_SCOPED_TEXT(token, 1U << 20);
    ZD_SCOPED_TEXT(secret, 1U << 16);
    uint8_t digest[32];
    zd_jose_add_members(&secret, key[RSA_PAIR]);
    add_start(&token, "{\"alg\": \"HS256\", \"kid\": \"rsa\"}");
    ck_assert_ptr_nonnull(HMAC(EVP_sha256(), secret.at, (int)secret.len, (const uint8_t *)token.at,
        token.len - 1, digest, NULL));
    ck_assert_int_eq(
        zd_base64_url_add(&token, (struct zd_span){.ptr = digest, .len = sizeof digest}), ZD_OK);
    ck_assert(!is_good(&token));
}
END_TEST

START_TEST(jwt_of_p256_has_64_bytes_of_signature)
{
    ZD_SCOPED_TEXT(start, 1U << 20);
    ZD_SCOPED_TEXT(signature, 1U << 16);
    uint8_t bytes[64];
    add_start(&start, "{\"alg\": \"ES256\", \"kid\": \"ec\"}");
    zd_text_cut(&start, start.len - 1);
    zd_jose_add_signature(&signature, key[EC_PAIR], start.at);
    ck_assert(zd_base64_url_decode(zd_text_span(&signature), bytes));
    for (size_t len = 0; len <= sizeof bytes; len++) {
        ZD_SCOPED_TEXT(token, 1U << 20);
        zd_text_addf(&token, "%s.", start.at);
        ck_assert_int_eq(
            zd_base64_url_add(&token, (struct zd_span){.ptr = bytes, .len = len}), ZD_OK);
        ck_assert_int_eq(is_good(&token), len == sizeof bytes);
    }
    memset(bytes, 0, sizeof bytes); /* r = s = 0: "psychic signatures" */
    ZD_SCOPED_TEXT(token, 1U << 20);
    zd_text_addf(&token, "%s.", start.at);
    ck_assert_int_eq(
        zd_base64_url_add(&token, (struct zd_span){.ptr = bytes, .len = sizeof bytes}), ZD_OK);
    ck_assert(!is_good(&token));
}
END_TEST

static const char *const shapes[] = {"", ".", "..", "...", "a.b", "a.b.c", "a..c", ".b.", "a.b.c.d",
    "e30.e30.", "e30.e30.AA", "\xff.\xff.\xff"};

START_TEST(jwt_of_another_shape_is_none)
{
    ZD_SCOPED_TEXT(token, 64);
    zd_text_add(&token, shapes[_i]);
    ck_assert(!is_good(&token));
    size_t n_dots = 0;
    for (const char *at = shapes[_i]; *at != '\0'; at++) {
        n_dots += *at == '.';
    }
    ck_assert_int_eq(zd_jwt_is(zd_text_span(&token)), n_dots == 2);
}
END_TEST

START_TEST(jwt_has_a_length_that_it_may_have)
{
    static const size_t lengths[] = {100, 8000, 11900, 13000, 200000};
    for (size_t i = 0; i < ZD_COUNT_OF(lengths); i++) {
        ZD_SCOPED_TEXT(claims, 1U << 20);
        ZD_SCOPED_TEXT(token, 1U << 20);
        zd_text_add(&claims, "{" BOTH ", " LATE ", \"x\": \"");
        while (claims.len < lengths[i]) {
            zd_text_add(&claims, "x");
        }
        zd_text_add(&claims, "\"}");
        zd_jose_add_token(&token, key[ED_PAIR], "{\"alg\": \"EdDSA\", \"kid\": \"ed\"}", claims.at);
        ck_assert_int_eq(is_good(&token), token.len <= ZD_JWT_BYTES_MAX);
    }
}
END_TEST

/* A stranger who makes up tokens costs no more than their text. */
START_TEST(jwt_costs_a_signature_only_when_nothing_else_is_wrong_with_it)
{
    static const struct {
        size_t key;
        const char *header;
        const char *claims;
    } bad[] = {
        {OTHER_PAIR, "{\"alg\": \"ES256\", \"kid\": \"ec\"}", CLAIMS}, /* the signature alone */
        {OTHER_PAIR, "{\"alg\": \"ES256\", \"kid\": \"nobody's\"}", CLAIMS},
        {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"nobody's\"}", CLAIMS},
        {RSA_PAIR, "{\"alg\": \"PS256\", \"kid\": \"rsa\"}", CLAIMS},
        {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"rsa\", \"crit\": []}", CLAIMS},
        {RSA_PAIR, "{", CLAIMS},
        {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"rsa\"}", "{"},
        {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"rsa\"}", "{" BOTH ", \"exp\": 1}"},
        {RSA_PAIR, "{\"alg\": \"RS256\", \"kid\": \"rsa\"}", "{" ISS ", " LATE "}"},
        {EC_PAIR, "{\"alg\": \"ES256\", \"kid\": \"ec\"}", "{" BOTH ", " LATE ", \"sub\": 1}"},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(bad); i++) {
        ZD_SCOPED_TEXT(token, 1U << 20);
        zd_jose_add_token(&token, key[bad[i].key], bad[i].header, bad[i].claims);
        const size_t n_before = n_verified;
        ck_assert(!is_good(&token));
        ck_assert_msg(n_verified == n_before + (i == 0), "%s %s", bad[i].header, bad[i].claims);
        ck_assert_uint_eq(n_counted, n_verified);
    }
}
END_TEST

START_TEST(jwt_of_an_unknown_key_asks_for_newer_ones)
{
    struct zd_jwt jwt = {0};
    const struct zd_jwt_rules rules = {
        .keys = NULL, .issuer = "", .audience = "", .n_verified = &n_counted};
    ZD_SCOPED_TEXT(token, 1U << 20);
    zd_jose_add_token(&token, key[ED_PAIR], "{\"alg\": \"EdDSA\", \"kid\": \"new\"}", CLAIMS);
    ck_assert_int_eq(judge(&token, &jwt), ZD_JWT_UNKNOWN_KEY);
    ck_assert_int_eq(zd_jwt_judge(zd_text_span(&token), &rules, NOW_S, &jwt), ZD_JWT_UNKNOWN_KEY);
}
END_TEST

START_TEST(jwt_says_who_and_how_long)
{
    struct zd_jwt jwt = {0};
    ZD_SCOPED_TEXT(token, 1U << 20);
    zd_jose_add_token(&token, key[EC_PAIR], "{\"alg\": \"ES256\", \"kid\": \"ec\"}", CLAIMS);
    ck_assert_int_eq(judge(&token, &jwt), ZD_JWT_GOOD);
    ck_assert_str_eq(jwt.subject, "eve");
    ck_assert_str_eq(jwt.scope, "");
    ck_assert_uint_eq(jwt.over_s, 1900000130);
    zd_jwt_done(&jwt);
}
END_TEST

static const struct {
    const char *scope;
    const char *words; /* of them those that are known: r or w, dataset, path */
} scopes[] = {
    {"", ""},
    {"read", "r,,;"},
    {"  write   read ", "w,,;r,,;"},
    {"openid read:era profile", "r,era,;"},
    {"read:era/solar/net write:work", "r,era,solar/net;w,work,;"},
    {"reader writer read: write:/x read:era/ read:/ Read readwrite", ""},
    {"read:* read:er? write:era/*", ""},
    {"read\tread", ""},
    {"admin", ""},
};

START_TEST(jwt_scope_has_words)
{
    struct zd_jwt_word word;
    const char *at = scopes[_i].scope;
    ZD_SCOPED_TEXT(words, 1024);
    while (zd_jwt_next_word(&at, &word)) {
        zd_text_addf(&words, "%c,%s,%s;", word.is_write ? 'w' : 'r', word.dataset, word.path);
    }
    ck_assert_str_eq(words.len == 0 ? "" : words.at, scopes[_i].words);
}
END_TEST

START_TEST(jwt_scope_skips_words_that_are_too_long)
{
    struct zd_jwt_word word;
    ZD_SCOPED_TEXT(scope, 8192);
    zd_text_add(&scope, "read:era/");
    while (scope.len < 2000) {
        zd_text_add(&scope, "x");
    }
    zd_text_add(&scope, " write");
    const char *at = scope.at;
    ck_assert(zd_jwt_next_word(&at, &word));
    ck_assert(word.is_write);
    ck_assert(!zd_jwt_next_word(&at, &word));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    make_keys();
    tcase_add_loop_test(tests, jwt_header_says_what_its_key_says, 0, ZD_COUNT_OF(headers));
    tcase_add_loop_test(tests, jwt_claims_are_all_judged, 0, ZD_COUNT_OF(all_claims));
    tcase_add_loop_test(tests, jwt_is_none_with_any_character_changed, 0, 3);
    tcase_add_test(tests, jwt_without_a_signature_is_none);
    tcase_add_test(tests, jwt_with_a_public_key_as_a_secret_is_none);
    tcase_add_test(tests, jwt_of_p256_has_64_bytes_of_signature);
    tcase_add_loop_test(tests, jwt_of_another_shape_is_none, 0, ZD_COUNT_OF(shapes));
    tcase_add_test(tests, jwt_has_a_length_that_it_may_have);
    tcase_add_test(tests, jwt_costs_a_signature_only_when_nothing_else_is_wrong_with_it);
    tcase_add_test(tests, jwt_of_an_unknown_key_asks_for_newer_ones);
    tcase_add_test(tests, jwt_says_who_and_how_long);
    tcase_add_loop_test(tests, jwt_scope_has_words, 0, ZD_COUNT_OF(scopes));
    tcase_add_test(tests, jwt_scope_skips_words_that_are_too_long);
}
