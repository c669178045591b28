/* How much a client may ask for. */
#include "server/request/rates.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/request/client.h"
#include "server/request/identity.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define NS_PER_S     UINT64_C(1000000000)
#define BYTES_MAX    (8 * ZD_GIB) /* in a second; more is as good as no limit */
#define FIELD_BYTES  192
#define FIELDS_BYTES 512 /* of both items */
#define DETAIL_BYTES 512

enum zd_status zd_rates_init(struct zd_server *server, struct zd_error *err)
{
    struct zd_rates *rates = server->rates;
    rates->seed = zd_hash_random_seed();
    ZD_TRY(zd_rate_table_init(&rates->anonymous, err));
    return zd_rate_table_init(&rates->identified, err);
}

void zd_rates_done(struct zd_server *server)
{
    zd_rate_table_done(&server->rates->anonymous);
    zd_rate_table_done(&server->rates->identified);
}

static uint64_t rate(uint64_t own, uint64_t of_settings)
{
    return own == ZD_IDENTITY_SETTINGS ? of_settings : own;
}

static struct zd_rate_limits limits_of(const struct zd_request *req)
{
    const struct zd_settings *settings = &req->server->config->settings;
    const struct zd_identity *identity = req->identity;
    struct zd_rate_limits limits = {
        .requests = settings->access_requests_per_s, .bytes = settings->access_bytes_per_s};
    if (identity != NULL) {
        limits.requests = rate(identity->requests_per_s, limits.requests);
        limits.bytes = rate(identity->bytes_per_s, limits.bytes);
    }
    limits.requests = zd_min_u64(limits.requests, NS_PER_S);
    limits.bytes = zd_min_u64(limits.bytes, BYTES_MAX);
    return limits;
}

static struct zd_rate_table *table_of(const struct zd_request *req)
{
    struct zd_rates *rates = req->server->rates;
    return req->identity == NULL ? &rates->anonymous : &rates->identified;
}

/* An identity is known by its name: its number is another one when its file was read again. A
 * signed URL spends what its signer has. */
static uint64_t client_of(const struct zd_request *req)
{
    const uint64_t seed = req->server->rates->seed;
    const struct zd_identity *identity = req->identity;
    if (identity == NULL) {
        const struct zd_peer peer = zd_client_peer(req);
        return zd_hash_of((struct zd_span){(const uint8_t *)&peer, sizeof peer}, seed);
    }
    const char *from = identity->signer == NULL ? identity->from : identity->signer->from;
    return zd_hash_of(zd_span_of(identity->name), zd_hash_of(zd_span_of(from), seed));
}

/* A credential that nobody has is not free on any route: looking for it took time. */
static bool is_guess(const struct zd_request *req)
{
    return req->has_credential && req->identity == NULL;
}

/* Looks for the route, if that was not done, and leaves the first step as it is. */
static bool is_free(struct zd_request *req)
{
    zd_step *const step = req->step;
    const bool has_route = req->route != NULL || zd_route_begin(req);
    req->step = step;
    return (has_route && req->route->scope == ZD_SCOPE_NONE) || strcmp(req->method, "OPTIONS") == 0;
}

/* ---- 429 ---- */

static uint64_t seconds(uint64_t ns)
{
    return zd_div_up(ns, NS_PER_S);
}

static uint64_t window_of(uint64_t per_s)
{
    return per_s * ZD_RATE_TABLE_WINDOW_S;
}

static void add_item(struct zd_text *text, const char *name, const char *parameters)
{
    zd_text_addf(text, "%s\"%s\"%s", text->len == 0 ? "" : ", ", name, parameters);
}

/* draft-ietf-httpapi-ratelimit-headers-10: RateLimit-Policy and RateLimit. */
static void add_fields(const struct zd_rate_limits *limits, const struct zd_rate_left *left,
    struct zd_text *policy, struct zd_text *now)
{
    char parameters[FIELD_BYTES];
    if (limits->requests > 0) {
        (void)snprintf(parameters, sizeof parameters, ";q=%llu;w=%d",
            (unsigned long long)window_of(limits->requests), ZD_RATE_TABLE_WINDOW_S);
        add_item(policy, "requests", parameters);
        (void)snprintf(parameters, sizeof parameters, ";r=%llu;t=%llu",
            (unsigned long long)left->requests,
            (unsigned long long)seconds(left->requests_wait_ns));
        add_item(now, "requests", parameters);
    }
    if (limits->bytes > 0) {
        (void)snprintf(parameters, sizeof parameters, ";q=%llu;w=%d;qu=\"content-bytes\"",
            (unsigned long long)window_of(limits->bytes), ZD_RATE_TABLE_WINDOW_S);
        add_item(policy, "bytes", parameters);
        (void)snprintf(parameters, sizeof parameters, ";r=%llu;t=%llu",
            (unsigned long long)left->bytes, (unsigned long long)seconds(left->bytes_wait_ns));
        add_item(now, "bytes", parameters);
    }
}

/* The name of the client whose rate is used. */
static const char *name_of(const struct zd_request *req)
{
    if (req->identity != NULL) {
        return "this credential";
    }
    return req->client.ip.bits > 0
               ? "this client address"
               : "the group of all clients without an address in Forwarded or X-Forwarded-For";
}

enum zd_next zd_rates_refuse(struct zd_request *req)
{
    const struct zd_rate_limits limits = limits_of(req);
    const struct zd_rate_left left =
        zd_rate_table_look(table_of(req), client_of(req), &limits, uv_hrtime());
    const bool is_bytes = left.bytes_wait_ns > left.requests_wait_ns;
    const uint64_t wait_ns = zd_max_u64(left.bytes_wait_ns, left.requests_wait_ns);
    const uint64_t wait_s = zd_max_u64(seconds(wait_ns), 1);
    ZD_SCOPED_TEXT(policy, FIELDS_BYTES);
    ZD_SCOPED_TEXT(now, FIELDS_BYTES);
    ZD_SCOPED_TEXT(detail, DETAIL_BYTES);
    add_fields(&limits, &left, &policy, &now);
    zd_text_addf(&detail,
        "%s may use %llu %s per second, with bursts of up to %d seconds' worth; retry in %llu s",
        name_of(req), (unsigned long long)(is_bytes ? limits.bytes : limits.requests),
        is_bytes ? "bytes" : "requests", ZD_RATE_TABLE_WINDOW_S, (unsigned long long)wait_s);
    const struct zd_problem problem = {
        .code = "rate_limited",
        .detail = detail.at,
        .retry_after_s = (uint32_t)zd_min_u64(wait_s, UINT32_MAX),
        .rate_limit = now.at,
        .rate_limit_policy = policy.at,
    };
    return zd_respond_problem(req, &problem);
}

/* ---- the whole ---- */

bool zd_rates_are_spent(const struct zd_request *req)
{
    const struct zd_rate_limits limits = limits_of(req);
    if (limits.requests == 0 && limits.bytes == 0) {
        return false;
    }
    const struct zd_rate_left left =
        zd_rate_table_look(table_of(req), client_of(req), &limits, uv_hrtime());
    return left.requests_wait_ns > 0 || left.bytes_wait_ns > 0;
}

void zd_rates_judge(struct zd_request *req)
{
    const struct zd_rate_limits limits = limits_of(req);
    if ((limits.requests == 0 && limits.bytes == 0) || (is_free(req) && !is_guess(req))) {
        return;
    }
    if (zd_rate_table_take(table_of(req), client_of(req), &limits, uv_hrtime())) {
        req->own.is_rated = true;
    } else {
        req->step = zd_rates_refuse;
    }
}

void zd_rates_pay(const struct zd_request *req, uint64_t bytes)
{
    if (req->own.is_rated) {
        const struct zd_rate_limits limits = limits_of(req);
        const uint64_t taken = req->body == NULL ? req->upload.came_bytes : req->body->len;
        zd_rate_table_pay(table_of(req), client_of(req), &limits, bytes + taken, uv_hrtime());
    }
}
