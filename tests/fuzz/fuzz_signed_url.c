/* Signed URLs: two lines, a path and a query as it is sent. Only what was signed verifies, and no
 * query that was not. */
#include <string.h>

#include "core/base/text.h"
#include "server/http/signed_url.h"
#include "tests/fuzz/input.h"

#define TEXT_BYTES_MAX (1U << 20)
#define EXPIRES_S      2000000000
#define KEYS                                                                                       \
    "{\"keys\": [{\"id\": \"k1\", \"secret\": \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"}]}"

static const uint8_t credential[ZD_DIGEST_BYTES] = {1};

/* @param target with a query; changed */
static bool is_good(const struct zd_signing_keys *keys, const char *path, char *target)
{
    uint64_t expires_s = 0;
    ZD_SCOPED_TEXT(sent, TEXT_BYTES_MAX);
    ZD_SCOPED_TEXT(signer, ZD_SIGNED_URL_SIGNER_MAX);
    zd_fuzz_insist(zd_signed_url_take(target, &sent) == ZD_OK);
    zd_fuzz_insist(zd_signed_url_signer(zd_text_span(&sent), &signer) == ZD_OK);
    const char *mark = strchr(target, '?');
    const struct zd_signed_url asked = {
        .method = zd_span_of("GET"),
        .path = zd_span_of(path),
        .query = zd_span_of(mark == NULL ? "" : mark + 1),
        .signer = zd_text_span(&signer),
        .credential = credential,
    };
    const bool good = zd_signed_url_verify(keys, &asked, zd_text_span(&sent), 0, &expires_s);
    zd_fuzz_insist(good == (expires_s == EXPIRES_S));
    return good;
}

static void check_signed(
    const struct zd_signing_keys *keys, const char *path, const char *query, bool fixes_query)
{
    const struct zd_signed_url url = {
        .method = zd_span_of("GET"),
        .path = zd_span_of(path),
        .fixes_query = fixes_query,
        .query = zd_span_of(query),
        .signer = zd_span_of("tada"),
        .credential = credential,
        .expires_s = EXPIRES_S,
    };
    ZD_SCOPED_TEXT(target, TEXT_BYTES_MAX);
    zd_text_addf(&target, "/?%s%s", query, query[0] == '\0' ? "" : "&");
    zd_fuzz_insist(zd_signed_url_add(&target, keys, &url) == ZD_OK);
    zd_fuzz_insist(is_good(keys, path, target.at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    struct zd_signing_keys *keys = NULL;
    if (len > TEXT_BYTES_MAX / 8) {
        return 0;
    }
    ZD_AUTO_TEXT path = zd_fuzz_line(&input);
    ZD_AUTO_TEXT query = zd_fuzz_line(&input);
    zd_fuzz_insist(zd_signing_keys_parse(zd_span_of(KEYS), &keys, NULL) == ZD_OK);
    ZD_SCOPED_TEXT(target, TEXT_BYTES_MAX);
    zd_text_addf(&target, "/?%s", query);
    zd_fuzz_insist(!is_good(keys, path, target.at));
    if (zd_signed_url_query_fault(zd_span_of(query)) == NULL) {
        check_signed(keys, path, query, true);
        check_signed(keys, path, query, false);
    }
    zd_signing_keys_free(keys);
    return 0;
}
