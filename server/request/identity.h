/* The identity behind a credential of any kind, and its grants. Thread: loop, unless
 * said otherwise. */
#ifndef ZD_REQUEST_IDENTITY_H
#define ZD_REQUEST_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/base/own.h"

/** The scopes of a grant: bits. No scope includes another. */
enum zd_identity_scope {
    ZD_IDENTITY_READ = 1,
    ZD_IDENTITY_WRITE = 2,
    ZD_IDENTITY_ADMIN = 4, /* of the service, whatever the datasets */
};

struct zd_dataset_config;

#define ZD_IDENTITY_NEVER    UINT64_MAX /* expires_ms: it does not expire */
#define ZD_IDENTITY_SETTINGS UINT64_MAX /* a rate: as access.* says */

/** Scopes, and the dataset and paths where they hold. */
struct zd_grant {
    uint32_t scopes;     /* of enum zd_identity_scope */
    const char *dataset; /* pattern (server/http/glob.h) of names; NULL: all. A private dataset is
                            not among them unless the pattern has a character of its name */
    const char *path;    /* pattern of paths of nodes and keys in them; NULL: all. What ends in
                            slash and two stars matches the path before these, too */
    const char *stem;    /* of an identity: that path's pattern; or NULL */
};

/** The author of a request. Shared: the requests, and where it is kept, hold a reference each.
 * Never changed once it is made, but for is_revoked and link. */
struct zd_identity {
    uint32_t refs;
    uint64_t number;         /* no other identity of this process has it, but a signed URL has its
                                signer's: it gets the same answers; never 0 */
    const char *name;        /* of the token, or the subject of a JWT; for log and audit */
    const char *from;        /* what named it: "token", "jwt", "url"; a literal */
    const char *kid;         /* of a JWT: its key's id; else NULL */
    uint64_t expires_ms;     /* wall clock; from then on it is over */
    uint64_t requests_per_s; /* 0: no limit; ZD_IDENTITY_SETTINGS */
    uint64_t bytes_per_s;    /* likewise */
    bool is_revoked;         /* its credential is no longer known */
    size_t n_grants;
    const struct zd_grant *grant;
    struct zd_identity *keeper; /* in whose memory the grants are: a reference; NULL: its own */
    struct zd_identity *signer; /* of a signed URL: its signer, who is signed by none: a reference;
                                   else NULL. The URL is over when its signer is */
    struct zd_list link;        /* in a list of those that end together, which it leaves when it is
                                   freed; its maker puts it there, or nobody */
};

/**
 * A copy that others may hold, with one reference.
 *
 * @param like borrowed, with its texts and grants; refs, number, is_revoked and link are not looked
 *             at.
 *             Its keeper is NULL, or an identity whose grants are shared if they are the same;
 *             its signer gets a reference
 * @return NULL without memory
 * Thread: any.
 */
struct zd_identity *zd_identity_new(const struct zd_identity *like);
struct zd_identity *zd_identity_ref(struct zd_identity *identity); /* accepts NULL */
void zd_identity_unref(struct zd_identity *identity);              /* accepts NULL */
ZD_OWN(zd_identity, zd_identity_unref);

/** Whether two are called the same and may do the same, for as long. */
bool zd_identity_is_same(const struct zd_identity *a, const struct zd_identity *b);

/** Whether it has expired, or was revoked. Accepts NULL: the anonymous never end. */
bool zd_identity_is_over(const struct zd_identity *identity);

/** Whether some grant speaks of a dataset, whatever it allows there. A private dataset needs a
 * grant that names it, here and below. */
bool zd_identity_names(const struct zd_identity *identity, const struct zd_dataset_config *dataset);

/**
 * Whether a grant allows one of the scopes at a path of a dataset.
 *
 * @param dataset NULL: of the service
 * @param path    of a node or key, "" of the root; NULL: at some path
 */
bool zd_identity_may(const struct zd_identity *identity, uint32_t scopes,
    const struct zd_dataset_config *dataset, const char *path);

/** The same for a path and all that is below it. */
bool zd_identity_may_below(const struct zd_identity *identity, uint32_t scopes,
    const struct zd_dataset_config *dataset, const char *path);

/** Whether a grant may allow one of the scopes at a path or somewhere below it: false only when
 * none does. */
bool zd_identity_may_within(const struct zd_identity *identity, uint32_t scopes,
    const struct zd_dataset_config *dataset, const char *path);

#endif
