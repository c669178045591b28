/* Credentials that were found good lately, as they were sent: who sends one again is not looked for
 * by its digest, or by its signature. Thread: loop.
 *
 * They are kept in memory alone, until others take their place. None is good longer than what it
 * names, or after tokens or keys have changed (zd_server.n_credential_changes). */
#ifndef ZD_REQUEST_ACCESS_CREDENTIAL_CACHE_H
#define ZD_REQUEST_ACCESS_CREDENTIAL_CACHE_H

#include "core/base/buf.h"

struct zd_identity;
struct zd_credential_cache; /* of a server */

/**
 * The identity of a credential. Its bytes are compared in constant time.
 *
 * @param n_changes of the server's credentials
 * @return a reference; NULL: it is not known, which says nothing about it. Accepts NULL
 */
struct zd_identity *zd_credential_cache_find(
    const struct zd_credential_cache *known, struct zd_span credential, uint64_t n_changes);

/** Keep one that is good; another may go. Without memory nothing is kept. @param place NULL at
 * first; becomes owned */
void zd_credential_cache_put(struct zd_credential_cache **place, struct zd_span credential,
    uint64_t n_changes, struct zd_identity *identity);

void zd_credential_cache_free(struct zd_credential_cache *known); /* accepts NULL */

#endif
