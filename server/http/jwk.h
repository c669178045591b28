/* Public keys that JSON Web Tokens are signed with, as a JWK set has them (RFC 7517). */
#ifndef ZD_HTTP_JWK_H
#define ZD_HTTP_JWK_H

#include "core/base/buf.h"
#include "core/base/own.h"
#include "core/base/public_key.h"
#include "core/base/status.h"

#define ZD_JWK_KEYS_MAX  256          /* of a document, those that do not count included */
#define ZD_JWK_KID_MAX   256          /* bytes */
#define ZD_JWK_BYTES_MAX (256U << 10) /* of a document */

struct zd_jwk {
    char kid[ZD_JWK_KID_MAX + 1]; /* of no other key that counts; "" = it has none */
    const char *why_not;          /* a literal without any of its bytes; NULL: it counts */
    const char *alg;              /* "RS256", "ES256", "EdDSA": what its tokens must say */
    struct zd_public_key *key;    /* owned; not NULL if it counts */
};

struct zd_jwk_set {
    size_t n;            /* keys of the document, in its order */
    size_t n_good;       /* that count; perhaps none */
    struct zd_jwk jwk[]; /* n */
};

/**
 * Read a set. A key that is no use here does not count, and the others do: another type, curve,
 * algorithm or use, bad numbers, no "kid". A private key does not count, and of several keys with
 * one "kid" none does, unless they are the same: then the first one does.
 *
 * @param ret_set owned
 * @retval ZD_INVALID   no JSON, or no object with one list "keys"
 * @retval ZD_TOO_LARGE more bytes or keys than are taken
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_jwk_parse(struct zd_span text, struct zd_jwk_set **ret_set, struct zd_error *err);
void zd_jwk_free(struct zd_jwk_set *set); /* accepts NULL */
ZD_OWN(zd_jwk_set, zd_jwk_free);

/** The key of that id that counts, or NULL. set may be NULL. Thread: any. */
const struct zd_jwk *zd_jwk_find(const struct zd_jwk_set *set, struct zd_span kid);

#endif
