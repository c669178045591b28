/* Prepared answers, by target: a hot one costs no step and builds nothing. */
#include "server/kept.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/num.h"
#include "server/accept.h"
#include "server/reply.h"
#include "server/server.h"

#define KEPT_COST_BYTES 2048 /* of a kept answer besides its body: headers, structures */

/** An answer that is kept: a representation (response, body) or a problem (document). */
struct zd_kept {
    struct zd_cache_entry entry; /* first; key: target */
    char *target;
    uint64_t keep_until_ms;
    const struct zd_handler *handler;
    const struct zd_route *route;
    uint32_t route_number;
    /* a representation */
    struct MHD_Response *response; /* shared by all who ask; NULL: a problem */
    char *id;                      /* its X-Request-Id, ZD_MADE_ID_LEN bytes in its memory */
    struct zd_buf *body;
    bool accepts_ranges;
    char etag[ZD_TAG_BYTES];
    int64_t mtime_ms;
    /* a problem */
    const char *problem_code;
    char *document;
    size_t document_len;
    size_t instance_at; /* where the id stands in the document */
};

static void kept_free(struct zd_cache_entry *entry)
{
    struct zd_kept *kept = ZD_CONTAINER(entry, struct zd_kept, entry);
    if (kept->response != NULL) {
        MHD_destroy_response(kept->response);
    }
    zd_buf_unref(kept->body);
    zd_free(kept->document);
    zd_free(kept->target);
    zd_free(kept);
}

bool zd_kept_may(const struct zd_request *req, uint64_t keep_until_ms)
{
    return keep_until_ms > uv_now(req->server->loop) && !req->server->is_draining &&
           zd_request_is_reading(req) && (req->dataset == NULL || !req->dataset->is_retired);
}

/* Put an answer into the table in place of an older one; takes it over, whatever happens. */
static void keep(struct zd_request *req, struct zd_kept *kept, size_t bytes)
{
    struct zd_cache *cache = &req->server->http->kept;
    kept->entry.owner = req->dataset;
    kept->handler = req->handler;
    kept->route = req->route;
    kept->route_number = req->route_number;
    kept->target = zd_strdup(req->target);
    if (kept->target == NULL) {
        kept_free(&kept->entry);
        return;
    }
    kept->entry.map.key = zd_span_of(kept->target);
    struct zd_map_entry *older = zd_map_find(&cache->map, kept->entry.map.key);
    if (older != NULL) {
        zd_cache_drop(cache, ZD_CONTAINER(older, struct zd_cache_entry, map));
    }
    if (zd_cache_put(cache, &kept->entry) != ZD_OK) {
        kept_free(&kept->entry);
        return;
    }
    zd_cache_charge(cache, &kept->entry, bytes + KEPT_COST_BYTES + kept->entry.map.key.len);
    zd_cache_unref(cache, &kept->entry);
}

static size_t find_instance(const struct zd_text *document, const char *id)
{
    ZD_SCOPED_TEXT(member, ZD_REQUEST_ID_MAX + 16);
    zd_text_addf(&member, "\"instance\":\"%s\"", id);
    const char *at = strstr(document->at, member.at);
    return at == NULL ? 0 : (size_t)(at - document->at) + strlen("\"instance\":\"");
}

void zd_kept_put_problem(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_text *document)
{
    struct zd_kept *kept = zd_alloc_zero(1, sizeof *kept);
    if (kept == NULL) {
        return;
    }
    kept->keep_until_ms = problem->keep_until_ms;
    kept->problem_code = zd_problem_kind(problem->code)->code;
    kept->instance_at = find_instance(document, req->id);
    const size_t id_len = strlen(req->id);
    kept->document_len = document->len - id_len;
    kept->document = zd_alloc(kept->document_len + 1);
    if (kept->document == NULL || kept->instance_at == 0) {
        kept_free(&kept->entry);
        return;
    }
    memcpy(kept->document, document->at, kept->instance_at);
    memcpy(kept->document + kept->instance_at, document->at + kept->instance_at + id_len,
        kept->document_len - kept->instance_at + 1);
    keep(req, kept, kept->document_len);
}

void zd_kept_put(
    struct zd_request *req, const struct zd_representation *rep, struct MHD_Response *response)
{
    const char *id = MHD_get_response_header(response, "X-Request-Id");
    struct zd_kept *kept = NULL;
    if (id == NULL || strlen(id) != ZD_MADE_ID_LEN ||
        (kept = zd_alloc_zero(1, sizeof *kept)) == NULL) {
        MHD_destroy_response(response);
        return;
    }
    kept->keep_until_ms = rep->keep_until_ms;
    kept->response = response;
    kept->id = (char *)(uintptr_t)id;
    kept->body = zd_buf_ref(rep->body);
    kept->accepts_ranges = rep->accepts_ranges;
    memcpy(kept->etag, rep->etag, sizeof kept->etag);
    kept->mtime_ms = rep->mtime_ms;
    keep(req, kept, rep->body->len);
}

static void answer_kept_problem(struct zd_request *req, const struct zd_kept *kept)
{
    struct zd_text *document = &req->server->http->scratch;
    zd_text_clear(document);
    zd_text_add_bytes(document, kept->document, kept->instance_at);
    zd_text_add(document, req->id);
    zd_text_add_bytes(
        document, kept->document + kept->instance_at, kept->document_len - kept->instance_at);
    (void)zd_reply_document(req, kept->problem_code, document);
    req->server->metrics.n_problems++;
}

static enum MHD_Result copy_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcmp(name, "X-Request-Id") != 0) {
        zd_reply_add_header(cls, name, value);
    }
    return MHD_YES;
}

/* A response of its own with the kept one's headers: a part, or another length of id. */
static void answer_kept_copy(struct zd_request *req, const struct zd_kept *kept, uint64_t first,
    uint64_t len, unsigned http_status)
{
    struct MHD_Response *response = zd_reply_window(kept->body, first, len);
    if (response != NULL) {
        zd_reply_add_header(response, "X-Request-Id", req->id);
        (void)MHD_get_response_headers(kept->response, copy_header, response);
        if (http_status == MHD_HTTP_PARTIAL_CONTENT) {
            zd_reply_add_range(response, first, len, kept->body->len);
        }
    }
    (void)zd_reply_give(req, http_status, response, len);
}

/* The shared response. libmicrohttpd renders the head when the response is queued, within the same
 * call of the access handler and on this thread: the id that it stores can be overwritten for each
 * request, so that a hot answer builds nothing. */
static void answer_kept_shared(
    struct zd_request *req, const struct zd_kept *kept, unsigned http_status)
{
    memcpy(kept->id, req->id, ZD_MADE_ID_LEN);
    (void)zd_reply_give(req, http_status, kept->response, kept->body->len);
    req->answer_is_borrowed = true;
}

static bool answer_kept_representation(struct zd_request *req, const struct zd_kept *kept)
{
    const enum zd_status condition = zd_request_condition(req, kept->etag, kept->mtime_ms);
    if (condition == ZD_PRECONDITION) {
        return false;
    }
    uint64_t first = 0;
    uint64_t len = kept->body->len;
    enum zd_range_answer range = ZD_RANGE_NONE;
    if (condition == ZD_OK && kept->accepts_ranges && req->conditions.range != NULL) {
        range = zd_request_range(req, len, kept->etag, kept->mtime_ms, &first, &len);
    }
    if (range == ZD_RANGE_OUTSIDE) {
        return false;
    }
    const bool fits = strlen(req->id) == ZD_MADE_ID_LEN;
    if (range == ZD_RANGE_NONE && fits) {
        answer_kept_shared(
            req, kept, condition == ZD_NOT_MODIFIED ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK);
        return true;
    }
    if (condition == ZD_NOT_MODIFIED) {
        return false;
    }
    answer_kept_copy(
        req, kept, first, len, range == ZD_RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK);
    return true;
}

/* A client that refuses the kept type is answered by the handler, which knows what it may be. */
static bool accepts_kept(const struct zd_request *req, const struct zd_kept *kept)
{
    const char *accept = zd_request_header(req, "Accept");
    const char *type =
        kept->response == NULL ? NULL : MHD_get_response_header(kept->response, "Content-Type");
    return accept == NULL || type == NULL || zd_accept_quality(accept, type) > 0;
}

bool zd_kept_answer(struct zd_request *req)
{
    struct zd_cache *cache = &req->server->http->kept;
    const struct zd_span key = {(const uint8_t *)req->target, req->target_text.len};
    struct zd_cache_entry *entry = zd_cache_find(cache, key);
    if (entry == NULL) {
        return false;
    }
    const struct zd_kept *kept = ZD_CONTAINER(entry, struct zd_kept, entry);
    if (kept->keep_until_ms <= uv_now(req->server->loop) || req->server->is_draining) {
        zd_cache_drop(cache, entry);
        return false;
    }
    if (!accepts_kept(req, kept)) {
        return false;
    }
    req->handler = kept->handler;
    req->route = kept->route;
    req->route_number = kept->route_number;
    if (kept->response == NULL) {
        answer_kept_problem(req, kept);
        return true;
    }
    return answer_kept_representation(req, kept);
}

void zd_kept_init(struct zd_http *http, size_t bytes_max)
{
    zd_cache_init(&http->kept, "replies", bytes_max, kept_free);
}

void zd_kept_done(struct zd_http *http)
{
    zd_cache_done(&http->kept);
}
