/* Requests whose URL is signed. */
#include "server/request/signing.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/http/signed_url.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define DATASET_BYTES 65 /* no name is longer */

static uint32_t scopes_of(enum zd_scope scope)
{
    switch (scope) {
    case ZD_SCOPE_WRITE:
        return ZD_IDENTITY_WRITE;
    case ZD_SCOPE_ADMIN:
        return ZD_IDENTITY_ADMIN;
    case ZD_SCOPE_READ:
    case ZD_SCOPE_NONE:
    case ZD_SCOPE_UNSAID:
        break;
    }
    return ZD_IDENTITY_READ;
}

/* What the route of the request needs, in its dataset. A path without a route needs nothing. */
static struct zd_identity *make_identity(struct zd_request *req, uint64_t expires_s)
{
    char dataset[DATASET_BYTES];
    struct zd_grant grant = {.scopes = ZD_IDENTITY_READ};
    const struct zd_identity like = {
        .name = "signed-url",
        .from = "url",
        .expires_ms = expires_s * 1000,
        .requests_per_s = ZD_IDENTITY_SETTINGS,
        .bytes_per_s = ZD_IDENTITY_SETTINGS,
        .n_grants = 1,
        .grant = &grant,
    };
    if (zd_route_begin(req)) {
        req->step = NULL; /* not judged yet */
        grant.scopes = scopes_of(req->route->scope);
    }
    if (req->dataset_name.len >= sizeof dataset) {
        return NULL;
    }
    if (req->dataset_name.len > 0) {
        (void)snprintf(dataset, sizeof dataset, "%.*s", (int)req->dataset_name.len,
            (const char *)req->dataset_name.ptr);
        grant.dataset = dataset;
    }
    return zd_identity_new(&like);
}

struct zd_identity *zd_signing_identify(struct zd_request *req)
{
    struct zd_signed_url url = {.method = zd_span_of(req->method)};
    struct zd_signed_url found = {0};
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const struct zd_span raw = zd_route_path(req->target, &url.query);
    /* A path that is none has been decoded up to its fault: the work is the same. */
    const bool is_path = zd_route_decode(raw, req->path_text, NULL) == ZD_OK;
    url.path = zd_text_span(req->path_text);
    const bool is_good = zd_signed_url_verify(
        req->server->signing_keys, &url, req->signature, (uint64_t)now.tv_sec, &found);
    req->signature_is_narrow = found.is_narrow;
    return is_good && is_path ? make_identity(req, found.expires_s) : NULL;
}
