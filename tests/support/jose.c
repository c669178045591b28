/* Keys and tokens for tests. */
#include "tests/support/jose.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <string.h>

#include "core/base/base64.h"
#include "tests/support/check.h"

#define NUMBER_MAX    1024
#define RSA_BITS      2048
#define P256_BYTES    32
#define P384_BYTES    48
#define ED25519_BYTES 32

EVP_PKEY *zd_jose_key(const char *alg)
{
    EVP_PKEY *key = strcmp(alg, "RS256") == 0   ? EVP_RSA_gen(RSA_BITS)
                    : strcmp(alg, "ES256") == 0 ? EVP_EC_gen("P-256")
                    : strcmp(alg, "ES384") == 0 ? EVP_EC_gen("P-384")
                                                : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    ck_assert_ptr_nonnull(key);
    return key;
}

/* @param len 0: as long as it is */
static void add_number(
    struct zd_text *text, EVP_PKEY *key, const char *param, const char *name, int len)
{
    uint8_t bytes[NUMBER_MAX];
    BIGNUM *number = NULL;
    ck_assert_int_eq(EVP_PKEY_get_bn_param(key, param, &number), 1);
    len = BN_bn2binpad(number, bytes, len == 0 ? BN_num_bytes(number) : len);
    ck_assert_int_gt(len, 0);
    BN_free(number);
    zd_text_addf(text, ", \"%s\": \"", name);
    ck_assert_int_eq(
        zd_base64_url_add(text, (struct zd_span){.ptr = bytes, .len = (size_t)len}), ZD_OK);
    zd_text_add(text, "\"");
}

void zd_jose_add_members(struct zd_text *text, EVP_PKEY *key)
{
    uint8_t raw[ED25519_BYTES];
    size_t len = sizeof raw;
    if (EVP_PKEY_is_a(key, "RSA")) {
        zd_text_add(text, "\"kty\": \"RSA\"");
        add_number(text, key, OSSL_PKEY_PARAM_RSA_N, "n", 0);
        add_number(text, key, OSSL_PKEY_PARAM_RSA_E, "e", 0);
    } else if (EVP_PKEY_is_a(key, "EC")) {
        const bool is_256 = EVP_PKEY_get_bits(key) == P256_BYTES * 8;
        const int n = is_256 ? P256_BYTES : P384_BYTES;
        zd_text_addf(text, "\"kty\": \"EC\", \"crv\": \"%s\"", is_256 ? "P-256" : "P-384");
        add_number(text, key, OSSL_PKEY_PARAM_EC_PUB_X, "x", n);
        add_number(text, key, OSSL_PKEY_PARAM_EC_PUB_Y, "y", n);
    } else {
        ck_assert_int_eq(EVP_PKEY_get_raw_public_key(key, raw, &len), 1);
        zd_text_add(text, "\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": \"");
        ck_assert_int_eq(zd_base64_url_add(text, (struct zd_span){.ptr = raw, .len = len}), ZD_OK);
        zd_text_add(text, "\"");
    }
}

void zd_jose_add_base64(struct zd_text *text, const char *bytes)
{
    ck_assert_int_eq(zd_base64_url_add(text, zd_span_of(bytes)), ZD_OK);
}

/* From DER to both numbers. */
static size_t flatten(uint8_t *signature, size_t len)
{
    const uint8_t *at = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)len);
    ck_assert_ptr_nonnull(pair);
    uint8_t flat[2 * P256_BYTES];
    ck_assert_int_eq(BN_bn2binpad(ECDSA_SIG_get0_r(pair), flat, P256_BYTES), P256_BYTES);
    ck_assert_int_eq(
        BN_bn2binpad(ECDSA_SIG_get0_s(pair), flat + P256_BYTES, P256_BYTES), P256_BYTES);
    ECDSA_SIG_free(pair);
    memcpy(signature, flat, sizeof flat);
    return sizeof flat;
}

void zd_jose_add_signature(struct zd_text *text, EVP_PKEY *key, const char *is_signed)
{
    uint8_t signature[NUMBER_MAX];
    size_t len = sizeof signature;
    const bool is_ed = EVP_PKEY_is_a(key, "ED25519") == 1;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    ck_assert_int_eq(EVP_DigestSignInit(context, NULL, is_ed ? NULL : EVP_sha256(), NULL, key), 1);
    ck_assert_int_eq(
        EVP_DigestSign(context, signature, &len, (const uint8_t *)is_signed, strlen(is_signed)), 1);
    EVP_MD_CTX_free(context);
    if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_bits(key) == P256_BYTES * 8) {
        len = flatten(signature, len);
    }
    ck_assert_int_eq(
        zd_base64_url_add(text, (struct zd_span){.ptr = signature, .len = len}), ZD_OK);
}

void zd_jose_add_token(struct zd_text *text, EVP_PKEY *key, const char *header, const char *claims)
{
    ZD_SCOPED_TEXT(is_signed, 1U << 20);
    zd_jose_add_base64(&is_signed, header);
    zd_text_add(&is_signed, ".");
    zd_jose_add_base64(&is_signed, claims);
    ck_assert_int_eq(is_signed.status, ZD_OK);
    zd_text_addf(text, "%s.", is_signed.at);
    zd_jose_add_signature(text, key, is_signed.at);
    ck_assert_int_eq(text->status, ZD_OK);
}
