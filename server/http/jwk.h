/* Public keys that JSON Web Tokens are signed with, as a JWK set has them (RFC 7517). */
#ifndef ZD_HTTP_JWK_H
#define ZD_HTTP_JWK_H

#include "core/base/buf.h"
#include "core/base/own.h"
#include "core/base/public_key.h"
#include "core/base/status.h"

#define ZD_JWK_KEYS_MAX  64
#define ZD_JWK_KID_MAX   256          /* bytes */
#define ZD_JWK_BYTES_MAX (256U << 10) /* of a document */

struct zd_jwk {
    char kid[ZD_JWK_KID_MAX + 1]; /* of no other key of the set; not "" */
    const char *alg;              /* "RS256", "ES256", "EdDSA": what its tokens must say */
    struct zd_public_key *key;    /* owned */
};

struct zd_jwk_set {
    size_t n; /* >= 1 */
    struct zd_jwk jwk[];
};

/**
 * Read a set. Keys that are no use here are left out: of other types, curves and algorithms, for
 * encryption, without "kid".
 *
 * @param ret_set owned
 * @retval ZD_INVALID   no set, no key is left, two have one "kid", or one is malformed or private
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_jwk_parse(struct zd_span text, struct zd_jwk_set **ret_set, struct zd_error *err);
void zd_jwk_free(struct zd_jwk_set *set); /* accepts NULL */
ZD_OWN(zd_jwk_set, zd_jwk_free);

/** The key of that id, or NULL. set may be NULL. Thread: any. */
const struct zd_jwk *zd_jwk_find(const struct zd_jwk_set *set, struct zd_span kid);

#endif
