/* The life of an exchange: begin, run, sleep and wake, end. */
#include "server/front/exchange.h"

#include <microhttpd.h>

#include "server/front/exchange_head.h"
#include "server/front/exchange_record.h"
#include "server/front/reply_cache.h"
#include "server/front/response_bytes.h"
#include "server/front/wire.h"
#include "server/request/admit.h"
#include "server/request/connection.h"
#include "server/request/respond.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define ANSWER_BYTES_MAX (2U << 20)  /* of a problem that is sent past libmicrohttpd */
#define REST_BYTES_MAX   (64U << 10) /* that are read and dropped: the connection lives on */
#define SECRETS_PER_BYTE 4           /* of a head: its secrets as sent, and decoded */
#define SPARE_BODY_BYTES (4U << 10)  /* that a spare exchange may go on holding */

/* ---- memory ---- */

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
    zd_text_init(&memory->signature, settings->limits_url_bytes);
    zd_text_init(&memory->path, settings->limits_url_bytes);
    zd_text_init(&memory->token, settings->limits_url_bytes);
    zd_text_init(&memory->body, settings->limits_body_bytes);
    zd_text_init(&memory->reason, ZD_FRONT_REASON_BYTES);
    zd_text_init(&memory->secrets, SECRETS_PER_BYTE * (size_t)settings->http_connection_bytes);
    zd_text_init(&memory->shown, 2 * settings->limits_url_bytes);
    zd_text_init(&memory->node, 2 * settings->limits_url_bytes);
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
    zd_text_done(&memory->signature);
    zd_text_done(&memory->path);
    zd_text_done(&memory->token);
    zd_text_done(&memory->body);
    zd_text_done(&memory->reason);
    zd_text_done(&memory->secrets);
    zd_text_done(&memory->shown);
    zd_text_done(&memory->node);
    drop_lists(memory);
    zd_free(exchange);
}

/* ---- begin ---- */

struct zd_exchange *zd_exchange_begin(
    struct zd_front *front, const char *target, struct MHD_Connection *connection)
{
    struct zd_exchange *exchange = exchange_new(front);
    if (exchange == NULL) {
        return NULL;
    }
    if (zd_exchange_take_target(exchange, target) != ZD_OK) {
        exchange_free(exchange);
        return NULL;
    }
    exchange->now.connection = connection;
    exchange->now.began_ns = uv_hrtime();
    front->server->metrics.n_in_flight++;
    return exchange;
}

/* ---- the steps ---- */

static enum zd_next step_draining(struct zd_request *req)
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
        req->step = step_draining;
    } else if (req->step == NULL) {
        req->step = zd_route_dispatch;
    }
    zd_machine_go_on(&req->machine);
}

void zd_exchange_release(struct zd_exchange *exchange)
{
    zd_list_remove(&exchange->turn);
    zd_reply_cache_release(&exchange->request);
    zd_request_end_waits(&exchange->request);
}

bool zd_exchange_is_storing(const struct zd_exchange *exchange)
{
    const struct zd_request *req = &exchange->request;
    return req->is_storing != NULL && !req->is_answered && req->is_storing(req);
}

/* ---- turns ---- */

/* Runs one turn: other sockets and answers come in between. */
static void on_turn(uv_idle_t *idle)
{
    struct zd_front *front = idle->data;
    struct zd_list *link = zd_list_pop_front(&front->turns);
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    zd_machine_go_on(&ZD_CONTAINER(link, struct zd_exchange, turn)->request.machine);
}

void zd_connection_queue_turn(struct zd_request *req)
{
    struct zd_exchange *exchange = zd_front_exchange(req);
    zd_list_push_back(&exchange->front->turns, &exchange->turn);
    uv_idle_start(&exchange->front->next_turn, on_turn);
}

/* ---- sleep ---- */

bool zd_exchange_suspend(struct zd_exchange *exchange)
{
    struct zd_front *front = exchange->front;
    struct zd_exchange_now *now = &exchange->now;
    if (front->is_closing) {
        return false;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(now->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    now->fd = info->connect_fd;
    now->is_suspended = true;
    zd_deadline_start(&front->waiting, &exchange->deadline);
    if (!uv_is_active((uv_handle_t *)&front->hangup)) {
        uv_timer_again(&front->hangup);
    }
    if (zd_upload_is_open(&exchange->request.upload)) {
        zd_wire_pause(zd_wire_of(now->connection));
    }
    MHD_suspend_connection(now->connection);
    return true;
}

/* More is still to come than is worth reading. */
static bool is_rest_long(const struct zd_upload *upload)
{
    return upload->has_length ? upload->length - upload->came_bytes > REST_BYTES_MAX
                              : upload->dropped_bytes > REST_BYTES_MAX;
}

void zd_exchange_send_last(struct zd_exchange *exchange)
{
    if (exchange->now.is_answered || !is_rest_long(&exchange->request.upload)) {
        return;
    }
    exchange->now.is_answered = true;
    zd_exchange_audit(exchange);
    ZD_SCOPED_TEXT(answer, ANSWER_BYTES_MAX);
    zd_response_add_last(exchange, &answer);
    zd_wire_answer(zd_wire_of(exchange->now.connection), &answer);
}

void zd_exchange_answered(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    if (req->upload.state == ZD_UPLOAD_OPEN && exchange->now.response != NULL &&
        !req->machine.is_running) {
        zd_upload_drop(&req->upload);
        zd_exchange_send_last(exchange);
    }
}

void zd_connection_wake(struct zd_request *req)
{
    struct zd_exchange *exchange = zd_front_exchange(req);
    struct zd_exchange_now *now = &exchange->now;
    const bool is_upload = zd_upload_is_open(&req->upload);
    if (is_upload) {
        zd_exchange_answered(exchange);
    }
    if (now->is_suspended) {
        now->is_suspended = false;
        zd_deadline_stop(&exchange->deadline);
        if (is_upload) {
            zd_wire_go_on(zd_wire_of(now->connection));
        }
        MHD_resume_connection(now->connection);
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(now->connection, MHD_CONNECTION_INFO_DAEMON);
        zd_front_run_soon(exchange->front, info->daemon);
    }
}

void zd_connection_answered(struct zd_request *req)
{
    zd_admit_answered(req);
    zd_front_exchange(req)->now.answered_ns = uv_hrtime();
    zd_connection_wake(req);
}

/* ---- the end ---- */

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
    zd_list_remove(&exchange->watched);
    zd_exchange_drop_response(exchange);
    zd_exchange_drop_body(exchange);
    drop_lists(&exchange->memory);
    zd_buf_unref(exchange->now.document);
    zd_request_end(&exchange->request);
    zd_request_init(&exchange->request, exchange->front->server, &exchange->memory.path);
    exchange->now = (struct zd_exchange_now){0};
}

void zd_exchange_end(struct zd_exchange *exchange, bool was_sent)
{
    zd_exchange_record(exchange, was_sent);
    zd_deadline_stop(&exchange->deadline);
    exchange->now.is_suspended = false; /* nothing that ends now wakes the connection */
    reset(exchange);
    zd_list_push_front(&exchange->front->spare, &exchange->link);
}

/* ---- all of a front's ---- */

void zd_exchange_init_front(struct zd_front *front)
{
    zd_list_init(&front->spare);
    zd_list_init(&front->turns);
    uv_idle_init(front->server->loop, &front->next_turn);
    front->next_turn.data = front;
}

void zd_exchange_close_front(struct zd_front *front)
{
    uv_close((uv_handle_t *)&front->next_turn, NULL);
}

void zd_exchange_wake_all(struct zd_front *front)
{
    const struct zd_list *waiting = &front->waiting.running;
    while (!zd_list_is_empty(waiting)) {
        struct zd_exchange *exchange =
            ZD_CONTAINER(waiting->next, struct zd_exchange, deadline.link);
        zd_exchange_release(exchange);
        (void)step_draining(&exchange->request);
        zd_connection_wake(&exchange->request);
    }
}

void zd_exchange_done_front(struct zd_front *front)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&front->spare)) != NULL;) {
        exchange_free(ZD_CONTAINER(link, struct zd_exchange, link));
    }
}
