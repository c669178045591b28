/* Text of clients as logs may show it: without whatever is, or looks like, a credential.
 *
 * zd_credential_take takes out the credentials that are well formed. Misspelt and misplaced ones
 * are found here by three signs: a name before them (`/T/...`, `?ACCESS_TOKEN=...`), their shape (a
 * JWT, or a long word of mixed letters and digits), or that the same request holds them elsewhere.
 * Names of arrays and keys of chunks show none of the three. Thread: any. */
#ifndef ZD_HTTP_REDACT_H
#define ZD_HTTP_REDACT_H

#include <stdbool.h>

#include "core/base/text.h"

/** Stands where a secret stood. */
#define ZD_REDACT_MARK "***"

/** Add a secret to a list of them, each ended by NUL; short ones are left out: they are in every
 * text. */
void zd_redact_know(struct zd_text *secrets, struct zd_span secret);

/**
 * Write a request target without its secrets.
 *
 * @param secrets the secrets that are known already; those that are found join them, decoded
 * @param to      cleared first; empty unless something was hidden
 * @return whether something was hidden: else the target may be shown as it is
 */
bool zd_redact_target(const char *target, struct zd_text *secrets, struct zd_text *to);

/**
 * The same of a sentence that may quote the request: the detail of a problem.
 *
 * @param secrets of the request, as zd_redact_target left them
 */
bool zd_redact_text(const char *text, struct zd_text *secrets, struct zd_text *to);

/** A word that is no sentence, such as a method, or ZD_REDACT_MARK. */
const char *zd_redact_word(const char *word);

#endif
