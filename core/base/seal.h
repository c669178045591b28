/* AES-128 of one block: a number that means something only to whoever has the key. Thread: any, one
 * at a time. */
#ifndef ZD_CORE_BASE_SEAL_H
#define ZD_CORE_BASE_SEAL_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/own.h"
#include "core/base/status.h"

#define ZD_SEAL_BYTES 16 /* of a key, and of a block */
#define ZD_SEAL_CHARS 32 /* of an encrypted block in hexadecimal */

/** A key, made ready once for many blocks. */
struct zd_seal;

/** @param key copied @param ret_seal owned @retval ZD_NO_MEMORY nothing else can fail */
ZD_RESULT zd_seal_new(const uint8_t key[ZD_SEAL_BYTES], struct zd_seal **ret_seal);

/** Overwrites the key. Accepts NULL. */
void zd_seal_free(struct zd_seal *seal);
ZD_OWN(zd_seal, zd_seal_free);

/** Encrypt a block. Equal blocks become equal: add a nonce where that must not be seen.
 * @param ret_hex in lower case, ended by NUL
 * @retval ZD_NO_MEMORY nothing else can fail */
ZD_RESULT zd_seal_shut(
    struct zd_seal *seal, const uint8_t block[ZD_SEAL_BYTES], char ret_hex[ZD_SEAL_CHARS + 1]);

/** Decrypt it. Another key, and a block that was never encrypted, give bytes like random ones.
 * @retval ZD_INVALID   hex is not 32 digits in lower case
 * @retval ZD_NO_MEMORY */
ZD_RESULT zd_seal_open(struct zd_seal *seal, struct zd_span hex, uint8_t ret_block[ZD_SEAL_BYTES]);

#endif
