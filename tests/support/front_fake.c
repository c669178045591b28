/* A front without sockets: requests are given to the steps, and tests look at the answers. */
#include "tests/support/front_fake.h"

#include <stdio.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/num.h"
#include "server/front/front.h"
#include "server/request/admit.h"
#include "server/request/connection.h"
#include "server/request/route.h"
#include "server/runtime/server.h"
#include "tests/support/check.h"

#define PIECE_BYTES 4096

static struct zd_list turns = {&turns, &turns}; /* struct zd_fake_exchange */

static struct zd_fake_exchange *exchange_of(const struct zd_request *req)
{
    return ZD_CONTAINER(req, struct zd_fake_exchange, request);
}

/* ---- server/front/front.h: it listens nowhere ---- */

static void keep_nothing(struct zd_cache_entry *entry)
{
    (void)entry; /* no answer is prepared here */
}

enum zd_status zd_front_new(
    struct zd_server *server, struct zd_front **ret_front, struct zd_error *err)
{
    struct zd_front *front = zd_alloc_zero(1, sizeof *front);
    if (front == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the front");
    }
    front->server = server;
    server->is_local = true;
    zd_cache_init(&front->prepared, "replies", 1, keep_nothing);
    zd_list_push_back(&server->caches, &front->prepared.link);
    *ret_front = front;
    return ZD_OK;
}

void zd_front_drain(struct zd_front *front)
{
    (void)front;
}

bool zd_front_is_idle(const struct zd_front *front)
{
    (void)front;
    return true;
}

size_t zd_front_look_parting(struct zd_front *front, uint64_t linger_ms)
{
    (void)front;
    (void)linger_ms;
    return 0;
}

size_t zd_front_end_parting(struct zd_front *front)
{
    (void)front;
    return 0;
}

void zd_front_close(struct zd_front *front)
{
    (void)front;
}

void zd_front_free(struct zd_front *front)
{
    if (front != NULL) {
        zd_cache_done(&front->prepared);
        zd_free(front);
    }
}

/* ---- server/request/connection.h ---- */

const char *zd_connection_header(const struct zd_request *req, const char *name)
{
    const struct zd_fake_exchange *exchange = exchange_of(req);
    for (size_t i = 0; i < exchange->n_headers; i++) {
        if (strcasecmp(exchange->header[i].name, name) == 0) {
            return exchange->header[i].value;
        }
    }
    return NULL;
}

enum zd_status zd_connection_add_list(
    const struct zd_request *req, const char *name, struct zd_text *list)
{
    const char *value = zd_connection_header(req, name);
    return value == NULL ? ZD_OK : zd_text_add(list, value);
}

const struct sockaddr *zd_connection_address(const struct zd_request *req)
{
    (void)req;
    return NULL;
}

void zd_connection_queue_turn(struct zd_request *req)
{
    zd_list_push_back(&turns, &exchange_of(req)->turn);
}

/* The client reads what it has room for. */
static bool read_answer(struct zd_fake_exchange *exchange)
{
    struct zd_stream *stream = &exchange->request.stream;
    char piece[PIECE_BYTES];
    bool has_read = false;
    for (size_t n = 1; n > 0;) {
        const uint64_t room = exchange->room_bytes == 0 ? UINT64_MAX : exchange->room_bytes;
        const size_t len = zd_min_u64(sizeof piece, room - zd_min_u64(room, exchange->answer.len));
        n = zd_stream_take(stream, piece, len);
        zd_text_add_bytes(&exchange->answer, piece, n);
        has_read = has_read || n > 0;
    }
    return has_read;
}

void zd_connection_wake(struct zd_request *req)
{
    (void)req; /* zd_fake_turn looks at what there is */
}

void zd_connection_answered(struct zd_request *req)
{
    exchange_of(req)->is_done = true;
    zd_admit_answered(req);
}

/* ---- the bottom of server/request/respond.h ---- */

static void add_header(struct zd_fake_exchange *exchange, const char *name, const char *value)
{
    zd_text_addf(&exchange->headers, "%s: %s\n", name, value);
}

static enum zd_next give(struct zd_request *req, unsigned http_status)
{
    req->is_answered = true;
    exchange_of(req)->http_status = http_status;
    return ZD_DONE;
}

static void add_headers(struct zd_fake_exchange *exchange, const struct zd_representation *rep)
{
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        add_header(exchange, rep->header[i].name, rep->header[i].value);
    }
    if (rep->etag[0] != '\0') {
        add_header(exchange, "ETag", rep->etag);
    }
    if (rep->media_type != NULL) {
        add_header(exchange, "Content-Type", rep->media_type);
    }
}

static void add_range(
    struct zd_fake_exchange *exchange, uint64_t first, uint64_t len, uint64_t length)
{
    zd_text_addf(&exchange->headers, "Content-Range: bytes %llu-%llu/%llu\n",
        (unsigned long long)first, (unsigned long long)(first + len - 1),
        (unsigned long long)length);
}

static void add_file(struct zd_text *to, struct zd_file_part *file)
{
    char piece[PIECE_BYTES];
    for (uint64_t at = 0; at < file->len;) {
        const size_t len = zd_min_u64(sizeof piece, file->len - at);
        const ssize_t n = pread(file->fd, piece, len, (off_t)(file->first + at));
        ck_assert_int_gt(n, 0);
        zd_text_add_bytes(to, piece, (size_t)n);
        at += (uint64_t)n;
    }
    close(file->fd);
    file->fd = -1;
}

enum zd_next zd_respond_problem(struct zd_request *req, const struct zd_problem *problem)
{
    struct zd_fake_exchange *exchange = exchange_of(req);
    const struct zd_problem_kind *kind = zd_problem_kind_of(problem);
    (void)snprintf(exchange->code, sizeof exchange->code, "%s", kind->code);
    zd_text_clear(&exchange->reason);
    zd_text_add(&exchange->reason, zd_problem_detail(problem));
    if (zd_stream_is_open(&req->stream)) {
        exchange->is_cut = true;
        zd_stream_cut(&req->stream);
        return ZD_DONE;
    }
    if (problem->allow != NULL) {
        add_header(exchange, "Allow", problem->allow);
    }
    zd_problem_add(problem, req->id, &exchange->answer);
    return give(req, kind->http_status);
}

enum zd_next zd_respond_not_modified(struct zd_request *req, const struct zd_representation *rep)
{
    add_headers(exchange_of(req), rep);
    return give(req, 304);
}

enum zd_next zd_respond_range_outside(struct zd_request *req, uint64_t length)
{
    struct zd_error err = {0};
    err.status = zd_fail(
        &err, ZD_OUT_OF_BOUNDS, "the range is outside of %llu bytes", (unsigned long long)length);
    return zd_respond_error(req, "range_not_satisfiable", &err);
}

enum zd_next zd_respond_precondition(struct zd_request *req, const char *etag)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION, "the current tag is %s", etag);
    return zd_respond_error(req, "precondition_failed", &err);
}

enum zd_status zd_respond_condition(const struct zd_request *req, struct zd_representation *rep)
{
    return zd_request_condition(req, rep->etag, rep->mtime_ms);
}

bool zd_respond_renewed(struct zd_request *req, const struct zd_representation *rep)
{
    (void)req;
    (void)rep;
    return false;
}

enum zd_next zd_respond_options(struct zd_request *req, const char *allow, const char *methods)
{
    add_header(exchange_of(req), "Allow", allow);
    add_header(exchange_of(req), "Access-Control-Allow-Methods", methods);
    return give(req, 204);
}

static enum zd_next respond_whole(struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_fake_exchange *exchange = exchange_of(req);
    uint64_t first = 0;
    uint64_t len = 0;
    add_headers(exchange, rep);
    if (rep->body_is_range) {
        add_range(exchange, rep->range_first, rep->file != NULL ? rep->file->len : rep->body->len,
            rep->length);
    }
    if (rep->file != NULL) {
        add_file(&exchange->answer, rep->file);
    } else if (rep->body != NULL && rep->accepts_ranges &&
               zd_request_range(req, rep->body->len, rep->etag, &first, &len) == ZD_RANGE_PART) {
        add_range(exchange, first, len, rep->body->len);
        zd_text_add_bytes(&exchange->answer, rep->body->data + first, len);
        return give(req, 206);
    } else if (rep->body != NULL && !req->is_head) {
        zd_text_add_bytes(&exchange->answer, rep->body->data, rep->body->len);
    }
    const unsigned http_status = rep->http_status == 0 ? 200 : rep->http_status;
    return give(req, rep->body_is_range ? 206 : http_status);
}

enum zd_next zd_respond(struct zd_request *req, const struct zd_representation *rep)
{
    const bool is_ok = rep->http_status == 0 || rep->http_status == 200;
    if (is_ok && zd_request_is_reading(req)) {
        switch (zd_request_condition(req, rep->etag, rep->mtime_ms)) {
        case ZD_NOT_MODIFIED:
            return zd_respond_not_modified(req, rep);
        case ZD_PRECONDITION:
            return zd_respond_precondition(req, rep->etag);
        default:
            break;
        }
    }
    return respond_whole(req, rep);
}

enum zd_next zd_respond_stream(struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_fake_exchange *exchange = exchange_of(req);
    add_headers(exchange, rep);
    if (rep->body_is_range) {
        add_range(exchange, rep->range_first, rep->range_len, rep->length);
    }
    req->stream.state = ZD_STREAM_OPEN;
    (void)give(req, rep->body_is_range ? 206 : 200);
    zd_admit_answered(req);
    return ZD_NEXT;
}

/* ---- what tests call ---- */

void zd_fake_init(struct zd_fake_exchange *exchange, const struct zd_test_serve *serve,
    const char *method, const char *target)
{
    *exchange = (struct zd_fake_exchange){0};
    zd_text_init(&exchange->path, ZD_FAKE_TEXT_BYTES);
    zd_text_init(&exchange->reason, ZD_FAKE_TEXT_BYTES);
    zd_text_init(&exchange->headers, ZD_FAKE_TEXT_BYTES);
    zd_text_init(&exchange->answer, 64U * ZD_FAKE_TEXT_BYTES);
    zd_request_init(&exchange->request, serve->server, &exchange->path);
    exchange->request.method = method;
    exchange->request.target = target;
    exchange->request.id = "fake";
    exchange->request.is_head = strcmp(method, "HEAD") == 0;
    const struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    exchange->request.client.ip = zd_networks_ip_of((const struct sockaddr *)&here);
    exchange->request.client.is_local = true;
}

/* The lists of a head that the real front reads. */
static void read_head(struct zd_request *req)
{
    req->conditions = (struct zd_conditions){
        .if_match = zd_connection_header(req, "If-Match"),
        .if_none_match = zd_connection_header(req, "If-None-Match"),
        .if_modified_since = zd_connection_header(req, "If-Modified-Since"),
        .if_unmodified_since = zd_connection_header(req, "If-Unmodified-Since"),
        .if_range = zd_connection_header(req, "If-Range"),
        .range = zd_connection_header(req, "Range"),
    };
    req->sent_accept = zd_connection_header(req, "Accept");
    req->sent_accept_encoding = zd_connection_header(req, "Accept-Encoding");
    req->content_encoding = zd_connection_header(req, "Content-Encoding");
}

void zd_fake_start(struct zd_fake_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    read_head(req);
    if (!zd_request_is_reading(req) && zd_route_begin(req) && req->route->streams_body) {
        req->upload.state = ZD_UPLOAD_HEAD;
        req->upload.has_length = !exchange->body_is_chunked;
        req->upload.length = exchange->body_is_chunked ? 0 : exchange->body.len;
    } else if (exchange->body.len > 0) {
        req->body = zd_buf_copy(exchange->body);
        ck_assert_ptr_nonnull(req->body);
    }
    if (req->step == NULL) {
        req->step = zd_route_dispatch;
    }
    zd_machine_go_on(&req->machine);
}

/* The next piece of the body, when the steps have asked for it. */
static bool send_piece(struct zd_fake_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_upload *upload = &req->upload;
    if (upload->state == ZD_UPLOAD_HEAD && upload->is_asked) {
        upload->state = ZD_UPLOAD_OPEN;
    }
    if (upload->state != ZD_UPLOAD_OPEN) {
        return false;
    }
    const size_t n_left = exchange->body.len - exchange->n_sent;
    const size_t n =
        exchange->piece_bytes == 0 ? n_left : zd_min_u64(n_left, exchange->piece_bytes);
    const size_t n_put =
        n == 0 ? 0 : zd_upload_put(upload, exchange->body.ptr + exchange->n_sent, n);
    exchange->n_sent += n_put;
    if (exchange->n_sent == exchange->body.len) {
        zd_upload_end(upload);
    }
    return n_put > 0 || upload->state == ZD_UPLOAD_ENDED;
}

void zd_fake_turn(struct zd_fake_exchange *exchange)
{
    struct zd_list *link = zd_list_pop_front(&turns);
    if (link != NULL) {
        struct zd_fake_exchange *next = ZD_CONTAINER(link, struct zd_fake_exchange, turn);
        zd_machine_go_on(&next->request.machine);
    } else if (!read_answer(exchange) && (exchange->is_done || !send_piece(exchange))) {
        (void)uv_run(
            exchange->request.server->loop, zd_list_is_empty(&turns) ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    }
}

void zd_fake_finish(struct zd_fake_exchange *exchange)
{
    while (!exchange->is_done) {
        zd_fake_turn(exchange);
    }
    (void)read_answer(exchange);
}

void zd_fake_run(struct zd_fake_exchange *exchange)
{
    zd_fake_start(exchange);
    zd_fake_finish(exchange);
}

void zd_fake_hang_up(struct zd_fake_exchange *exchange)
{
    zd_list_remove(&exchange->turn);
    zd_request_end_waits(&exchange->request);
    exchange->is_done = true;
}

void zd_fake_done(struct zd_fake_exchange *exchange)
{
    zd_list_remove(&exchange->turn);
    zd_request_end(&exchange->request);
    zd_text_done(&exchange->path);
    zd_text_done(&exchange->reason);
    zd_text_done(&exchange->headers);
    zd_text_done(&exchange->answer);
}

void zd_fake_get(struct zd_fake_exchange *exchange, const struct zd_test_serve *serve,
    const char *target, const struct zd_header *header)
{
    zd_fake_init(exchange, serve, "GET", target);
    exchange->header = header;
    exchange->n_headers = header == NULL ? 0 : 1;
    zd_fake_run(exchange);
}

void zd_fake_put(const struct zd_test_serve *serve, const char *target, const char *media_type,
    struct zd_span body)
{
    const struct zd_header header = {"Content-Type", media_type};
    struct zd_fake_exchange exchange;
    zd_fake_init(&exchange, serve, "PUT", target);
    exchange.header = &header;
    exchange.n_headers = 1;
    exchange.body = body;
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status / 100 == 2, "%s: %s", target, exchange.code);
    zd_fake_done(&exchange);
}

void zd_fake_etag(const struct zd_fake_exchange *exchange, char to[ZD_TAG_BYTES])
{
    static const char name[] = "ETag: ";
    const char *at = exchange->headers.len == 0 ? NULL : strstr(exchange->headers.at, name);
    ck_assert_ptr_nonnull(at);
    at += strlen(name);
    const size_t len = strcspn(at, "\n");
    ck_assert_uint_lt(len, ZD_TAG_BYTES);
    memcpy(to, at, len);
    to[len] = '\0';
}

bool zd_fake_has(const struct zd_fake_exchange *exchange, const char *name, const char *value)
{
    ZD_SCOPED_TEXT(line, ZD_FAKE_TEXT_BYTES);
    zd_text_addf(&line, "%s: %s\n", name, value);
    return line.status == ZD_OK && exchange->headers.len > 0 &&
           strstr(exchange->headers.at, line.at) != NULL;
}
