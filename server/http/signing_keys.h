/* The secrets that URLs are signed with: {"keys": [{"id": "2026a", "secret": "<base64>"}]}. The
 * first signs, all verify. */
#ifndef ZD_HTTP_SIGNING_KEYS_H
#define ZD_HTTP_SIGNING_KEYS_H

#include "core/base/buf.h"
#include "core/base/hmac.h"
#include "core/base/own.h"
#include "core/base/status.h"

#define ZD_SIGNING_KEYS_MAX       64
#define ZD_SIGNING_KEYS_ID_MAX    64 /* characters */
#define ZD_SIGNING_SECRET_MIN     32 /* bytes */
#define ZD_SIGNING_SECRET_MAX     1024
#define ZD_SIGNING_KEYS_BYTES_MAX (256U << 10) /* of the document */

struct zd_signing_key {
    char id[ZD_SIGNING_KEYS_ID_MAX + 1]; /* [A-Za-z0-9._-]+, of no other key */
    struct zd_hmac *hmac;                /* owned */
};

struct zd_signing_keys {
    size_t n; /* >= 1 */
    struct zd_signing_key key[];
};

/**
 * Read the document.
 *
 * @param ret_keys owned
 * @retval ZD_INVALID   the error says what is wrong, and repeats no secret
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_signing_keys_parse(
    struct zd_span text, struct zd_signing_keys **ret_keys, struct zd_error *err);

/**
 * Read the file of access.signing_keys_file, which others must not be able to read.
 *
 * @param path     "": there is none, and no key
 * @param ret_keys owned, or NULL
 * @retval as above
 * Thread: any; may block.
 */
ZD_RESULT zd_signing_keys_read(
    const char *path, struct zd_signing_keys **ret_keys, struct zd_error *err);

/** Overwrites the secrets. Accepts NULL. */
void zd_signing_keys_free(struct zd_signing_keys *keys);
ZD_OWN(zd_signing_keys, zd_signing_keys_free);

/** Whether every older key is among the newer ones, with the same secret. Both may be NULL: there
 * are none. Thread: any, one at a time. */
bool zd_signing_keys_stay(const struct zd_signing_keys *older, const struct zd_signing_keys *newer);

/** The key of that id, or NULL. keys may be NULL. Thread: any. */
const struct zd_signing_key *zd_signing_keys_find(
    const struct zd_signing_keys *keys, struct zd_span id);

#endif
