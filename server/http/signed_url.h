/* URLs that carry a part of their signer's permission: `?expires=...&key=...&signature=...`. Pure.
 *
 * The signature covers the method, the decoded path, the signer, the end, and perhaps the rest of
 * the query. It is base64 for URLs of HMAC-SHA256 over the lines
 *
 *     zarrd-url-2
 *     METHOD                 GET for HEAD
 *     PATH                   decoded once
 *     MODE                   perhaps "pN." = N segments of the request's path, perhaps "q." = the
 *                            query, and "sNAME." = the signer as base64 for URLs, in this order
 *     EXPIRES                seconds since 1970-01-01 UTC
 *     KEY                    its id
 *     CREDENTIAL             SHA-256 of the signer's credential, in hexadecimal; not in the URL
 *     QUERY                  as sent, without the three; only with "q."
 *
 * and MODE stands in front of it in the URL, so that the server knows what was signed. No line can
 * hold a line feed. A signer whose credential is another one now makes another signature. */
#ifndef ZD_HTTP_SIGNED_URL_H
#define ZD_HTTP_SIGNED_URL_H

#include "core/base/digest.h"
#include "core/base/text.h"
#include "server/http/signing_keys.h"

/** The signed parts. Borrowed. */
struct zd_signed_url {
    struct zd_span method;
    struct zd_span path; /* decoded, begins with '/' */
    bool is_prefix;      /* what lies below the path, too */
    bool fixes_query;
    struct zd_span query;      /* as sent, without '?', and without the three */
    struct zd_span signer;     /* server/request/access/signing.c says what it is; not empty */
    const uint8_t *credential; /* ZD_DIGEST_BYTES of the signer's */
    uint64_t expires_s;        /* since 1970-01-01 UTC */
};

#define ZD_SIGNED_URL_SIGNER_MAX 2048 /* bytes of a signer's name */

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
 * Read the name of the signer, which nobody has verified yet.
 *
 * @param sent as zd_signed_url_take took it
 * @param to   cleared; gets the name, or "" if the signature is malformed
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY the text's own failure
 * Thread: any.
 */
ZD_RESULT zd_signed_url_signer(struct zd_span sent, struct zd_text *to);

/**
 * Whether a request is what its signer signed, and it is not too late: the same work for all that
 * is not.
 *
 * @param keys   NULL: none, so that nothing is
 * @param url    method, path, the rest of the query, signer and credential; its other members are
 *               ignored
 * @param sent   what zd_signed_url_take took
 * @param now_s  since 1970-01-01 UTC
 * @param ret_expires_s set when it is
 * Thread: any.
 */
bool zd_signed_url_verify(const struct zd_signing_keys *keys, const struct zd_signed_url *url,
    struct zd_span sent, uint64_t now_s, uint64_t *ret_expires_s);

/** Why no URL with that query can be signed, or NULL: characters that are not sent as they are, or
 * parameters that are credentials. Thread: any. */
const char *zd_signed_url_query_fault(struct zd_span query);

#endif
