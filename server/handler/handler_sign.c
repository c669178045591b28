/* /v1/sign: URLs that let others do what their signer may do. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/num.h"
#include "server/http/signed_url.h"
#include "server/request/body.h"
#include "server/request/client.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/route.h"
#include "server/request/route_below.h"
#include "server/runtime/server.h"

#define URL_BYTES_MAX      (64U << 10)
#define DOCUMENT_BYTES_MAX (128U << 10)
#define DATASET_BYTES      65 /* no name is longer */
#define TIME_CHARS         20 /* 2027-01-01T00:00:00Z */
#define EXPECTED                                                                                   \
    "an object {\"method\": \"GET\", \"path\": \"/v1/...\", \"expires_s\": 3600} with perhaps "    \
    "\"prefix\": true and \"query\": \"...\""

/* What is to be signed. Borrowed from the body, but for the path. */
struct asking {
    const char *method;
    struct zd_span raw; /* the path as it is sent */
    bool is_prefix;
    const char *query; /* NULL: it is not fixed */
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
               : zd_body_fault(err, "/path", "a prefix with a segment at least", json);
}

static enum zd_status take_flag(const struct zd_json *json, bool *ret_flag, struct zd_error *err)
{
    *ret_flag = zd_json_is_true(json);
    return json == NULL || zd_json_is(json, ZD_JSON_BOOL)
               ? ZD_OK
               : zd_body_fault(err, "/prefix", "true or false", json);
}

static enum zd_status take_query(
    const struct zd_json *json, const char **ret_query, struct zd_error *err)
{
    *ret_query = zd_json_string(json);
    const char *fault =
        *ret_query == NULL ? NULL : zd_signed_url_query_fault(zd_span_of(*ret_query));
    if ((json != NULL && *ret_query == NULL) || fault != NULL) {
        return zd_body_fault(err, "/query",
            "an encoded query without \"?\", empty parameters, and those of credentials", json);
    }
    return ZD_OK;
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
    static const char *const names[] = {"method", "path", "prefix", "query", "expires_s", NULL};
    const struct zd_json *body = req->json;
    const struct zd_json *method = zd_json_member(body, "method");
    ZD_TRY(zd_body_check_members(body, names, EXPECTED, err));
    asking->method = zd_json_string(method);
    if (asking->method == NULL || strcmp(asking->method, "HEAD") == 0) {
        return zd_body_fault(err, "/method", "a method, as \"GET\", which includes HEAD", method);
    }
    ZD_TRY(take_flag(zd_json_member(body, "prefix"), &asking->is_prefix, err));
    ZD_TRY(take_path(zd_json_member(body, "path"), asking, err));
    ZD_TRY(take_query(zd_json_member(body, "query"), &asking->query, err));
    return take_time(zd_json_member(body, "expires_s"), req->server->config->settings.access_sign_s,
        &asking->expires_s, err);
}

/* ---- what it gives away ---- */

/* What the signer must be allowed: of all that the URL lets others ask. */
struct given {
    bool is_route; /* some route takes it */
    bool is_admin; /* nobody else gives that away */
    uint32_t scopes;
    char dataset[DATASET_BYTES];
    struct zd_text path; /* in it */
};

static uint32_t bit_of(enum zd_scope scope)
{
    return scope == ZD_SCOPE_WRITE ? ZD_IDENTITY_WRITE : ZD_IDENTITY_READ;
}

static void add_route(
    struct given *given, const struct zd_route *route, struct zd_span dataset, struct zd_span path)
{
    given->is_route = true;
    given->scopes |= bit_of(route->scope);
    /* Who signs could sign with it for ever. */
    given->is_admin = given->is_admin || route->scope == ZD_SCOPE_ADMIN ||
                      (route->scope != ZD_SCOPE_NONE && dataset.len == 0) ||
                      dataset.len >= sizeof given->dataset;
    if (dataset.len > 0 && dataset.len < sizeof given->dataset) {
        (void)snprintf(given->dataset, sizeof given->dataset, "%.*s", (int)dataset.len,
            (const char *)dataset.ptr);
    }
    if (path.len > given->path.len) {
        zd_text_clear(&given->path);
        zd_text_add_bytes(&given->path, path.ptr, path.len);
    }
}

static bool serves(const struct zd_route *route, const char *method)
{
    return strcmp(route->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

static void find_below(const struct asking *asking, struct given *given)
{
    for (uint32_t i = 1; zd_route_of(zd_handlers, i) != NULL; i++) {
        const struct zd_route *route = zd_route_of(zd_handlers, i);
        struct zd_route_below below;
        if (serves(route, asking->method) &&
            zd_route_below(route->path, zd_text_span(&asking->path), &below)) {
            add_route(given, route, below.dataset, below.path);
        }
    }
}

/* @return what zd_route_find says */
static enum zd_route_answer find_one(const struct asking *asking, struct given *given)
{
    struct zd_match match = {0};
    ZD_SCOPED_TEXT(path, URL_BYTES_MAX); /* finding changes it */
    zd_text_add(&path, asking->path.at);
    const enum zd_route_answer answer =
        path.status == ZD_OK ? zd_route_find(zd_handlers, asking->method, path.at, &match)
                             : ZD_ROUTE_UNKNOWN;
    if (answer == ZD_ROUTE_FOUND) {
        add_route(given, match.route, match.dataset, zd_span_of(match.path));
    }
    return answer;
}

static enum zd_status find_given(
    const struct asking *asking, struct given *given, struct zd_error *err)
{
    enum zd_route_answer answer = ZD_ROUTE_METHOD;
    if (asking->is_prefix) {
        find_below(asking, given);
    } else {
        answer = find_one(asking, given);
    }
    ZD_TRY(given->path.status);
    if (given->is_route) {
        return ZD_OK;
    }
    const bool is_method = answer == ZD_ROUTE_METHOD;
    const enum zd_status status = zd_fail(err, ZD_INVALID,
        is_method ? "method: no resource with the path '%.200s' has the method '%.40s'"
                  : "path: no resource has the path '%.200s' (method '%.40s')",
        asking->path.at, asking->method);
    zd_fact_pointer(err, is_method ? "/method" : "/path");
    return status;
}

/* Some routes reach what lies below their path. */
static bool may(const struct zd_identity *identity, const struct given *given, uint32_t scope)
{
    const char *path = given->path.at == NULL ? "" : given->path.at;
    return (given->scopes & scope) == 0 ||
           zd_identity_may_below(identity, scope, given->dataset, path);
}

/* What a signed URL allows goes no further: it would never end. */
static bool may_sign(const struct zd_identity *identity, const struct given *given)
{
    if (strcmp(identity->from, "url") == 0) {
        return false;
    }
    return zd_identity_may(identity, ZD_IDENTITY_ADMIN, NULL, NULL) ||
           (!given->is_admin && may(identity, given, ZD_IDENTITY_READ) &&
               may(identity, given, ZD_IDENTITY_WRITE));
}

/* Answers read what is beside their path, coordinates, and tell of it: not of what the signer may
 * not read himself. */
static bool is_narrow(const struct zd_identity *identity, const struct given *given)
{
    return given->dataset[0] != '\0' && !zd_identity_may(identity, ZD_IDENTITY_ADMIN, NULL, NULL) &&
           !zd_identity_may_below(identity, ZD_IDENTITY_READ, given->dataset, "");
}

/* ---- the answer ---- */

static enum zd_next respond_url(
    struct zd_request *req, const struct asking *asking, const struct given *given)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t identity_s = req->identity->expires_ms / 1000;
    const struct zd_signed_url url = {
        .method = zd_span_of(asking->method),
        .path = zd_text_span(&asking->path),
        .is_prefix = asking->is_prefix,
        .fixes_query = asking->query != NULL,
        .is_narrow = is_narrow(req->identity, given),
        .query = zd_span_of(asking->query == NULL ? "" : asking->query),
        /* It ends with what it is made of. */
        .expires_s = zd_min_u64((uint64_t)now.tv_sec + asking->expires_s, identity_s),
    };
    const time_t expires = (time_t)url.expires_s;
    struct tm utc = {0};
    char when[TIME_CHARS + 1] = "";
    (void)gmtime_r(&expires, &utc);
    (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    ZD_SCOPED_TEXT(text, URL_BYTES_MAX);
    zd_text_add(&text, zd_client_prefix(req));
    zd_text_add_bytes(&text, asking->raw.ptr, asking->raw.len);
    zd_text_addf(
        &text, "?%s%s", asking->query == NULL ? "" : asking->query, url.query.len == 0 ? "" : "&");
    if (zd_signed_url_add(&text, req->server->signing_keys, &url) != ZD_OK) {
        return zd_respond_no_memory(req, "the URL");
    }
    ZD_SCOPED_TEXT(document, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &document, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_text(&emit, "url", &text);
    zd_emit_member_string(&emit, "expires", when);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &document, &(struct zd_representation){0});
}

static enum zd_next refuse(struct zd_request *req, const char *code, const char *detail)
{
    const struct zd_problem problem = {.code = code, .detail = detail};
    return zd_respond_problem(req, &problem);
}

static enum zd_next sign(struct zd_request *req, struct asking *asking, struct given *given)
{
    struct zd_error err = {0};
    enum zd_status status = read_body(req, asking, &err);
    if (status == ZD_OK) {
        status = find_given(asking, given, &err);
    }
    if (status != ZD_OK) {
        return zd_respond_error(req, status == ZD_INVALID ? "bad_body" : NULL, &err);
    }
    if (!may_sign(req->identity, given)) {
        return refuse(req, "forbidden",
            "the credential does not allow what the URL would give away; it needs the same scope "
            "there, or admin, and is no signed URL itself");
    }
    return respond_url(req, asking, given);
}

static enum zd_next step_sign(struct zd_request *req)
{
    struct asking asking = {0};
    struct given given = {0};
    zd_text_init(&asking.path, URL_BYTES_MAX);
    zd_text_init(&given.path, URL_BYTES_MAX);
    const enum zd_next next = sign(req, &asking, &given);
    zd_text_done(&given.path);
    zd_text_done(&asking.path);
    return next;
}

static enum zd_next step_begin(struct zd_request *req)
{
    if (req->identity == NULL) {
        return refuse(req, "unauthorized", "a URL is signed for who has a credential");
    }
    if (req->server->signing_keys == NULL) {
        return refuse(req, "bad_request",
            "this server signs no URLs: access.signing_keys_file names no keys");
    }
    return zd_body_want_json(req, ZD_BODY_JSON, step_sign);
}

static const struct zd_route routes[] = {
    {.method = "POST",
        .path = "/v1/sign",
        .first = step_begin,
        .scope = ZD_SCOPE_READ, /* and the scopes that are given away */
        .params = zd_params_none},
};

const struct zd_handler zd_handler_sign = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
