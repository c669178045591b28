/* Ends answers and changes when the credential that allowed them expires. */
#include "server/front/expiry.h"

#include "server/front/exchange.h"
#include "server/front/wire.h"
#include "server/request/connection.h"
#include "server/request/identity.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define LOOK_MS 1000

/* Ends an answer. The bytes in the window, in libmicrohttpd's buffer and in the kernel go with the
 * connection. */
static void end_answer(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_wire *wire = zd_wire_of(exchange->now.connection);
    const bool may_end = req->stream.may_end && !zd_wire_is_full(wire);
    if (req->stream.state == ZD_STREAM_CUT) {
        zd_wire_cut(wire); /* the library learns of it when its client reads, and may never */
        return;
    }
    if (may_end && req->stream.state != ZD_STREAM_OPEN) {
        return;
    }
    zd_exchange_release(exchange);
    if (may_end) {
        (void)zd_request_end_over(req);
    } else {
        (void)zd_permission_refuse_credential(req);
        zd_wire_cut(wire);
    }
    zd_connection_wake(req);
}

/* A change whose body has not come to its end. */
static bool is_receiving(const struct zd_exchange *exchange)
{
    const struct zd_exchange_now *now = &exchange->now;
    const enum zd_upload_state state = exchange->request.upload.state;
    const bool is_coming =
        state == ZD_UPLOAD_OPEN || (state == ZD_UPLOAD_NONE && !now->has_started);
    return is_coming && now->response == NULL && !zd_request_is_reading(&exchange->request) &&
           !zd_exchange_is_storing(exchange);
}

static void refuse_body(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    if (req->upload.state == ZD_UPLOAD_NONE) {
        req->upload.state = ZD_UPLOAD_OPEN;
        req->upload.came_bytes = exchange->memory.body.len;
        zd_exchange_drop_body(exchange);
        exchange->now.has_started = true;
    }
    zd_exchange_release(exchange);
    (void)zd_permission_refuse_credential(req);
    zd_connection_wake(req);
}

void zd_expiry_check(struct zd_exchange *exchange)
{
    if (!zd_identity_is_over(exchange->request.identity)) {
        return;
    }
    if (exchange->now.is_given) {
        end_answer(exchange);
    } else if (is_receiving(exchange)) {
        refuse_body(exchange);
    }
}

/* Looks at exchanges whose clients neither read nor send. An answer that leaves, or a body that
 * comes, is also looked at piece by piece. */
static void on_look(uv_timer_t *timer)
{
    struct zd_front *front = timer->data;
    const struct zd_list *watched = &front->watched;
    if (zd_list_is_empty(watched)) {
        uv_timer_stop(timer);
    }
    struct zd_list *next = NULL;
    for (struct zd_list *link = watched->next; link != watched; link = next) {
        next = link->next;
        zd_expiry_check(ZD_CONTAINER(link, struct zd_exchange, watched));
    }
}

void zd_expiry_watch(struct zd_exchange *exchange)
{
    struct zd_front *front = exchange->front;
    zd_list_push_back(&front->watched, &exchange->watched);
    if (!uv_is_active((uv_handle_t *)&front->look)) {
        uv_timer_start(&front->look, on_look, LOOK_MS, LOOK_MS);
    }
}

void zd_expiry_init_front(struct zd_front *front)
{
    zd_list_init(&front->watched);
    uv_timer_init(front->server->loop, &front->look);
    front->look.data = front;
}

void zd_expiry_close_front(struct zd_front *front)
{
    uv_close((uv_handle_t *)&front->look, NULL);
}
