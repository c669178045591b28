/* Answers that are made of others: errors, texts, redirections. */
#include "server/request/respond.h"

#include "core/base/hash.h"
#include "server/request/request.h"

/* Whether a status blames the server, whatever the request was found to be. */
static bool is_of_server(enum zd_status status)
{
    return status == ZD_NO_MEMORY || status == ZD_STORE || status == ZD_TIMEOUT ||
           status == ZD_CANCELLED || status == ZD_INTERNAL;
}

enum zd_next zd_respond_error(struct zd_request *req, const char *code, const struct zd_error *err)
{
    const char *known =
        code != NULL && !is_of_server(err->status) ? code : zd_problem_code_of(err->status);
    const struct zd_problem problem = {
        .code = known,
        .err = err,
        .retry_after_s = zd_problem_kind(known)->http_status == 503 ? 1 : 0,
    };
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

enum zd_next zd_respond_redirect(struct zd_request *req, unsigned http_status, const char *location)
{
    const struct zd_representation rep = {
        .http_status = http_status,
        .header = {{"Location", location}},
        .n_headers = 1,
    };
    return zd_respond(req, &rep);
}
