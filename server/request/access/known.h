/* Credentials that were found good lately, as they were sent: who sends one again is not looked for
 * by its digest, or by its signature. Thread: loop.
 *
 * They are kept in memory alone, until others take their place. None is good longer than what it
 * names, or after tokens or keys have changed (zd_server.n_credential_changes). */
#ifndef ZD_REQUEST_ACCESS_KNOWN_H
#define ZD_REQUEST_ACCESS_KNOWN_H

#include "core/base/buf.h"

struct zd_identity;
struct zd_known; /* of a server */

/**
 * Whom a credential names. Its bytes are compared in constant time.
 *
 * @param n_changes of the server's credentials
 * @return a reference; NULL: it is not known, which says nothing about it. Accepts NULL
 */
struct zd_identity *zd_known_find(
    const struct zd_known *known, struct zd_span credential, uint64_t n_changes);

/** Keep one that is good; another may go. Without memory nothing is kept. @param place NULL at
 * first; becomes owned */
void zd_known_put(struct zd_known **place, struct zd_span credential, uint64_t n_changes,
    struct zd_identity *identity);

void zd_known_free(struct zd_known *known); /* accepts NULL */

#endif
