/* Responses of libmicrohttpd, and the answers of requests. */
#include "server/front/response.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/aside.h"
#include "server/front/cors.h"
#include "server/front/response_headers.h"
#include "server/http/redact.h"
#include "server/runtime/server.h"

#define PROBLEM_BYTES_MAX (1U << 20)
#define EXPOSED_BYTES_MAX 1024
#define REASON_LEN_MAX    (ZD_FRONT_REASON_BYTES - 1)

const char zd_response_emergency[] =
    "{\"type\":\"urn:zarrd:problem:internal\",\"title\":\"Internal server error\",\"status\":500,"
    "\"detail\":\"no memory for the answer\",\"code\":\"internal\"}\n";

/* ---- bodies ---- */

static void release_buf(void *buf)
{
    zd_buf_unref(buf);
}

struct MHD_Response *zd_response_of_window(struct zd_buf *body, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        (size_t)len, body->data + first, release_buf, body);
    if (response != NULL) {
        (void)zd_buf_ref(body); /* taken back by release_buf */
    }
    return response;
}

struct MHD_Response *zd_response_of_text(struct zd_span text)
{
    return MHD_create_response_from_buffer(
        text.len, (void *)(uintptr_t)text.ptr, MHD_RESPMEM_MUST_COPY);
}

static ssize_t no_bytes(void *cls, uint64_t position, char *to, size_t len_max)
{
    (void)cls;
    (void)position;
    (void)to;
    (void)len_max;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

struct MHD_Response *zd_response_of_length(uint64_t length)
{
    return MHD_create_response_from_callback(length, 1, no_bytes, NULL, NULL);
}

/* ---- answers ---- */

struct MHD_Response *zd_response_prepare(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct MHD_Response *response = rep->body == NULL
                                        ? zd_response_of_length(rep->length)
                                        : zd_response_of_window(rep->body, 0, rep->body->len);
    if (response != NULL) {
        zd_response_add_representation(req, rep, ZD_RESPONSE_ANY_ID, response);
        zd_response_add_body(rep, rep->body == NULL ? 0 : rep->body->len, response);
    }
    return response;
}

struct MHD_Response *zd_response_prepare_problem(
    const struct zd_request *req, struct zd_buf *document)
{
    struct MHD_Response *response = zd_response_of_window(document, 0, document->len);
    if (response != NULL) {
        zd_response_add_problem(req, ZD_RESPONSE_ANY_ID, ZD_PROBLEM_TYPE, response);
    }
    return response;
}

enum zd_next zd_response_give(struct zd_request *req, unsigned http_status,
    struct MHD_Response *response, uint64_t body_bytes)
{
    struct zd_exchange_now *now = &zd_front_exchange(req)->now;
    req->is_answered = true;
    now->response_is_shared = response == NULL;
    if (response == NULL) {
        now->response = req->server->front->emergency;
        now->access.http_status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        now->access.problem_code = "internal";
        now->access.reason = "no memory for the answer";
        now->access.body_bytes = req->is_head ? 0 : strlen(zd_response_emergency);
        return ZD_DONE;
    }
    now->response = response;
    now->access.http_status = http_status;
    now->access.body_bytes = req->is_head || http_status == MHD_HTTP_NOT_MODIFIED ? 0 : body_bytes;
    return ZD_DONE;
}

enum zd_next zd_response_give_document(struct zd_request *req, const struct zd_problem_kind *kind,
    const char *type, const struct zd_text *document)
{
    struct zd_exchange_now *now = &zd_front_exchange(req)->now;
    struct MHD_Response *response =
        document->status == ZD_OK ? zd_response_of_text(zd_text_span(document)) : NULL;
    if (response != NULL) {
        zd_response_add_problem(req, req->id, type, response);
    }
    if (zd_upload_is_open(&req->upload) && document->status == ZD_OK) {
        zd_buf_unref(now->document);
        now->document = zd_buf_copy(zd_text_span(document)); /* zd_response_add_last sends it */
    }
    now->access.problem_code = kind->code;
    return zd_response_give(req, kind->http_status, response, document->len);
}

void zd_response_keep_reason(struct zd_request *req, const char *reason)
{
    struct zd_exchange *exchange = zd_front_exchange(req);
    struct zd_text *text = &exchange->memory.reason;
    if (!zd_redact_text(reason, &exchange->memory.secrets, text)) {
        zd_text_add_bytes(text, reason, strnlen(reason, REASON_LEN_MAX));
    }
    if (text->len > 0) {
        zd_aside_tell(text->at);
        zd_text_cut(text, strlen(text->at));
    }
    exchange->now.access.reason = text->status == ZD_OK && text->len > 0 ? text->at : NULL;
}

/* ---- all of a front's ---- */

enum zd_status zd_response_init(struct zd_front *front, struct zd_error *err)
{
    zd_text_init(&front->scratch, PROBLEM_BYTES_MAX);
    zd_text_init(&front->exposed, EXPOSED_BYTES_MAX);
    zd_response_add_exposed(&front->exposed);
    front->emergency = MHD_create_response_from_buffer(strlen(zd_response_emergency),
        (char *)(uintptr_t)zd_response_emergency, MHD_RESPMEM_PERSISTENT);
    if (front->emergency == NULL || front->exposed.status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for prepared answers");
    }
    zd_response_add(front->emergency, "Content-Type", "application/problem+json");
    zd_response_add(front->emergency, "Cache-Control", "no-store");
    const char *origin = zd_cors_origin_of_all(front->server);
    if (origin != NULL) {
        zd_response_add(front->emergency, "Access-Control-Allow-Origin", origin);
    }
    return ZD_OK;
}

void zd_response_done(struct zd_front *front)
{
    zd_text_done(&front->scratch);
    zd_text_done(&front->exposed);
    if (front->emergency != NULL) {
        MHD_destroy_response(front->emergency);
        front->emergency = NULL;
    }
}
