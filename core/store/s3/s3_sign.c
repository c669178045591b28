/* Signing requests to S3: AWS Signature Version 4 in headers. */
#include "core/store/s3/s3_sign.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/base64.h"

#define SERVICE           "s3"
#define ALGORITHM         "AWS4-HMAC-SHA256"
#define SECRET_BYTES_MAX  1024
#define REQUEST_BYTES_MAX (64U << 10)
#define ADDED_HEADERS     4 /* host, x-amz-content-sha256, x-amz-date, x-amz-security-token */

/* The headers that are signed, sorted by their names. */
struct signed_headers {
    struct zd_s3_pair pair[ZD_S3_HEADERS_MAX + ADDED_HEADERS];
    size_t n;
};

static const char hex_digits[] = "0123456789abcdef";

static void write_hex(const uint8_t *digest, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = hex_digits[digest[i] >> 4];
        to[2 * i + 1] = hex_digits[digest[i] & 15];
    }
    to[2 * n] = '\0';
}

enum zd_status zd_s3_sign_digest(struct zd_span bytes, char ret_hex[ZD_S3_DIGEST_CHARS + 1])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(bytes.ptr, bytes.len, digest, NULL, EVP_sha256(), NULL) != 1) {
        return ZD_NO_MEMORY; /* nothing else can fail */
    }
    write_hex(digest, ZD_S3_DIGEST_BYTES, ret_hex);
    return ZD_OK;
}

enum zd_status zd_s3_sign_tag(struct zd_span bytes, char ret_hex[ZD_S3_MD5_CHARS + 1])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(bytes.ptr, bytes.len, digest, NULL, EVP_md5(), NULL) != 1) {
        return ZD_NO_MEMORY;
    }
    write_hex(digest, ZD_S3_MD5_CHARS / 2, ret_hex);
    return ZD_OK;
}

enum zd_status zd_s3_sign_content_md5(struct zd_span bytes, char ret_base64[ZD_S3_BASE64_CHARS + 1])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(bytes.ptr, bytes.len, digest, NULL, EVP_md5(), NULL) != 1) {
        return ZD_NO_MEMORY;
    }
    zd_base64_encode((struct zd_span){.ptr = digest, .len = ZD_S3_MD5_CHARS / 2}, ret_base64);
    ret_base64[ZD_S3_BASE64_CHARS] = '\0';
    return ZD_OK;
}

static enum zd_status hmac(const uint8_t *key, size_t key_len, const char *text, size_t len,
    uint8_t ret_digest[ZD_S3_DIGEST_BYTES])
{
    const uint8_t *found =
        HMAC(EVP_sha256(), key, (int)key_len, (const uint8_t *)text, len, ret_digest, NULL);
    return found == NULL ? ZD_NO_MEMORY : ZD_OK;
}

static bool is_unreserved(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static void add_encoded(struct zd_text *text, const char *bytes, bool keeps_slashes)
{
    for (; *bytes != '\0'; bytes++) {
        const uint8_t c = (uint8_t)*bytes;
        if (is_unreserved(c) || (c == '/' && keeps_slashes)) {
            zd_text_add_char(text, *bytes);
        } else {
            zd_text_addf(text, "%%%02X", c);
        }
    }
}

void zd_s3_sign_add_path(struct zd_text *text, const char *path)
{
    add_encoded(text, path, true);
}

static void sort(struct zd_s3_pair *pair, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct zd_s3_pair held = pair[i];
        size_t at = i;
        for (; at > 0 && strcmp(pair[at - 1].name, held.name) > 0; at--) {
            pair[at] = pair[at - 1];
        }
        pair[at] = held;
    }
}

/* Our names of parameters are words: they sort encoded as they do here. */
void zd_s3_sign_add_query(struct zd_text *text, const struct zd_s3_pair *pair, size_t n)
{
    struct zd_s3_pair sorted[ZD_S3_HEADERS_MAX];
    assert(n <= ZD_S3_HEADERS_MAX);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = pair[i];
    }
    sort(sorted, n);
    for (size_t i = 0; i < n; i++) {
        zd_text_add(text, i == 0 ? "" : "&");
        add_encoded(text, sorted[i].name, false);
        zd_text_add_char(text, '=');
        add_encoded(text, sorted[i].value, false);
    }
}

static void collect_headers(const struct zd_s3_identity *identity,
    const struct zd_s3_signing *signing, const char *time, struct signed_headers *headers)
{
    const struct zd_s3_pair added[ADDED_HEADERS] = {
        {"host", signing->host},
        {"x-amz-content-sha256", signing->payload_digest},
        {"x-amz-date", time},
        {"x-amz-security-token", identity->session_token},
    };
    const size_t n_added = identity->session_token[0] == '\0' ? ADDED_HEADERS - 1 : ADDED_HEADERS;
    assert(signing->n_headers <= ZD_S3_HEADERS_MAX);
    headers->n = 0;
    for (size_t i = 0; i < n_added; i++) {
        headers->pair[headers->n++] = added[i];
    }
    for (size_t i = 0; i < signing->n_headers; i++) {
        headers->pair[headers->n++] = signing->header[i];
    }
    sort(headers->pair, headers->n);
}

static void add_names(struct zd_text *text, const struct signed_headers *headers)
{
    for (size_t i = 0; i < headers->n; i++) {
        zd_text_addf(text, "%s%s", i == 0 ? "" : ";", headers->pair[i].name);
    }
}

/* "Canonical request" of the description of Signature Version 4. */
static enum zd_status digest_request(const struct zd_s3_signing *signing,
    const struct signed_headers *headers, char ret_hex[ZD_S3_DIGEST_CHARS + 1])
{
    ZD_SCOPED_TEXT(text, REQUEST_BYTES_MAX);
    zd_text_addf(&text, "%s\n%s\n%s\n", signing->method, signing->path, signing->query);
    for (size_t i = 0; i < headers->n; i++) {
        zd_text_addf(&text, "%s:%s\n", headers->pair[i].name, headers->pair[i].value);
    }
    zd_text_add(&text, "\n");
    add_names(&text, headers);
    zd_text_addf(&text, "\n%s", signing->payload_digest);
    ZD_TRY(text.status);
    const enum zd_status status = zd_s3_sign_digest(zd_text_span(&text), ret_hex);
    zd_s3_sign_wipe(text.at, text.len); /* it has the token */
    return status;
}

static enum zd_status derive_key(struct zd_s3_signer *signer, const char *secret,
    const char *region, const char date[ZD_S3_DATE_CHARS + 1])
{
    uint8_t *key = signer->key;
    ZD_SCOPED_TEXT(start, SECRET_BYTES_MAX);
    zd_text_addf(&start, "AWS4%s", secret);
    ZD_TRY(start.status);
    enum zd_status status = hmac((const uint8_t *)start.at, start.len, date, ZD_S3_DATE_CHARS, key);
    zd_s3_sign_wipe(start.at, start.len);
    ZD_TRY(status);
    ZD_TRY(hmac(key, ZD_S3_DIGEST_BYTES, region, strlen(region), key));
    ZD_TRY(hmac(key, ZD_S3_DIGEST_BYTES, SERVICE, strlen(SERVICE), key));
    ZD_TRY(hmac(key, ZD_S3_DIGEST_BYTES, "aws4_request", strlen("aws4_request"), key));
    memcpy(signer->date, date, ZD_S3_DATE_CHARS + 1);
    return ZD_OK;
}

static void write_time(int64_t now_s, char time[ZD_S3_TIME_CHARS + 1])
{
    const time_t seconds = (time_t)now_s;
    struct tm utc = {0};
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(time, ZD_S3_TIME_CHARS + 1, "%Y%m%dT%H%M%SZ", &utc);
}

static enum zd_status write_signature(const struct zd_s3_signer *signer, const char *time,
    const char *scope, const char *request, char ret_hex[ZD_S3_DIGEST_CHARS + 1])
{
    uint8_t digest[ZD_S3_DIGEST_BYTES];
    ZD_SCOPED_TEXT(text, REQUEST_BYTES_MAX);
    zd_text_addf(&text, ALGORITHM "\n%s\n%s\n%s", time, scope, request);
    ZD_TRY(text.status);
    ZD_TRY(hmac(signer->key, sizeof signer->key, text.at, text.len, digest));
    write_hex(digest, ZD_S3_DIGEST_BYTES, ret_hex);
    return ZD_OK;
}

enum zd_status zd_s3_sign(struct zd_s3_signer *signer, const struct zd_s3_identity *identity,
    const struct zd_s3_signing *signing, struct zd_text *text)
{
    char time[ZD_S3_TIME_CHARS + 1];
    char date[ZD_S3_DATE_CHARS + 1] = "";
    char hex[ZD_S3_DIGEST_CHARS + 1];
    struct signed_headers headers;
    ZD_SCOPED_TEXT(scope, SECRET_BYTES_MAX);
    write_time(signing->now_s, time);
    memcpy(date, time, ZD_S3_DATE_CHARS);
    if (strcmp(signer->date, date) != 0) {
        signer->date[0] = '\0';
        ZD_TRY(derive_key(signer, identity->secret_access_key, signing->region, date));
    }
    collect_headers(identity, signing, time, &headers);
    ZD_TRY(digest_request(signing, &headers, hex));
    zd_text_addf(&scope, "%s/%s/" SERVICE "/aws4_request", date, signing->region);
    ZD_TRY(scope.status);
    ZD_TRY(write_signature(signer, time, scope.at, hex, hex));
    zd_text_addf(text, "x-amz-date: %s\nx-amz-content-sha256: %s\n", time, signing->payload_digest);
    if (identity->session_token[0] != '\0') {
        zd_text_addf(text, "x-amz-security-token: %s\n", identity->session_token);
    }
    zd_text_addf(text,
        "authorization: " ALGORITHM " Credential=%s/%s,SignedHeaders=", identity->access_key_id,
        scope.at);
    add_names(text, &headers);
    zd_text_addf(text, ",Signature=%s\n", hex);
    return text->status;
}

void zd_s3_sign_forget(struct zd_s3_signer *signer)
{
    zd_s3_sign_wipe(signer, sizeof *signer);
}

void zd_s3_sign_wipe(void *at, size_t len)
{
    if (len > 0) {
        OPENSSL_cleanse(at, len);
    }
}
