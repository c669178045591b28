/* The life of an exchange: from the target of a request to the line in the log. */
#include "server/front/exchange.h"

#include <microhttpd.h>
#include <netinet/in.h>

#include "server/front/reply_cache.h"
#include "server/request/dispatch.h"
#include "server/request/request_end.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SPARE_BODY_BYTES (4U << 10) /* that a spare exchange may go on holding */

static struct zd_exchange *exchange_new(struct zd_front *front)
{
    struct zd_list *link = zd_list_pop_front(&front->spare);
    if (link != NULL) {
        return ZD_CONTAINER(link, struct zd_exchange, sleeper.link);
    }
    struct zd_exchange *exchange = zd_alloc_zero(1, sizeof *exchange);
    if (exchange == NULL) {
        return NULL;
    }
    const struct zd_settings *settings = &front->server->config->settings;
    struct zd_exchange_memory *memory = &exchange->memory;
    exchange->front = front;
    zd_request_init(&exchange->request, front->server, &memory->path);
    zd_text_init(&memory->target, settings->limits_url_bytes);
    zd_text_init(&memory->path, settings->limits_url_bytes);
    zd_text_init(&memory->body, settings->limits_body_bytes);
    zd_text_init(&memory->reason, ZD_ERROR_TEXT_BYTES);
    for (size_t i = 0; i < ZD_FRONT_LISTS; i++) {
        zd_text_init(&memory->list[i], settings->http_connection_bytes); /* of the whole head */
    }
    return exchange;
}

static void drop_lists(struct zd_exchange_memory *memory)
{
    for (size_t i = 0; i < ZD_FRONT_LISTS; i++) {
        zd_text_done(&memory->list[i]);
    }
}

static void exchange_free(struct zd_exchange *exchange)
{
    struct zd_exchange_memory *memory = &exchange->memory;
    zd_text_done(&memory->target);
    zd_text_done(&memory->path);
    zd_text_done(&memory->body);
    zd_text_done(&memory->reason);
    drop_lists(memory);
    zd_free(exchange);
}

struct zd_exchange *zd_exchange_begin(
    struct zd_front *front, const char *target, struct MHD_Connection *connection)
{
    struct zd_exchange *exchange = exchange_new(front);
    if (exchange == NULL) {
        return NULL;
    }
    struct zd_text *text = &exchange->memory.target;
    zd_text_clear(text);
    if (zd_text_add(text, target) != ZD_OK) {
        exchange_free(exchange);
        return NULL;
    }
    exchange->request.target = text->at;
    exchange->now.connection = connection;
    exchange->now.began_ns = uv_hrtime();
    front->server->metrics.n_in_flight++;
    return exchange;
}

/* ---- the steps ---- */

enum zd_next zd_exchange_step_draining(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "draining",
        .detail = "the server is shutting down",
        .unavailable = ZD_UNAVAILABLE_DRAINING,
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

void zd_exchange_start(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    exchange->now.has_started = true;
    if (exchange->front->is_closing) {
        req->step = zd_exchange_step_draining;
    } else if (req->step == NULL) {
        req->step = zd_dispatch;
    }
    zd_machine_go_on(&req->machine);
}

/* ---- the end ---- */

void zd_exchange_release(struct zd_exchange *exchange)
{
    zd_list_remove(&exchange->turn);
    zd_reply_cache_release(&exchange->request);
    zd_request_end_waits(&exchange->request);
}

void zd_exchange_drop_response(struct zd_exchange *exchange)
{
    struct zd_exchange_now *now = &exchange->now;
    if (now->response != NULL && !now->response_is_shared) {
        MHD_destroy_response(now->response);
    }
    now->response = NULL;
    now->response_id = NULL;
    now->response_is_shared = false;
}

void zd_exchange_drop_body(struct zd_exchange *exchange)
{
    struct zd_text *body = &exchange->memory.body;
    exchange->front->body_bytes -= body->len;
    if (body->cap > SPARE_BODY_BYTES) {
        zd_text_done(body);
    } else {
        zd_text_clear(body);
    }
}

static void reset(struct zd_exchange *exchange)
{
    zd_exchange_release(exchange);
    zd_exchange_drop_response(exchange);
    zd_exchange_drop_body(exchange);
    drop_lists(&exchange->memory);
    zd_buf_unref(exchange->now.document);
    zd_request_end(&exchange->request);
    zd_request_init(&exchange->request, exchange->front->server, &exchange->memory.path);
    exchange->now = (struct zd_exchange_now){0};
}

/* The address of the client; NULL: it has none (a Unix socket). */
static const char *name_client(const struct zd_exchange *exchange, char to[INET6_ADDRSTRLEN])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->now.connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const bool has_address = info != NULL && info->client_addr != NULL;
    return has_address && uv_ip_name(info->client_addr, to, INET6_ADDRSTRLEN) == 0 ? to : NULL;
}

static void count(struct zd_exchange *exchange, bool was_sent)
{
    struct zd_server *server = exchange->front->server;
    const struct zd_request *req = &exchange->request;
    struct zd_access *access = &exchange->now.access;
    server->metrics.n_in_flight--;
    if (zd_stream_is_open(&req->stream)) {
        access->body_bytes = req->stream.taken_bytes;
        access->was_cut = !was_sent;
        server->metrics.n_cut += access->was_cut;
    }
    if (access->http_status != 0) {
        char client[INET6_ADDRSTRLEN];
        access->client = name_client(exchange, client);
        access->method = req->method;
        access->target = req->target;
        access->id = req->id;
        access->identity = req->identity.name;
        access->route_number = req->route_number;
        access->duration_ns = uv_hrtime() - exchange->now.began_ns;
        zd_metrics_access(&server->metrics, access);
        zd_log_access(&server->log, access);
    }
}

void zd_exchange_end(struct zd_exchange *exchange, bool was_sent)
{
    count(exchange, was_sent);
    zd_list_remove(&exchange->sleeper.link);
    exchange->now.is_suspended = false; /* nothing that ends now wakes the connection */
    reset(exchange);
    zd_list_push_front(&exchange->front->spare, &exchange->sleeper.link);
}

void zd_exchange_free_spare(struct zd_front *front)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&front->spare)) != NULL;) {
        exchange_free(ZD_CONTAINER(link, struct zd_exchange, sleeper.link));
    }
}
