/* Targets for the log: a line of secrets that the request is known to have, and the target. No
 * secret is in the target that is shown, a shown target shows nothing more than it did, and hiding
 * again hides nothing. */
#include <string.h>

#include "core/base/num.h"
#include "server/http/redact.h"
#include "tests/fuzz/input.h"

#define TARGET_BYTES_MAX  (16U << 10)
#define SECRETS_BYTES_MAX (64U << 10)

static void check_secrets(const struct zd_text *secrets, const char *shown)
{
    for (size_t at = 0; at < secrets->len; at += strlen(secrets->at + at) + 1) {
        const char *secret = secrets->at + at;
        const bool may_be_made_of_marks = strchr(secret, ZD_REDACT_MARK[0]) != NULL;
        zd_fuzz_insist(may_be_made_of_marks || strstr(shown, secret) == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = zd_min_u64(len, TARGET_BYTES_MAX / 4)};
    ZD_AUTO_TEXT known = zd_fuzz_line(&input);
    ZD_AUTO_TEXT target = zd_fuzz_rest(&input);
    ZD_SCOPED_TEXT(secrets, SECRETS_BYTES_MAX);
    ZD_SCOPED_TEXT(shown, TARGET_BYTES_MAX);
    ZD_SCOPED_TEXT(text, TARGET_BYTES_MAX);
    zd_redact_know(&secrets, zd_span_of(known));
    if (!zd_redact_target(target, &secrets, &shown)) {
        check_secrets(&secrets, target);
        zd_fuzz_insist(shown.len == 0);
        return 0;
    }
    check_secrets(&secrets, shown.at);
    if (zd_redact_text(target, &secrets, &text)) {
        check_secrets(&secrets, text.at);
    }
    return 0;
}
