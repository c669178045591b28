/* Public keys that JSON Web Tokens are signed with. */
#include "server/http/jwk.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/json_grammar.h"
#include "core/base/num.h"

#define JSON_NODES_MAX 4096
#define NUMBER_MAX     (ZD_PUBLIC_KEY_RSA_BITS_MAX / 8 + 1) /* bytes; a zero may be in front */

/* Why a key does not count. */
static const char is_no_object[] = "it is not an object, repeats a member, or is too large";
static const char has_no_kid[] = "it has no \"kid\" of 1 to 256 bytes";
static const char is_private[] =
    "it is a private key; replace the key, and publish only public keys";
static const char is_other_type[] =
    "its type is not supported: expected RSA, EC with P-256, or OKP with Ed25519";
static const char is_for_other_alg[] =
    "its \"alg\" does not fit its type: expected RS256, ES256 or EdDSA";
static const char is_for_other_use[] = "its \"use\" is not \"sig\"";
static const char verifies_nothing[] = "its \"key_ops\" do not list \"verify\"";
static const char has_bad_numbers[] =
    "its numbers are not a valid key: expected base64url without padding, and RSA of 2048 to 4096 "
    "bits or a point of the curve";
static const char is_twin[] = "it repeats an earlier key";
static const char has_rival[] = "another key has its \"kid\": give each key a \"kid\" of its own";

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
        const struct zd_jwk *jwk = &set->jwk[i];
        if (jwk->why_not == NULL && zd_span_is(kid, jwk->kid)) {
            return jwk;
        }
    }
    return NULL;
}

static bool is_word(const struct zd_json *json, const char *word)
{
    const char *text = zd_json_string(json);
    return text != NULL && strcmp(text, word) == 0;
}

/* Check a member that may be missing. */
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

/* Makes a key of its type's numbers. @retval ZD_INVALID they are none */
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
        return zd_fail(err, ZD_INVALID, "its numbers are not base64url without padding");
    }
    return is_rsa  ? zd_public_key_new_rsa(a, b, ret_key, err)
           : is_ec ? zd_public_key_new_p256(a, b, ret_key, err)
                   : zd_public_key_new_ed25519(a, ret_key, err);
}

/* The algorithm that tokens of a type of keys must name, or NULL. */
static const char *find_alg(const struct zd_json *jwk)
{
    const struct zd_json *type = zd_json_member(jwk, "kty");
    const struct zd_json *curve = zd_json_member(jwk, "crv");
    if (is_word(type, "RSA")) {
        return "RS256";
    }
    if (is_word(type, "EC") && is_word(curve, "P-256")) {
        return "ES256";
    }
    return is_word(type, "OKP") && is_word(curve, "Ed25519") ? "EdDSA" : NULL;
}

/* RFC 7518, 6.2.2 and 6.3.2; RFC 8037, 2. */
static bool has_secret(const struct zd_json *jwk)
{
    static const char *const names[] = {"d", "p", "q", "dp", "dq", "qi", "oth"};
    bool has = false;
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        has = has || zd_json_member(jwk, names[i]) != NULL;
    }
    return has;
}

/* RFC 7517, 4.3. */
static bool may_verify(const struct zd_json *jwk)
{
    const struct zd_json *ops = zd_json_member(jwk, "key_ops");
    bool may = ops == NULL;
    for (size_t i = 0; zd_json_is(ops, ZD_JSON_ARRAY) && i < zd_json_count(ops); i++) {
        may = may || is_word(zd_json_element(ops, i), "verify");
    }
    return may;
}

/* @param ret_alg set with NULL @return NULL: only its numbers are not known to be good */
static const char *find_fault(const struct zd_json *jwk, const char **ret_alg)
{
    const size_t kid_len = zd_json_string_span(zd_json_member(jwk, "kid")).len;
    const char *alg = find_alg(jwk);
    if (!zd_json_is(jwk, ZD_JSON_OBJECT)) {
        return is_no_object;
    }
    if (kid_len == 0 || kid_len > ZD_JWK_KID_MAX) {
        return has_no_kid;
    }
    if (has_secret(jwk)) {
        return is_private;
    }
    if (alg == NULL) {
        return is_other_type;
    }
    if (!is_word_if_any(jwk, "alg", alg)) {
        return is_for_other_alg;
    }
    if (!is_word_if_any(jwk, "use", "sig")) {
        return is_for_other_use;
    }
    *ret_alg = alg;
    return may_verify(jwk) ? NULL : verifies_nothing;
}

/* A key that is read by itself: its faults are its own. @param jwk zeroed */
static enum zd_status take_key(struct zd_span text, struct zd_jwk *jwk, struct zd_error *err)
{
    static const struct zd_json_limits limits = {.bytes_max = ZD_JWK_BYTES_MAX,
        .nodes_max = JSON_NODES_MAX,
        .depth_max = ZD_JSON_GRAMMAR_DEPTH_MAX};
    struct zd_json *parsed = NULL;
    enum zd_status status = zd_json_parse(text, &limits, &parsed, err);
    ZD_AUTO(zd_json) json = parsed;
    if (status == ZD_NO_MEMORY) {
        return status;
    }
    jwk->why_not = status == ZD_OK ? find_fault(json, &jwk->alg) : is_no_object;
    if (jwk->why_not == is_no_object || jwk->why_not == has_no_kid) {
        return ZD_OK;
    }
    const struct zd_span kid = zd_json_string_span(zd_json_member(json, "kid"));
    memcpy(jwk->kid, kid.ptr, kid.len);
    if (jwk->why_not == NULL) {
        status = make(json, jwk->alg, &jwk->key, err);
        jwk->why_not = status == ZD_OK ? NULL : has_bad_numbers;
    }
    return status == ZD_NO_MEMORY ? status : ZD_OK;
}

/* ---- keys of one name ---- */

/* Whether it makes a "kid" doubtful that another key has, too. */
static bool claims_kid(const struct zd_jwk *jwk)
{
    return jwk->why_not == NULL || jwk->why_not == is_twin || jwk->why_not == has_rival ||
           jwk->why_not == is_private;
}

static void compare(struct zd_jwk *first, struct zd_jwk *second)
{
    const bool is_same =
        first->key != NULL && second->key != NULL && zd_public_key_is_same(first->key, second->key);
    if (is_same) {
        second->why_not = second->why_not == NULL ? is_twin : second->why_not;
        return;
    }
    first->why_not = first->why_not == is_private ? is_private : has_rival;
    second->why_not = second->why_not == is_private ? is_private : has_rival;
}

/* Nobody knows which of two keys the issuer means, and one of them may have been slipped in. */
static void drop_rivals(struct zd_jwk_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        for (size_t j = i + 1; j < set->n && claims_kid(&set->jwk[i]); j++) {
            if (claims_kid(&set->jwk[j]) && strcmp(set->jwk[i].kid, set->jwk[j].kid) == 0) {
                compare(&set->jwk[i], &set->jwk[j]);
            }
        }
    }
}

/* ---- the set ---- */

/* The next value of a list. @param end where to go on; 1 at first @return false: it was the last */
static bool next_value(struct zd_span list, size_t *end, struct zd_span *ret_value)
{
    size_t at = *end;
    if (zd_json_next_token(list, &at, end) == ZD_JSON_TOKEN_CLOSE) {
        return false;
    }
    *end = zd_json_value_end(list, at);
    *ret_value = (struct zd_span){.ptr = list.ptr + at, .len = *end - at};
    return true;
}

static enum zd_status take_keys(
    struct zd_span list, struct zd_jwk_set **ret_set, struct zd_error *err)
{
    struct zd_span value;
    size_t n = 0;
    for (size_t end = 1; next_value(list, &end, &value);) {
        n++;
    }
    if (n > ZD_JWK_KEYS_MAX) {
        return zd_fail_limit(err, ZD_JWK_KEYS_MAX, n,
            "the list \"keys\" has %zu keys; the limit is %d", n, ZD_JWK_KEYS_MAX);
    }
    ZD_AUTO(zd_jwk_set) set = zd_alloc_zero(1, sizeof *set + n * sizeof set->jwk[0]);
    if (set == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for keys");
    }
    for (size_t end = 1; next_value(list, &end, &value);) {
        ZD_TRY(take_key(value, &set->jwk[set->n++], err));
    }
    drop_rivals(set);
    for (size_t i = 0; i < set->n; i++) {
        set->n_good += set->jwk[i].why_not == NULL;
    }
    *ret_set = ZD_TAKE(set);
    return ZD_OK;
}

/* @param name as it is written */
static bool is_keys(struct zd_span name)
{
    if (memchr(name.ptr, '\\', name.len) == NULL) {
        return zd_span_is(name, "keys");
    }
    ZD_SCOPED_TEXT(text, sizeof "keys" + 1);
    zd_json_grammar_unescape(name, &text);
    return text.status == ZD_OK && zd_span_is(zd_text_span(&text), "keys");
}

enum zd_status zd_jwk_parse(struct zd_span text, struct zd_jwk_set **ret_set, struct zd_error *err)
{
    static const struct zd_json_limits limits = {.depth_max = ZD_JSON_GRAMMAR_DEPTH_MAX};
    struct zd_json_extent member;
    struct zd_span list = {.len = 0};
    size_t n = 0;
    bool has_nonfinite = false;
    if (text.len > ZD_JWK_BYTES_MAX) {
        return zd_fail_limit(err, ZD_JWK_BYTES_MAX, text.len,
            "the set of keys has %zu bytes; the limit is %u", text.len, ZD_JWK_BYTES_MAX);
    }
    ZD_TRY(zd_json_grammar_check(text, &limits, &has_nonfinite, err));
    for (size_t at = 0;
        zd_json_grammar_is_object(text) && zd_json_grammar_next(text, &at, &member);) {
        if (is_keys(member.name)) {
            list = member.value;
            n++;
        }
    }
    if (n != 1 || list.ptr[0] != '[') {
        return zd_fail(err, ZD_INVALID,
            "the document has no list \"keys\", or more than one: expected {\"keys\": [...]}");
    }
    return take_keys(list, ret_set, err);
}
