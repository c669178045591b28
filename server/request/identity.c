/* Identities and their grants. */
#include "server/request/identity.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "server/config/settings.h"
#include "server/http/glob.h"

#define ALL_BELOW "/**"

/* In one piece of memory: the identity, its grants, their texts. */
static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static const char *put_text(char **at, const char *text)
{
    const size_t len = text_bytes(text);
    char *const put = *at;
    if (text == NULL) {
        return NULL;
    }
    memcpy(put, text, len);
    *at += len;
    return put;
}

/* The length before the end of a pattern that matches everything below a path; 0: it has no such
 * end. */
static size_t stem_len(const char *pattern)
{
    const size_t len = pattern == NULL ? 0 : strlen(pattern);
    return len > strlen(ALL_BELOW) && strcmp(pattern + len - strlen(ALL_BELOW), ALL_BELOW) == 0
               ? len - strlen(ALL_BELOW)
               : 0;
}

static const char *put_stem(char **at, const char *pattern)
{
    const size_t len = stem_len(pattern);
    char *const put = *at;
    if (len == 0) {
        return NULL;
    }
    memcpy(put, pattern, len);
    put[len] = '\0';
    *at += len + 1;
    return put;
}

static bool texts_are_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool grants_are_same(const struct zd_identity *a, const struct zd_identity *b)
{
    bool is_same = a->n_grants == b->n_grants;
    for (size_t i = 0; is_same && i < a->n_grants; i++) {
        is_same = a->grant[i].scopes == b->grant[i].scopes &&
                  texts_are_same(a->grant[i].dataset, b->grant[i].dataset) &&
                  texts_are_same(a->grant[i].path, b->grant[i].path);
    }
    return is_same;
}

/* The identity that keeps the shared grants, or NULL. */
static struct zd_identity *keeper_for(const struct zd_identity *like)
{
    struct zd_identity *other = like->keeper;
    if (other == NULL || !grants_are_same(other, like)) {
        return NULL;
    }
    return zd_identity_ref(other->keeper == NULL ? other : other->keeper);
}

static size_t grants_bytes(const struct zd_identity *like)
{
    size_t bytes = like->n_grants * sizeof *like->grant;
    for (size_t i = 0; i < like->n_grants; i++) {
        const struct zd_grant *grant = &like->grant[i];
        bytes += text_bytes(grant->dataset) + text_bytes(grant->path) + stem_len(grant->path) + 1;
    }
    return bytes;
}

/* @param to room for the array, and behind it for its texts @return past them */
static char *put_grants(const struct zd_identity *like, struct zd_grant *to)
{
    char *at = (char *)(to + like->n_grants);
    for (size_t i = 0; i < like->n_grants; i++) {
        to[i].scopes = like->grant[i].scopes;
        to[i].dataset = put_text(&at, like->grant[i].dataset);
        to[i].path = put_text(&at, like->grant[i].path);
        to[i].stem = put_stem(&at, like->grant[i].path);
    }
    return at;
}

struct zd_identity *zd_identity_new(const struct zd_identity *like)
{
    static _Atomic uint64_t n_made;
    struct zd_identity *keeper = keeper_for(like);
    const size_t bytes = keeper == NULL ? grants_bytes(like) : 0;
    struct zd_identity *identity =
        zd_alloc(sizeof *like + bytes + text_bytes(like->name) + text_bytes(like->kid));
    if (identity == NULL) {
        zd_identity_unref(keeper);
        return NULL;
    }
    char *at = (char *)(identity + 1);
    *identity = *like;
    identity->refs = 1;
    identity->number =
        like->signer == NULL ? atomic_fetch_add(&n_made, 1) + 1 : like->signer->number;
    identity->is_revoked = false;
    identity->link = (struct zd_list){0};
    identity->keeper = keeper;
    identity->grant = keeper == NULL ? (struct zd_grant *)(void *)at : keeper->grant;
    if (keeper == NULL) {
        at = put_grants(like, (struct zd_grant *)(void *)at);
    }
    identity->name = put_text(&at, like->name);
    identity->kid = put_text(&at, like->kid);
    identity->signer = zd_identity_ref(like->signer);
    return identity;
}

struct zd_identity *zd_identity_ref(struct zd_identity *identity)
{
    if (identity != NULL) {
        identity->refs++;
    }
    return identity;
}

/* @return whether the last reference is gone, and the identity with it */
static bool drop(struct zd_identity *identity)
{
    if (identity == NULL || --identity->refs > 0) {
        return false;
    }
    zd_list_remove(&identity->link);
    zd_free(identity);
    return true;
}

/* A keeper has neither a keeper nor a signer; a signer has no signer. */
void zd_identity_unref(struct zd_identity *identity)
{
    struct zd_identity *keeper = identity == NULL ? NULL : identity->keeper;
    struct zd_identity *signer = identity == NULL ? NULL : identity->signer;
    if (!drop(identity)) {
        return;
    }
    drop(keeper);
    keeper = signer == NULL ? NULL : signer->keeper;
    if (drop(signer)) {
        drop(keeper);
    }
}

bool zd_identity_is_same(const struct zd_identity *a, const struct zd_identity *b)
{
    return texts_are_same(a->name, b->name) && texts_are_same(a->from, b->from) &&
           a->expires_ms == b->expires_ms && a->requests_per_s == b->requests_per_s &&
           a->bytes_per_s == b->bytes_per_s && grants_are_same(a, b);
}

static bool is_revoked(const struct zd_identity *identity)
{
    return identity->is_revoked || (identity->signer != NULL && identity->signer->is_revoked);
}

bool zd_identity_is_over(const struct zd_identity *identity)
{
    if (identity == NULL || is_revoked(identity) || identity->expires_ms == ZD_IDENTITY_NEVER) {
        return identity != NULL && is_revoked(identity);
    }
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return identity->expires_ms <= now_ms;
}

/* A pattern that matches every name was not written with a private dataset in mind, which others
 * may have added since. */
static bool is_literal(const char *pattern)
{
    return pattern != NULL && pattern[strspn(pattern, "*?")] != '\0';
}

/* The one place that says which datasets a grant opens. */
static bool is_of(const struct zd_grant *grant, const struct zd_dataset_config *dataset)
{
    if (dataset->is_private && !is_literal(grant->dataset)) {
        return false;
    }
    return grant->dataset == NULL || zd_glob_matches(grant->dataset, dataset->name);
}

bool zd_identity_names(const struct zd_identity *identity, const struct zd_dataset_config *dataset)
{
    for (size_t i = 0; i < identity->n_grants; i++) {
        if (is_of(&identity->grant[i], dataset)) {
            return true;
        }
    }
    return false;
}

static bool is_at(const struct zd_grant *grant, const char *path)
{
    return grant->path == NULL || path == NULL || zd_glob_matches(grant->path, path) ||
           (grant->stem != NULL && zd_glob_matches(grant->stem, path));
}

bool zd_identity_may(const struct zd_identity *identity, uint32_t scopes,
    const struct zd_dataset_config *dataset, const char *path)
{
    for (size_t i = 0; i < identity->n_grants; i++) {
        const struct zd_grant *grant = &identity->grant[i];
        if ((grant->scopes & scopes) != 0 &&
            (dataset == NULL || (is_of(grant, dataset) && is_at(grant, path)))) {
            return true;
        }
    }
    return false;
}

/* A pattern that ends in ** and matches a path also matches everything below it. */
static bool has_open_end(const char *pattern)
{
    const size_t len = strlen(pattern);
    return len >= 2 && strcmp(pattern + len - 2, "**") == 0;
}

bool zd_identity_may_below(const struct zd_identity *identity, uint32_t scopes,
    const struct zd_dataset_config *dataset, const char *path)
{
    for (size_t i = 0; i < identity->n_grants; i++) {
        const struct zd_grant *grant = &identity->grant[i];
        if ((grant->scopes & scopes) != 0 && is_of(grant, dataset) &&
            (grant->path == NULL || has_open_end(grant->path)) && is_at(grant, path)) {
            return true;
        }
    }
    return false;
}

/* Compares only what stands before the first wildcard of the pattern. */
static bool may_match_within(const char *pattern, const char *path)
{
    const size_t head = strcspn(pattern, "*?");
    const size_t len = strlen(path);
    size_t i = 0;
    while (i < head && i < len && pattern[i] == path[i]) {
        i++;
    }
    const bool is_whole = i == len && (len == 0 || pattern[i] == '\0' || pattern[i] == '/');
    return is_whole || (i == head && pattern[i] != '\0');
}

bool zd_identity_may_within(const struct zd_identity *identity, uint32_t scopes,
    const struct zd_dataset_config *dataset, const char *path)
{
    for (size_t i = 0; i < identity->n_grants; i++) {
        const struct zd_grant *grant = &identity->grant[i];
        if ((grant->scopes & scopes) != 0 && is_of(grant, dataset) &&
            (grant->path == NULL || may_match_within(grant->path, path))) {
            return true;
        }
    }
    return false;
}
