/* The search for credentials.
 *
 *   environment, files -> found
 *   web identity       -> IDENTITY -> found
 *   container          -> CONTAINER -> found
 *   instance           -> SESSION -> ROLE -> INSTANCE -> found
 */
#include "core/store/s3/s3_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/aside.h"
#include "core/base/json.h"
#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/scan.h"
#include "core/store/s3/s3_sign.h"
#include "core/store/s3/s3_xml.h"
#include "core/base/secret_file.h"

#define FILE_BYTES_MAX   (1U << 20)
#define NAME_BYTES_MAX   256 /* of a variable of the environment */
#define URL_BYTES_MAX    2048
#define METADATA         "http://169.254.169.254"
#define METADATA_PATH    "/latest/meta-data/iam/security-credentials/"
#define SESSION_HEADER   "X-aws-ec2-metadata-token"
#define SESSION_S        "21600"
#define WORD             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+=,.@_-"
#define REFRESH_BEFORE_S 300 /* or a quarter of the time that is left */
#define EXPIRES_BEFORE_S 5   /* clocks differ, and requests take a while */
#define ROLE_BYTES_MAX   256

static void wipe_text(char **text)
{
    if (*text != NULL) {
        zd_s3_sign_wipe(*text, strlen(*text));
    }
    zd_free(ZD_TAKE(*text));
}

static void forget_request(struct zd_s3_search *search)
{
    search->fetch = ZD_S3_FETCH_NONE;
    zd_free(ZD_TAKE(search->url));
    wipe_text(&search->header);
    if (search->body != NULL) {
        zd_s3_sign_wipe(search->body->data, search->body->len);
    }
    zd_buf_unref(ZD_TAKE(search->body));
}

void zd_s3_search_done(struct zd_s3_search *search)
{
    forget_request(search);
    wipe_text(&search->session);
    zd_s3_credentials_done(&search->found);
    *search = (struct zd_s3_search){0};
}

static const char *environment(const char *name)
{
    const char *value = getenv(name); /* nothing changes the environment once threads run */
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static enum zd_status no_memory(struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, "no memory for credentials");
}

/* ---- files and the environment ---- */

static enum zd_status read_file(
    const char *path, size_t bytes_max, struct zd_text *text, struct zd_error *err)
{
    char piece[4096];
    ssize_t n = -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && text->status == ZD_OK && text->len <= bytes_max &&
           (n = read(fd, piece, sizeof piece)) > 0) {
        zd_text_add_bytes(text, piece, (size_t)n);
    }
    const int cause = errno;
    zd_s3_sign_wipe(piece, sizeof piece);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (text->status == ZD_NO_MEMORY) {
        return no_memory(err);
    }
    if (text->status != ZD_OK || n > 0) {
        return zd_fail(err, ZD_STORE,
            "credentials: the file" ZD_ASIDE(" %.200s") " is longer than %zu bytes", path,
            bytes_max);
    }
    return n == 0 ? ZD_OK
                  : zd_fail(err, ZD_STORE,
                        "credentials: cannot read the file" ZD_ASIDE(" %.200s") ": %s", path,
                        strerror(cause));
}

static enum zd_status search_file(
    const char *path, const char *profile, struct zd_s3_search *search, struct zd_error *err)
{
    ZD_SCOPED_TEXT(text, FILE_BYTES_MAX);
    enum zd_status status = read_file(path, FILE_BYTES_MAX, &text, err);
    if (status == ZD_OK) {
        status = zd_s3_credentials_parse(
            zd_text_span(&text), profile == NULL ? "default" : profile, &search->found, err);
    }
    zd_s3_sign_wipe(text.at, text.len);
    return status;
}

static const char *prefixed(const char *prefix, const char *name, struct zd_text *text)
{
    zd_text_clear(text);
    zd_text_addf(text, "%s%s", prefix, name);
    return text->status == ZD_OK ? environment(text->at) : NULL;
}

static enum zd_status search_environment(
    const char *prefix, struct zd_s3_search *search, struct zd_error *err)
{
    ZD_SCOPED_TEXT(name, NAME_BYTES_MAX);
    ZD_SCOPED_TEXT(source, NAME_BYTES_MAX);
    const char *key = prefixed(prefix, "ACCESS_KEY_ID", &name);
    const char *secret = prefixed(prefix, "SECRET_ACCESS_KEY", &name);
    const char *token = prefixed(prefix, "SESSION_TOKEN", &name);
    zd_text_addf(&source, "environment variables %.100s...", prefix);
    ZD_TRY(source.status);
    const struct zd_s3_secrets secrets = {
        .access_key_id = zd_span_of(key == NULL ? "" : key),
        .secret_access_key = zd_span_of(secret == NULL ? "" : secret),
        .session_token = zd_span_of(token == NULL ? "" : token),
        .refresh_s = ZD_S3_NEVER_S,
        .expires_s = ZD_S3_NEVER_S,
    };
    return zd_s3_credentials_init(&secrets, source.at, &search->found, err);
}

/* ---- requests ---- */

static bool is_url(const char *url)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return false;
    }
    for (const char *at = url; *at != '\0'; at++) {
        if ((uint8_t)*at <= ' ' || (uint8_t)*at >= 0x7f || *at == '@') {
            return false;
        }
    }
    return strlen(url) < URL_BYTES_MAX;
}

/* @param name of the variable that has it */
static enum zd_status set_url(struct zd_s3_search *search, const char *name, const char *base,
    const char *path, struct zd_error *err)
{
    ZD_SCOPED_TEXT(url, URL_BYTES_MAX);
    size_t len = strlen(base);
    if (!is_url(base)) {
        return zd_fail(
            err, ZD_STORE, "credentials: %s is not a URL http://... or https://...", name);
    }
    while (path[0] == '/' && base[len - 1] == '/') {
        len--;
    }
    zd_text_addf(&url, "%.*s%s", (int)len, base, path);
    search->url = url.status == ZD_OK ? zd_strdup(url.at) : NULL;
    return search->url == NULL ? no_memory(err) : ZD_OK;
}

static enum zd_status set_header(
    struct zd_s3_search *search, const char *name, const char *value, struct zd_error *err)
{
    ZD_SCOPED_TEXT(line, ZD_S3_SECRET_BYTES_MAX + NAME_BYTES_MAX);
    for (const char *at = value; *at != '\0'; at++) {
        if ((uint8_t)*at < ' ' || (uint8_t)*at >= 0x7f) {
            return zd_fail(
                err, ZD_STORE, "credentials: a token has characters that a header cannot have");
        }
    }
    zd_text_addf(&line, "%s: %s", name, value);
    search->header = line.status == ZD_OK ? zd_strdup(line.at) : NULL;
    zd_s3_sign_wipe(line.at, line.len);
    return search->header == NULL ? no_memory(err) : ZD_OK;
}

static void cut_line_end(struct zd_text *text)
{
    while (text->len > 0 && strchr("\r\n \t", text->at[text->len - 1]) != NULL) {
        zd_text_cut(text, text->len - 1);
    }
}

static enum zd_status set_form(
    struct zd_s3_search *search, const char *role, const char *token, struct zd_error *err)
{
    const char *session = environment("AWS_ROLE_SESSION_NAME");
    const struct zd_s3_pair pair[] = {
        {"Action", "AssumeRoleWithWebIdentity"},
        {"Version", "2011-06-15"},
        {"RoleArn", role},
        {"RoleSessionName", session == NULL ? "zarrd" : session},
        {"WebIdentityToken", token},
    };
    ZD_SCOPED_TEXT(form, (size_t)4 * ZD_S3_SECRET_BYTES_MAX);
    zd_s3_sign_add_query(&form, pair, ZD_COUNT_OF(pair));
    const enum zd_status status = zd_text_buf(&form, &search->body);
    zd_s3_sign_wipe(form.at, form.len);
    ZD_TRY(status == ZD_NO_MEMORY ? no_memory(err) : status);
    return set_header(search, "Content-Type", "application/x-www-form-urlencoded", err);
}

static enum zd_status begin_identity(const struct zd_s3_credentials_options *options,
    struct zd_s3_search *search, struct zd_error *err)
{
    const char *role = environment("AWS_ROLE_ARN");
    const char *endpoint = environment("AWS_ENDPOINT_URL_STS");
    ZD_SCOPED_TEXT(token, ZD_S3_SECRET_BYTES_MAX);
    ZD_SCOPED_TEXT(own, URL_BYTES_MAX);
    if (role == NULL) {
        return zd_fail(err, ZD_STORE,
            "credentials: AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    }
    ZD_TRY(
        read_file(environment("AWS_WEB_IDENTITY_TOKEN_FILE"), ZD_S3_SECRET_BYTES_MAX, &token, err));
    cut_line_end(&token);
    zd_text_addf(&own, "https://sts.%s.amazonaws.com",
        options->region == NULL ? "us-east-1" : options->region);
    search->fetch = ZD_S3_FETCH_IDENTITY;
    enum zd_status status = own.status;
    if (status == ZD_OK) {
        status =
            set_url(search, "AWS_ENDPOINT_URL_STS", endpoint == NULL ? own.at : endpoint, "/", err);
    }
    if (status == ZD_OK) {
        status = set_form(search, role, token.at, err);
    }
    zd_s3_sign_wipe(token.at, token.len);
    return status;
}

static enum zd_status begin_container(struct zd_s3_search *search, struct zd_error *err)
{
    const char *token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    const char *path = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    ZD_SCOPED_TEXT(text, ZD_S3_SECRET_BYTES_MAX);
    if (path != NULL) {
        ZD_TRY(read_file(path, ZD_S3_SECRET_BYTES_MAX, &text, err));
        cut_line_end(&text);
        token = text.at;
    }
    search->fetch = ZD_S3_FETCH_CONTAINER;
    enum zd_status status = set_url(search, "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        environment("AWS_CONTAINER_CREDENTIALS_FULL_URI"), "", err);
    if (status == ZD_OK && token != NULL) {
        status = set_header(search, "Authorization", token, err);
    }
    zd_s3_sign_wipe(text.at, text.len);
    return status;
}

static enum zd_status ask_metadata(struct zd_s3_search *search, enum zd_s3_fetch_kind fetch,
    const char *path, struct zd_error *err)
{
    const char *endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    search->fetch = fetch;
    ZD_TRY(set_url(search, "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        endpoint == NULL ? METADATA : endpoint, path, err));
    return fetch == ZD_S3_FETCH_SESSION
               ? set_header(search, SESSION_HEADER "-ttl-seconds", SESSION_S, err)
               : set_header(search, SESSION_HEADER, search->session, err);
}

/* Its mode may have changed since the store was opened. */
static enum zd_status judge_file(const char *path, struct zd_error *err)
{
    struct zd_error why = {0};
    const enum zd_status status = zd_secret_file_judge("credentials_file", path, &why);
    return status == ZD_OK ? ZD_OK : zd_fail(err, ZD_STORE, "%s", why.text);
}

static enum zd_status begin(const struct zd_s3_credentials_options *options,
    struct zd_s3_search *search, struct zd_error *err)
{
    const char *disabled = environment("AWS_EC2_METADATA_DISABLED");
    const char *profile = options->profile == NULL ? environment("AWS_PROFILE") : options->profile;
    const char *file =
        options->file == NULL ? environment("AWS_SHARED_CREDENTIALS_FILE") : options->file;
    if (options->env != NULL) {
        return search_environment(options->env, search, err);
    }
    if (options->file == NULL && environment("AWS_ACCESS_KEY_ID") != NULL) {
        return search_environment("AWS_", search, err);
    }
    if (file != NULL) {
        if (options->file != NULL) {
            ZD_TRY(judge_file(file, err));
        }
        return search_file(file, profile, search, err);
    }
    if (environment("AWS_WEB_IDENTITY_TOKEN_FILE") != NULL) {
        return begin_identity(options, search, err);
    }
    if (environment("AWS_CONTAINER_CREDENTIALS_FULL_URI") != NULL) {
        return begin_container(search, err);
    }
    if (disabled == NULL || strcmp(disabled, "true") != 0) {
        return ask_metadata(search, ZD_S3_FETCH_SESSION, "/latest/api/token", err);
    }
    return zd_fail(err, ZD_STORE,
        "no credentials: set credentials_file or credentials_env, or the variables "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a public bucket needs \"anonymous\": true");
}

enum zd_status zd_s3_search_begin(const struct zd_s3_credentials_options *options,
    struct zd_s3_search *ret_search, struct zd_error *err)
{
    *ret_search = (struct zd_s3_search){0};
    const enum zd_status status = begin(options, ret_search, err);
    if (status != ZD_OK) {
        forget_request(ret_search);
    }
    return status;
}

/* ---- answers ---- */

static bool read_digits(struct zd_scan *scan, int n, int *ret_value)
{
    *ret_value = 0;
    for (int i = 0; i < n; i++, scan->at++) {
        if (zd_scan_at_end(scan) || *scan->at < '0' || *scan->at > '9') {
            return false;
        }
        *ret_value = 10 * *ret_value + (*scan->at - '0');
    }
    return true;
}

/* "2026-11-23T16:00:00Z", perhaps with a fraction of a second. */
static bool read_time(struct zd_span text, int64_t *ret_s)
{
    struct zd_scan scan = zd_scan_of(text);
    struct tm utc = {0};
    const bool ok = read_digits(&scan, 4, &utc.tm_year) && zd_scan_char(&scan, '-') &&
                    read_digits(&scan, 2, &utc.tm_mon) && zd_scan_char(&scan, '-') &&
                    read_digits(&scan, 2, &utc.tm_mday) && zd_scan_char(&scan, 'T') &&
                    read_digits(&scan, 2, &utc.tm_hour) && zd_scan_char(&scan, ':') &&
                    read_digits(&scan, 2, &utc.tm_min) && zd_scan_char(&scan, ':') &&
                    read_digits(&scan, 2, &utc.tm_sec) &&
                    (zd_scan_char(&scan, 'Z') || zd_scan_char(&scan, '.'));
    utc.tm_year -= 1900;
    utc.tm_mon--;
    *ret_s = ok ? timegm(&utc) : 0;
    return ok;
}

static enum zd_status refuse(const char *who, const char *what, struct zd_error *err)
{
    return zd_fail(err, ZD_STORE, "credentials: %s %s", who, what);
}

/* Others are searched in time, and at once if these have expired already. */
static enum zd_status set_times(struct zd_s3_secrets *secrets, struct zd_span expiration,
    int64_t now_s, const char *who, struct zd_error *err)
{
    secrets->refresh_s = ZD_S3_NEVER_S;
    secrets->expires_s = ZD_S3_NEVER_S;
    if (expiration.len == 0) {
        return ZD_OK;
    }
    int64_t expires_s = 0;
    if (!read_time(expiration, &expires_s)) {
        return refuse(who, "sent credentials without a valid expiry time", err);
    }
    if (expires_s - EXPIRES_BEFORE_S <= now_s) {
        return refuse(who, "sent credentials that have already expired", err);
    }
    const int64_t left_s = expires_s - now_s;
    secrets->refresh_s =
        expires_s - (left_s / 4 < REFRESH_BEFORE_S ? left_s / 4 : REFRESH_BEFORE_S);
    secrets->expires_s = expires_s - EXPIRES_BEFORE_S;
    return ZD_OK;
}

static enum zd_status take(struct zd_s3_search *search, struct zd_s3_secrets *secrets,
    struct zd_span expiration, int64_t now_s, const char *who, struct zd_error *err)
{
    ZD_TRY(set_times(secrets, expiration, now_s, who, err));
    return zd_s3_credentials_init(secrets, who, &search->found, err);
}

static enum zd_status take_json(struct zd_s3_search *search, struct zd_span bytes, int64_t now_s,
    const char *who, struct zd_error *err)
{
    static const struct zd_json_limits limits = {
        .bytes_max = ZD_S3_ANSWER_BYTES_MAX, .nodes_max = 64, .depth_max = 4};
    struct zd_json *parsed = NULL;
    const enum zd_status status = zd_json_parse(bytes, &limits, &parsed, NULL);
    if (status != ZD_OK) {
        return status == ZD_NO_MEMORY ? no_memory(err)
                                      : refuse(who, "sent no JSON document with credentials", err);
    }
    ZD_AUTO(zd_json) json = parsed;
    struct zd_s3_secrets secrets = {
        .access_key_id = zd_json_string_span(zd_json_member(json, "AccessKeyId")),
        .secret_access_key = zd_json_string_span(zd_json_member(json, "SecretAccessKey")),
        .session_token = zd_json_string_span(zd_json_member(json, "Token")),
    };
    return take(
        search, &secrets, zd_json_string_span(zd_json_member(json, "Expiration")), now_s, who, err);
}

/* Credentials of a token service, one behind the other. */
struct assumed {
    struct zd_text value[4];
};

static enum zd_status take_assumed(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    static const char above[] =
        "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/";
    static const char *const name[] = {
        "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"};
    struct assumed *assumed = context;
    if (strncmp(path, above, sizeof above - 1) != 0) {
        return ZD_OK;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(name); i++) {
        if (strcmp(path + sizeof above - 1, name[i]) == 0) {
            zd_text_clear(&assumed->value[i]);
            zd_text_add_bytes(&assumed->value[i], text.ptr, text.len);
            return assumed->value[i].status == ZD_NO_MEMORY ? no_memory(err) : ZD_OK;
        }
    }
    return ZD_OK;
}

static enum zd_status take_xml(
    struct zd_s3_search *search, struct zd_span bytes, int64_t now_s, struct zd_error *err)
{
    struct assumed assumed;
    for (size_t i = 0; i < ZD_COUNT_OF(assumed.value); i++) {
        zd_text_init(&assumed.value[i], ZD_S3_SECRET_BYTES_MAX);
    }
    enum zd_status status = zd_s3_xml_read(bytes, take_assumed, &assumed, err);
    if (status == ZD_OK) {
        struct zd_s3_secrets secrets = {
            .access_key_id = zd_text_span(&assumed.value[0]),
            .secret_access_key = zd_text_span(&assumed.value[1]),
            .session_token = zd_text_span(&assumed.value[2]),
        };
        status = take(
            search, &secrets, zd_text_span(&assumed.value[3]), now_s, "the token service", err);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(assumed.value); i++) {
        zd_s3_sign_wipe(assumed.value[i].at, assumed.value[i].len);
        zd_text_done(&assumed.value[i]);
    }
    return status;
}

static enum zd_status take_session(
    struct zd_s3_search *search, struct zd_span bytes, struct zd_error *err)
{
    wipe_text(&search->session);
    search->session =
        bytes.len > ZD_S3_SECRET_BYTES_MAX ? NULL : zd_strndup((const char *)bytes.ptr, bytes.len);
    if (search->session == NULL) {
        return no_memory(err);
    }
    return ask_metadata(search, ZD_S3_FETCH_ROLE, METADATA_PATH, err);
}

/* The first line: an instance has one role. */
static enum zd_status take_role(
    struct zd_s3_search *search, struct zd_span bytes, struct zd_error *err)
{
    struct zd_scan scan = zd_scan_of(bytes);
    struct zd_span role;
    ZD_SCOPED_TEXT(path, URL_BYTES_MAX);
    if (zd_scan_run(&scan, WORD, ROLE_BYTES_MAX, &role) != ZD_OK) {
        return refuse("the instance's metadata", "names no role", err);
    }
    zd_text_add(&path, METADATA_PATH);
    zd_text_add_bytes(&path, role.ptr, role.len);
    return path.status == ZD_OK ? ask_metadata(search, ZD_S3_FETCH_INSTANCE, path.at, err)
                                : no_memory(err);
}

static const char *name_of(enum zd_s3_fetch_kind fetch)
{
    switch (fetch) {
    case ZD_S3_FETCH_IDENTITY:
        return "the token service";
    case ZD_S3_FETCH_CONTAINER:
        return "the container's host";
    case ZD_S3_FETCH_SESSION:
    case ZD_S3_FETCH_ROLE:
    case ZD_S3_FETCH_INSTANCE:
    case ZD_S3_FETCH_NONE:
        break;
    }
    return "the instance's metadata";
}

enum zd_status zd_s3_search_answer(struct zd_s3_search *search, uint32_t code, struct zd_span bytes,
    int64_t now_s, struct zd_error *err)
{
    const enum zd_s3_fetch_kind fetch = search->fetch;
    forget_request(search);
    if (code != 200) {
        char word[ZD_S3_CODE_BYTES_MAX + 1];
        zd_s3_xml_error(bytes, word);
        return zd_fail(err, ZD_STORE, "credentials: %s answered %u%s%s", name_of(fetch), code,
            word[0] == '\0' ? "" : " ", word);
    }
    switch (fetch) {
    case ZD_S3_FETCH_IDENTITY:
        return take_xml(search, bytes, now_s, err);
    case ZD_S3_FETCH_CONTAINER:
    case ZD_S3_FETCH_INSTANCE:
        return take_json(search, bytes, now_s, name_of(fetch), err);
    case ZD_S3_FETCH_SESSION:
        return take_session(search, bytes, err);
    case ZD_S3_FETCH_ROLE:
        return take_role(search, bytes, err);
    case ZD_S3_FETCH_NONE:
        break;
    }
    return zd_fail(err, ZD_INTERNAL, "credentials: an answer without a request");
}
