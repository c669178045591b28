/* Requests whose URL is signed, and who signs. */
#include "server/request/access/signing.h"

#include <string.h>
#include <time.h>

#include "core/base/num.h"
#include "server/http/glob.h"
#include "server/http/signed_url.h"
#include "server/request/identity.h"
#include "server/request/access/jwts.h"
#include "server/request/route.h"
#include "server/request/access/token_entry.h"
#include "server/request/access/tokens.h"
#include "server/runtime/server.h"

#define TOKEN    't'
#define JWT      'j'
#define MS_PER_S 1000

/* ---- names ---- */

static enum zd_status name_token(const struct zd_request *req, struct zd_text *to,
    uint8_t ret[ZD_DIGEST_BYTES], struct zd_error *err)
{
    const char *name = req->identity->name;
    const struct zd_token_entry *entry = zd_tokens_find_name(req->server->tokens, zd_span_of(name));
    if (entry == NULL || entry->identity != req->identity) {
        return zd_fail(err, ZD_INVALID,
            "access.tokens_file has several tokens with the name '%.200s': give each token a "
            "unique name, because a signed URL names its signer",
            name);
    }
    memcpy(ret, entry->digest, ZD_DIGEST_BYTES);
    zd_text_add_char(to, TOKEN);
    return zd_text_add(to, name);
}

/* A word of the scope, as server/http/jwt.h reads it. */
static void add_word(struct zd_text *to, const struct zd_grant *grant)
{
    zd_text_add(to, grant->scopes == ZD_IDENTITY_WRITE ? " write" : " read");
    if (grant->dataset != NULL) {
        zd_text_addf(to, ":%s", grant->dataset);
    }
    if (grant->stem != NULL) {
        zd_text_addf(to, "/%s", grant->stem);
    }
}

static enum zd_status name_jwt(const struct zd_request *req, const char *dataset,
    struct zd_text *to, uint8_t ret[ZD_DIGEST_BYTES], struct zd_error *err)
{
    const struct zd_identity *identity = req->identity;
    if (!zd_jwts_digest(req->server->jwts, identity->kid, ret) ||
        strchr(identity->kid, '\n') != NULL) {
        return zd_fail(err, ZD_INVALID,
            "the key '%.200s' of the JWT no longer exists, or its \"kid\" has a line break: sign "
            "with another JWT",
            identity->kid);
    }
    zd_text_add_char(to, JWT);
    zd_text_addf(to, "%s\n%s\n", identity->name, identity->kid);
    for (size_t i = 0; i < identity->n_grants; i++) {
        const struct zd_grant *grant = &identity->grant[i];
        if (dataset[0] == '\0' || grant->dataset == NULL ||
            zd_glob_matches(grant->dataset, dataset)) {
            add_word(to, grant);
        }
    }
    return to->status;
}

enum zd_status zd_signing_name(const struct zd_request *req, struct zd_span dataset,
    struct zd_text *to, uint8_t ret[ZD_DIGEST_BYTES], struct zd_error *err)
{
    ZD_SCOPED_TEXT(name, ZD_SIGNED_URL_SIGNER_MAX);
    ZD_TRY(zd_text_add_bytes(&name, dataset.ptr, dataset.len));
    const bool is_jwt = strcmp(req->identity->from, "jwt") == 0;
    enum zd_status status = is_jwt ? name_jwt(req, dataset.len == 0 ? "" : name.at, to, ret, err)
                                   : name_token(req, to, ret, err);
    if (status == ZD_TOO_LARGE) {
        status = zd_fail(err, ZD_INVALID,
            "the scope of the JWT is too long for a signed URL; the limit is %d bytes: use a JWT "
            "with a shorter scope, or sign a path in one dataset",
            ZD_SIGNED_URL_SIGNER_MAX);
    }
    return status;
}

/* ---- signed requests ---- */

/* The signer that a URL names. Borrowed from the name, or from the tokens. */
struct named {
    const struct zd_token_entry *entry; /* or NULL */
    struct zd_jwts_signer jwt;          /* without a kid: it is none */
    uint8_t credential[ZD_DIGEST_BYTES];
};

/* Ends a line of a text. @return what follows, or NULL */
static char *cut_line(char *text)
{
    char *end = text == NULL ? NULL : strchr(text, '\n');
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    return end + 1;
}

/* Nobody has verified the name yet: finding changes nothing. */
static void find_named(const struct zd_server *server, struct zd_text *name, struct named *named)
{
    if (name->len > 0 && strlen(name->at) < name->len) {
        return;
    }
    if (name->len > 0 && name->at[0] == TOKEN) {
        named->entry = zd_tokens_find_name(server->tokens, zd_span_of(name->at + 1));
    }
    if (named->entry != NULL) {
        memcpy(named->credential, named->entry->digest, ZD_DIGEST_BYTES);
    }
    if (name->len > 0 && name->at[0] == JWT) {
        char *kid = cut_line(name->at + 1);
        const char *scope = cut_line(kid);
        const bool is_jwt = scope != NULL && zd_jwts_digest(server->jwts, kid, named->credential);
        named->jwt = (struct zd_jwts_signer){
            .name = name->at + 1, .kid = is_jwt ? kid : NULL, .scope = scope};
    }
}

/* @return a reference, or NULL */
static struct zd_identity *signer_of(struct zd_server *server, const struct named *named)
{
    if (named->entry != NULL) {
        return zd_identity_ref(named->entry->identity);
    }
    return named->jwt.kid == NULL ? NULL : zd_jwts_find_signer(server->jwts, &named->jwt);
}

static struct zd_identity *make_identity(struct zd_identity *signer, uint64_t expires_s)
{
    struct zd_identity like = *signer;
    like.from = "url";
    like.expires_ms = zd_min_u64(signer->expires_ms, expires_s * MS_PER_S);
    like.keeper = signer;
    like.signer = signer;
    return zd_identity_new(&like);
}

struct zd_identity *zd_signing_identify(struct zd_request *req)
{
    struct zd_signed_url url = {.method = zd_span_of(req->method)};
    struct named named = {.entry = NULL};
    struct timespec now = {0};
    uint64_t expires_s = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const struct zd_span raw = zd_route_path(req->target, &url.query);
    /* A path that is none has been decoded up to its fault: the work is the same. */
    const bool is_path = zd_route_decode(raw, req->path_text, NULL) == ZD_OK;
    ZD_SCOPED_TEXT(name, ZD_SIGNED_URL_SIGNER_MAX);
    ZD_SCOPED_TEXT(lines, ZD_SIGNED_URL_SIGNER_MAX);
    if (zd_signed_url_signer(req->signature, &name) != ZD_OK ||
        zd_text_add_bytes(&lines, name.at, name.len) != ZD_OK) {
        return NULL;
    }
    find_named(req->server, &lines, &named);
    url.path = zd_text_span(req->path_text);
    url.signer = zd_text_span(&name);
    url.credential = named.credential;
    const bool is_good = zd_signed_url_verify(
        req->server->signing_keys, &url, req->signature, (uint64_t)now.tv_sec, &expires_s);
    ZD_AUTO(zd_identity) signer = is_good && is_path ? signer_of(req->server, &named) : NULL;
    if (signer == NULL || zd_identity_is_over(signer)) {
        return NULL;
    }
    struct zd_identity *identity = make_identity(signer, expires_s);
    if (identity != NULL) {
        zd_list_push_back(&req->server->signed_urls, &identity->link);
    }
    return identity;
}

void zd_signing_replace_keys(struct zd_server *server, struct zd_signing_keys *newer)
{
    const bool all_stay = zd_signing_keys_stay(server->signing_keys, newer);
    struct zd_list *link = NULL;
    while (!all_stay && (link = zd_list_pop_front(&server->signed_urls)) != NULL) {
        ZD_CONTAINER(link, struct zd_identity, link)->is_revoked = true;
    }
    zd_signing_keys_free(server->signing_keys);
    server->signing_keys = newer;
}
