/* Answers that are made of others: errors, texts, redirections. */
#include "server/request/respond.h"

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/request/request.h"

#define DETAIL_BYTES_MAX (ZD_ERROR_TEXT_BYTES + 256)
#define BLIND_BYTES_MAX  (64U << 10) /* longer than any path, whatever is escaped in it */
#define MS_PER_S         1000
#define RETRY_S_MAX      3600

/* Whether a status blames the server, whatever the request was found to be. */
static bool is_of_server(enum zd_status status)
{
    return status == ZD_NO_MEMORY || status == ZD_STORE || status == ZD_GONE ||
           status == ZD_TIMEOUT || status == ZD_PAUSED || status == ZD_CANCELLED ||
           status == ZD_INTERNAL;
}

/* When to ask again, in whole seconds. */
static uint32_t retry_s(const struct zd_error *err)
{
    const uint64_t ms = (err->facts.set & ZD_FACT_RETRY) != 0 ? err->facts.retry_ms : 0;
    return (uint32_t)zd_max_u64(1, zd_min_u64(zd_div_up(ms, MS_PER_S), RETRY_S_MAX));
}

enum zd_next zd_respond_error(struct zd_request *req, const char *code, const struct zd_error *err)
{
    const char *known =
        code != NULL && !is_of_server(err->status) ? code : zd_problem_code_of(err->status);
    struct zd_problem problem = {.code = known, .err = err};
    problem.retry_after_s = zd_problem_kind_of(&problem)->http_status == 503 ? retry_s(err) : 0;
    if (err->status == ZD_GONE && req->dataset != NULL) {
        zd_dataset_doubt(req->dataset);
    }
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_respond_suggestions(struct zd_request *req, const char *code,
    const struct zd_error *err, const struct zd_suggest *nearest)
{
    ZD_SCOPED_TEXT(detail, DETAIL_BYTES_MAX);
    ZD_AUTO(zd_json) extra = zd_suggest_json(nearest);
    zd_text_add(&detail, err->text);
    if (nearest->n > 0 && nearest->distance[0] <= ZD_SUGGEST_MEANT_MAX) {
        zd_text_addf(&detail, "; did you mean '%.200s'?", nearest->name[0]);
    }
    if (extra == NULL || detail.status != ZD_OK) {
        return zd_respond_no_memory(req, "suggestions");
    }
    const struct zd_problem problem = {
        .code = code, .err = err, .detail = detail.at, .extra = extra};
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_respond_faults(
    struct zd_request *req, const struct zd_faults *faults, const struct zd_error *err)
{
    const struct zd_problem problem = {
        .code = zd_problem_code_of_faults(faults), .err = err, .faults = faults};
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_respond_no_memory(struct zd_request *req, const char *what)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory for %s", what);
    return zd_respond_error(req, NULL, &err);
}

enum zd_next zd_respond_text(
    struct zd_request *req, const struct zd_text *json, struct zd_representation *rep)
{
    ZD_AUTO(zd_buf) body = NULL;
    const enum zd_status status = zd_text_buf(json, &body);
    if (status != ZD_OK) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, status, "the answer does not fit %zu bytes", json->len_max);
        zd_fact_limit(&err, json->len_max, json->len);
        return zd_respond_error(req, NULL, &err);
    }
    if (rep->media_type == NULL) {
        rep->media_type = "application/json";
    }
    rep->body = body;
    if (rep->etag[0] == '\0' && zd_request_is_reading(req)) {
        zd_tag_format(rep->etag, zd_hash_of(zd_buf_span(body), 0), "doc");
    }
    const enum zd_next next = zd_respond(req, rep);
    rep->body = NULL;
    return next;
}

enum zd_next zd_respond_blind(struct zd_request *req, unsigned http_status)
{
    struct zd_representation answer = {.http_status = http_status};
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, BLIND_BYTES_MAX);
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "path", req->path);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &answer);
}

enum zd_next zd_respond_embedded(
    struct zd_request *req, const struct zd_embedded *file, struct zd_representation *rep)
{
    ZD_AUTO(zd_buf) body = zd_embedded_read(file);
    if (body == NULL) {
        return zd_respond_no_memory(req, "the answer; retry later");
    }
    zd_tag_format(rep->etag, zd_hash_of(file->packed, 0), "file");
    rep->keep_until_ms = UINT64_MAX;
    rep->body = body;
    const enum zd_next next = zd_respond(req, rep);
    rep->body = NULL;
    return next;
}

enum zd_next zd_respond_redirect(struct zd_request *req, unsigned http_status, const char *location)
{
    const struct zd_representation rep = {
        .http_status = http_status,
        .header = {{"Location", location}},
        .n_headers = 1,
    };
    return zd_respond(req, &rep);
}
