/* Records an exchange that has ended: in the log, the metrics, traces and the audit file. */
#include "server/front/exchange_record.h"

#include <microhttpd.h>

#include "core/base/num.h"
#include "server/front/wire.h"
#include "server/http/redact.h"
#include "server/request/access/audit.h"
#include "server/request/connection.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/rates.h"
#include "server/runtime/server.h"

/* ---- the client ---- */

const struct sockaddr *zd_connection_address(const struct zd_request *req)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        zd_front_exchange(req)->now.connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

/* For the log: NULL: unknown. */
static const struct sockaddr *client_address(struct zd_exchange *exchange)
{
    const struct zd_networks_ip *ip = &exchange->request.client.ip;
    const struct sockaddr *address = zd_connection_address(&exchange->request);
    const struct zd_networks_ip connected = zd_networks_ip_of(address);
    if (ip->bits == 0) {
        return NULL;
    }
    if (zd_networks_same_ip(ip, &connected)) {
        return address;
    }
    zd_networks_set_socket(ip, &exchange->memory.client);
    return (const struct sockaddr *)&exchange->memory.client;
}

/* ---- records ---- */

void zd_exchange_audit(struct zd_exchange *exchange)
{
    const struct zd_exchange_now *now = &exchange->now;
    if (zd_audit_file_is_on(&exchange->front->server->audit_file)) {
        const char *etag =
            now->response == NULL ? NULL : MHD_get_response_header(now->response, "ETag");
        zd_audit_end(&exchange->request, now->access.http_status, etag);
    }
}

static const char *shown_path(struct zd_exchange *exchange)
{
    struct zd_exchange_memory *memory = &exchange->memory;
    const struct zd_request *req = &exchange->request;
    const bool hides = req->shown != req->target && req->path != NULL &&
                       zd_redact_text(req->path, &memory->secrets, &memory->node);
    return hides ? memory->node.at : req->path;
}

/* Tells the log, the metrics and traces about the request. */
static void tell(struct zd_exchange *exchange)
{
    struct zd_server *server = exchange->front->server;
    struct zd_request *req = &exchange->request;
    struct zd_access *access = &exchange->now.access;
    struct zd_dataset *dataset = req->dataset;
    const uint64_t now_ns = uv_hrtime();
    zd_times_go_on(&req->times, now_ns);
    if (exchange->now.answered_ns != 0) {
        req->times.ns[ZD_TIME_SEND] += now_ns - exchange->now.answered_ns;
    }
    access->client = client_address(exchange);
    access->method = zd_redact_word(req->method);
    access->target = req->shown;
    access->id = req->id;
    access->identity = req->identity == NULL ? NULL : req->identity->name;
    access->route = req->route == NULL ? NULL : req->route->path;
    access->route_number = req->route_number;
    access->times = &req->times;
    access->duration_ns = now_ns - exchange->now.began_ns;
    if (dataset != NULL) {
        if (dataset->metrics_number == 0) {
            dataset->metrics_number = zd_metrics_dataset(&server->metrics, dataset->config.name);
        }
        access->dataset = dataset->config.name;
        access->dataset_number = dataset->metrics_number;
        access->node = shown_path(exchange);
    }
    access->trace_id = req->traceparent == NULL ? NULL : exchange->now.trace.trace_id;
    zd_metrics_access(&server->metrics, access);
    zd_log_access(&server->log, access);
    zd_trace_end(&server->tracer, ZD_TAKE(req->trace), access);
}

void zd_exchange_record(struct zd_exchange *exchange, bool was_sent)
{
    struct zd_server *server = exchange->front->server;
    const struct zd_request *req = &exchange->request;
    struct zd_access *access = &exchange->now.access;
    const bool is_streamed = zd_stream_is_open(&req->stream);
    server->metrics.n_in_flight--;
    server->metrics.n_answered += was_sent || exchange->now.is_answered;
    if (is_streamed) {
        access->body_bytes = req->stream.taken_bytes;
        server->metrics.n_cut += !was_sent;
    }
    if (!was_sent && !exchange->now.is_answered && (is_streamed || exchange->now.is_given)) {
        const uint64_t n_sent = zd_wire_body_bytes(zd_wire_of(exchange->now.connection));
        access->was_cut = true;
        access->body_bytes = zd_min_u64(access->body_bytes, n_sent);
    }
    zd_rates_pay(req, access->body_bytes);
    zd_exchange_audit(exchange);
    if (access->http_status != 0) {
        tell(exchange);
    }
    zd_trace_end(&server->tracer, ZD_TAKE(exchange->request.trace), NULL);
}
