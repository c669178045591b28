/* Who may be answered. */
#include "server/request/access.h"

#include <string.h>

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/http/host.h"
#include "server/request/anonymous.h"
#include "server/request/connection.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define SHOWN_BYTES UINT64_C(256) /* of a host that is refused */

/* Which host is asked: of an absolute target the header Host counts for nothing (RFC 9112, 3.2.2).
 * @return false: HTTP/1.0 without one */
static bool find_host(const struct zd_request *req, struct zd_span *ret_host)
{
    *ret_host = zd_host_of_target(req->target);
    const char *header = zd_connection_header(req, "Host");
    if (ret_host->len > 0 || header == NULL) {
        return ret_host->len > 0;
    }
    *ret_host = zd_span_of(header);
    return true;
}

/* A page whose name was made to mean this machine (DNS rebinding) is to its browser a page of this
 * server, and reads what only this machine reaches: no stranger's name is answered. */
static bool is_misdirected(const struct zd_request *req)
{
    const struct zd_server *server = req->server;
    struct zd_span host;
    return server->is_local && find_host(req, &host) &&
           !zd_host_is_own(host, server->config->settings.http_hosts);
}

static enum zd_next step_misdirected(struct zd_request *req)
{
    struct zd_error err = {0};
    struct zd_span host = {0};
    (void)find_host(req, &host);
    const int len = (int)zd_min_u64(host.len, SHOWN_BYTES);
    const char *text = (const char *)host.ptr;
    err.status = zd_fail(&err, ZD_INVALID,
        "this server listens on loopback addresses only and does not answer to the host '%.*s': "
        "ask for localhost or an address, or let http.hosts name it",
        len, text);
    zd_fact_expected(&err, "localhost, an address, or a name of http.hosts");
    zd_fact_found(&err, "%.*s", len, text);
    return zd_respond_error(req, "misdirected", &err);
}

/* What no route takes is refused as it is to all: there is nothing to protect. */
static bool is_refused_write(struct zd_request *req)
{
    struct zd_span name;
    const struct zd_route *route = zd_route_look(req, &name);
    if (route == NULL || route->scope != ZD_SCOPE_WRITE) {
        return false;
    }
    const struct zd_dataset *dataset = zd_dataset_find(req->server, name);
    return dataset != NULL && dataset->config.writable && !zd_anonymous_may_write(req);
}

static bool is_for_all(struct zd_request *req)
{
    struct zd_span name;
    const struct zd_route *route = zd_route_look(req, &name);
    return route != NULL && route->scope == ZD_SCOPE_NONE;
}

void zd_access_judge(struct zd_request *req)
{
    if (is_misdirected(req)) {
        req->step = step_misdirected;
    } else if (strcmp(req->method, "OPTIONS") == 0) {
        return; /* a browser asks what it may ask */
    } else if (zd_anonymous_is(req, "none")) {
        req->step = is_for_all(req) ? NULL : zd_anonymous_refuse;
    } else if (!zd_request_is_reading(req) && is_refused_write(req)) {
        req->step = zd_anonymous_refuse_write;
    }
}
