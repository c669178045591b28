/* Bodies of requests: whole ones, and JSON. */
#include "server/body.h"

#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/server.h"

#define JSON_TYPE    "application/json"
#define WINDOW_BYTES (256U << 10) /* of a body that is collected */
#define FIRST_BYTES  (64U << 10)  /* of room for one whose length is not known */

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
    const char *content_type = zd_request_header(req, "Content-Type");
    if (content_type != NULL && !zd_body_is_type(content_type, media_type)) {
        *ret_code = "unsupported_media_type";
        const enum zd_status status =
            zd_fail(err, ZD_UNSUPPORTED, "the body is to be %s, not %s", media_type, content_type);
        zd_fact_found(err, "%s", content_type);
        return status;
    }
    *ret_code = "bad_body";
    if (req->body == NULL || req->body->len == 0) {
        const enum zd_status status =
            zd_fail(err, ZD_INVALID, "the request has no body: a JSON object is expected");
        zd_fact_pointer(err, "");
        return status;
    }
    return ZD_OK;
}

bool zd_body_is_plain(struct zd_request *req)
{
    static const char *const plain[] = {"identity", NULL};
    const char *coding = zd_request_header(req, "Content-Encoding");
    struct zd_problem problem = {.code = "unsupported_media_type"};
    if (coding != NULL && strcasecmp(coding, plain[0]) != 0) { /* RFC 9110, 8.4 */
        problem.detail = "what is written is sent as it is, without a Content-Encoding";
        problem.allowed = plain;
    } else if (zd_request_header(req, "Content-Range") != NULL) { /* RFC 9110, 14.5 */
        problem.code = "bad_request";
        problem.detail = "what is written is sent as a whole, without a Content-Range";
    } else {
        return true;
    }
    (void)zd_respond_problem(req, &problem);
    return false;
}

enum zd_status zd_body_json(const struct zd_request *req, struct zd_json **ret_json,
    const char **ret_code, struct zd_error *err)
{
    return zd_body_json_as(req, JSON_TYPE, ret_json, ret_code, err);
}

enum zd_status zd_body_json_as(const struct zd_request *req, const char *media_type,
    struct zd_json **ret_json, const char **ret_code, struct zd_error *err)
{
    const struct zd_settings *settings = &req->server->config->settings;
    ZD_TRY(zd_body_check(req, media_type, ret_code, err));
    const struct zd_json_limits limits = {
        .bytes_max = settings->limits_body_bytes,
        .nodes_max = settings->limits_document_nodes,
        .depth_max = settings->limits_document_depth,
    };
    const enum zd_status status = zd_json_parse(zd_buf_span(req->body), &limits, ret_json, err);
    if (status == ZD_TOO_LARGE) {
        *ret_code = "too_large";
    } else if (status == ZD_INVALID) {
        zd_fact_pointer(err, "");
    }
    return status;
}

enum zd_status zd_body_fault(
    struct zd_error *err, const char *pointer, const char *expected, const struct zd_json *found)
{
    const enum zd_status status = zd_fail(err, ZD_INVALID, "%s%sthe body: expected %s, found %s",
        pointer, pointer[0] == '\0' ? "" : " of ", expected, zd_json_type_name(found));
    zd_fact_pointer(err, pointer);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%s", zd_json_type_name(found));
    return status;
}

enum zd_next zd_body_refuse(struct zd_request *req, const char *code, const struct zd_error *err)
{
    return zd_body_refuse_as(req, JSON_TYPE, code, err);
}

enum zd_next zd_body_refuse_as(
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

/* ---- all of a body that comes as a stream ---- */

static enum zd_next respond_too_long(struct zd_request *req, uint64_t least)
{
    const uint64_t most = req->collect_max;
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_TOO_LARGE, "the body is longer than the %llu bytes that may be",
        (unsigned long long)most);
    zd_fact_limit(&err, most, least);
    return zd_respond_error(req, NULL, &err);
}

static enum zd_next respond_no_memory(struct zd_request *req)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory for the body");
    return zd_respond_error(req, NULL, &err);
}

/* Twice the room, when the length was not known. */
static bool grow(struct zd_request *req)
{
    const struct zd_buf *old = req->body;
    struct zd_buf *grown = zd_buf_new(zd_min_u64(2 * (uint64_t)old->cap, req->collect_max));
    if (grown == NULL) {
        return false;
    }
    memcpy(grown->data, old->data, old->len);
    grown->len = old->len;
    zd_buf_unref(req->body);
    req->body = grown;
    return true;
}

static enum zd_next finish_body(struct zd_request *req)
{
    if (req->body->len == 0) {
        zd_buf_unref(ZD_TAKE(req->body));
    }
    req->step = req->after_body;
    return ZD_NEXT;
}

static enum zd_next step_collect(struct zd_request *req)
{
    while (!zd_upload_is_over(req)) {
        struct zd_buf *body = req->body;
        body->len += zd_upload_take(req, body->data + body->len, body->cap - body->len);
        if (zd_upload_is_over(req)) {
            break;
        }
        if (body->len == body->cap && body->cap >= req->collect_max && !req->upload.has_length) {
            return respond_too_long(req, body->len + 1);
        }
        if (body->len == body->cap && !req->upload.has_length && !grow(req)) {
            return respond_no_memory(req);
        }
        const uint64_t room = zd_max_u64(req->body->cap - req->body->len, 1);
        if (zd_upload_want(req, zd_min_u64(room, req->upload.window->cap / 2)) == ZD_WAIT) {
            return ZD_WAIT;
        }
    }
    return finish_body(req);
}

enum zd_next zd_body_collect(struct zd_request *req, uint64_t bytes_max, zd_step *next)
{
    const struct zd_upload *upload = &req->upload;
    struct zd_error err = {0};
    req->collect_max = zd_max_u64(bytes_max, 1);
    req->after_body = next;
    if (upload->has_length && upload->length > bytes_max) {
        return respond_too_long(req, upload->length);
    }
    const uint64_t room = upload->has_length ? zd_max_u64(upload->length, 1)
                                             : zd_min_u64(FIRST_BYTES, req->collect_max);
    req->body = zd_buf_new(room);
    if (req->body == NULL) {
        return respond_no_memory(req);
    }
    req->step = step_collect;
    if (zd_upload_ask(req, WINDOW_BYTES, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return ZD_NEXT;
}
