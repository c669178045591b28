/* URLs that carry a part of their signer's permission. */
#include "server/http/signed_url.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/scan.h"

#define SIGNED_BYTES_MAX (256U << 10) /* path, query and little more: both are bounded earlier */
#define EXPIRES_MAX      (UINT64_C(1) << 53)
#define SEGMENTS_MAX     65536
#define SIGNATURE_CHARS  43
#define FIRST_PRINTABLE  0x21
#define LAST_PRINTABLE   0x7e

static const char *const own_names[] = {"expires", "key", "signature"};
enum { EXPIRES, KEY, SIGNATURE, N_OWN };

/* The signature's members in a query. */
struct sent {
    struct zd_span value[N_OWN];
    unsigned n_times[N_OWN];
    uint64_t expires_s;
    bool is_prefix;
    uint64_t n_segments; /* of a prefix */
    bool fixes_query;
    struct zd_span signer; /* base64; empty: it names none */
    struct zd_span digest; /* likewise, of SIGNATURE_CHARS if it is one */
};

/* ---- queries ---- */

/* The next `name=value` of a query. @return false: there is none */
static bool next_pair(struct zd_span query, size_t *at, struct zd_span *ret_pair)
{
    if (*at > query.len || query.len == 0) {
        return false;
    }
    const uint8_t *from = query.ptr + *at;
    const uint8_t *end = *at == query.len ? NULL : memchr(from, '&', query.len - *at);
    const size_t len = end == NULL ? query.len - *at : (size_t)(end - from);
    *ret_pair = (struct zd_span){.ptr = from, .len = len};
    *at += len + 1;
    return true;
}

static struct zd_span name_of(struct zd_span pair)
{
    const uint8_t *equals = pair.len == 0 ? NULL : memchr(pair.ptr, '=', pair.len);
    pair.len = equals == NULL ? pair.len : (size_t)(equals - pair.ptr);
    return pair;
}

static size_t own_number(struct zd_span name)
{
    size_t i = 0;
    while (i < N_OWN && !zd_span_is(name, own_names[i])) {
        i++;
    }
    return i;
}

static bool is_signed(struct zd_span query)
{
    struct zd_span pair;
    for (size_t at = 0; next_pair(query, &at, &pair);) {
        if (own_number(name_of(pair)) == SIGNATURE) {
            return true;
        }
    }
    return false;
}

/* Each pair that is one of the three, or each that is none. */
static void add_pairs(struct zd_text *text, struct zd_span query, bool are_own)
{
    struct zd_span pair;
    bool is_first = true;
    for (size_t at = 0; next_pair(query, &at, &pair);) {
        if ((own_number(name_of(pair)) < N_OWN) == are_own) {
            zd_text_add(text, is_first ? "" : "&");
            zd_text_add_bytes(text, pair.ptr, pair.len);
            is_first = false;
        }
    }
}

enum zd_status zd_signed_url_take(char *target, struct zd_text *to)
{
    char *mark = strchr(target, '?');
    zd_text_clear(to);
    if (mark == NULL || !is_signed(zd_span_of(mark + 1))) {
        return ZD_OK;
    }
    const struct zd_span query = zd_span_of(mark + 1);
    ZD_SCOPED_TEXT(others, query.len);
    add_pairs(&others, query, false);
    add_pairs(to, query, true);
    ZD_TRY(others.status);
    ZD_TRY(to->status);
    if (others.len == 0) {
        *mark = '\0';
    } else {
        memcpy(mark + 1, others.at, others.len + 1);
    }
    return ZD_OK;
}

const char *zd_signed_url_query_fault(struct zd_span query)
{
    struct zd_span pair;
    for (size_t i = 0; i < query.len; i++) {
        if (query.ptr[i] < FIRST_PRINTABLE || query.ptr[i] > LAST_PRINTABLE ||
            strchr("#\"<>\\^`{|}", query.ptr[i]) != NULL) {
            return "has characters that must be percent-encoded";
        }
    }
    for (size_t at = 0; next_pair(query, &at, &pair);) {
        const struct zd_span name = name_of(pair);
        if (own_number(name) < N_OWN || zd_span_is(name, "access_token")) {
            return "has a parameter that carries a credential";
        }
        if (pair.len == 0) {
            return "has an empty parameter";
        }
    }
    return NULL;
}

/* ---- what is signed ---- */

static bool is_segment(struct zd_span path, size_t at)
{
    return path.ptr[at] == '/' && at + 1 < path.len;
}

static uint64_t count_segments(struct zd_span path)
{
    uint64_t n = 0;
    for (size_t i = 0; i < path.len; i++) {
        n += is_segment(path, i);
    }
    return n;
}

/* The first n segments of a path; fewer if it has no more. */
static struct zd_span first_segments(struct zd_span path, uint64_t n)
{
    size_t at = 0;
    for (; at < path.len; at++) {
        if (path.ptr[at] == '/' && n-- == 0) {
            break;
        }
    }
    return (struct zd_span){.ptr = path.ptr, .len = at};
}

static void add_mode(struct zd_text *text, const struct zd_signed_url *url, uint64_t n_segments)
{
    if (url->is_prefix) {
        zd_text_add(text, "p");
        zd_text_add_u64(text, n_segments);
        zd_text_add(text, ".");
    }
    zd_text_add(text, url->fixes_query ? "q.s" : "s");
    (void)zd_base64_url_add(text, url->signer);
    zd_text_add_char(text, '.');
}

static void add_span(struct zd_text *text, struct zd_span span)
{
    zd_text_add_bytes(text, span.ptr, span.len);
    zd_text_add_char(text, '\n');
}

static enum zd_status digest(const struct zd_signing_key *key, const struct zd_signed_url *url,
    uint64_t n_segments, uint8_t ret_digest[ZD_DIGEST_BYTES])
{
    ZD_SCOPED_TEXT(text, SIGNED_BYTES_MAX);
    const bool is_head = zd_span_is(url->method, "HEAD");
    char credential[ZD_DIGEST_CHARS + 1];
    zd_digest_format(url->credential, credential);
    zd_text_add(&text, "zarrd-url-2\n");
    add_span(&text, is_head ? zd_span_of("GET") : url->method);
    add_span(&text, url->path);
    add_mode(&text, url, n_segments);
    zd_text_add_char(&text, '\n');
    zd_text_add_u64(&text, url->expires_s);
    zd_text_add_char(&text, '\n');
    zd_text_addf(&text, "%s\n%s\n", key->id, credential);
    if (url->fixes_query) {
        zd_text_add_bytes(&text, url->query.ptr, url->query.len);
    }
    ZD_TRY(text.status);
    return zd_hmac_of(key->hmac, zd_text_span(&text), ret_digest);
}

enum zd_status zd_signed_url_add(
    struct zd_text *text, const struct zd_signing_keys *keys, const struct zd_signed_url *url)
{
    const struct zd_signing_key *key = &keys->key[0];
    const uint64_t n_segments = count_segments(url->path);
    uint8_t found[ZD_DIGEST_BYTES];
    ZD_TRY(digest(key, url, n_segments, found));
    zd_text_add(text, "expires=");
    zd_text_add_u64(text, url->expires_s);
    zd_text_addf(text, "&key=%s&signature=", key->id);
    add_mode(text, url, n_segments);
    return zd_base64_url_add(text, (struct zd_span){.ptr = found, .len = sizeof found});
}

/* ---- verifying ---- */

/* @return empty: no dot ends it; nothing is moved then */
static struct zd_span take_to_dot(struct zd_scan *scan)
{
    const char *dot =
        scan->at == scan->end ? NULL : memchr(scan->at, '.', (size_t)(scan->end - scan->at));
    if (dot == NULL) {
        return (struct zd_span){0};
    }
    const struct zd_span taken = {
        .ptr = (const uint8_t *)scan->at, .len = (size_t)(dot - scan->at)};
    scan->at = dot + 1;
    return taken;
}

/* Takes what stands in front of the signature, in the one way in which we write it. */
static void take_mode(struct sent *sent, struct zd_scan *scan)
{
    struct zd_scan ahead = *scan;
    uint64_t n_segments = 0;
    if (zd_scan_char(&ahead, 'p') && zd_scan_u64(&ahead, SEGMENTS_MAX, &n_segments) == ZD_OK &&
        zd_scan_char(&ahead, '.')) {
        sent->is_prefix = true;
        sent->n_segments = n_segments;
        *scan = ahead;
    }
    sent->fixes_query = zd_scan_word(scan, "q.");
    if (zd_scan_char(scan, 's')) {
        sent->signer = take_to_dot(scan);
    }
}

/* @return false: it is malformed, or says something twice */
static bool take_sent(struct zd_span pairs, struct sent *sent)
{
    struct zd_span pair;
    for (size_t at = 0; next_pair(pairs, &at, &pair);) {
        const struct zd_span name = name_of(pair);
        const size_t i = own_number(name);
        if (i < N_OWN) {
            const size_t from = pair.len == name.len ? pair.len : name.len + 1;
            sent->value[i] = (struct zd_span){.ptr = pair.ptr + from, .len = pair.len - from};
            sent->n_times[i]++;
        }
    }
    struct zd_scan scan = zd_scan_of(sent->value[SIGNATURE]);
    take_mode(sent, &scan);
    sent->digest =
        (struct zd_span){.ptr = (const uint8_t *)scan.at, .len = (size_t)(scan.end - scan.at)};
    return sent->n_times[EXPIRES] == 1 && sent->n_times[KEY] == 1 &&
           sent->n_times[SIGNATURE] == 1 && sent->signer.len > 0 &&
           sent->digest.len == SIGNATURE_CHARS &&
           zd_scan_whole_u64(sent->value[EXPIRES], EXPIRES_MAX, &sent->expires_s) == ZD_OK;
}

enum zd_status zd_signed_url_signer(struct zd_span sent_pairs, struct zd_text *to)
{
    struct sent sent = {0};
    uint8_t name[ZD_SIGNED_URL_SIGNER_MAX];
    zd_text_clear(to);
    if (!take_sent(sent_pairs, &sent) ||
        zd_base64_url_bytes(sent.signer) > ZD_SIGNED_URL_SIGNER_MAX ||
        !zd_base64_url_decode(sent.signer, name)) {
        return to->status;
    }
    return zd_text_add_bytes(to, name, zd_base64_url_bytes(sent.signer));
}

bool zd_signed_url_verify(const struct zd_signing_keys *keys, const struct zd_signed_url *url,
    struct zd_span sent_pairs, uint64_t now_s, uint64_t *ret_expires_s)
{
    struct sent sent = {0};
    uint8_t said[ZD_DIGEST_BYTES] = {0};
    uint8_t found[ZD_DIGEST_BYTES];
    if (keys == NULL) {
        return false;
    }
    const bool is_whole = take_sent(sent_pairs, &sent) && zd_base64_url_decode(sent.digest, said);
    const struct zd_signing_key *key = zd_signing_keys_find(keys, sent.value[KEY]);
    const struct zd_signed_url asked = {
        .method = url->method,
        .path = sent.is_prefix ? first_segments(url->path, sent.n_segments) : url->path,
        .is_prefix = sent.is_prefix,
        .fixes_query = sent.fixes_query,
        .query = url->query,
        .signer = url->signer,
        .credential = url->credential,
        .expires_s = sent.expires_s,
    };
    if (digest(key == NULL ? &keys->key[0] : key, &asked, sent.n_segments, found) != ZD_OK ||
        !zd_digest_is_same(found, said) || key == NULL || !is_whole || now_s >= sent.expires_s) {
        return false;
    }
    *ret_expires_s = sent.expires_s;
    return true;
}
