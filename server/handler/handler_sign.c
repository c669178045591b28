/* /v1/sign: URLs that give the rights of their signer to other clients. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/num.h"
#include "server/http/signed_url.h"
#include "server/request/access/audit.h"
#include "server/request/body.h"
#include "server/request/client.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/route.h"
#include "server/request/access/signable.h"
#include "server/request/access/signing.h"
#include "server/runtime/server.h"

#define URL_BYTES_MAX      (64U << 10)
#define DOCUMENT_BYTES_MAX (128U << 10)
#define MS_PER_S           1000
#define TIME_CHARS         20 /* 2027-01-01T00:00:00Z */
#define EXPECTED                                                                                   \
    "an object {\"method\": \"GET\", \"path\": \"/v1/...\", \"expires_s\": 3600}, optionally "     \
    "with \"prefix\": true, \"query\": \"...\" and \"fix_query\": true"

/* The URL to be signed. Borrowed from the body, but for the path. */
struct asking {
    const char *method;
    struct zd_span raw; /* the path as it is sent */
    bool is_prefix;
    const char *query; /* NULL: none is given */
    bool says_fix_query;
    bool fix_query;
    uint64_t expires_s;
    struct zd_text path; /* decoded; of a prefix without slashes at its end */
};

/* ---- the body ---- */

static enum zd_status take_path(
    const struct zd_json *json, struct asking *asking, struct zd_error *err)
{
    const char *path = zd_json_string(json);
    struct zd_error why = {0};
    if (path == NULL || zd_signed_url_query_fault(zd_span_of(path)) != NULL ||
        strpbrk(path, "?&") != NULL) {
        return zd_body_fault(err, "/path", "the encoded path of a URL, without a query", json);
    }
    asking->raw = zd_span_of(path);
    const enum zd_status status = zd_route_decode(asking->raw, &asking->path, &why);
    if (status != ZD_OK) {
        const enum zd_status said = zd_fail(err, status, "path: %.300s", why.text);
        zd_fact_pointer(err, "/path");
        return said;
    }
    while (
        asking->is_prefix && asking->path.len > 0 && asking->path.at[asking->path.len - 1] == '/') {
        zd_text_cut(&asking->path, asking->path.len - 1);
        asking->raw.len--;
    }
    return asking->path.len > 0
               ? ZD_OK
               : zd_body_fault(err, "/path", "a prefix with at least one segment", json);
}

static enum zd_status take_flag(
    const struct zd_json *json, const char *pointer, bool *ret_flag, struct zd_error *err)
{
    *ret_flag = zd_json_is_true(json);
    return json == NULL || zd_json_is(json, ZD_JSON_BOOL)
               ? ZD_OK
               : zd_body_fault(err, pointer, "true or false", json);
}

static enum zd_status take_query(
    const struct zd_json *json, const char **ret_query, struct zd_error *err)
{
    *ret_query = zd_json_string(json);
    const char *fault =
        *ret_query == NULL ? NULL : zd_signed_url_query_fault(zd_span_of(*ret_query));
    if ((json != NULL && *ret_query == NULL) || fault != NULL) {
        return zd_body_fault(err, "/query",
            "an encoded query without \"?\", without empty parameters and without credentials",
            json);
    }
    return ZD_OK;
}

static enum zd_status take_fix_query(
    const struct zd_json *json, struct asking *asking, struct zd_error *err)
{
    ZD_TRY(take_flag(json, "/fix_query", &asking->fix_query, err));
    asking->says_fix_query = json != NULL;
    return asking->query == NULL || json == NULL || asking->fix_query
               ? ZD_OK
               : zd_body_fault(err, "/fix_query", "true, or no query", json);
}

static enum zd_status take_time(
    const struct zd_json *json, uint64_t most_s, uint64_t *ret_s, struct zd_error *err)
{
    if (zd_json_u64(json, ret_s) && *ret_s >= 1 && *ret_s <= most_s) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(expected, ZD_FACT_TEXT_BYTES);
    zd_text_addf(&expected, "1 to access.sign_s (%llu) seconds", (unsigned long long)most_s);
    return zd_body_fault(err, "/expires_s", expected.at, json);
}

static enum zd_status read_body(
    const struct zd_request *req, struct asking *asking, struct zd_error *err)
{
    static const char *const names[] = {
        "method", "path", "prefix", "query", "fix_query", "expires_s", NULL};
    const struct zd_json *body = req->json;
    const struct zd_json *method = zd_json_member(body, "method");
    ZD_TRY(zd_body_check_members(body, names, EXPECTED, err));
    asking->method = zd_json_string(method);
    if (asking->method == NULL || strcmp(asking->method, "HEAD") == 0) {
        return zd_body_fault(
            err, "/method", "a method, such as \"GET\", which includes HEAD", method);
    }
    ZD_TRY(take_flag(zd_json_member(body, "prefix"), "/prefix", &asking->is_prefix, err));
    ZD_TRY(take_path(zd_json_member(body, "path"), asking, err));
    ZD_TRY(take_query(zd_json_member(body, "query"), &asking->query, err));
    ZD_TRY(take_fix_query(zd_json_member(body, "fix_query"), asking, err));
    return take_time(zd_json_member(body, "expires_s"), req->server->config->settings.access_sign_s,
        &asking->expires_s, err);
}

/* ---- the answer ---- */

static enum zd_next refuse(struct zd_request *req, const char *code, const char *detail)
{
    const struct zd_problem problem = {.code = code, .detail = detail};
    return zd_respond_problem(req, &problem);
}

/* The URL ends with the credential that signs it. @param when TIME_CHARS + 1 */
static void end_of(const struct zd_request *req, const struct asking *asking,
    struct zd_signed_url *url, char *when)
{
    struct timespec now = {0};
    struct tm utc = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    url->expires_s =
        zd_min_u64((uint64_t)now.tv_sec + asking->expires_s, req->identity->expires_ms / MS_PER_S);
    const time_t expires = (time_t)url->expires_s;
    (void)gmtime_r(&expires, &utc);
    (void)strftime(when, TIME_CHARS + 1, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static enum zd_next respond_url(struct zd_request *req, const struct zd_text *url, const char *when)
{
    ZD_SCOPED_TEXT(document, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &document, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_text(&emit, "url", url);
    zd_emit_member_string(&emit, "expires", when);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &document, &(struct zd_representation){0});
}

static enum zd_next sign_url(
    struct zd_request *req, const struct asking *asking, struct zd_signed_url *url)
{
    char when[TIME_CHARS + 1] = "";
    struct zd_error err = {0};
    end_of(req, asking, url, when);
    ZD_SCOPED_TEXT(text, URL_BYTES_MAX);
    zd_text_add(&text, zd_client_prefix(req));
    zd_text_add_bytes(&text, asking->raw.ptr, asking->raw.len);
    zd_text_add_char(&text, '?');
    zd_text_add_bytes(&text, url->query.ptr, url->query.len);
    zd_text_add(&text, url->query.len == 0 ? "" : "&");
    if (zd_signed_url_add(&text, req->server->signing_keys, url) != ZD_OK) {
        return zd_respond_no_memory(req, "the URL");
    }
    if (text.len > req->server->config->settings.limits_url_bytes) {
        return refuse(req, "bad_body",
            "the signed URL would be longer than limits.url_bytes: sign a shorter path or query, "
            "or sign with a JWT whose scope is shorter");
    }
    return zd_audit_signed(req, url, when, &err) == ZD_OK ? respond_url(req, &text, when)
                                                          : zd_audit_refuse(req);
}

/* A signed write has its query, so that no client adds parameters to it. */
static bool fixes_query(const struct asking *asking, const struct zd_signable_found *found)
{
    return asking->query != NULL || (asking->says_fix_query ? asking->fix_query : found->is_write);
}

static enum zd_next sign(
    struct zd_request *req, const struct asking *asking, const struct zd_signable_found *found)
{
    uint8_t credential[ZD_DIGEST_BYTES];
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(signer, ZD_SIGNED_URL_SIGNER_MAX);
    const enum zd_status status =
        zd_signing_name(req, zd_span_of(found->dataset), &signer, credential, &err);
    if (status == ZD_INVALID) {
        return refuse(req, "forbidden", err.text);
    }
    if (status != ZD_OK) {
        return zd_respond_no_memory(req, "the URL");
    }
    struct zd_signed_url url = {
        .method = zd_span_of(asking->method),
        .path = zd_text_span(&asking->path),
        .is_prefix = asking->is_prefix,
        .fixes_query = fixes_query(asking, found),
        .query = zd_span_of(asking->query == NULL ? "" : asking->query),
        .signer = zd_text_span(&signer),
        .credential = credential,
    };
    return sign_url(req, asking, &url);
}

static enum zd_next refuse_path(
    struct zd_request *req, const struct asking *asking, enum zd_signable_answer answer)
{
    struct zd_error err = {0};
    const bool is_method = answer == ZD_SIGNABLE_NO_METHOD;
    err.status = zd_fail(&err, ZD_INVALID,
        is_method ? "method: the resource '%.200s' does not have the method '%.40s'"
                  : "path: there is no resource '%.200s' (method '%.40s')",
        asking->path.at, asking->method);
    zd_fact_pointer(&err, is_method ? "/method" : "/path");
    return zd_respond_error(req, "bad_body", &err);
}

static enum zd_next judge(struct zd_request *req, struct asking *asking)
{
    struct zd_error err = {0};
    struct zd_signable_found found;
    const enum zd_status status = read_body(req, asking, &err);
    if (status != ZD_OK) {
        return zd_respond_error(req, status == ZD_INVALID ? "bad_body" : NULL, &err);
    }
    const struct zd_signable asked = {
        .method = asking->method, .path = asking->path.at, .is_prefix = asking->is_prefix};
    const enum zd_signable_answer answer = zd_signable_judge(req, &asked, &found);
    switch (answer) {
    case ZD_SIGNABLE_ALLOWED:
        return sign(req, asking, &found);
    case ZD_SIGNABLE_REFUSED:
        return refuse(req, "forbidden",
            "the credential does not allow the request to be signed: sign with a credential that "
            "allows it (/v1/sign itself cannot be signed)");
    case ZD_SIGNABLE_NO_PATH:
    case ZD_SIGNABLE_NO_METHOD:
        break;
    }
    return refuse_path(req, asking, answer);
}

static enum zd_next step_sign(struct zd_request *req)
{
    struct asking asking = {0};
    zd_text_init(&asking.path, URL_BYTES_MAX);
    const enum zd_next next = judge(req, &asking);
    zd_text_done(&asking.path);
    return next;
}

static enum zd_next step_begin(struct zd_request *req)
{
    if (req->identity == NULL) {
        return refuse(req, "unauthorized", "signing a URL requires a credential");
    }
    if (req->identity->signer != NULL) {
        return refuse(req, "forbidden",
            "a signed URL cannot sign another URL: send the credential of the signer");
    }
    if (req->server->signing_keys == NULL) {
        return refuse(req, "bad_request",
            "this server cannot sign URLs, because access.signing_keys_file names no keys");
    }
    return zd_body_want_json(req, ZD_BODY_JSON, step_sign);
}

static const struct zd_route routes[] = {
    {.method = "POST",
        .path = "/v1/sign",
        .first = step_begin,
        .scope = ZD_SCOPE_READ, /* and the scopes that are given away */
        .is_never_signed = true,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_sign = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
