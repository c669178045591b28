/* Credentials of a store, and how files have them. */
#include "core/store/s3/s3_credentials.h"

#include <string.h>

#include "core/base/own.h"
#include "core/store/s3/s3_sign.h"

#define SOURCE_BYTES_MAX 256

static void wipe_text(char **text)
{
    if (*text != NULL) {
        zd_s3_sign_wipe(*text, strlen(*text));
    }
    zd_free(ZD_TAKE(*text));
}

void zd_s3_credentials_done(struct zd_s3_credentials *credentials)
{
    wipe_text(&credentials->access_key_id);
    wipe_text(&credentials->secret_access_key);
    wipe_text(&credentials->session_token);
    *credentials = (struct zd_s3_credentials){0};
}

/* ---- values ---- */

/* A header must not get a line more, nor a signature another part. */
static bool is_plain(struct zd_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f || text.ptr[i] == ',') {
            return false;
        }
    }
    return text.len <= ZD_S3_SECRET_BYTES_MAX;
}

static char *copy(struct zd_span text)
{
    return zd_strndup(text.len == 0 ? "" : (const char *)text.ptr, text.len);
}

enum zd_status zd_s3_credentials_init(const struct zd_s3_secrets *secrets, const char *source,
    struct zd_s3_credentials *ret_credentials, struct zd_error *err)
{
    if (secrets->access_key_id.len == 0 || secrets->secret_access_key.len == 0) {
        return zd_fail(
            err, ZD_STORE, "%s: the access key ID or the secret access key is missing", source);
    }
    if (!is_plain(secrets->access_key_id) || !is_plain(secrets->secret_access_key) ||
        !is_plain(secrets->session_token)) {
        return zd_fail(
            err, ZD_STORE, "%s: a value has characters that a credential cannot have", source);
    }
    struct zd_s3_credentials credentials = {
        .access_key_id = copy(secrets->access_key_id),
        .secret_access_key = copy(secrets->secret_access_key),
        .session_token = copy(secrets->session_token),
        .refresh_s = secrets->refresh_s,
        .expires_s = secrets->expires_s,
    };
    if (credentials.access_key_id == NULL || credentials.secret_access_key == NULL ||
        credentials.session_token == NULL) {
        zd_s3_credentials_done(&credentials);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for credentials");
    }
    *ret_credentials = credentials;
    return ZD_OK;
}

/* ---- AWS's format of files ---- */

static struct zd_span trim(struct zd_span text)
{
    while (text.len > 0 && strchr(" \t\r", text.ptr[0]) != NULL && text.ptr[0] != '\0') {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && strchr(" \t\r", text.ptr[text.len - 1]) != NULL &&
           text.ptr[text.len - 1] != '\0') {
        text.len--;
    }
    return text;
}

static struct zd_span take_line(struct zd_span *text)
{
    const uint8_t *end = text->len == 0 ? NULL : memchr(text->ptr, '\n', text->len);
    const size_t len = end == NULL ? text->len : (size_t)(end - text->ptr);
    const struct zd_span line = {.ptr = text->ptr, .len = len};
    const size_t taken = end == NULL ? len : len + 1;
    *text = (struct zd_span){.ptr = text->ptr + taken, .len = text->len - taken};
    return trim(line);
}

static void take_value(struct zd_s3_secrets *secrets, struct zd_span line)
{
    const uint8_t *equals = memchr(line.ptr, '=', line.len);
    if (equals == NULL) {
        return;
    }
    const size_t name_len = (size_t)(equals - line.ptr);
    const struct zd_span name = trim((struct zd_span){line.ptr, name_len});
    const struct zd_span value = trim((struct zd_span){equals + 1, line.len - name_len - 1});
    if (zd_span_is(name, "aws_access_key_id")) {
        secrets->access_key_id = value;
    } else if (zd_span_is(name, "aws_secret_access_key")) {
        secrets->secret_access_key = value;
    } else if (zd_span_is(name, "aws_session_token")) {
        secrets->session_token = value;
    }
}

static void read_profile(
    struct zd_span text, const char *name, struct zd_s3_secrets *secrets, bool *ret_is_there)
{
    bool is_inside = false;
    while (text.len > 0) {
        const struct zd_span line = take_line(&text);
        if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';') {
            continue;
        }
        if (line.ptr[0] == '[' && line.ptr[line.len - 1] == ']') {
            is_inside = zd_span_is(trim((struct zd_span){line.ptr + 1, line.len - 2}), name);
            *ret_is_there = *ret_is_there || is_inside;
        } else if (is_inside) {
            take_value(secrets, line);
        }
    }
}

enum zd_status zd_s3_credentials_parse(struct zd_span text, const char *name,
    struct zd_s3_credentials *ret_credentials, struct zd_error *err)
{
    bool is_there = false;
    struct zd_s3_secrets secrets = {.refresh_s = ZD_S3_NEVER_S, .expires_s = ZD_S3_NEVER_S};
    ZD_SCOPED_TEXT(source, SOURCE_BYTES_MAX);
    read_profile(text, name, &secrets, &is_there);
    if (!is_there) {
        return zd_fail(err, ZD_STORE, "the credentials file has no profile [%.100s]", name);
    }
    zd_text_addf(&source, "profile [%.100s] of the credentials file", name);
    return zd_s3_credentials_init(&secrets, source.at, ret_credentials, err);
}
