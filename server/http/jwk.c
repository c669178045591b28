/* Public keys that JSON Web Tokens are signed with. */
#include "server/http/jwk.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"

#define JSON_NODES_MAX 4096
#define JSON_DEPTH_MAX 8
#define NUMBER_MAX     (ZD_PUBLIC_KEY_RSA_BITS_MAX / 8 + 1) /* bytes; a zero may be in front */

void zd_jwk_free(struct zd_jwk_set *set)
{
    for (size_t i = 0; set != NULL && i < set->n; i++) {
        zd_public_key_free(set->jwk[i].key);
    }
    zd_free(set);
}

const struct zd_jwk *zd_jwk_find(const struct zd_jwk_set *set, struct zd_span kid)
{
    for (size_t i = 0; set != NULL && i < set->n; i++) {
        if (strlen(set->jwk[i].kid) == kid.len && memcmp(set->jwk[i].kid, kid.ptr, kid.len) == 0) {
            return &set->jwk[i];
        }
    }
    return NULL;
}

static bool is_word(const struct zd_json *json, const char *word)
{
    const char *text = zd_json_string(json);
    return text != NULL && strcmp(text, word) == 0;
}

/* One that may be missing. */
static bool is_word_if_any(const struct zd_json *jwk, const char *name, const char *word)
{
    const struct zd_json *member = zd_json_member(jwk, name);
    return member == NULL || is_word(member, word);
}

/* A member that is base64 for URLs. */
static bool take_number(
    const struct zd_json *jwk, const char *name, uint8_t to[NUMBER_MAX], struct zd_span *ret_number)
{
    const struct zd_json *member = zd_json_member(jwk, name);
    const struct zd_span text = zd_json_string_span(member);
    const size_t len = zd_base64_url_bytes(text);
    *ret_number = (struct zd_span){.ptr = to, .len = len};
    return zd_json_string(member) != NULL && len > 0 && len <= NUMBER_MAX &&
           zd_base64_url_decode(text, to);
}

/* What a type of keys has. */
static enum zd_status make(const struct zd_json *jwk, const char *alg,
    struct zd_public_key **ret_key, struct zd_error *err)
{
    uint8_t first[NUMBER_MAX];
    uint8_t second[NUMBER_MAX];
    struct zd_span a;
    struct zd_span b;
    const bool is_rsa = strcmp(alg, "RS256") == 0;
    const bool is_ec = strcmp(alg, "ES256") == 0;
    if (!take_number(jwk, is_rsa ? "n" : "x", first, &a) ||
        ((is_rsa || is_ec) && !take_number(jwk, is_rsa ? "e" : "y", second, &b))) {
        return zd_fail(err, ZD_INVALID, "its numbers are not base64 for URLs without padding");
    }
    return is_rsa  ? zd_public_key_new_rsa(a, b, ret_key, err)
           : is_ec ? zd_public_key_new_p256(a, b, ret_key, err)
                   : zd_public_key_new_ed25519(a, ret_key, err);
}

/* The algorithm of a key that is of use, or NULL. */
static const char *find_alg(const struct zd_json *jwk)
{
    const struct zd_json *type = zd_json_member(jwk, "kty");
    const struct zd_json *curve = zd_json_member(jwk, "crv");
    const char *alg = NULL;
    if (is_word(type, "RSA")) {
        alg = "RS256";
    } else if (is_word(type, "EC") && is_word(curve, "P-256")) {
        alg = "ES256";
    } else if (is_word(type, "OKP") && is_word(curve, "Ed25519")) {
        alg = "EdDSA";
    }
    const bool is_for_it = alg != NULL && is_word_if_any(jwk, "alg", alg) &&
                           is_word_if_any(jwk, "use", "sig") && zd_json_member(jwk, "kid") != NULL;
    return is_for_it ? alg : NULL;
}

static enum zd_status refuse(struct zd_error *err, size_t i, const char *what)
{
    return zd_fail(err, ZD_INVALID, "key %zu %s", i, what);
}

static enum zd_status take_key(
    const struct zd_json *json, size_t i, struct zd_jwk_set *set, struct zd_error *err)
{
    struct zd_error why = {0};
    const char *alg = find_alg(json);
    const struct zd_span kid = zd_json_string_span(zd_json_member(json, "kid"));
    if (alg == NULL) {
        return ZD_OK;
    }
    if (kid.len == 0 || kid.len > ZD_JWK_KID_MAX) {
        return refuse(err, i, "has no \"kid\" of 1 to 256 bytes");
    }
    if (zd_jwk_find(set, kid) != NULL) {
        return refuse(err, i, "has the \"kid\" of an earlier one");
    }
    if (zd_json_member(json, "d") != NULL) {
        return refuse(err, i, "is a private key: only its public part belongs here");
    }
    struct zd_jwk *jwk = &set->jwk[set->n];
    const enum zd_status status = make(json, alg, &jwk->key, &why);
    if (status != ZD_OK) {
        return zd_fail(err, status, "key %zu: %.300s", i, why.text);
    }
    memcpy(jwk->kid, kid.ptr, kid.len);
    jwk->alg = alg;
    set->n++;
    return ZD_OK;
}

static enum zd_status take_keys(
    const struct zd_json *list, struct zd_jwk_set **ret_set, struct zd_error *err)
{
    const size_t n = zd_json_count(list);
    if (!zd_json_is(list, ZD_JSON_ARRAY) || n > ZD_JWK_KEYS_MAX) {
        return zd_fail(
            err, ZD_INVALID, "{\"keys\": [...]} with at most %d keys is expected", ZD_JWK_KEYS_MAX);
    }
    ZD_AUTO(zd_jwk_set) set = zd_alloc_zero(1, sizeof *set + n * sizeof set->jwk[0]);
    if (set == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for keys");
    }
    for (size_t i = 0; i < n; i++) {
        ZD_TRY(take_key(zd_json_element(list, i), i, set, err));
    }
    if (set->n == 0) {
        return zd_fail(err, ZD_INVALID,
            "no key of use: RSA (RS256), EC P-256 (ES256) or OKP Ed25519 (EdDSA), with a \"kid\"");
    }
    *ret_set = ZD_TAKE(set);
    return ZD_OK;
}

enum zd_status zd_jwk_parse(struct zd_span text, struct zd_jwk_set **ret_set, struct zd_error *err)
{
    static const struct zd_json_limits limits = {
        .bytes_max = ZD_JWK_BYTES_MAX, .nodes_max = JSON_NODES_MAX, .depth_max = JSON_DEPTH_MAX};
    struct zd_json *parsed = NULL;
    ZD_TRY(zd_json_parse(text, &limits, &parsed, err));
    ZD_AUTO(zd_json) json = parsed;
    return take_keys(zd_json_member(json, "keys"), ret_set, err);
}
