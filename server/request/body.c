/* Bodies of requests: whole ones, and JSON. */
#include "server/request/body.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/request/admit.h"
#include "server/request/connection.h"
#include "server/request/respond.h"
#include "server/request/task.h"
#include "server/runtime/server.h"

#define WINDOW_BYTES (256U << 10) /* of a body that is collected */
#define WAKE_PART    2            /* of a window must be free before more is read */
#define FIRST_BYTES  (64U << 10)  /* of room for a body of unknown length */

/* Reading JSON: measured at 50 to 100 MB/s. */
#define PARSE_NS_PER_BYTE 20

bool zd_body_is_type(const char *content_type, const char *media_type)
{
    const size_t len = strlen(media_type);
    if (strncasecmp(content_type, media_type, len) != 0) {
        return false;
    }
    const char *rest = content_type + len + strspn(content_type + len, " \t");
    return *rest == '\0' || *rest == ';';
}

enum zd_status zd_body_check(const struct zd_request *req, const char *media_type,
    const char **ret_code, struct zd_error *err)
{
    const char *content_type = zd_connection_header(req, "Content-Type");
    if (content_type != NULL && !zd_body_is_type(content_type, media_type)) {
        *ret_code = "unsupported_media_type";
        return zd_fail_expected(err, ZD_UNSUPPORTED, NULL, content_type,
            "the body must be %s, not %s", media_type, content_type);
    }
    *ret_code = "bad_body";
    if (req->body == NULL || req->body->len == 0) {
        const enum zd_status status =
            zd_fail(err, ZD_INVALID, "the request has no body: expected a JSON object");
        zd_fact_pointer(err, "");
        return status;
    }
    return ZD_OK;
}

enum zd_next zd_body_check_plain(struct zd_request *req)
{
    static const char *const plain[] = {"identity", NULL};
    const char *coding = req->content_encoding;
    struct zd_problem problem = {.code = "unsupported_media_type"};
    if (coding != NULL && strcasecmp(coding, plain[0]) != 0) { /* RFC 9110, 8.4 */
        problem.detail = "send the body without Content-Encoding";
        problem.allowed = plain;
    } else if (zd_connection_header(req, "Content-Range") != NULL) { /* RFC 9110, 14.5 */
        problem.code = "bad_request";
        problem.detail = "send the whole body without Content-Range";
    } else {
        return ZD_NEXT;
    }
    return zd_respond_problem(req, &problem);
}

enum zd_status zd_body_fault(
    struct zd_error *err, const char *pointer, const char *expected, const struct zd_json *found)
{
    const char *type = zd_json_type_name(found);
    const enum zd_status status =
        zd_fail_expected(err, ZD_INVALID, expected, type, "%s%sthe body: expected %s, found %s",
            pointer, pointer[0] == '\0' ? "" : " of ", expected, type);
    zd_fact_pointer(err, pointer);
    return status;
}

enum zd_status zd_body_check_members(const struct zd_json *body, const char *const *names,
    const char *expected, struct zd_error *err)
{
    const struct zd_pointer root = {.text = ""};
    if (!zd_json_is(body, ZD_JSON_OBJECT)) {
        return zd_body_fault(err, "", "an object", body);
    }
    for (void *iter = zd_json_next(body, NULL); iter != NULL; iter = zd_json_next(body, iter)) {
        const char *const *known = names;
        while (*known != NULL && strcmp(*known, zd_json_iter_name(iter)) != 0) {
            known++;
        }
        if (*known == NULL) {
            const struct zd_pointer at = zd_pointer_member(&root, zd_json_iter_name(iter));
            return zd_body_fault(err, at.text, expected, zd_json_iter_value(iter));
        }
    }
    return ZD_OK;
}

enum zd_next zd_body_refuse(
    struct zd_request *req, const char *media_type, const char *code, const struct zd_error *err)
{
    const char *const allowed[] = {media_type, NULL};
    if (err->status == ZD_NO_MEMORY) {
        return zd_respond_error(req, NULL, err); /* no fault of the body */
    }
    const struct zd_problem problem = {
        .code = code,
        .err = err,
        .allowed = err->status == ZD_UNSUPPORTED ? allowed : NULL,
    };
    return zd_respond_problem(req, &problem);
}

/* ---- parsing: on a worker when it is long ---- */

/** A text that is parsed: outlives its request when a worker has it by then. */
struct zd_parsing {
    struct zd_task task;
    struct zd_buf *body; /* a reference, or NULL */
    uint8_t *text;       /* in place of that; owned, or NULL */
    size_t len;
    const char *media_type; /* of the body */
    struct zd_json_limits limits;
    struct zd_json *json; /* the outcome; owned, or NULL */
    struct zd_error err;
    enum zd_status status;
};

static void free_parsing(struct zd_task *task)
{
    struct zd_parsing *parsing = ZD_CONTAINER(task, struct zd_parsing, task);
    zd_buf_unref(parsing->body);
    zd_free(parsing->text);
    zd_json_unref(parsing->json);
    zd_free(parsing);
}

static void parse(struct zd_task *task)
{
    struct zd_parsing *parsing = ZD_CONTAINER(task, struct zd_parsing, task);
    const struct zd_span text = {
        .ptr = parsing->body == NULL ? parsing->text : parsing->body->data, .len = parsing->len};
    parsing->status = zd_json_parse(text, &parsing->limits, &parsing->json, &parsing->err);
}

static enum zd_next start(struct zd_parsing *parsing)
{
    return zd_task_run(&parsing->task, parsing->len * PARSE_NS_PER_BYTE);
}

static struct zd_parsing *new_parsing(struct zd_request *req)
{
    struct zd_parsing *parsing = zd_alloc_zero(1, sizeof *parsing);
    zd_body_release(req);
    if (parsing != NULL) {
        zd_task_init(&parsing->task, req, parse, free_parsing);
        req->own.parsing = parsing;
    }
    return parsing;
}

void zd_body_release(struct zd_request *req)
{
    struct zd_parsing *parsing = ZD_TAKE(req->own.parsing);
    if (parsing != NULL) {
        zd_task_leave(&parsing->task);
    }
}

static enum zd_next step_parsed(struct zd_request *req)
{
    struct zd_parsing *parsing = req->own.parsing;
    struct zd_error *err = &parsing->err;
    if (parsing->status == ZD_OK) {
        zd_json_unref(req->json);
        req->json = ZD_TAKE(parsing->json);
        zd_body_release(req);
        req->step = req->own.next;
        return ZD_NEXT;
    }
    if (parsing->status == ZD_INVALID) {
        zd_fact_pointer(err, "");
    }
    const bool is_large = parsing->status == ZD_TOO_LARGE;
    return zd_body_refuse(req, parsing->media_type, is_large ? "too_large" : "bad_body", err);
}

enum zd_next zd_body_want_json(struct zd_request *req, const char *media_type, zd_step *next)
{
    const struct zd_settings *settings = &req->server->config->settings;
    struct zd_error err = {0};
    const char *code = NULL;
    if (zd_body_check(req, media_type, &code, &err) != ZD_OK) {
        return zd_body_refuse(req, media_type, code, &err);
    }
    struct zd_parsing *parsing = new_parsing(req);
    if (parsing == NULL) {
        return zd_respond_no_memory(req, "the body");
    }
    parsing->media_type = media_type;
    parsing->body = zd_buf_ref(req->body);
    parsing->len = req->body->len;
    parsing->limits = (struct zd_json_limits){
        .bytes_max = settings->limits_body_bytes,
        .nodes_max = settings->limits_document_nodes,
        .depth_max = settings->limits_document_depth,
    };
    req->own.next = next;
    req->step = step_parsed;
    return start(parsing);
}

enum zd_next zd_body_parse(
    struct zd_request *req, uint8_t **text, size_t len, const struct zd_json_limits *limits)
{
    struct zd_parsing *parsing = new_parsing(req);
    if (parsing == NULL) {
        return ZD_NEXT;
    }
    parsing->text = ZD_TAKE(*text);
    parsing->len = len;
    parsing->limits = *limits;
    return start(parsing);
}

bool zd_body_is_parsed(const struct zd_request *req)
{
    return req->own.parsing != NULL && !req->own.parsing->task.is_running;
}

enum zd_status zd_body_take_parsed(
    struct zd_request *req, uint8_t **ret_text, struct zd_json **ret_json, struct zd_error *err)
{
    struct zd_parsing *parsing = req->own.parsing;
    if (parsing == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the body");
    }
    const enum zd_status status = parsing->status;
    if (status == ZD_OK) {
        *ret_text = ZD_TAKE(parsing->text);
        *ret_json = ZD_TAKE(parsing->json);
    } else if (err != NULL) {
        *err = parsing->err;
    }
    zd_body_release(req);
    return status;
}

/* ---- a body that comes as a stream ---- */

enum zd_status zd_body_stream_ask(struct zd_request *req, size_t window_bytes, struct zd_error *err)
{
    struct zd_upload *upload = &req->upload;
    assert(upload->state == ZD_UPLOAD_HEAD || upload->is_asked);
    if (upload->is_asked &&
        (upload->state == ZD_UPLOAD_ENDED || upload->window->cap >= window_bytes)) {
        return ZD_OK;
    }
    if (!zd_upload_widen(upload, window_bytes)) {
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory to receive %zu bytes of the body", window_bytes);
    }
    upload->is_asked = true;
    zd_connection_wake(req);
    return ZD_OK;
}

enum zd_next zd_body_stream_want(struct zd_request *req, size_t n_least)
{
    struct zd_upload *upload = &req->upload;
    assert(n_least >= 1 && n_least <= upload->window->cap);
    req->wait.done = zd_machine_wake;
    req->wait.context = &req->machine;
    if (zd_upload_want(upload, n_least, &req->wait) == ZD_NEXT) {
        return ZD_NEXT;
    }
    zd_admit_answered(req);  /* a slow writer keeps its bytes, not its place */
    zd_connection_wake(req); /* the window may have been full until now */
    req->times.waits_for = ZD_TIME_RECEIVE;
    return ZD_WAIT;
}

size_t zd_body_stream_take(struct zd_request *req, void *to, size_t len_max)
{
    struct zd_upload *upload = &req->upload;
    const size_t n = zd_upload_take(upload, to, len_max);
    if (upload->state == ZD_UPLOAD_OPEN && upload->held_bytes <= upload->window->cap / WAKE_PART) {
        zd_connection_wake(req);
    }
    return n;
}

static enum zd_next respond_too_long(struct zd_request *req, uint64_t least)
{
    const uint64_t most = req->own.collect_bytes_max;
    struct zd_error err = {0};
    err.status = zd_fail_limit(
        &err, most, least, "the body exceeds the limit of %llu bytes", (unsigned long long)most);
    return zd_respond_error(req, NULL, &err);
}

/* Twice the room, when the length was not known. */
static bool grow(struct zd_request *req)
{
    const struct zd_buf *old = req->body;
    struct zd_buf *grown =
        zd_buf_new(zd_min_u64(2 * (uint64_t)old->cap, req->own.collect_bytes_max));
    if (grown == NULL) {
        return false;
    }
    memcpy(grown->data, old->data, old->len);
    grown->len = old->len;
    zd_buf_unref(req->body);
    req->body = grown;
    return true;
}

static enum zd_next step_collect(struct zd_request *req)
{
    while (!zd_upload_is_over(&req->upload)) {
        struct zd_buf *body = req->body;
        body->len += zd_body_stream_take(req, body->data + body->len, body->cap - body->len);
        if (zd_upload_is_over(&req->upload)) {
            break;
        }
        if (body->len == body->cap && body->cap >= req->own.collect_bytes_max &&
            !req->upload.has_length) {
            return respond_too_long(req, body->len + 1);
        }
        if (body->len == body->cap && !req->upload.has_length && !grow(req)) {
            return zd_respond_no_memory(req, "the body");
        }
        const uint64_t room = zd_max_u64(req->body->cap - req->body->len, 1);
        if (zd_body_stream_want(req, zd_min_u64(room, req->upload.window->cap / 2)) == ZD_WAIT) {
            return ZD_WAIT;
        }
    }
    if (req->body->len == 0) {
        zd_buf_unref(ZD_TAKE(req->body));
    }
    req->step = req->own.next;
    return ZD_NEXT;
}

enum zd_next zd_body_collect(struct zd_request *req, uint64_t bytes_max, zd_step *next)
{
    const struct zd_upload *upload = &req->upload;
    struct zd_error err = {0};
    req->own.collect_bytes_max = zd_max_u64(bytes_max, 1);
    req->own.next = next;
    if (upload->has_length && upload->length > bytes_max) {
        return respond_too_long(req, upload->length);
    }
    const uint64_t room = upload->has_length ? zd_max_u64(upload->length, 1)
                                             : zd_min_u64(FIRST_BYTES, req->own.collect_bytes_max);
    req->body = zd_buf_new(room);
    if (req->body == NULL) {
        return zd_respond_no_memory(req, "the body");
    }
    req->step = step_collect;
    if (zd_body_stream_ask(req, WINDOW_BYTES, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return ZD_NEXT;
}
