/* Which client asks: judged when the head of a request is there, before a prepared answer is looked
 * up. */
#ifndef ZD_REQUEST_IDENTITY_H
#define ZD_REQUEST_IDENTITY_H

struct zd_request;

/** Embedded in the request. */
struct zd_identity {
    const char *name; /* NULL: anonymous; valid while the request is */
};

/** Judge which client asks, by the head of the request. No credential exists yet: all clients are
 * anonymous. */
void zd_identity_judge(const struct zd_request *req, struct zd_identity *ret_identity);

#endif
