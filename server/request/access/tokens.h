/* The tokens of access.tokens_file: a table from the SHA-256 of each to whom it is given, and one
 * from their names. Thread: any, one at a time. */
#ifndef ZD_REQUEST_ACCESS_TOKENS_H
#define ZD_REQUEST_ACCESS_TOKENS_H

#include "core/base/buf.h"
#include "core/base/own.h"
#include "core/base/status.h"

struct zd_identity;
struct zd_token_entry;
struct zd_tokens;

/**
 * Read the file. The error says where it is broken, and nothing that is in it.
 *
 * @param path       "": there is no such file, and no token is known
 * @param ret_tokens owned
 * @retval ZD_INVALID   others can read it, it is not there or no file of tokens: fact pointer
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_tokens_read(const char *path, struct zd_tokens **ret_tokens, struct zd_error *err);

/** The same of its text. @param where it comes from, for the error */
ZD_RESULT zd_tokens_parse(
    const char *where, struct zd_span text, struct zd_tokens **ret_tokens, struct zd_error *err);

/** Gives the identities back. Accepts NULL. */
void zd_tokens_free(struct zd_tokens *tokens);
ZD_OWN(zd_tokens, zd_tokens_free);

/** How many there are. Accepts NULL. */
size_t zd_tokens_count(const struct zd_tokens *tokens);

/** How many places every look-up compares, whether it finds the token or not. */
size_t zd_tokens_probes(const struct zd_tokens *tokens);

/**
 * To whom a token is given, expired or not. The work is the same for all tokens of a length.
 *
 * @param tokens NULL: none is known
 * @return borrowed; NULL: to nobody
 */
struct zd_identity *zd_tokens_find(const struct zd_tokens *tokens, struct zd_span token);

/**
 * The entry of a name.
 *
 * @param tokens NULL: there is none
 * @return borrowed; NULL: no entry has that name, or several have
 */
const struct zd_token_entry *zd_tokens_find_name(
    const struct zd_tokens *tokens, struct zd_span name);

/**
 * Put newer tokens in the place of those there. Entries that are as they were keep their identity;
 * the others' are revoked.
 *
 * @param place NULL or tokens; owned by the caller, as before
 * @param newer taken over
 */
void zd_tokens_replace(struct zd_tokens **place, struct zd_tokens *newer);

#endif
