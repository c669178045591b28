/* Keys and tokens for tests, made with OpenSSL alone. */
#ifndef ZD_TESTS_SUPPORT_JOSE_H
#define ZD_TESTS_SUPPORT_JOSE_H

#include <openssl/evp.h>

#include "core/base/text.h"

/** A private key for "RS256", "ES256", "EdDSA", or "ES384", which is none of ours; owned:
 * EVP_PKEY_free. */
EVP_PKEY *zd_jose_key(const char *alg);

/** Add the members of its public half, without braces: `"kty": "RSA", "n": ...`. */
void zd_jose_add_members(struct zd_text *text, EVP_PKEY *key);

/** Add bytes as base64 for URLs. */
void zd_jose_add_base64(struct zd_text *text, const char *bytes);

/** Add the signature of a text; of P-256 as both numbers. */
void zd_jose_add_signature(struct zd_text *text, EVP_PKEY *key, const char *is_signed);

/** Add a whole token. */
void zd_jose_add_token(struct zd_text *text, EVP_PKEY *key, const char *header, const char *claims);

#endif
