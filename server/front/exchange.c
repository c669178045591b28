/* The life of an exchange: from the target of a request to the line in the log. */
#include "server/front/exchange.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/front/reply_cache.h"
#include "server/front/response.h"
#include "server/request/connection.h"
#include "server/request/dispatch.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SPARE_BODY_BYTES (4U << 10) /* that a spare exchange may go on holding */

static struct zd_exchange *exchange_new(struct zd_front *front)
{
    struct zd_list *link = zd_list_pop_front(&front->spare);
    if (link != NULL) {
        return ZD_CONTAINER(link, struct zd_exchange, link);
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

/* ---- the head ---- */

/* Lines of one list are one list (RFC 9110, 5.3). Few clients send several: the first is borrowed
 * as it is. */
static void add_line(const char **place, struct zd_text *list, const char *value)
{
    if (list->len == 0) {
        zd_text_add(list, *place);
    }
    zd_text_addf(list, ", %s", value);
    *place = list->at;
}

/* One pass over the headers: looking each one up would walk the list as many times. */
static enum MHD_Result on_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strchr("AaCcIiRrXx", name[0]) == NULL) {
        return MHD_YES;
    }
    struct zd_exchange *exchange = cls;
    struct zd_request *req = &exchange->request;
    struct zd_text *list = exchange->memory.list;
    struct zd_conditions *conditions = &req->conditions;
    const struct {
        const char *name;
        const char **place;
        struct zd_text *list; /* NULL: it comes once, and the first one counts */
    } wanted[] = {
        {"If-None-Match", &conditions->if_none_match, &list[0]},
        {"If-Modified-Since", &conditions->if_modified_since, NULL},
        {"Range", &conditions->range, NULL},
        {"If-Range", &conditions->if_range, NULL},
        {"If-Match", &conditions->if_match, &list[1]},
        {"If-Unmodified-Since", &conditions->if_unmodified_since, NULL},
        {"X-Request-Id", &exchange->now.sent_id, NULL},
        {"Accept", &req->accept, &list[2]},
        {"Accept-Encoding", &req->accept_encoding, &list[3]},
        {"Content-Encoding", &req->content_encoding, &list[4]},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(wanted); i++) {
        if (strcasecmp(wanted[i].name, name) != 0) {
            continue;
        }
        if (*wanted[i].place == NULL) {
            *wanted[i].place = value;
        } else if (wanted[i].list != NULL) {
            add_line(wanted[i].place, wanted[i].list, value);
        }
    }
    return MHD_YES;
}

/* The client's id when it is well formed, else one of ours. */
static void take_id(struct zd_exchange *exchange)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    struct zd_exchange_now *now = &exchange->now;
    const char *sent = now->sent_id;
    exchange->request.id = now->id;
    if (sent != NULL && sent[0] != '\0') {
        const size_t len = strnlen(sent, ZD_FRONT_ID_MAX + 1);
        if (len <= ZD_FRONT_ID_MAX && strspn(sent, allowed) == len) {
            memcpy(now->id, sent, len + 1);
            return;
        }
    }
    zd_response_make_id(exchange->front, now->id);
}

enum zd_status zd_exchange_read_head(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    req->method = method;
    req->is_head = strcmp(method, "HEAD") == 0;
    (void)MHD_get_connection_values(exchange->now.connection, MHD_HEADER_KIND, on_header, exchange);
    take_id(exchange);
    for (size_t i = 0; i < ZD_FRONT_LISTS; i++) {
        ZD_TRY(exchange->memory.list[i].status);
    }
    return ZD_OK;
}

/* NULL: it has none (a Unix socket). */
static const struct sockaddr *client_address(const struct zd_exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->now.connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

const char *zd_connection_header(const struct zd_request *req, const char *name)
{
    return MHD_lookup_connection_value(
        zd_front_exchange(req)->now.connection, MHD_HEADER_KIND, name);
}

void zd_connection_peer(const struct zd_request *req, struct zd_peer *ret_peer)
{
    const struct sockaddr *address = client_address(zd_front_exchange(req));
    *ret_peer = (struct zd_peer){0};
    if (address == NULL) {
        return;
    }
    ret_peer->family = address->sa_family;
    if (ret_peer->family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        ret_peer->prefix = v4->sin_addr.s_addr;
    } else if (ret_peer->family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) != 0;
        ret_peer->family = is_v4 ? AF_INET : AF_INET6;
        ret_peer->prefix =
            is_v4 ? zd_load_u32(&v6->sin6_addr.s6_addr[12]) : zd_load_u64(&v6->sin6_addr);
    }
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
        access->client = client_address(exchange);
        access->method = req->method;
        access->target = req->target;
        access->id = req->id;
        access->identity = req->identity;
        access->route_number = req->route_number;
        access->duration_ns = uv_hrtime() - exchange->now.began_ns;
        zd_metrics_access(&server->metrics, access);
        zd_log_access(&server->log, access);
    }
}

void zd_exchange_end(struct zd_exchange *exchange, bool was_sent)
{
    count(exchange, was_sent);
    zd_list_remove(&exchange->link);
    exchange->now.is_suspended = false; /* nothing that ends now wakes the connection */
    reset(exchange);
    zd_list_push_front(&exchange->front->spare, &exchange->link);
}

void zd_exchange_free_spare(struct zd_front *front)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&front->spare)) != NULL;) {
        exchange_free(ZD_CONTAINER(link, struct zd_exchange, link));
    }
}
