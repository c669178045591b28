/* JSON Web Tokens that are signed. */
#include "server/http/jwt.h"

#include <string.h>
#include <strings.h>

#include "core/base/base64.h"
#include "core/base/num.h"

#define JSON_NODES_MAX 1024
#define JSON_DEPTH_MAX 16
#define TIME_MAX       9007199254740992.0 /* 2^53: what every reader takes for the same number */

/* A token in its parts, still coded. */
struct parts {
    struct zd_span header;
    struct zd_span claims;
    struct zd_span signature;
    struct zd_span is_signed; /* header and claims with the dot between them */
};

static bool split(struct zd_span token, struct parts *ret_parts)
{
    const uint8_t *end = token.ptr + token.len;
    const uint8_t *first = token.len == 0 ? NULL : memchr(token.ptr, '.', token.len);
    const uint8_t *second =
        first == NULL ? NULL : memchr(first + 1, '.', (size_t)(end - first) - 1);
    if (second == NULL || memchr(second + 1, '.', (size_t)(end - second) - 1) != NULL) {
        return false;
    }
    *ret_parts = (struct parts){
        .header = {.ptr = token.ptr, .len = (size_t)(first - token.ptr)},
        .claims = {.ptr = first + 1, .len = (size_t)(second - first) - 1},
        .signature = {.ptr = second + 1, .len = (size_t)(end - second) - 1},
        .is_signed = {.ptr = token.ptr, .len = (size_t)(second - token.ptr)},
    };
    return true;
}

bool zd_jwt_is(struct zd_span token)
{
    struct parts parts;
    return split(token, &parts);
}

/* ---- parts ---- */

/* @return owned, or NULL */
static struct zd_buf *decode(struct zd_span part)
{
    ZD_AUTO(zd_buf) bytes = zd_buf_new(zd_base64_url_bytes(part));
    if (bytes == NULL || !zd_base64_url_decode(part, bytes->data)) {
        return NULL;
    }
    bytes->len = zd_base64_url_bytes(part);
    return ZD_TAKE(bytes);
}

/* An object without repeated members. @return owned, or NULL */
static struct zd_json *parse(struct zd_span part)
{
    static const struct zd_json_limits limits = {
        .bytes_max = ZD_JWT_BYTES_MAX, .nodes_max = JSON_NODES_MAX, .depth_max = JSON_DEPTH_MAX};
    struct zd_json *json = NULL;
    ZD_AUTO(zd_buf) text = decode(part);
    if (text == NULL || zd_json_parse(zd_buf_span(text), &limits, &json, NULL) != ZD_OK) {
        return NULL;
    }
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        zd_json_unref(json);
        return NULL;
    }
    return json;
}

static bool is_word(const struct zd_json *json, const char *word)
{
    const char *text = zd_json_string(json);
    return text != NULL && strcmp(text, word) == 0;
}

/* A token of another type does not give access (RFC 8725, 3.11). */
static bool is_other_type(const struct zd_json *type)
{
    static const char *const known[] = {"JWT", "at+jwt", "application/at+jwt"};
    const char *text = zd_json_string(type);
    for (size_t i = 0; text != NULL && i < ZD_COUNT_OF(known); i++) {
        if (strcasecmp(text, known[i]) == 0) {
            return false;
        }
    }
    return type != NULL;
}

/* @param ret_jwk set with ZD_JWT_GOOD */
static enum zd_jwt_answer judge_header(
    struct zd_span part, const struct zd_jwk_set *keys, const struct zd_jwk **ret_jwk)
{
    ZD_AUTO(zd_json) header = parse(part);
    const struct zd_json *kid = zd_json_member(header, "kid");
    if (zd_json_string(kid) == NULL || zd_json_member(header, "crit") != NULL ||
        zd_json_string(zd_json_member(header, "alg")) == NULL ||
        is_other_type(zd_json_member(header, "typ"))) {
        return ZD_JWT_BAD;
    }
    const struct zd_jwk *jwk = zd_jwk_find(keys, zd_json_string_span(kid));
    if (jwk == NULL) {
        return ZD_JWT_UNKNOWN_KEY;
    }
    *ret_jwk = jwk;
    return is_word(zd_json_member(header, "alg"), jwk->alg) ? ZD_JWT_GOOD : ZD_JWT_BAD;
}

/* ---- claims ---- */

/* Seconds since 1970-01-01 UTC; parts of a second count for nothing (RFC 7519, 2: NumericDate). */
static bool take_time(const struct zd_json *json, uint64_t *ret_s)
{
    double seconds = -1;
    if (json == NULL || zd_json_is(json, ZD_JSON_NONFINITE) || !zd_json_f64(json, &seconds) ||
        !(seconds >= 0 && seconds < TIME_MAX)) {
        return false;
    }
    *ret_s = (uint64_t)seconds;
    return true;
}

static bool is_for(const struct zd_json *audience, const char *wanted)
{
    if (!zd_json_is(audience, ZD_JSON_ARRAY)) {
        return is_word(audience, wanted);
    }
    bool is_there = false;
    for (size_t i = 0; i < zd_json_count(audience); i++) {
        const struct zd_json *one = zd_json_element(audience, i);
        if (zd_json_string(one) == NULL) {
            return false;
        }
        is_there = is_there || is_word(one, wanted);
    }
    return is_there;
}

static bool judge_claims(const struct zd_json *claims, const struct zd_jwt_rules *rules,
    uint64_t now_s, uint64_t *ret_over_s)
{
    uint64_t expires_s;
    uint64_t from_s = 0;
    const struct zd_json *not_before = zd_json_member(claims, "nbf");
    if (!take_time(zd_json_member(claims, "exp"), &expires_s) ||
        (not_before != NULL && !take_time(not_before, &from_s))) {
        return false;
    }
    *ret_over_s = expires_s + rules->leeway_s;
    return now_s < *ret_over_s && from_s <= now_s + rules->leeway_s &&
           is_word(zd_json_member(claims, "iss"), rules->issuer) &&
           is_for(zd_json_member(claims, "aud"), rules->audience);
}

/* A claim that may be missing. */
static bool take_text(const struct zd_json *claim, const char **ret_text)
{
    *ret_text = claim == NULL ? "" : zd_json_string(claim);
    return *ret_text != NULL;
}

void zd_jwt_done(struct zd_jwt *jwt)
{
    zd_json_unref(jwt->claims);
    *jwt = (struct zd_jwt){0};
}

static bool verifies(const struct zd_jwk *jwk, const struct parts *parts,
    const struct zd_buf *signature, const struct zd_jwt_rules *rules)
{
    *rules->n_verified += 1;
    return zd_public_key_verifies(jwk->key, parts->is_signed, zd_buf_span(signature));
}

/* The key's operation comes last, since it takes ten times as long as the rest. A token that ends
 * before it lets its sender measure facts that are no secret: the set of keys is public, and the
 * sender reads the claims in the token itself. */
enum zd_jwt_answer zd_jwt_judge(
    struct zd_span token, const struct zd_jwt_rules *rules, uint64_t now_s, struct zd_jwt *ret_jwt)
{
    struct parts parts;
    const struct zd_jwk *jwk = NULL;
    if (token.len > ZD_JWT_BYTES_MAX || !split(token, &parts)) {
        return ZD_JWT_BAD;
    }
    const enum zd_jwt_answer answer = judge_header(parts.header, rules->keys, &jwk);
    if (answer != ZD_JWT_GOOD) {
        return answer;
    }
    ZD_AUTO(zd_buf) signature = decode(parts.signature);
    ZD_AUTO(zd_json) claims = parse(parts.claims);
    struct zd_jwt jwt = {0};
    const bool is_claimed = judge_claims(claims, rules, now_s, &jwt.over_s) &&
                            take_text(zd_json_member(claims, "sub"), &jwt.subject) &&
                            take_text(zd_json_member(claims, "scope"), &jwt.scope);
    if (signature == NULL || !is_claimed || !verifies(jwk, &parts, signature, rules)) {
        return ZD_JWT_BAD;
    }
    jwt.claims = ZD_TAKE(claims);
    jwt.jwk = jwk;
    *ret_jwt = jwt;
    return ZD_JWT_GOOD;
}

/* ---- scopes ---- */

static bool copy(char *to, const char *from, size_t len)
{
    if (len >= ZD_JWT_WORD_BYTES) {
        return false;
    }
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

/* A word must name a dataset or a path: a `*` is no pattern here. */
static bool take_place(const char *place, size_t len, struct zd_jwt_word *word)
{
    const char *slash = memchr(place, '/', len);
    const size_t dataset_len = slash == NULL ? len : (size_t)(slash - place);
    const size_t path_len = slash == NULL ? 0 : len - dataset_len - 1;
    return dataset_len > 0 && (slash == NULL || path_len > 0) && memchr(place, '*', len) == NULL &&
           memchr(place, '?', len) == NULL && copy(word->dataset, place, dataset_len) &&
           copy(word->path, slash == NULL ? "" : slash + 1, path_len);
}

static bool take_word(const char *text, size_t len, struct zd_jwt_word *word)
{
    const bool is_read = len >= 4 && memcmp(text, "read", 4) == 0;
    const bool is_write = len >= 5 && memcmp(text, "write", 5) == 0;
    const size_t name_len = is_read ? 4 : 5;
    word->is_write = is_write;
    word->dataset[0] = '\0';
    word->path[0] = '\0';
    if (!is_read && !is_write) {
        return false;
    }
    return len == name_len ||
           (text[name_len] == ':' && take_place(text + name_len + 1, len - name_len - 1, word));
}

bool zd_jwt_next_word(const char **at, struct zd_jwt_word *ret_word)
{
    while (**at != '\0') {
        const char *text = *at + strspn(*at, " ");
        const size_t len = strcspn(text, " ");
        *at = text + len;
        if (take_word(text, len, ret_word)) {
            return true;
        }
    }
    return false;
}
