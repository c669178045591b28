/* The secrets that URLs are signed with. */
#include "server/http/signing_keys.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/secret_file.h"

#define OPTION         "access.signing_keys_file"
#define JSON_NODES_MAX 1024
#define JSON_DEPTH_MAX 4
#define ID_CHARACTERS  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

void zd_signing_keys_free(struct zd_signing_keys *keys)
{
    for (size_t i = 0; keys != NULL && i < keys->n; i++) {
        zd_hmac_free(keys->key[i].hmac);
    }
    zd_free(keys);
}

const struct zd_signing_key *zd_signing_keys_find(
    const struct zd_signing_keys *keys, struct zd_span id)
{
    for (size_t i = 0; keys != NULL && i < keys->n; i++) {
        if (strlen(keys->key[i].id) == id.len && memcmp(keys->key[i].id, id.ptr, id.len) == 0) {
            return &keys->key[i];
        }
    }
    return NULL;
}

static enum zd_status refuse(struct zd_error *err, size_t i, const char *what)
{
    return zd_fail(err, ZD_INVALID, "key %zu %s", i, what);
}

static enum zd_status take_id(
    const struct zd_json *json, size_t i, struct zd_signing_keys *keys, struct zd_error *err)
{
    const struct zd_span id = zd_json_string_span(json);
    if (zd_json_string(json) == NULL || id.len == 0 || id.len > ZD_SIGNING_KEYS_ID_MAX ||
        strspn((const char *)id.ptr, ID_CHARACTERS) != id.len) {
        return refuse(err, i, "has no \"id\" of 1 to 64 characters A-Z a-z 0-9 . _ -");
    }
    if (zd_signing_keys_find(keys, id) != NULL) {
        return refuse(err, i, "has the \"id\" of an earlier key");
    }
    memcpy(keys->key[i].id, id.ptr, id.len);
    return ZD_OK;
}

static enum zd_status take_secret(
    const struct zd_json *json, size_t i, struct zd_signing_key *key, struct zd_error *err)
{
    uint8_t secret[ZD_SIGNING_SECRET_MAX];
    const struct zd_span text = zd_json_string_span(json);
    const size_t len = zd_base64_bytes(text);
    if (zd_json_string(json) == NULL || len < ZD_SIGNING_SECRET_MIN ||
        len > ZD_SIGNING_SECRET_MAX || !zd_base64_decode(text, secret)) {
        return refuse(err, i,
            "has no \"secret\" of 32 to 1024 bytes in base64 (openssl rand -base64 32 makes one)");
    }
    const enum zd_status status =
        zd_hmac_new((struct zd_span){.ptr = secret, .len = len}, &key->hmac);
    zd_hmac_wipe(secret, sizeof secret);
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, "no memory for keys");
}

static enum zd_status take_key(
    const struct zd_json *json, size_t i, struct zd_signing_keys *keys, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_OBJECT) || zd_json_count(json) != 2) {
        return refuse(err, i, "is not {\"id\": ..., \"secret\": ...}");
    }
    ZD_TRY(take_id(zd_json_member(json, "id"), i, keys, err));
    ZD_TRY(take_secret(zd_json_member(json, "secret"), i, &keys->key[i], err));
    keys->n++;
    return ZD_OK;
}

enum zd_status zd_signing_keys_parse(
    struct zd_span text, struct zd_signing_keys **ret_keys, struct zd_error *err)
{
    static const struct zd_json_limits limits = {.bytes_max = ZD_SIGNING_KEYS_BYTES_MAX,
        .nodes_max = JSON_NODES_MAX,
        .depth_max = JSON_DEPTH_MAX};
    struct zd_json *parsed = NULL;
    const enum zd_status status = zd_json_parse(text, &limits, &parsed, NULL);
    if (status != ZD_OK) { /* its own error may repeat some of the text */
        return zd_fail(err, status == ZD_NO_MEMORY ? status : ZD_INVALID,
            status == ZD_NO_MEMORY ? "no memory for keys" : "the file is not JSON, or too long");
    }
    ZD_AUTO(zd_json) json = parsed;
    const struct zd_json *list = zd_json_member(json, "keys");
    const size_t n = zd_json_count(list);
    if (!zd_json_is(list, ZD_JSON_ARRAY) || zd_json_count(json) != 1 || n == 0 ||
        n > ZD_SIGNING_KEYS_MAX) {
        return zd_fail(err, ZD_INVALID,
            "expected {\"keys\": [{\"id\": ..., \"secret\": ...}]} with 1 to 64 keys");
    }
    ZD_AUTO(zd_signing_keys)
    keys = zd_alloc_zero(1, sizeof *keys + n * sizeof keys->key[0]);
    if (keys == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for keys");
    }
    for (size_t i = 0; i < n; i++) {
        ZD_TRY(take_key(zd_json_element(list, i), i, keys, err));
    }
    *ret_keys = ZD_TAKE(keys);
    return ZD_OK;
}

/* Secrets are not kept as they were read: what they make of a text tells them apart. */
static bool is_same(const struct zd_signing_key *a, const struct zd_signing_key *b)
{
    static const uint8_t text[] = "zarrd";
    const struct zd_span bytes = {.ptr = text, .len = sizeof text};
    uint8_t of_a[ZD_DIGEST_BYTES];
    uint8_t of_b[ZD_DIGEST_BYTES];
    return zd_hmac_of(a->hmac, bytes, of_a) == ZD_OK && zd_hmac_of(b->hmac, bytes, of_b) == ZD_OK &&
           zd_digest_is_same(of_a, of_b);
}

bool zd_signing_keys_stay(const struct zd_signing_keys *older, const struct zd_signing_keys *newer)
{
    for (size_t i = 0; older != NULL && i < older->n; i++) {
        const struct zd_signing_key *key = &older->key[i];
        const struct zd_signing_key *now = zd_signing_keys_find(newer, zd_span_of(key->id));
        if (now == NULL || !is_same(key, now)) {
            return false;
        }
    }
    return true;
}

enum zd_status zd_signing_keys_read(
    const char *path, struct zd_signing_keys **ret_keys, struct zd_error *err)
{
    struct zd_error why = {0};
    ZD_AUTO(zd_buf) bytes = NULL;
    if (path[0] == '\0') {
        *ret_keys = NULL;
        return ZD_OK;
    }
    ZD_TRY(zd_secret_file_read(OPTION, path, ZD_SIGNING_KEYS_BYTES_MAX, &bytes, err));
    const enum zd_status status = zd_signing_keys_parse(zd_buf_span(bytes), ret_keys, &why);
    zd_hmac_wipe(bytes->data, bytes->len);
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, OPTION " %.200s: %.250s", path, why.text);
}
