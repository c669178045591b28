/* Rights of clients without a credential. */
#include "server/request/anonymous.h"

#include <string.h>

#include "server/request/client.h"
#include "server/request/connection.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define FIELD_BYTES_MAX 64 /* that are shown of a field's name */

bool zd_anonymous_is(const struct zd_request *req, const char *word)
{
    return strcmp(req->server->config->settings.access_anonymous, word) == 0;
}

static bool is_of_this_machine(const struct zd_request *req)
{
    return req->server->is_local && zd_client_is_local(req);
}

bool zd_anonymous_may_write(const struct zd_request *req)
{
    const bool is_allowed =
        zd_anonymous_is(req, "write") || (is_of_this_machine(req) && !zd_anonymous_is(req, "none"));
    return is_allowed && zd_request_may_write(req);
}

static enum zd_next refuse(struct zd_request *req, const char *code, const char *detail)
{
    const struct zd_problem problem = {.code = code, .detail = detail};
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_anonymous_refuse(struct zd_request *req)
{
    return refuse(req, "unauthorized",
        "this server requires a credential, because access.anonymous is none; "
        "access.anonymous=read lets every client read");
}

enum zd_next zd_anonymous_refuse_dataset(struct zd_request *req)
{
    return refuse(req, "unauthorized",
        "no dataset with that name is visible without a credential; /v1/datasets lists the visible "
        "datasets");
}

enum zd_next zd_anonymous_refuse_service(struct zd_request *req)
{
    return refuse(req, "unauthorized",
        "this resource needs a credential with the scope admin, because access.protect_service is "
        "true");
}

/* The server listens on loopback addresses alone: the client is not local. */
static enum zd_next refuse_passed_on(struct zd_request *req)
{
    static const char remedy[] = "send a credential, connect without the proxy from the server's "
                                 "machine, or let every client write with access.anonymous=write";
    ZD_SCOPED_TEXT(detail, ZD_ERROR_TEXT_BYTES);
    if (req->client.via == NULL) {
        zd_text_addf(&detail,
            "a change through a proxy of http.trusted_proxies needs a credential: %s", remedy);
    } else {
        zd_text_addf(&detail, "a change through a proxy (header %.*s) needs a credential: %s",
            FIELD_BYTES_MAX, req->client.via, remedy);
    }
    return refuse(req, "unauthorized", detail.at);
}

enum zd_next zd_anonymous_refuse_write(struct zd_request *req)
{
    const bool all_write = zd_anonymous_is(req, "write");
    const char *origin = zd_connection_header(req, "Origin");
    if (zd_anonymous_is(req, "none")) {
        return zd_anonymous_refuse(req);
    }
    if (!all_write && req->server->is_local && !zd_client_is_local(req)) {
        return refuse_passed_on(req);
    }
    if (!all_write && !req->server->is_local) {
        return refuse(req, "unauthorized",
            "a change needs a credential, because other machines reach this server: let it listen "
            "on loopback addresses only, or let every client write with access.anonymous=write");
    }
    ZD_SCOPED_TEXT(detail, ZD_ERROR_TEXT_BYTES);
    zd_text_addf(&detail,
        "web pages of the origin '%.200s' may not write; add the origin to http.cors_origins",
        origin == NULL ? "unknown" : origin);
    return refuse(req, all_write ? "forbidden" : "unauthorized", detail.at);
}
