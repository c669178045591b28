/* The life of an exchange: from the target of a request to the line in the log. */
#include "server/front/exchange.h"

#include <microhttpd.h>
#include <poll.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/front/reply_cache.h"
#include "server/front/response.h"
#include "server/front/wire.h"
#include "server/http/credential.h"
#include "server/http/forwarded.h"
#include "server/http/redact.h"
#include "server/http/signed_url.h"
#include "server/request/admit.h"
#include "server/request/access/audit.h"
#include "server/request/connection.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/rates.h"
#include "server/request/route.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define ANSWER_BYTES_MAX      (2U << 20) /* of a problem that is sent past libmicrohttpd */
#define CLIENT_CLOSED_REQUEST 499        /* in the log alone, as elsewhere */
#define HANGUP_MS             50
#define REST_BYTES_MAX        (64U << 10) /* that are read and dropped: the connection lives on */
#define SECRETS_PER_BYTE      4           /* of a head: its secrets as sent, and decoded */
#define SPARE_BODY_BYTES      (4U << 10)  /* that a spare exchange may go on holding */

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

/* From here on the target is that of the resource, and a key of what is kept. */
static enum zd_status take_target(struct zd_exchange *exchange, const char *target)
{
    struct zd_request *req = &exchange->request;
    struct zd_text *text = &exchange->memory.target;
    struct zd_text *signature = &exchange->memory.signature;
    zd_text_clear(text);
    ZD_TRY(zd_text_add(text, target));
    req->n_url_tokens = zd_credential_take(text->at, &exchange->memory.token);
    req->url_token = zd_text_span(&exchange->memory.token);
    ZD_TRY(zd_signed_url_take(text->at, signature));
    zd_text_cut(text, strlen(text->at));
    req->target = text->at;
    req->shown = ""; /* until the head was read */
    req->signature = zd_text_span(signature);
    return ZD_OK;
}

struct zd_exchange *zd_exchange_begin(
    struct zd_front *front, const char *target, struct MHD_Connection *connection)
{
    struct zd_exchange *exchange = exchange_new(front);
    if (exchange == NULL) {
        return NULL;
    }
    if (take_target(exchange, target) != ZD_OK) {
        exchange_free(exchange);
        return NULL;
    }
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

/* A header that is kept, and where in the exchange. */
struct field {
    const char *name;
    size_t len;   /* of the name */
    size_t place; /* of a const char * */
    size_t list;  /* where its further lines go; ONCE: the first line counts */
};

#define ONCE SIZE_MAX
#define FIELD(name, member, list)                                                                  \
    {(name), sizeof(name) - 1, offsetof(struct zd_exchange, member), (list)}

static const struct field fields[] = {
    FIELD("Authorization", request.authorization, ONCE),
    FIELD("If-None-Match", request.conditions.if_none_match, 0),
    FIELD("If-Modified-Since", request.conditions.if_modified_since, ONCE),
    FIELD("Range", request.conditions.range, ONCE),
    FIELD("If-Range", request.conditions.if_range, ONCE),
    FIELD("If-Match", request.conditions.if_match, 1),
    FIELD("If-Unmodified-Since", request.conditions.if_unmodified_since, ONCE),
    FIELD("X-Request-Id", now.sent_id, ONCE), FIELD("Accept", request.sent_accept, 2),
    FIELD("Accept-Encoding", request.sent_accept_encoding, 3),
    FIELD("Content-Encoding", request.content_encoding, 4),
    FIELD("traceparent", now.sent_trace, 5), /* of several none counts */
};

static const struct field *field_of(const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < ZD_COUNT_OF(fields); i++) {
        if (fields[i].len == len && strcasecmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static void note_proxy(struct zd_client *client, const char *name)
{
    if (client->via == NULL && zd_forwarded_is_field(name, strlen(name))) {
        client->via = name;
    }
}

/* One pass over the headers: looking each one up would walk the list as many times. */
static enum MHD_Result on_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    const struct field *field = field_of(name);
    struct zd_exchange *exchange = cls;
    if (field == NULL) {
        note_proxy(&exchange->request.client, name);
        return MHD_YES;
    }
    const char **place = (const char **)(void *)((char *)exchange + field->place);
    if (field == &fields[0]) {
        if (!zd_credential_is_bearer(value)) {
            return MHD_YES; /* a proxy's, or another program's */
        }
        exchange->request.n_authorizations++;
    }
    if (*place == NULL) {
        *place = value;
    } else if (field->list != ONCE) {
        add_line(place, &exchange->memory.list[field->list], value);
    }
    return MHD_YES;
}

/* The token of an Authorization: one that was pasted into the target, too, is known by it. */
static struct zd_span sent_credential(const struct zd_request *req)
{
    return req->authorization == NULL ? (struct zd_span){.len = 0}
                                      : zd_credential_of_bearer(req->authorization);
}

/* Log, traces and audit file have the target without whatever looks like a credential. */
static void show_target(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_exchange_memory *memory = &exchange->memory;
    zd_text_clear(&memory->secrets);
    zd_redact_know(&memory->secrets, req->url_token);
    zd_redact_know(&memory->secrets, sent_credential(req));
    const bool hides = zd_redact_target(req->target, &memory->secrets, &memory->shown);
    req->shown = hides ? memory->shown.at : req->target;
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

/* Whoever traces the request, stores learn it. */
static void take_trace(struct zd_exchange *exchange)
{
    struct zd_exchange_now *now = &exchange->now;
    struct zd_request *req = &exchange->request;
    const bool has_parent =
        now->sent_trace != NULL && zd_traceparent_parse(now->sent_trace, &now->trace);
    req->trace =
        zd_trace_begin(&req->server->tracer, has_parent ? &now->trace : NULL, now->began_ns);
    if (req->trace != NULL) {
        now->trace = req->trace->own;
    }
    if (req->trace != NULL || has_parent) {
        zd_traceparent_format(&now->trace, now->traceparent);
        req->traceparent = now->traceparent;
    }
}

/* The guard let the value pass: digits, perhaps zeros in front, and no more than 64 bits. */
static uint64_t number_in(const char *value)
{
    uint64_t number = 0;
    for (const char *at = value + strspn(value, " \t"); *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

static void read_framing(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    const char *length = zd_connection_header(req, "Content-Length");
    const char *expect = zd_connection_header(req, "Expect");
    upload->length = length == NULL ? 0 : number_in(length);
    upload->has_length = length != NULL || zd_connection_header(req, "Transfer-Encoding") == NULL;
    upload->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

enum zd_status zd_exchange_read_head(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    req->method = method;
    req->is_head = strcmp(method, "HEAD") == 0;
    (void)MHD_get_connection_values(exchange->now.connection, MHD_HEADER_KIND, on_header, exchange);
    show_target(exchange);
    take_id(exchange);
    take_trace(exchange);
    if (!zd_request_is_reading(req)) {
        read_framing(req);
    }
    for (size_t i = 0; i < ZD_FRONT_LISTS; i++) {
        ZD_TRY(exchange->memory.list[i].status);
    }
    return ZD_OK;
}

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

const char *zd_connection_header(const struct zd_request *req, const char *name)
{
    return MHD_lookup_connection_value(
        zd_front_exchange(req)->now.connection, MHD_HEADER_KIND, name);
}

/* A list that is made of the lines of one header. */
struct joining {
    const char *name;
    struct zd_text *list;
    bool has_line; /* one was added, which may have been empty */
};

static enum MHD_Result join(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct joining *joining = cls;
    if (strcasecmp(joining->name, name) == 0) {
        zd_text_addf(joining->list, "%s%s", joining->has_line ? ", " : "", value);
        joining->has_line = true;
    }
    return MHD_YES;
}

enum zd_status zd_connection_add_list(
    const struct zd_request *req, const char *name, struct zd_text *list)
{
    struct joining joining = {.name = name, .list = list};
    (void)MHD_get_connection_values(
        zd_front_exchange(req)->now.connection, MHD_HEADER_KIND, join, &joining);
    return list->status;
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

/* ---- turns ---- */

/* One at a time: other sockets and answers come in between. */
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

struct zd_wire *zd_exchange_wire(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

static void on_hangup_timer(uv_timer_t *timer);

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
        uv_timer_start(&front->hangup, on_hangup_timer, HANGUP_MS, HANGUP_MS);
    }
    if (zd_upload_is_open(&exchange->request.upload)) {
        zd_wire_pause(zd_exchange_wire(now->connection));
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

void zd_exchange_audit(struct zd_exchange *exchange)
{
    const struct zd_exchange_now *now = &exchange->now;
    if (zd_audit_file_is_on(&exchange->front->server->audit_file)) {
        const char *etag =
            now->response == NULL ? NULL : MHD_get_response_header(now->response, "ETag");
        zd_audit_end(&exchange->request, now->access.http_status, etag);
    }
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
    zd_wire_answer(zd_exchange_wire(exchange->now.connection), &answer);
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
            zd_wire_go_on(zd_exchange_wire(now->connection));
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

/* ---- clients that hang up, deadlines ---- */

static void hung_up(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    zd_exchange_release(exchange);
    exchange->now.has_left = true;
    exchange->front->server->metrics.n_left++;
    if (zd_stream_is_open(&req->stream)) {
        zd_stream_cut(&req->stream);
    } else {
        exchange->now.access.http_status = CLIENT_CLOSED_REQUEST;
    }
    zd_connection_wake(req);
}

/* The sockets of all that sleep, in the order of the list; without memory, of the first of them. */
static size_t gather_sockets(struct zd_front *front)
{
    const struct zd_list *waiting = &front->waiting.running;
    size_t n = 0;
    for (const struct zd_list *link = waiting->next; link != waiting; link = link->next) {
        n++;
    }
    if (n > front->n_sockets_max) {
        struct pollfd *socket = zd_alloc_zero(2 * n, sizeof *socket);
        if (socket != NULL) {
            zd_free(front->socket);
            front->socket = socket;
            front->n_sockets_max = 2 * n;
        }
    }
    size_t i = 0;
    for (struct zd_list *link = waiting->next; link != waiting && i < front->n_sockets_max;
        link = link->next) {
        const struct zd_exchange *exchange = ZD_CONTAINER(link, struct zd_exchange, deadline.link);
        front->socket[i++] = (struct pollfd){.fd = exchange->now.fd, .events = POLLRDHUP};
    }
    return i;
}

/* libmicrohttpd does not watch connections that sleep: one system call looks at all of them. A
 * client that will send no more is taken to be gone: whether it still reads cannot be known. */
static void on_hangup_timer(uv_timer_t *timer)
{
    struct zd_front *front = timer->data;
    if (zd_list_is_empty(&front->waiting.running)) {
        uv_timer_stop(timer);
        return;
    }
    const size_t n = gather_sockets(front);
    if (poll(front->socket, n, 0) <= 0) {
        return;
    }
    struct zd_list *link = front->waiting.running.next;
    for (size_t i = 0; i < n; i++) {
        struct zd_exchange *exchange = ZD_CONTAINER(link, struct zd_exchange, deadline.link);
        link = link->next;
        if ((front->socket[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
            hung_up(exchange);
        }
    }
}

bool zd_exchange_is_storing(const struct zd_exchange *exchange)
{
    const struct zd_request *req = &exchange->request;
    return req->is_storing != NULL && !req->is_answered && req->is_storing(req);
}

/* What is being stored cannot be taken back: the request waits for the outcome. */
static bool waits_on(struct zd_exchange *exchange)
{
    struct zd_front *front = exchange->front;
    const uint64_t now_ms = uv_now(front->server->loop);
    struct zd_exchange_now *now = &exchange->now;
    if (!zd_exchange_is_storing(exchange)) {
        return false;
    }
    if (now->outcome_ms == 0) {
        now->outcome_ms = now_ms + front->server->config->settings.http_commit_ms;
    }
    if (now->outcome_ms <= now_ms) {
        return false;
    }
    zd_deadline_start(&front->waiting, &exchange->deadline);
    return true;
}

static enum zd_status describe_delay(const struct zd_exchange *exchange, struct zd_error *err)
{
    const struct zd_settings *settings = &exchange->front->server->config->settings;
    if (zd_exchange_is_storing(exchange)) {
        return zd_fail(err, ZD_TIMEOUT,
            "the change was not stored within http.commit_ms (%llu ms), and can no longer be "
            "withdrawn: outcome unknown; read what is stored before sending it again",
            (unsigned long long)settings->http_commit_ms);
    }
    return zd_fail(err, ZD_TIMEOUT, "%s within http.request_ms (%llu ms)",
        zd_stream_is_open(&exchange->request.stream) ? "no more of the answer" : "no answer",
        (unsigned long long)settings->http_request_ms);
}

static void on_deadline(struct zd_deadline *deadline)
{
    struct zd_exchange *exchange = ZD_CONTAINER(deadline, struct zd_exchange, deadline);
    struct zd_request *req = &exchange->request;
    if (waits_on(exchange)) {
        return;
    }
    struct zd_error err = {0};
    err.status = describe_delay(exchange, &err);
    zd_exchange_release(exchange);
    (void)zd_respond_error(req, NULL, &err);
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

static const char *shown_path(struct zd_exchange *exchange)
{
    struct zd_exchange_memory *memory = &exchange->memory;
    const struct zd_request *req = &exchange->request;
    const bool hides = req->shown != req->target && req->path != NULL &&
                       zd_redact_text(req->path, &memory->secrets, &memory->node);
    return hides ? memory->node.at : req->path;
}

/* What the log, the metrics and traces learn of the request. */
static void record(struct zd_exchange *exchange)
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

static void count(struct zd_exchange *exchange, bool was_sent)
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
        const uint64_t n_sent = zd_wire_body_bytes(zd_exchange_wire(exchange->now.connection));
        access->was_cut = true;
        access->body_bytes = zd_min_u64(access->body_bytes, n_sent);
    }
    zd_rates_pay(req, access->body_bytes);
    zd_exchange_audit(exchange);
    if (access->http_status != 0) {
        record(exchange);
    }
    zd_trace_end(&server->tracer, ZD_TAKE(exchange->request.trace), NULL);
}

void zd_exchange_end(struct zd_exchange *exchange, bool was_sent)
{
    count(exchange, was_sent);
    zd_deadline_stop(&exchange->deadline);
    exchange->now.is_suspended = false; /* nothing that ends now wakes the connection */
    reset(exchange);
    zd_list_push_front(&exchange->front->spare, &exchange->link);
}

/* ---- all of a front's ---- */

void zd_exchange_init_front(struct zd_front *front)
{
    uv_loop_t *loop = front->server->loop;
    zd_list_init(&front->spare);
    zd_list_init(&front->turns);
    zd_deadlines_init(
        &front->waiting, loop, front->server->config->settings.http_request_ms, on_deadline);
    uv_idle_init(loop, &front->next_turn);
    front->next_turn.data = front;
    uv_timer_init(loop, &front->hangup);
    front->hangup.data = front;
}

void zd_exchange_close_front(struct zd_front *front)
{
    uv_close((uv_handle_t *)&front->next_turn, NULL);
    zd_deadlines_close(&front->waiting);
    uv_close((uv_handle_t *)&front->hangup, NULL);
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
    zd_free(front->socket);
}
