/* Public keys, and whether a signature is one of theirs. */
#include "core/base/public_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>
#include <string.h>

#define POINT_BYTES        (1 + 2 * ZD_PUBLIC_KEY_P256_BYTES)
#define POINT_IS_WHOLE     4  /* not compressed (SEC 1, 2.3.3) */
#define DER_BYTES_MAX      80 /* of a signature over P-256: 72 */
#define P256_SIGNATURE     ((size_t)2 * ZD_PUBLIC_KEY_P256_BYTES)
#define BITS_OF_A_BYTE     8
#define LEAST_RSA_EXPONENT 3

struct zd_public_key {
    EVP_PKEY *pkey;       /* owned */
    const EVP_MD *digest; /* NULL: the algorithm has its own */
    bool is_p256;
};

void zd_public_key_free(struct zd_public_key *key)
{
    if (key != NULL) {
        EVP_PKEY_free(key->pkey);
        zd_free(key);
    }
}

static enum zd_status no_memory(struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, "no memory for a public key");
}

/* @param pkey taken over, even on failure; NULL: it is none */
static enum zd_status keep(EVP_PKEY *pkey, const EVP_MD *digest, bool is_p256,
    struct zd_public_key **ret_key, struct zd_error *err)
{
    ERR_clear_error();
    if (pkey == NULL) {
        return zd_fail(err, ZD_INVALID, "not a valid public key");
    }
    struct zd_public_key *key = zd_alloc(sizeof *key);
    if (key == NULL) {
        EVP_PKEY_free(pkey);
        return no_memory(err);
    }
    *key = (struct zd_public_key){.pkey = pkey, .digest = digest, .is_p256 = is_p256};
    *ret_key = key;
    return ZD_OK;
}

/* NULL: the parameters are no key, or memory is short. */
static EVP_PKEY *make(const char *type, OSSL_PARAM *params)
{
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (context != NULL && params != NULL && EVP_PKEY_fromdata_init(context) == 1) {
        (void)EVP_PKEY_fromdata(context, &pkey, EVP_PKEY_PUBLIC_KEY, params);
    }
    EVP_PKEY_CTX_free(context);
    return pkey;
}

/* ---- RSA ---- */

static struct zd_span without_zeros(struct zd_span number)
{
    while (number.len > 0 && number.ptr[0] == 0) {
        number.ptr++;
        number.len--;
    }
    return number;
}

static EVP_PKEY *make_rsa(const BIGNUM *modulus, const BIGNUM *exponent)
{
    OSSL_PARAM *params = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder != NULL && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1) {
        params = OSSL_PARAM_BLD_to_param(builder);
    }
    EVP_PKEY *pkey = make("RSA", params);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    return pkey;
}

enum zd_status zd_public_key_new_rsa(struct zd_span modulus, struct zd_span exponent,
    struct zd_public_key **ret_key, struct zd_error *err)
{
    const struct zd_span n = without_zeros(modulus);
    const struct zd_span e = without_zeros(exponent);
    const size_t n_bits = n.len * BITS_OF_A_BYTE;
    if (n_bits < ZD_PUBLIC_KEY_RSA_BITS_MIN || n_bits > ZD_PUBLIC_KEY_RSA_BITS_MAX) {
        return zd_fail(err, ZD_INVALID, "the RSA key has %zu bits; expected %d to %d", n_bits,
            ZD_PUBLIC_KEY_RSA_BITS_MIN, ZD_PUBLIC_KEY_RSA_BITS_MAX);
    }
    if (e.len == 0 || e.len > ZD_PUBLIC_KEY_EXPONENT_MAX || e.ptr[e.len - 1] % 2 == 0 ||
        (e.len == 1 && e.ptr[0] < LEAST_RSA_EXPONENT) || n.ptr[n.len - 1] % 2 == 0) {
        return zd_fail(err, ZD_INVALID, "invalid RSA modulus or exponent");
    }
    BIGNUM *big_n = BN_bin2bn(n.ptr, (int)n.len, NULL);
    BIGNUM *big_e = BN_bin2bn(e.ptr, (int)e.len, NULL);
    EVP_PKEY *pkey = big_n == NULL || big_e == NULL ? NULL : make_rsa(big_n, big_e);
    BN_free(big_n);
    BN_free(big_e);
    return keep(pkey, EVP_sha256(), false, ret_key, err);
}

/* ---- P-256, Ed25519 ---- */

enum zd_status zd_public_key_new_p256(
    struct zd_span x, struct zd_span y, struct zd_public_key **ret_key, struct zd_error *err)
{
    char group[] = "prime256v1";
    uint8_t point[POINT_BYTES] = {POINT_IS_WHOLE};
    if (x.len != ZD_PUBLIC_KEY_P256_BYTES || y.len != ZD_PUBLIC_KEY_P256_BYTES) {
        return zd_fail(err, ZD_INVALID, "the coordinates have %zu and %zu bytes; expected %d each",
            x.len, y.len, ZD_PUBLIC_KEY_P256_BYTES);
    }
    memcpy(point + 1, x.ptr, x.len);
    memcpy(point + 1 + x.len, y.ptr, y.len);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point),
        OSSL_PARAM_construct_end(),
    };
    return keep(make("EC", params), EVP_sha256(), true, ret_key, err);
}

enum zd_status zd_public_key_new_ed25519(
    struct zd_span x, struct zd_public_key **ret_key, struct zd_error *err)
{
    if (x.len != ZD_PUBLIC_KEY_ED25519_BYTES) {
        return zd_fail(err, ZD_INVALID, "the Ed25519 key has %zu bytes; expected %d", x.len,
            ZD_PUBLIC_KEY_ED25519_BYTES);
    }
    return keep(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x.ptr, x.len), NULL, false,
        ret_key, err);
}

bool zd_public_key_is_same(const struct zd_public_key *a, const struct zd_public_key *b)
{
    const bool is_same = EVP_PKEY_eq(a->pkey, b->pkey) == 1;
    ERR_clear_error();
    return is_same;
}

enum zd_status zd_public_key_digest(
    const struct zd_public_key *key, uint8_t ret_digest[ZD_DIGEST_BYTES])
{
    uint8_t *der = NULL; /* of OpenSSL's memory */
    const int len = i2d_PUBKEY(key->pkey, &der);
    const struct zd_span bytes = {.ptr = der, .len = len > 0 ? (size_t)len : 0};
    const enum zd_status status = len > 0 ? zd_digest_of(bytes, ret_digest) : ZD_NO_MEMORY;
    ERR_clear_error();
    OPENSSL_free(der);
    return status;
}

/* ---- verifying ---- */

/* Both numbers in DER, which OpenSSL wants. @return its length; 0 = none */
static size_t encode_der(struct zd_span signature, uint8_t der[DER_BYTES_MAX])
{
    const int n = ZD_PUBLIC_KEY_P256_BYTES;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature.ptr, n, NULL);
    BIGNUM *s = BN_bin2bn(signature.ptr + n, n, NULL);
    if (pair == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(pair, r, s) != 1) {
        BN_free(r);
        BN_free(s);
        ECDSA_SIG_free(pair);
        return 0;
    }
    uint8_t *to = der;
    const int len = i2d_ECDSA_SIG(pair, NULL) <= DER_BYTES_MAX ? i2d_ECDSA_SIG(pair, &to) : 0;
    ECDSA_SIG_free(pair);
    return len > 0 ? (size_t)len : 0;
}

static bool verifies(
    const struct zd_public_key *key, struct zd_span bytes, struct zd_span signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool is_good =
        context != NULL && EVP_DigestVerifyInit(context, NULL, key->digest, NULL, key->pkey) == 1 &&
        EVP_DigestVerify(context, signature.ptr, signature.len, bytes.ptr, bytes.len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return is_good;
}

bool zd_public_key_verifies(
    const struct zd_public_key *key, struct zd_span bytes, struct zd_span signature)
{
    uint8_t der[DER_BYTES_MAX];
    if (!key->is_p256) {
        return verifies(key, bytes, signature);
    }
    if (signature.len != P256_SIGNATURE) {
        return false;
    }
    const struct zd_span encoded = {.ptr = der, .len = encode_der(signature, der)};
    return encoded.len > 0 && verifies(key, bytes, encoded);
}
