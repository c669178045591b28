/* Public keys, and whether a signature is one of theirs. A key has one algorithm: what is signed
 * has no say in it. Thread: any. */
#ifndef ZD_CORE_BASE_PUBLIC_KEY_H
#define ZD_CORE_BASE_PUBLIC_KEY_H

#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/own.h"
#include "core/base/status.h"

#define ZD_PUBLIC_KEY_RSA_BITS_MIN  2048
#define ZD_PUBLIC_KEY_RSA_BITS_MAX  4096 /* what verifying costs grows with the square */
#define ZD_PUBLIC_KEY_EXPONENT_MAX  8    /* bytes */
#define ZD_PUBLIC_KEY_P256_BYTES    32   /* of each coordinate */
#define ZD_PUBLIC_KEY_ED25519_BYTES 32

struct zd_public_key;

/**
 * RSA with SHA-256 (RSASSA-PKCS1-v1_5).
 *
 * @param modulus, exponent big-endian; zeros in front count for nothing
 * @param ret_key owned
 * @retval ZD_INVALID a length or an exponent that is none
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_public_key_new_rsa(struct zd_span modulus, struct zd_span exponent,
    struct zd_public_key **ret_key, struct zd_error *err);

/** ECDSA with SHA-256 over the curve P-256. @param x, y big-endian, ZD_PUBLIC_KEY_P256_BYTES each
 * @retval ZD_INVALID no point of the curve, too. The rest as above */
ZD_RESULT zd_public_key_new_p256(
    struct zd_span x, struct zd_span y, struct zd_public_key **ret_key, struct zd_error *err);

/** Ed25519 (RFC 8032). @param x ZD_PUBLIC_KEY_ED25519_BYTES. The rest as above */
ZD_RESULT zd_public_key_new_ed25519(
    struct zd_span x, struct zd_public_key **ret_key, struct zd_error *err);

void zd_public_key_free(struct zd_public_key *key); /* accepts NULL */
ZD_OWN(zd_public_key, zd_public_key_free);

/** Whether both are one key. */
bool zd_public_key_is_same(const struct zd_public_key *a, const struct zd_public_key *b);

/** SHA-256 of the key (of its SubjectPublicKeyInfo, RFC 5280). @retval ZD_NO_MEMORY */
ZD_RESULT zd_public_key_digest(
    const struct zd_public_key *key, uint8_t ret_digest[ZD_DIGEST_BYTES]);

/** Whether a signature of bytes is the key's. @param signature of P-256 both numbers with
 * ZD_PUBLIC_KEY_P256_BYTES each, one behind the other (RFC 7518, 3.4) */
bool zd_public_key_verifies(
    const struct zd_public_key *key, struct zd_span bytes, struct zd_span signature);

#endif
