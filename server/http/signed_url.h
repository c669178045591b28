/* URLs that carry their own permission: `?expires=...&key=...&signature=...`. Pure.
 *
 * Signed are the method, the decoded path, when it ends, and perhaps the rest of the query. The
 * signature is base64 for URLs of HMAC-SHA256 over the lines
 *
 *     zarrd-url-1
 *     METHOD                 GET for HEAD
 *     PATH                   decoded once
 *     MODE                   any of "pN." = N segments of the request's path, "q." = the query, and
 *                            "n." = nothing beside the path, in this order
 *     EXPIRES                seconds since 1970-01-01 UTC
 *     KEY                    its id
 *     QUERY                  as sent, without the three; only with "q."
 *
 * and MODE stands in front of it in the URL, so that who verifies knows what was signed. No line
 * can hold a line feed. */
#ifndef ZD_HTTP_SIGNED_URL_H
#define ZD_HTTP_SIGNED_URL_H

#include "core/base/text.h"
#include "server/http/signing_keys.h"

/** What is signed. Borrowed. */
struct zd_signed_url {
    struct zd_span method;
    struct zd_span path; /* decoded, begins with '/' */
    bool is_prefix;      /* what lies below the path, too */
    bool fixes_query;
    bool is_narrow;       /* of what lies beside the path nothing is read for the answer */
    struct zd_span query; /* as sent, without '?', and without the three */
    uint64_t expires_s;   /* since 1970-01-01 UTC */
};

/** Add `expires=...&key=...&signature=...`, signed with the first key. Failures stick in the text.
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY Thread: any. */
ZD_RESULT zd_signed_url_add(
    struct zd_text *text, const struct zd_signing_keys *keys, const struct zd_signed_url *url);

/**
 * Take the three out of a target whose query has a `signature`; of others nothing.
 *
 * @param target changed in place: what stays is the target of the resource
 * @param to     cleared; gets `expires=...&key=...&signature=...` as they were sent, or ""
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY the text's own failure; the target is as it was
 * Thread: any.
 */
ZD_RESULT zd_signed_url_take(char *target, struct zd_text *to);

/**
 * Whether a request is what was signed, and it is not too late: the same work for all that is not.
 *
 * @param keys   NULL: none, so that nothing is
 * @param url    method, path and the rest of the query; its other members are ignored
 * @param sent   what zd_signed_url_take took
 * @param now_s  since 1970-01-01 UTC
 * @param ret_found     set when it is: when it ends, and whether it is narrow
 * Thread: any.
 */
bool zd_signed_url_verify(const struct zd_signing_keys *keys, const struct zd_signed_url *url,
    struct zd_span sent, uint64_t now_s, struct zd_signed_url *ret_found);

/** Why no URL with that query can be signed, or NULL: characters that are not sent as they are, or
 * parameters that are credentials. Thread: any. */
const char *zd_signed_url_query_fault(struct zd_span query);

#endif
