/* An entry of access.tokens_file: the digest of a token, and its identity. Thread: any, one
 * at a time. */
#ifndef ZD_REQUEST_ACCESS_TOKEN_ENTRY_H
#define ZD_REQUEST_ACCESS_TOKEN_ENTRY_H

#include "core/base/digest.h"
#include "core/base/json.h"

struct zd_identity;

struct zd_token_entry {
    uint8_t digest[ZD_DIGEST_BYTES];
    struct zd_identity *identity; /* a reference */
};

/**
 * Read an entry. The error says where it is broken, and nothing that is in it.
 *
 * @param where where the file is, for the error
 * @param at    the entry's place in it
 * @param other NULL, or an identity: equal grants are shared with it
 * @param ret_entry owned
 * @retval ZD_INVALID   fact pointer
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_token_entry_read(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_identity *other, struct zd_token_entry *ret_entry,
    struct zd_error *err);

/** Tell that something in the file is not what is expected there. @return ZD_INVALID */
ZD_RESULT zd_token_entry_refuse(
    const char *where, const struct zd_pointer *at, const char *expected, struct zd_error *err);

/** Whether a token may have that name: 1 to 128 bytes of UTF-8, without spaces and control
 * characters. */
bool zd_token_entry_is_name(struct zd_span name);

#endif
