/* JSON Web Tokens.
 *
 *   file --+                     +-- judged before --> identity
 *          +--> keys --> token --+
 *   URL ---+     ^               +-- judged now ----> identity, kept until it is over
 *    ^           |                     |
 *    timer ------+---------------------+ its key is not known: once a minute
 */
#include "server/request/access/jwts.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/digest.h"
#include "core/base/map.h"
#include "core/base/num.h"
#include "core/base/secret_file.h"
#include "core/store/transfer/transfer.h"
#include "server/http/jwt.h"
#include "server/request/identity.h"
#include "server/runtime/server.h"

#define FILE_OPTION     "access.jwks_file"
#define URL_OPTION      "access.jwks_url"
#define FETCH_MS        30000 /* of one answer, however it trickles */
#define RETRY_MS        10000 /* after one that is no use */
#define UNKNOWN_MS      60000 /* between fetches for the sake of a key that is not known */
#define JUDGED_MAX      4096
#define NAME_BYTES_MAX  128
#define TOKEN           't' /* kinds of what was judged: no token is found as a signer */
#define SIGNER          's'
#define MS_PER_S        1000
#define RULES_BYTES_MAX (64U << 10) /* longer than what they are made of */
#define LEFT_LOGGED     16          /* keys that do not count, by a line each */
#define KEY_BYTES       (1 + ZD_DIGEST_BYTES)

/* A token that was good, or the signer of a URL. */
struct judged {
    struct zd_map_entry entry;    /* key: key */
    struct zd_list link;          /* in zd_jwts.judged, the one used last first */
    uint8_t key[KEY_BYTES];       /* its kind, and a digest */
    struct zd_identity *identity; /* a reference, with the id of its key */
};

struct zd_jwts {
    struct zd_server *server; /* borrowed */
    struct zd_jwk_set *keys;  /* owned; NULL: none yet */
    struct zd_map tokens;     /* struct judged */
    struct zd_list judged;
    struct zd_list made; /* struct zd_identity: all that live, judged to be kept or not */
    struct zd_transfer transfer;
    uv_timer_t timer; /* when to ask again, or to give up */
    uv_timer_t stale; /* after a failed fetch: when the keys end */
    uint64_t good_ms; /* when they were fetched last; loop time */
    bool is_fetching;
    bool is_stopping;
    bool has_asked;      /* for a key that is not known */
    uint64_t unknown_ms; /* when; loop time */
};

/* ---- settings ---- */

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* Anybody who can change the key set on its way can make valid tokens. */
static bool is_safe(const char *url)
{
    static const char *const local[] = {
        "http://127.0.0.1:", "http://127.0.0.1/", "http://[::1]:", "http://[::1]/"};
    for (size_t i = 0; i < ZD_COUNT_OF(local); i++) {
        if (begins(url, local[i])) {
            return strchr(url, '@') == NULL;
        }
    }
    return begins(url, "https://") && strpbrk(url, "@ \t\r\n") == NULL;
}

static enum zd_status read_file(
    const char *path, struct zd_jwk_set **ret_keys, struct zd_error *err)
{
    struct zd_error why = {0};
    ZD_AUTO(zd_buf) bytes = NULL;
    ZD_TRY(zd_secret_file_read_shared(FILE_OPTION, path, ZD_JWK_BYTES_MAX, &bytes, err));
    const enum zd_status status = zd_jwk_parse(zd_buf_span(bytes), ret_keys, &why);
    return status == ZD_OK ? ZD_OK
                           : zd_fail(err, status == ZD_NO_MEMORY ? status : ZD_INVALID,
                                 FILE_OPTION " %.200s: %.250s", path, why.text);
}

/* At the start a file without a key that counts is a mistake; later it may be what was meant. */
static enum zd_status read_first(
    const char *path, struct zd_jwk_set **ret_keys, struct zd_error *err)
{
    struct zd_jwk_set *read = NULL;
    ZD_TRY(read_file(path, &read, err));
    ZD_AUTO(zd_jwk_set) keys = read;
    if (keys->n_good == 0) {
        return zd_fail(err, ZD_INVALID,
            FILE_OPTION " %.200s: none of its %zu keys can be used%s%s; expected at least one key "
                        "with a \"kid\": RSA (RS256), EC P-256 (ES256) or OKP Ed25519 (EdDSA)",
            path, keys->n, keys->n == 0 ? "" : ": in the first key, ",
            keys->n == 0 ? "" : keys->jwk[0].why_not);
    }
    *ret_keys = ZD_TAKE(keys);
    return ZD_OK;
}

static enum zd_status check(const struct zd_settings *settings, struct zd_error *err)
{
    const bool has_file = settings->access_jwks_file[0] != '\0';
    const bool has_url = settings->access_jwks_url[0] != '\0';
    if (has_file && has_url) {
        return zd_fail(err, ZD_INVALID, FILE_OPTION " and " URL_OPTION ": set only one of them");
    }
    if (has_url && !is_safe(settings->access_jwks_url)) {
        return zd_fail(err, ZD_INVALID,
            URL_OPTION " '%.200s': expected https://..., or http://127.0.0.1:...",
            settings->access_jwks_url);
    }
    if ((has_file || has_url) && settings->access_jwt_issuer[0] == '\0') {
        return zd_fail(err, ZD_INVALID,
            "access.jwt_issuer must be set when keys are configured: it is the expected claim "
            "\"iss\"");
    }
    if ((has_file || has_url) && settings->access_jwt_audience[0] == '\0') {
        return zd_fail(err, ZD_INVALID,
            "access.jwt_audience must be set when keys are configured: it is the expected claim "
            "\"aud\"");
    }
    return ZD_OK;
}

enum zd_status zd_jwts_check(const struct zd_settings *settings, struct zd_error *err)
{
    ZD_AUTO(zd_jwk_set) keys = NULL;
    ZD_TRY(check(settings, err));
    return settings->access_jwks_file[0] == '\0'
               ? ZD_OK
               : read_first(settings->access_jwks_file, &keys, err);
}

/* ---- tokens that were judged ---- */

static void forget(struct zd_jwts *jwts, struct judged *judged)
{
    zd_map_remove(&jwts->tokens, &judged->entry);
    zd_list_remove(&judged->link);
    zd_identity_unref(judged->identity);
    zd_free(judged);
}

static void forget_revoked(struct zd_jwts *jwts)
{
    struct zd_list *link = jwts->judged.next;
    while (link != &jwts->judged) {
        struct judged *judged = ZD_CONTAINER(link, struct judged, link);
        link = link->next;
        if (judged->identity->is_revoked) {
            forget(jwts, judged);
        }
    }
}

/* Streams end with the key of their token, also those of tokens that were forgotten because others
 * took their places. */
static void revoke_others(struct zd_jwts *jwts, const struct zd_jwk_set *keys)
{
    struct zd_list *link = jwts->made.next;
    while (link != &jwts->made) {
        struct zd_identity *identity = ZD_CONTAINER(link, struct zd_identity, link);
        const struct zd_span kid = zd_span_of(identity->kid);
        const struct zd_jwk *old = zd_jwk_find(jwts->keys, kid);
        const struct zd_jwk *now = zd_jwk_find(keys, kid);
        link = link->next;
        if (now == NULL || !zd_public_key_is_same(old->key, now->key)) {
            identity->is_revoked = true;
            zd_list_remove(&identity->link);
        }
    }
    forget_revoked(jwts);
}

/* Without memory it is judged again the next time. */
static void remember(
    struct zd_jwts *jwts, const uint8_t key[KEY_BYTES], struct zd_identity *identity)
{
    struct judged *judged = zd_alloc_zero(1, sizeof *judged);
    if (judged == NULL) {
        return;
    }
    if (jwts->tokens.n_entries >= JUDGED_MAX) {
        forget(jwts, ZD_CONTAINER(jwts->judged.prev, struct judged, link));
    }
    memcpy(judged->key, key, KEY_BYTES);
    judged->entry.key = (struct zd_span){.ptr = judged->key, .len = KEY_BYTES};
    if (zd_map_put(&jwts->tokens, &judged->entry) != ZD_OK) {
        zd_free(judged);
        return;
    }
    judged->identity = zd_identity_ref(identity);
    zd_list_push_front(&jwts->judged, &judged->link);
}

/* @return a reference; NULL: it was not judged, or is over */
static struct zd_identity *recall(struct zd_jwts *jwts, const uint8_t key[KEY_BYTES])
{
    const struct zd_span place = {.ptr = key, .len = KEY_BYTES};
    struct zd_map_entry *entry = zd_map_find(&jwts->tokens, place);
    if (entry == NULL) {
        return NULL;
    }
    struct judged *judged = ZD_CONTAINER(entry, struct judged, entry);
    if (zd_identity_is_over(judged->identity)) {
        forget(jwts, judged);
        return NULL;
    }
    zd_list_remove(&judged->link);
    zd_list_push_front(&jwts->judged, &judged->link);
    return zd_identity_ref(judged->identity);
}

/* ---- whom a token names ---- */

/* The log has one word for it. */
static void copy_name(const char *subject, char name[NAME_BYTES_MAX + 1])
{
    size_t len = strnlen(subject, NAME_BYTES_MAX);
    while (len > 0 && ((uint8_t)subject[len] & 0xc0U) == 0x80U) { /* not within a character */
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        name[i] = (char)((uint8_t)subject[i] <= ' ' || subject[i] == 0x7f ? '_' : subject[i]);
    }
    name[len] = '\0';
}

/* @return false without memory */
static bool add_grant(struct zd_grant *grant, const struct zd_jwt_word *word, struct zd_text *path)
{
    zd_text_clear(path);
    zd_text_addf(path, "%s/**", word->path);
    grant->scopes = word->is_write ? ZD_IDENTITY_WRITE : ZD_IDENTITY_READ;
    grant->dataset = word->dataset[0] == '\0' ? NULL : zd_strdup(word->dataset);
    grant->path = word->path[0] == '\0' || path->status != ZD_OK ? NULL : zd_strdup(path->at);
    return (word->dataset[0] == '\0' || grant->dataset != NULL) &&
           (word->path[0] == '\0' || grant->path != NULL);
}

static size_t add_grants(const char *scope, struct zd_grant *grant, bool *ret_is_whole)
{
    struct zd_jwt_word word;
    size_t n = 0;
    ZD_SCOPED_TEXT(path, ZD_JWT_WORD_BYTES + 4);
    *ret_is_whole = true;
    while (*ret_is_whole && n < ZD_JWT_WORDS_MAX && zd_jwt_next_word(&scope, &word)) {
        *ret_is_whole = add_grant(&grant[n++], &word, &path);
    }
    return n;
}

static struct zd_identity *make_identity(
    struct zd_jwts *jwts, const struct zd_jwts_signer *named, uint64_t expires_ms)
{
    char name[NAME_BYTES_MAX + 1];
    bool is_whole;
    struct zd_identity *identity = NULL;
    struct zd_grant *grant = zd_alloc_zero(ZD_JWT_WORDS_MAX, sizeof *grant);
    if (grant == NULL) {
        return NULL;
    }
    copy_name(named->name[0] == '\0' ? "jwt" : named->name, name);
    const struct zd_identity like = {
        .name = name,
        .from = "jwt",
        .kid = named->kid,
        .expires_ms = expires_ms,
        .requests_per_s = ZD_IDENTITY_SETTINGS,
        .bytes_per_s = ZD_IDENTITY_SETTINGS,
        .n_grants = add_grants(named->scope, grant, &is_whole),
        .grant = grant,
    };
    if (is_whole) {
        identity = zd_identity_new(&like);
    }
    if (identity != NULL) {
        zd_list_push_back(&jwts->made, &identity->link);
    }
    for (size_t i = 0; i < like.n_grants; i++) {
        zd_free((char *)grant[i].dataset);
        zd_free((char *)grant[i].path);
    }
    zd_free(grant);
    return identity;
}

/* ---- keys ---- */

static void fetch(struct zd_jwts *jwts);

static void on_timer(uv_timer_t *timer)
{
    struct zd_jwts *jwts = timer->data;
    if (jwts->is_fetching) {
        zd_transfer_cancel(&jwts->transfer);
    } else {
        fetch(jwts);
    }
}

static bool keys_are_same(const struct zd_jwk *a, const struct zd_jwk *b)
{
    const bool has_same_key =
        a->key == NULL || b->key == NULL ? a->key == b->key : zd_public_key_is_same(a->key, b->key);
    return has_same_key && strcmp(a->kid, b->kid) == 0 && a->why_not == b->why_not;
}

static bool are_same(const struct zd_jwk_set *a, const struct zd_jwk_set *b)
{
    bool is_same = a != NULL && a->n == b->n;
    for (size_t i = 0; is_same && i < a->n; i++) {
        is_same = keys_are_same(&a->jwk[i], &b->jwk[i]);
    }
    return is_same;
}

static void log_keys(const struct zd_jwts *jwts, const struct zd_jwk_set *keys, const char *from)
{
    struct zd_log *log = &jwts->server->log;
    size_t n_left = 0;
    zd_log(log, keys->n_good == 0 ? ZD_LOG_WARNING : ZD_LOG_INFO, "%s: %zu keys%s", from,
        keys->n_good, keys->n_good == 0 ? "; every JSON Web Token is refused" : "");
    for (size_t i = 0; i < keys->n; i++) {
        if (keys->jwk[i].why_not != NULL && n_left++ < LEFT_LOGGED) {
            zd_log(log, ZD_LOG_WARNING, "%s: key %zu of %zu cannot be used: %s", from, i + 1,
                keys->n, keys->jwk[i].why_not);
        }
    }
    if (n_left > LEFT_LOGGED) {
        zd_log(log, ZD_LOG_WARNING, "%s: %zu more keys cannot be used", from, n_left - LEFT_LOGGED);
    }
}

/* @param keys taken over */
static void take_keys(struct zd_jwts *jwts, struct zd_jwk_set *keys, const char *from)
{
    revoke_others(jwts, keys);
    if (!are_same(jwts->keys, keys)) {
        jwts->server->n_credential_changes++; /* others keep them, too:
                                                 server/request/access/credential_cache.h */
        log_keys(jwts, keys, from);
    }
    zd_jwk_free(jwts->keys);
    jwts->keys = keys;
    jwts->server->has_stale_keys = false;
}

/* Keys that the issuer has withdrawn since would be good for ever. */
static void end_keys(struct zd_jwts *jwts)
{
    struct zd_server *server = jwts->server;
    uv_timer_stop(&jwts->stale);
    revoke_others(jwts, NULL);
    server->n_credential_changes++;
    zd_jwk_free(ZD_TAKE(jwts->keys));
    server->has_stale_keys = true;
    zd_log(&server->log, ZD_LOG_ERROR,
        URL_OPTION ": every fetch failed for access.jwks_stale_ms (%llu ms): every JSON Web Token "
                   "is refused until a fetch succeeds",
        (unsigned long long)server->config->settings.access_jwks_stale_ms);
}

static void on_stale(uv_timer_t *timer)
{
    end_keys(timer->data);
}

/* A fetch has failed: the keys are good for the rest of their time. */
static void keep_keys(struct zd_jwts *jwts)
{
    const uint64_t stale_ms = jwts->server->config->settings.access_jwks_stale_ms;
    const uint64_t age_ms = uv_now(jwts->server->loop) - jwts->good_ms;
    if (jwts->keys != NULL && age_ms >= stale_ms) {
        end_keys(jwts);
    } else if (jwts->keys != NULL && !uv_is_active((uv_handle_t *)&jwts->stale)) {
        uv_timer_start(&jwts->stale, on_stale, stale_ms - age_ms, 0);
    }
}

static void on_fetched(struct zd_transfer *transfer)
{
    struct zd_jwts *jwts = transfer->context;
    const struct zd_settings *settings = &jwts->server->config->settings;
    ZD_AUTO(zd_buf) bytes = ZD_TAKE(transfer->bytes);
    struct zd_jwk_set *keys = NULL;
    struct zd_error err = {0};
    enum zd_status status = transfer->status;
    jwts->is_fetching = false;
    if (jwts->is_stopping) {
        return;
    }
    if (status != ZD_OK) {
        err = transfer->err;
    } else if (transfer->head.code != 200) {
        status = zd_fail(&err, ZD_STORE, "the server answered %u", transfer->head.code);
    } else {
        status = zd_jwk_parse(zd_buf_span(bytes), &keys, &err);
    }
    if (status == ZD_OK) {
        uv_timer_stop(&jwts->stale);
        jwts->good_ms = uv_now(jwts->server->loop);
        take_keys(jwts, keys, URL_OPTION);
    } else {
        keep_keys(jwts);
        zd_log(&jwts->server->log, ZD_LOG_WARNING, URL_OPTION ": %s%s", err.text,
            jwts->keys == NULL ? "; every JSON Web Token is refused"
                               : "; the last good keys stay valid");
    }
    const uint64_t next_ms =
        status == ZD_OK ? settings->access_jwks_ms : zd_min_u64(settings->access_jwks_ms, RETRY_MS);
    uv_timer_start(&jwts->timer, on_timer, next_ms, 0);
}

static void fetch(struct zd_jwts *jwts)
{
    static const char *const headers[] = {"Accept: application/json", NULL};
    if (jwts->is_fetching || jwts->is_stopping) {
        return;
    }
    jwts->is_fetching = true;
    jwts->transfer = (struct zd_transfer){
        .settings = &jwts->server->remote.settings,
        .method = ZD_TRANSFER_GET,
        .url = jwts->server->config->settings.access_jwks_url,
        .headers = headers,
        .bytes_max = ZD_JWK_BYTES_MAX,
        .done = on_fetched,
        .context = jwts,
    };
    uv_timer_start(&jwts->timer, on_timer, FETCH_MS, 0);
    zd_transfer_start(jwts->server->remote.pool, &jwts->transfer);
}

static bool is_by_url(const struct zd_jwts *jwts)
{
    return jwts->server->config->settings.access_jwks_url[0] != '\0';
}

/* Keys are changed before the tokens that they sign are given out, but we may have looked before.
 */
static void ask_for_unknown(struct zd_jwts *jwts)
{
    const uint64_t now_ms = uv_now(jwts->server->loop);
    if (!is_by_url(jwts) || (jwts->has_asked && now_ms - jwts->unknown_ms < UNKNOWN_MS)) {
        return;
    }
    jwts->has_asked = true;
    jwts->unknown_ms = now_ms;
    fetch(jwts);
}

void zd_jwts_reload(struct zd_jwts *jwts)
{
    struct zd_jwk_set *keys = NULL;
    struct zd_error err = {0};
    if (jwts == NULL) {
        return;
    }
    if (is_by_url(jwts)) {
        fetch(jwts);
    } else if (read_file(jwts->server->config->settings.access_jwks_file, &keys, &err) == ZD_OK) {
        take_keys(jwts, keys, FILE_OPTION);
    } else {
        zd_log(&jwts->server->log, ZD_LOG_ERROR, "reload: %s; the last good keys stay valid",
            err.text);
    }
}

/* ---- the whole ---- */

static enum zd_status begin(struct zd_jwts *jwts, struct zd_error *err)
{
    const struct zd_settings *settings = &jwts->server->config->settings;
    if (!is_by_url(jwts)) {
        struct zd_jwk_set *keys = NULL;
        ZD_TRY(read_first(settings->access_jwks_file, &keys, err));
        take_keys(jwts, keys, FILE_OPTION);
        return ZD_OK;
    }
    ZD_TRY(zd_transfer_pool_take(&jwts->server->remote.pool, jwts->server->loop, err));
    uv_timer_init(jwts->server->loop, &jwts->timer);
    uv_timer_init(jwts->server->loop, &jwts->stale);
    jwts->timer.data = jwts;
    jwts->stale.data = jwts;
    fetch(jwts);
    return ZD_OK;
}

enum zd_status zd_jwts_open(
    struct zd_server *server, struct zd_jwts **ret_jwts, struct zd_error *err)
{
    const struct zd_settings *settings = &server->config->settings;
    ZD_TRY(check(settings, err));
    if (settings->access_jwks_file[0] == '\0' && settings->access_jwks_url[0] == '\0') {
        *ret_jwts = NULL;
        return ZD_OK;
    }
    struct zd_jwts *jwts = zd_alloc_zero(1, sizeof *jwts);
    if (jwts == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for JSON Web Tokens");
    }
    jwts->server = server;
    zd_map_init(&jwts->tokens);
    zd_list_init(&jwts->judged);
    zd_list_init(&jwts->made);
    const enum zd_status status = begin(jwts, err);
    if (status != ZD_OK) {
        zd_map_done(&jwts->tokens);
        zd_free(jwts);
        return status;
    }
    *ret_jwts = jwts;
    return ZD_OK;
}

void zd_jwts_stop(struct zd_jwts *jwts)
{
    if (jwts != NULL && is_by_url(jwts)) {
        jwts->is_stopping = true;
        uv_close((uv_handle_t *)&jwts->timer, NULL);
        uv_close((uv_handle_t *)&jwts->stale, NULL);
    }
}

void zd_jwts_free(struct zd_jwts *jwts)
{
    if (jwts == NULL) {
        return;
    }
    revoke_others(jwts, NULL);
    zd_map_done(&jwts->tokens);
    zd_jwk_free(jwts->keys);
    if (is_by_url(jwts)) {
        zd_transfer_pool_leave(&jwts->server->remote.pool);
    }
    zd_free(jwts);
}

static struct zd_identity *judge(
    struct zd_jwts *jwts, struct zd_span token, const uint8_t key[KEY_BYTES])
{
    const struct zd_settings *settings = &jwts->server->config->settings;
    const struct zd_jwt_rules rules = {
        .keys = jwts->keys,
        .issuer = settings->access_jwt_issuer,
        .audience = settings->access_jwt_audience,
        .leeway_s = settings->access_jwt_leeway_s,
        .n_verified = &jwts->server->metrics.n_verified,
    };
    struct zd_jwt jwt = {0};
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    switch (zd_jwt_judge(token, &rules, (uint64_t)now.tv_sec, &jwt)) {
    case ZD_JWT_UNKNOWN_KEY:
        ask_for_unknown(jwts);
        return NULL;
    case ZD_JWT_BAD:
        return NULL;
    case ZD_JWT_GOOD:
        break;
    }
    const struct zd_jwts_signer named = {
        .name = jwt.subject, .kid = jwt.jwk->kid, .scope = jwt.scope};
    struct zd_identity *identity = make_identity(jwts, &named, jwt.over_s * MS_PER_S);
    if (identity != NULL) {
        remember(jwts, key, identity);
    }
    zd_jwt_done(&jwt);
    return identity;
}

struct zd_identity *zd_jwts_find(struct zd_jwts *jwts, struct zd_span token)
{
    uint8_t key[KEY_BYTES] = {TOKEN};
    if (jwts == NULL || !zd_jwt_is(token) || zd_digest_of(token, key + 1) != ZD_OK) {
        return NULL;
    }
    struct zd_identity *identity = recall(jwts, key);
    return identity == NULL ? judge(jwts, token, key) : identity;
}

/* ---- signers of URLs ---- */

bool zd_jwts_digest(const struct zd_jwts *jwts, const char *kid, uint8_t ret[ZD_DIGEST_BYTES])
{
    const struct zd_jwk *jwk = jwts == NULL ? NULL : zd_jwk_find(jwts->keys, zd_span_of(kid));
    uint8_t digest[ZD_DIGEST_BYTES];
    char hex[ZD_DIGEST_CHARS + 1];
    if (jwk == NULL || zd_public_key_digest(jwk->key, digest) != ZD_OK) {
        return false;
    }
    const struct zd_settings *settings = &jwts->server->config->settings;
    zd_digest_format(digest, hex);
    ZD_SCOPED_TEXT(text, RULES_BYTES_MAX);
    zd_text_addf(
        &text, "%s\n%s\n%s", hex, settings->access_jwt_issuer, settings->access_jwt_audience);
    return text.status == ZD_OK && zd_digest_of(zd_text_span(&text), ret) == ZD_OK;
}

struct zd_identity *zd_jwts_find_signer(struct zd_jwts *jwts, const struct zd_jwts_signer *signer)
{
    uint8_t key[KEY_BYTES] = {SIGNER};
    ZD_SCOPED_TEXT(text, RULES_BYTES_MAX);
    zd_text_addf(&text, "%s\n%s\n%s", signer->name, signer->kid, signer->scope);
    if (text.status != ZD_OK || zd_digest_of(zd_text_span(&text), key + 1) != ZD_OK) {
        return NULL;
    }
    struct zd_identity *identity = recall(jwts, key);
    if (identity == NULL) {
        identity = make_identity(jwts, signer, ZD_IDENTITY_NEVER); /* the URL has the end */
        if (identity != NULL) {
            remember(jwts, key, identity);
        }
    }
    return identity;
}

size_t zd_jwts_count(const struct zd_jwts *jwts)
{
    return jwts == NULL || jwts->keys == NULL ? 0 : jwts->keys->n_good;
}
