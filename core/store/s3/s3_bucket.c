/* Where a bucket is, and how requests address it. */
#include "core/store/s3/s3_bucket.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/own.h"
#include "core/base/scan.h"
#include "core/store/s3/s3_sign.h"

#define DIGITS         "0123456789"
#define LETTERS        "abcdefghijklmnopqrstuvwxyz"
#define REGION_SET     LETTERS DIGITS "-"
#define NAME_SET       LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "._-"
#define HOST_SET       NAME_SET ":[]"
#define BASE_SET       NAME_SET "/~"
#define NAME_BYTES_MAX 255
#define HOST_BYTES_MAX 512
#define LABEL_MAX      63 /* of a host name: RFC 1035 */
#define DEFAULT_REGION "us-east-1"

const char zd_s3_bucket_schema[] = "{\"type\":\"object\",\"properties\":{"
                                   "\"endpoint\":{\"type\":\"string\",\"minLength\":1},"
                                   "\"region\":{\"type\":\"string\",\"minLength\":1},"
                                   "\"addressing\":{\"enum\":[\"auto\",\"path\",\"virtual\"]},"
                                   "\"anonymous\":{\"type\":\"boolean\"},"
                                   "\"credentials_file\":{\"type\":\"string\",\"minLength\":1},"
                                   "\"credentials_profile\":{\"type\":\"string\",\"minLength\":1},"
                                   "\"credentials_env\":{\"type\":\"string\",\"minLength\":1},"
                                   "\"store_403\":{\"enum\":[\"error\",\"absent\"]},"
                                   "\"absent_ms\":{\"type\":\"integer\",\"minimum\":0}},"
                                   "\"additionalProperties\":false}";

/* The parts of a location and its options; borrowed. */
struct parts {
    bool is_google;
    struct zd_span name;
    struct zd_span prefix; /* without a slash at its end */
    const char *region;
    bool is_plain;       /* http:// */
    struct zd_span host; /* of the endpoint, with its port */
    struct zd_span base; /* the path of the endpoint, without a slash at its end */
    bool is_virtual;
};

static const char *location_in(const char *location, const char *scheme)
{
    const size_t len = strlen(scheme);
    return strncmp(location, scheme, len) == 0 ? location + len : NULL;
}

bool zd_s3_bucket_accepts(const char *location)
{
    return location_in(location, "s3://") != NULL || location_in(location, "gs://") != NULL;
}

static struct zd_span without_slashes(struct zd_span text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == '/') {
        text.len--;
    }
    return text;
}

static struct zd_span rest_of(const struct zd_scan *scan)
{
    return (struct zd_span){(const uint8_t *)scan->at, (size_t)(scan->end - scan->at)};
}

static bool prefix_passes(struct zd_span prefix)
{
    char text[ZD_KEY_BYTES_MAX + 1];
    if (prefix.len > ZD_KEY_BYTES_MAX) {
        return false;
    }
    memcpy(text, prefix.ptr, prefix.len);
    text[prefix.len] = '\0';
    return prefix.len == 0 || zd_key_is_valid(text);
}

static enum zd_status read_location(const char *location, struct parts *parts, struct zd_error *err)
{
    const char *inside = location_in(location, "s3://");
    parts->is_google = inside == NULL;
    if (inside == NULL) {
        inside = location_in(location, "gs://");
    }
    struct zd_scan scan = zd_scan_of(zd_span_of(inside));
    if (zd_scan_run(&scan, NAME_SET, NAME_BYTES_MAX, &parts->name) != ZD_OK ||
        (!zd_scan_at_end(&scan) && !zd_scan_char(&scan, '/'))) {
        return zd_fail(err, ZD_INVALID,
            "the location names no bucket: expected s3://BUCKET/PREFIX. BUCKET has letters, "
            "digits, '.', '_' and '-'; put no access keys here (the value is not shown)");
    }
    parts->prefix = without_slashes(rest_of(&scan));
    return prefix_passes(parts->prefix)
               ? ZD_OK
               : zd_fail(err, ZD_INVALID, "%.200s: keys cannot have this prefix", location);
}

static enum zd_status refuse_endpoint(struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_INVALID,
        "endpoint: expected http://HOST:PORT or https://HOST:PORT, with an optional path, without "
        "user name, query or fragment (the value is not shown)");
    zd_fact_pointer(err, "/options/endpoint");
    return status;
}

static enum zd_status read_endpoint(const char *url, struct parts *parts, struct zd_error *err)
{
    struct zd_scan scan = zd_scan_of(zd_span_of(url));
    parts->is_plain = zd_scan_word(&scan, "http://");
    if ((!parts->is_plain && !zd_scan_word(&scan, "https://")) ||
        zd_scan_run(&scan, HOST_SET, HOST_BYTES_MAX, &parts->host) != ZD_OK) {
        return refuse_endpoint(err);
    }
    parts->base = without_slashes(rest_of(&scan));
    if (parts->base.len > 0 &&
        (zd_scan_run(&scan, BASE_SET, HOST_BYTES_MAX, &parts->base) != ZD_OK ||
            !zd_scan_at_end(&scan) || parts->base.ptr[0] != '/')) {
        return refuse_endpoint(err);
    }
    parts->base = without_slashes(parts->base);
    return ZD_OK;
}

/* Whether a bucket's name can be a label of a host name that a certificate for *.HOST covers. */
static bool is_label(struct zd_span name)
{
    bool ok = name.len >= 3 && name.len <= LABEL_MAX;
    for (size_t i = 0; i < name.len; i++) {
        ok = ok && strchr(REGION_SET, name.ptr[i]) != NULL;
    }
    return ok && name.ptr[0] != '-' && name.ptr[name.len - 1] != '-';
}

static enum zd_status read_options(const struct zd_json *options, struct parts *parts,
    struct zd_text *own_host, struct zd_error *err)
{
    const char *endpoint = zd_json_string(zd_json_member(options, "endpoint"));
    const char *addressing = zd_json_string(zd_json_member(options, "addressing"));
    const char *region = zd_json_string(zd_json_member(options, "region"));
    parts->region = region != NULL ? region : parts->is_google ? "auto" : DEFAULT_REGION;
    if (strspn(parts->region, REGION_SET) != strlen(parts->region) ||
        strlen(parts->region) > LABEL_MAX) {
        return zd_fail(err, ZD_INVALID,
            "region: expected lower-case letters, digits and '-', such as eu-west-1");
    }
    if (endpoint != NULL) {
        ZD_TRY(read_endpoint(endpoint, parts, err));
    } else if (parts->is_google) {
        parts->host = zd_span_of("storage.googleapis.com");
    } else {
        zd_text_addf(own_host, "s3.%s.amazonaws.com%s", parts->region,
            strncmp(parts->region, "cn-", 3) == 0 ? ".cn" : "");
        ZD_TRY(own_host->status);
        parts->host = zd_text_span(own_host);
    }
    const bool is_auto = addressing == NULL || strcmp(addressing, "auto") == 0;
    parts->is_virtual =
        is_auto ? own_host->len > 0 && is_label(parts->name) : strcmp(addressing, "virtual") == 0;
    return ZD_OK;
}

static struct zd_span without_port(const struct parts *parts)
{
    const char *own = parts->is_plain ? ":80" : ":443";
    const size_t len = strlen(own);
    struct zd_span host = parts->host;
    if (host.len > len && memcmp(host.ptr + host.len - len, own, len) == 0) {
        host.len -= len;
    }
    return host;
}

static char *text_of(const struct zd_text *text)
{
    return text->status == ZD_OK ? zd_strdup(text->at) : NULL;
}

static enum zd_status compose(
    const struct parts *parts, const struct zd_json *options, struct zd_s3_bucket *bucket)
{
    const struct zd_span host = without_port(parts);
    ZD_SCOPED_TEXT(text, ZD_S3_URL_BYTES_MAX);
    bucket->name = zd_strndup((const char *)parts->name.ptr, parts->name.len);
    bucket->region = zd_strdup(parts->region);
    if (bucket->name == NULL || bucket->region == NULL) {
        return ZD_NO_MEMORY;
    }
    zd_text_addf(&text, "%s%s%.*s", parts->is_virtual ? bucket->name : "",
        parts->is_virtual ? "." : "", (int)host.len, (const char *)host.ptr);
    bucket->host = text_of(&text);
    zd_text_clear(&text);
    zd_text_addf(&text, "%s%s", parts->is_plain ? "http://" : "https://",
        bucket->host == NULL ? "" : bucket->host);
    bucket->origin = text_of(&text);
    zd_text_clear(&text);
    zd_text_addf(&text, "%.*s%s%s", (int)parts->base.len,
        parts->base.len == 0 ? "" : (const char *)parts->base.ptr, parts->is_virtual ? "" : "/",
        parts->is_virtual ? "" : bucket->name);
    bucket->path = text_of(&text);
    zd_text_clear(&text);
    zd_text_addf(&text, "%s%.*s%.*s/%s", parts->is_plain ? "http://" : "https://", (int)host.len,
        (const char *)host.ptr, (int)parts->base.len,
        parts->base.len == 0 ? "" : (const char *)parts->base.ptr, bucket->name);
    bucket->space = text.status == ZD_OK ? zd_hash_of(zd_text_span(&text), 0) | 1 : 0;
    zd_text_clear(&text);
    zd_text_addf(&text, "%.*s%s", (int)parts->prefix.len,
        parts->prefix.len == 0 ? "" : (const char *)parts->prefix.ptr,
        parts->prefix.len == 0 ? "" : "/");
    bucket->prefix = text_of(&text);
    const char *store_403 = zd_json_string(zd_json_member(options, "store_403"));
    bucket->is_anonymous = zd_json_is_true(zd_json_member(options, "anonymous"));
    bucket->is_403_absence = store_403 != NULL && strcmp(store_403, "absent") == 0;
    const bool ok = bucket->host != NULL && bucket->origin != NULL && bucket->path != NULL &&
                    bucket->prefix != NULL;
    return ok ? ZD_OK : ZD_NO_MEMORY;
}

enum zd_status zd_s3_bucket_init(const char *location, const struct zd_json *options,
    struct zd_s3_bucket *ret_bucket, struct zd_error *err)
{
    struct parts parts = {0};
    ZD_SCOPED_TEXT(own_host, HOST_BYTES_MAX);
    *ret_bucket = (struct zd_s3_bucket){0};
    enum zd_status status = read_location(location, &parts, err);
    if (status == ZD_OK) {
        status = read_options(options, &parts, &own_host, err);
    }
    if (status == ZD_OK) {
        status = compose(&parts, options, ret_bucket);
    }
    if (status == ZD_OK) {
        ret_bucket->endpoint = zd_hash_of(zd_span_of(ret_bucket->origin), 0) | 1;
    }
    return status == ZD_NO_MEMORY
               ? zd_fail(err, status, "%.200s: no memory for the store", location)
               : status;
}

void zd_s3_bucket_done(struct zd_s3_bucket *bucket)
{
    zd_free(bucket->origin);
    zd_free(bucket->host);
    zd_free(bucket->path);
    zd_free(bucket->prefix);
    zd_free(bucket->name);
    zd_free(bucket->region);
    *bucket = (struct zd_s3_bucket){0};
}

void zd_s3_bucket_add_path(const struct zd_s3_bucket *bucket, const char *key, struct zd_text *text)
{
    zd_s3_sign_add_path(text, bucket->path);
    if (key != NULL || bucket->path[0] == '\0') {
        zd_text_add_char(text, '/');
    }
    if (key != NULL) {
        zd_s3_sign_add_path(text, bucket->prefix);
        zd_s3_sign_add_path(text, key);
    }
}
