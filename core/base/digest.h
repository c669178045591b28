/* SHA-256, comparison in constant time and random bytes: what secrets need. Thread: any. */
#ifndef ZD_CORE_BASE_DIGEST_H
#define ZD_CORE_BASE_DIGEST_H

#include "core/base/buf.h"
#include "core/base/status.h"

#define ZD_DIGEST_BYTES 32
#define ZD_DIGEST_CHARS 64 /* of it in hexadecimal */

/** SHA-256 of bytes. @retval ZD_NO_MEMORY nothing else can fail */
ZD_RESULT zd_digest_of(struct zd_span bytes, uint8_t ret_digest[ZD_DIGEST_BYTES]);

/** Whether two are equal; takes the same time wherever they differ. */
bool zd_digest_is_same(const uint8_t a[ZD_DIGEST_BYTES], const uint8_t b[ZD_DIGEST_BYTES]);

/** The same for two secrets of any length; only that is told by the time. */
bool zd_digest_is_same_secret(struct zd_span a, struct zd_span b);

/** Overwrite a secret that is no longer needed. */
void zd_digest_erase(uint8_t *secret, size_t len);

/** Read 64 hexadecimal digits of either case. @return false: they are none; nothing is set */
bool zd_digest_parse(struct zd_span hex, uint8_t ret_digest[ZD_DIGEST_BYTES]);

/** In lower case, ended by NUL. */
void zd_digest_format(const uint8_t digest[ZD_DIGEST_BYTES], char ret_hex[ZD_DIGEST_CHARS + 1]);

/** Bytes that nobody can guess. @retval ZD_STORE the system gives none */
ZD_RESULT zd_digest_random(uint8_t *to, size_t len);

#endif
