/* HMAC-SHA256 (RFC 2104): what only who has a secret can make of some bytes. */
#ifndef ZD_CORE_BASE_HMAC_H
#define ZD_CORE_BASE_HMAC_H

#include "core/base/digest.h"
#include "core/base/own.h"

/** A secret, made ready once for many digests. Thread: any, one at a time. */
struct zd_hmac;

/** @param secret at most INT_MAX bytes; copied @param ret_hmac owned
 * @retval ZD_NO_MEMORY nothing else can fail */
ZD_RESULT zd_hmac_new(struct zd_span secret, struct zd_hmac **ret_hmac);

/** Overwrites the secret. Accepts NULL. */
void zd_hmac_free(struct zd_hmac *hmac);
ZD_OWN(zd_hmac, zd_hmac_free);

/** @retval ZD_NO_MEMORY nothing else can fail */
ZD_RESULT zd_hmac_of(
    struct zd_hmac *hmac, struct zd_span bytes, uint8_t ret_digest[ZD_DIGEST_BYTES]);

/** Overwrite a secret in a way that no compiler leaves out. Thread: any. */
void zd_hmac_wipe(void *at, size_t len);

#endif
