/* Judge whether a request may be answered. */
#include "server/request/access/access.h"

#include <string.h>

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/http/credential.h"
#include "server/request/anonymous.h"
#include "server/request/client.h"
#include "server/request/connection.h"
#include "server/request/identity.h"
#include "server/request/access/jwts.h"
#include "server/request/access/credential_cache.h"
#include "server/request/permission.h"
#include "server/request/rates.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/request/route.h"
#include "server/request/access/signing.h"
#include "server/request/access/tokens.h"
#include "server/request/access/permission_cache.h"
#include "server/runtime/server.h"

#define SHOWN_BYTES UINT64_C(256) /* of a host that is refused */

/* A page whose name was made to mean this machine (DNS rebinding) is to its browser a page of this
 * server, and reads what only this machine reaches: no stranger's name is answered. */
static bool is_misdirected(const struct zd_request *req)
{
    struct zd_span host;
    return req->server->is_local && !zd_client_asks_us(req, &host);
}

static enum zd_next step_misdirected(struct zd_request *req)
{
    struct zd_error err = {0};
    struct zd_span host = {0};
    (void)zd_client_asks_us(req, &host);
    const int len = (int)zd_min_u64(host.len, SHOWN_BYTES);
    const char *text = (const char *)host.ptr;
    err.status = zd_fail(&err, ZD_INVALID,
        "this server listens on loopback addresses only and does not know the host '%.*s': use "
        "localhost or an IP address, or add the host to http.hosts",
        len, text);
    zd_fact_expected(&err, "localhost, an IP address, or a name in http.hosts");
    zd_fact_found(&err, "%.*s", len, text);
    return zd_respond_error(req, "misdirected", &err);
}

/* ---- credentials ---- */

static struct zd_identity *find_token(const struct zd_request *req, struct zd_span token)
{
    return zd_identity_ref(zd_tokens_find(req->server->tokens, token));
}

static struct zd_identity *find_jwt(const struct zd_request *req, struct zd_span token)
{
    return zd_jwts_find(req->server->jwts, token);
}

/* The kinds of credentials; each looks whether it knows one, at the same cost for any that it does
 * not know. @return a reference, or NULL */
static struct zd_identity *(*const kinds[])(const struct zd_request *req, struct zd_span token) = {
    find_token,
    find_jwt,
};

/* Looked for among all. */
static void search(struct zd_request *req, struct zd_span token)
{
    for (size_t i = 0; i < ZD_COUNT_OF(kinds) && req->identity == NULL; i++) {
        req->identity = kinds[i](req, token);
    }
    if (zd_identity_is_over(req->identity)) {
        zd_identity_unref(ZD_TAKE(req->identity));
    }
}

/* Looks who has the only credential. @return false: nobody looked, since the client's address has
 * used up its rate and the credential is not known */
static bool identify(struct zd_request *req)
{
    struct zd_server *server = req->server;
    if (req->signature.len > 0) { /* a look costs less than a refusal */
        req->identity = zd_signing_identify(req);
        return true;
    }
    const struct zd_span token =
        req->n_url_tokens > 0 ? req->url_token : zd_credential_of_bearer(req->authorization);
    req->identity = zd_credential_cache_find(server->known, token, server->n_credential_changes);
    if (req->identity == NULL && zd_rates_are_spent(req)) {
        return false;
    }
    if (req->identity == NULL) {
        search(req, token);
        if (req->identity != NULL) {
            zd_credential_cache_put(
                &server->known, token, server->n_credential_changes, req->identity);
        }
    }
    return true;
}

bool zd_access_knows_credentials(const struct zd_server *server)
{
    const struct zd_settings *settings = &server->config->settings;
    return settings->access_tokens_file[0] != '\0' || settings->access_jwks_file[0] != '\0' ||
           settings->access_jwks_url[0] != '\0' || settings->access_signing_keys_file[0] != '\0';
}

/* @return how many credentials were sent */
static uint32_t count_credentials(struct zd_request *req)
{
    if (!zd_access_knows_credentials(req->server)) {
        req->authorization = NULL;
        req->n_authorizations = 0;
    }
    return req->n_url_tokens + (req->signature.len > 0) + req->n_authorizations;
}

/* ---- the whole ---- */

/* A path without a route is refused as it is to all: there is nothing to protect. */
static zd_step *judge(struct zd_request *req)
{
    if (req->route == NULL && !zd_route_begin(req)) {
        return zd_anonymous_is(req, "none") && req->identity == NULL ? zd_anonymous_refuse : NULL;
    }
    req->step = NULL;
    const struct zd_dataset *dataset =
        req->dataset_name.len == 0 ? NULL : zd_dataset_find(req->server, req->dataset_name);
    zd_step *const refusal = zd_permission_judge(req, dataset);
    req->is_limited = refusal == NULL && zd_permission_is_limited(req, dataset);
    const bool is_hidden = dataset != NULL && !zd_permission_sees(req, dataset);
    return refusal == NULL && is_hidden ? zd_route_dispatch : refusal;
}

/* Answers to a credential in the URL are private on every resource. */
static bool may_keep(const struct zd_request *req)
{
    return zd_request_is_reading(req) && req->n_url_tokens == 0 && req->signature.len == 0;
}

/* The same, from memory where it can be. */
static zd_step *recall(struct zd_request *req)
{
    struct zd_permission_cache **verdicts = &req->server->verdicts;
    if (may_keep(req) && zd_permission_cache_find(*verdicts, req)) {
        return NULL;
    }
    zd_step *const refusal = judge(req);
    if (may_keep(req) && refusal == NULL) {
        zd_permission_cache_put(verdicts, req);
    }
    return refusal;
}

/* Whether anything but the method is to be looked at. */
static bool needs_judging(const struct zd_request *req)
{
    return !zd_request_is_reading(req) || req->identity != NULL || req->server->has_private ||
           req->server->config->settings.access_protect_service || zd_anonymous_is(req, "none");
}

static void on_known(struct zd_wait *wait)
{
    zd_connection_wake(wait->context);
}

/* Whether it is too early to say who sends a credential. */
static bool must_wait(struct zd_request *req)
{
    struct zd_server *server = req->server;
    if (!server->tokens_are_coming) {
        return false;
    }
    req->wait = (struct zd_wait){.done = on_known, .context = req};
    zd_list_push_back(&server->tokens_wanted, &req->wait.link);
    return true;
}

enum zd_next zd_access_judge(struct zd_request *req)
{
    if (is_misdirected(req)) {
        req->step = step_misdirected;
        return ZD_NEXT;
    }
    if (strcmp(req->method, "OPTIONS") == 0) {
        return ZD_NEXT; /* a browser asks what it may ask */
    }
    const uint32_t n_credentials = count_credentials(req);
    req->has_credential = n_credentials > 0;
    if (n_credentials == 1 && must_wait(req)) {
        return ZD_WAIT;
    }
    if (n_credentials > 1) {
        req->step = zd_permission_refuse_several;
    } else if (n_credentials == 1 && !identify(req)) {
        req->step = zd_rates_refuse;
    } else if (req->has_credential && req->identity == NULL) {
        req->step = zd_permission_refuse_credential;
    } else if (needs_judging(req)) {
        req->step = recall(req);
    }
    return ZD_NEXT;
}
