/* The client of a request, and its view of the server. */
#include "server/request/client.h"

#include <string.h>
#include <sys/socket.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/text.h"
#include "server/http/forwarded.h"
#include "server/http/host.h"
#include "server/request/connection.h"
#include "server/request/dependence.h"
#include "server/request/request.h"
#include "server/runtime/server.h"

#define UNKNOWN 1 /* the prefix of AF_UNSPEC that all clients without an address share */

struct zd_peer zd_client_peer_of(const struct zd_networks_ip *ip)
{
    const uint8_t *byte = ip->byte;
    switch (ip->bits) {
    case 0:
        return (struct zd_peer){.family = AF_UNSPEC, .prefix = UNKNOWN};
    case 32:
        return (struct zd_peer){.family = AF_INET, .prefix = zd_load_u32(byte + 12)};
    default:
        return (struct zd_peer){.family = AF_INET6, .prefix = zd_load_u64(byte)};
    }
}

struct zd_peer zd_client_peer(const struct zd_request *req)
{
    return zd_client_peer_of(&req->client.ip);
}

/* @param ret_copy NULL: there is nothing to copy */
static enum zd_status copy(struct zd_span text, char **ret_copy)
{
    *ret_copy = text.len == 0 ? NULL : zd_strndup((const char *)text.ptr, text.len);
    return text.len > 0 && *ret_copy == NULL ? ZD_NO_MEMORY : ZD_OK;
}

static enum zd_status take(struct zd_client *client, const struct zd_forwarded *said)
{
    client->ip = said->client;
    client->is_https = said->proto.len == strlen("https");
    ZD_TRY(copy(said->host, &client->host));
    ZD_TRY(copy(said->x_host, &client->x_host));
    return copy(said->prefix, &client->prefix);
}

static enum zd_status believe_proxy(struct zd_request *req)
{
    enum { FORWARDED, FOR, PROTO, HOST, PREFIX, FIELDS };
    static const char *const names[FIELDS] = {"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto",
        "X-Forwarded-Host", "X-Forwarded-Prefix"};
    const struct zd_server *server = req->server;
    ZD_SCOPED_TEXT(text, FIELDS * (size_t)server->config->settings.http_connection_bytes);
    size_t end[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        ZD_TRY(zd_connection_add_list(req, names[i], &text));
        end[i] = text.len;
    }
    struct zd_span list[FIELDS] = {{.len = 0}};
    for (size_t i = 0; i < FIELDS; i++) {
        const size_t from = i == 0 ? 0 : end[i - 1];
        const char *first = zd_connection_header(req, names[i]);
        if (first != NULL) {
            const char *at = end[i] == from ? first : text.at + from;
            list[i] = (struct zd_span){(const uint8_t *)at, end[i] - from};
        }
    }
    const struct zd_forwarded_fields fields = {
        .forwarded = list[FORWARDED],
        .x_for = list[FOR],
        .x_proto = list[PROTO],
        .x_host = list[HOST],
        .x_prefix = list[PREFIX],
    };
    const struct zd_forwarded said = zd_forwarded_read(&fields, &server->trusted_proxies);
    return take(&req->client, &said);
}

/* A proxy that passes nothing on, but asks for itself, is the client. */
enum zd_status zd_client_find(struct zd_request *req)
{
    const struct zd_networks_ip ip = zd_networks_ip_of(zd_connection_address(req));
    const bool is_trusted = zd_networks_have(&req->server->trusted_proxies, &ip);
    const char *via = req->client.via;
    req->client = (struct zd_client){
        .ip = ip,
        .via = via,
        .is_local = zd_networks_is_loopback(&ip) && !is_trusted && via == NULL,
    };
    return is_trusted && via != NULL ? believe_proxy(req) : ZD_OK;
}

void zd_client_done(struct zd_request *req)
{
    zd_free(req->client.host);
    zd_free(req->client.x_host);
    zd_free(req->client.prefix);
    req->client = (struct zd_client){.host = NULL};
}

bool zd_client_is_local(const struct zd_request *req)
{
    return req->client.is_local;
}

/* With an absolute target, the header Host is ignored (RFC 9112, 3.2.2).
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

bool zd_client_asks_us(const struct zd_request *req, struct zd_span *ret_host)
{
    const char *names = req->server->config->settings.http_hosts;
    zd_dependence_note(req, ZD_DEPENDENCE_HOST);
    if (req->server->trusted_proxies.n > 0) {
        zd_dependence_note(req, ZD_DEPENDENCE_FORWARDED | ZD_DEPENDENCE_X_FORWARDED_HOST);
    }
    const char *const said[] = {req->client.host, req->client.x_host};
    for (size_t i = 0; i < ZD_COUNT_OF(said); i++) {
        if (said[i] != NULL && !zd_host_is_own(zd_span_of(said[i]), names)) {
            *ret_host = zd_span_of(said[i]);
            return false;
        }
    }
    return !find_host(req, ret_host) || zd_host_is_own(*ret_host, names);
}

const char *zd_client_prefix(const struct zd_request *req)
{
    if (req->server->trusted_proxies.n > 0) {
        zd_dependence_note(req, ZD_DEPENDENCE_X_FORWARDED_PREFIX);
    }
    return req->client.prefix == NULL ? "" : req->client.prefix;
}
