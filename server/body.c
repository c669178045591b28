/* JSON bodies of requests. */
#include "server/body.h"

#include <string.h>
#include <strings.h>

#include "server/server.h"

#define JSON_TYPE "application/json"

static bool is_type(const char *content_type, const char *media_type)
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
    if (content_type != NULL && !is_type(content_type, media_type)) {
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
