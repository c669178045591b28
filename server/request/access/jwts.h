/* JSON Web Tokens: the keys that they are judged by, from a file or a URL, and to whom those that
 * were judged are given. Thread: loop. */
#ifndef ZD_REQUEST_ACCESS_JWTS_H
#define ZD_REQUEST_ACCESS_JWTS_H

#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/status.h"

struct zd_identity;
struct zd_jwts;
struct zd_server;
struct zd_settings;

/**
 * Whether access.jwks_file, jwks_url, jwt_issuer and jwt_audience go together, and the file has a
 * key that counts.
 * @retval ZD_INVALID   the error names the setting
 * @retval ZD_NO_MEMORY
 * Thread: any; may block.
 */
ZD_RESULT zd_jwts_check(const struct zd_settings *settings, struct zd_error *err);

/**
 * Read the file, or begin to ask for the URL: until its keys are there no token is good. The
 * datasets are open.
 *
 * @param ret_jwts owned; NULL: neither is set
 * @retval as above
 */
ZD_RESULT zd_jwts_open(struct zd_server *server, struct zd_jwts **ret_jwts, struct zd_error *err);

/** SIGHUP: the file is read again, or the URL asked. A set that is well formed counts, even without
 * keys. The last good keys stay after anything else; those of a URL for access.jwks_stale_ms.
 * Accepts NULL. */
void zd_jwts_reload(struct zd_jwts *jwts);

/** The server ends: before zd_remote_stop, after which the loop turns. Accepts NULL. */
void zd_jwts_stop(struct zd_jwts *jwts);
void zd_jwts_free(struct zd_jwts *jwts); /* accepts NULL */

/**
 * The identity of a token. A token that was judged before costs its digest and a look-up.
 *
 * @param jwts  NULL: no token is good
 * @return a reference; NULL: it is not good
 */
struct zd_identity *zd_jwts_find(struct zd_jwts *jwts, struct zd_span token);

/** How many keys count now. Accepts NULL. */
size_t zd_jwts_count(const struct zd_jwts *jwts);

/* ---- signers of URLs ----
 *
 * A token is not kept, so a URL has with it what its token allowed. */

/** The signer's token, as a signed URL describes it. Borrowed. */
struct zd_jwts_signer {
    const char *name;  /* of the identity */
    const char *kid;   /* of the token's key */
    const char *scope; /* as a token has it */
};

/**
 * A digest of what tokens of a key are judged by: the key, issuer and audience.
 *
 * @return false: there is no such key
 */
bool zd_jwts_digest(const struct zd_jwts *jwts, const char *kid, uint8_t ret[ZD_DIGEST_BYTES]);

/**
 * The signer of a URL whose signature was verified with that digest. It is revoked when its key
 * goes.
 *
 * @return a reference, which ends when its key does; NULL without memory
 */
struct zd_identity *zd_jwts_find_signer(struct zd_jwts *jwts, const struct zd_jwts_signer *signer);

#endif
