/* Find the route of a request and its first step, or answer with a problem. */
#include "server/request/dispatch.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/http/suggest.h"
#include "server/request/respond.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define ALLOW_BYTES_MAX  256
#define NAME_BYTES_MAX   64 /* of a dataset: no name is longer */
#define DETAIL_BYTES_MAX (ZD_ERROR_TEXT_BYTES + 256)
#define MEANT_MAX        3 /* slips, up to which a name is taken for what was meant */

/* A problem with what may have been meant instead. */
static enum zd_next refuse_name(struct zd_request *req, const char *code,
    const struct zd_error *err, const struct zd_suggest *nearest)
{
    ZD_SCOPED_TEXT(detail, DETAIL_BYTES_MAX);
    ZD_AUTO(zd_json) extra = zd_suggest_json(nearest);
    zd_text_add(&detail, err->text);
    if (nearest->n > 0 && nearest->distance[0] <= MEANT_MAX) {
        zd_text_addf(&detail, "; did you mean '%.200s'?", nearest->name[0]);
    }
    if (extra == NULL || detail.status != ZD_OK) {
        return zd_respond_no_memory(req, "suggestions");
    }
    const struct zd_problem problem = {
        .code = code, .err = err, .detail = detail.at, .extra = extra};
    return zd_respond_problem(req, &problem);
}

/* The routes that begin as the path does, or are a slip away. */
static enum zd_next refuse_route(struct zd_request *req)
{
    struct zd_error err = {0};
    struct zd_suggest nearest = {.n = 0};
    const char *path = req->path_text->at;
    const size_t len = path[0] == '/' ? 1 + strcspn(path + 1, "/") : 0;
    err.status = zd_fail(&err, ZD_NOT_FOUND, "no resource has the path '%.200s'", path);
    for (uint32_t i = 1; zd_route_of(zd_handlers, i) != NULL; i++) {
        const char *template = zd_route_of(zd_handlers, i)->path;
        const uint32_t distance = zd_suggest_path_distance(path, template);
        if (len <= 1 || distance <= MEANT_MAX || strncmp(template, path, len) == 0) {
            zd_suggest_add(&nearest, template, distance);
        }
    }
    return refuse_name(req, "no_such_route", &err, &nearest);
}

static enum zd_next refuse_method(
    struct zd_request *req, const struct zd_route *route, bool is_read_only)
{
    ZD_SCOPED_TEXT(allow, ALLOW_BYTES_MAX);
    zd_route_allow(zd_handlers, route, !is_read_only, &allow);
    ZD_SCOPED_TEXT(detail, ZD_ERROR_TEXT_BYTES);
    if (is_read_only) {
        zd_text_addf(&detail, "dataset '%s' is read-only; start with --writable to change it",
            req->dataset->config.name);
    } else {
        zd_text_addf(
            &detail, "method %.40s is not allowed here (allowed: %s)", req->method, allow.at);
    }
    const struct zd_problem problem = {
        .code = is_read_only ? "read_only" : "method_not_allowed",
        .detail = detail.at,
        .allow = allow.at,
    };
    return zd_respond_problem(req, &problem);
}

/* The store is open but no longer takes writes. */
static enum zd_next refuse_write(struct zd_request *req)
{
    struct zd_error err = {0};
    err.status =
        zd_fail(&err, ZD_READ_ONLY, "dataset '%s' stopped accepting writes after a failed sync: %s",
            req->dataset->config.name, zd_store_failure(req->dataset->store));
    return zd_respond_error(req, NULL, &err);
}

static enum zd_next refuse_unavailable(struct zd_request *req)
{
    struct zd_error err = {0};
    const struct zd_dataset *dataset = req->dataset;
    err.status = zd_fail(&err, ZD_STORE, "dataset '%s' is unavailable now: %.400s",
        dataset->config.name, zd_dataset_reason(dataset));
    const struct zd_problem problem = {
        .code = "store_error", .http_status = 503, .err = &err, .retry_after_s = 1};
    return zd_respond_problem(req, &problem);
}

static enum zd_next refuse_dataset(struct zd_request *req, struct zd_span name)
{
    struct zd_error err = {0};
    struct zd_suggest nearest = {.n = 0};
    char typed[NAME_BYTES_MAX + 1];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)zd_min_u64(name.len, NAME_BYTES_MAX),
        (const char *)name.ptr);
    err.status =
        zd_fail(&err, ZD_NOT_FOUND, "there is no dataset '%s'; /v1/datasets lists them", typed);
    for (size_t i = 0; i < req->server->n_datasets; i++) {
        zd_suggest_add_typed(&nearest, typed, req->server->dataset[i]->config.name);
    }
    return refuse_name(req, "dataset_not_found", &err, &nearest);
}

/* One that is repeated is known, and means itself. */
static enum zd_next refuse_params(
    struct zd_request *req, const char *const *allowed, const struct zd_error *err)
{
    struct zd_suggest nearest = {.n = 0};
    const bool is_named = allowed != NULL && (err->facts.set & ZD_FACT_NAME) != 0;
    for (size_t i = 0; is_named && allowed[i] != NULL; i++) {
        if (strcmp(allowed[i], err->facts.name) == 0) {
            nearest.n = 0;
            break;
        }
        zd_suggest_add_typed(&nearest, err->facts.name, allowed[i]);
    }
    return refuse_name(req, "unknown_parameter", err, &nearest);
}

/* Below /v1 every parameter must be known; `pretty` is known everywhere there. False: the request
 * is answered. */
static bool take_params(struct zd_request *req, struct zd_span query)
{
    struct zd_error err = {0};
    const char *const *allowed = req->route->params;
    const char *with_pretty[ZD_PARAMS_MAX + 2] = {"pretty"};
    if (allowed != NULL && strncmp(req->route->path, "/v1", 3) == 0) {
        for (size_t i = 0; allowed[i] != NULL && i < ZD_PARAMS_MAX; i++) {
            with_pretty[i + 1] = allowed[i];
        }
        allowed = with_pretty;
    }
    const enum zd_status status = zd_params_parse(query, allowed, &req->params, &err);
    if (status == ZD_INVALID) {
        (void)refuse_params(req, allowed, &err);
    } else if (status != ZD_OK) {
        (void)zd_respond_error(req, NULL, &err);
    }
    return status == ZD_OK;
}

static enum zd_next step_begin(struct zd_request *req)
{
    struct zd_span query;
    struct zd_error err = {0};
    (void)zd_route_path(req->target, &query);
    if (!take_params(req, query)) {
        return ZD_DONE;
    }
    bool is_pretty; /* the routes that take it do not look at it until they answer */
    if (req->route->params != NULL &&
        zd_params_flag(&req->params, "pretty", false, &is_pretty, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (req->route->needs_node) {
        return zd_request_want_node(req, req->route->first);
    }
    req->step = req->route->first;
    return ZD_NEXT;
}

/* The table has what is at the dataset's location now. */
static enum zd_next step_seen(struct zd_request *req)
{
    struct zd_dataset *dataset = zd_dataset_ref(zd_dataset_find(req->server, req->dataset_name));
    req->dataset = dataset;
    if (dataset == NULL) {
        return refuse_dataset(req, req->dataset_name);
    }
    if (req->route->needs_writable && !dataset->config.writable) {
        return refuse_method(req, req->route, true);
    }
    if (dataset->store == NULL) {
        return refuse_unavailable(req);
    }
    if (req->route->needs_writable && zd_store_failure(dataset->store)[0] != '\0') {
        return refuse_write(req);
    }
    req->n_changes = dataset->n_changes;
    req->step = step_begin;
    return ZD_NEXT;
}

/* Writers trust nothing that was seen earlier. */
static enum zd_next step_dataset(struct zd_request *req)
{
    struct zd_dataset *dataset = zd_dataset_find(req->server, req->dataset_name);
    if (dataset == NULL) {
        return refuse_dataset(req, req->dataset_name);
    }
    req->step = step_seen;
    req->wait.done = zd_machine_wake;
    req->wait.context = &req->machine;
    return zd_dataset_look(dataset, req->route->needs_writable ? ZD_FRESH : ZD_TRUSTED, &req->wait);
}

static void take_route(struct zd_request *req, const struct zd_match *match)
{
    req->route = match->route;
    req->route_number = match->number;
    req->dataset_name = match->dataset;
    req->path = match->path;
    req->path_ends_in_slash = match->ends_in_slash;
    req->step = match->dataset.len > 0 ? step_dataset : step_begin;
}

/* Whether the method writes to a read-only dataset; that is then the error. */
static bool writes_to_read_only(struct zd_request *req, const struct zd_match *match)
{
    const bool is_write = strcmp(req->method, "PUT") == 0 || strcmp(req->method, "PATCH") == 0 ||
                          strcmp(req->method, "DELETE") == 0;
    if (is_write && match->dataset.len > 0) {
        req->dataset = zd_dataset_ref(zd_dataset_find(req->server, match->dataset));
    }
    return is_write && req->dataset != NULL && !req->dataset->config.writable;
}

/* What the path takes. Where there is nothing it is everything, so that a browser asks, and learns
 * that from the answer. */
static enum zd_status options_of(
    struct zd_request *req, struct zd_text *allow, struct zd_error *err)
{
    struct zd_match match = {0};
    struct zd_span query;
    const struct zd_span raw = zd_route_path(req->target, &query);
    const enum zd_status status = zd_route_decode(raw, req->path_text, err);
    if (status != ZD_OK && status != ZD_INVALID) {
        return status;
    }
    if (status == ZD_INVALID ||
        zd_route_find(zd_handlers, req->method, req->path_text->at, &match) != ZD_ROUTE_METHOD) {
        zd_text_add(allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    } else {
        const struct zd_dataset *dataset = zd_dataset_find(req->server, match.dataset);
        const bool with_writes = dataset == NULL || dataset->config.writable;
        zd_route_allow(zd_handlers, match.route, with_writes, allow);
    }
    return allow->status == ZD_OK ? ZD_OK
                                  : zd_fail(err, allow->status, "no memory for the methods");
}

static enum zd_next answer_options(struct zd_request *req)
{
    ZD_SCOPED_TEXT(allow, ALLOW_BYTES_MAX);
    struct zd_error err = {0};
    if (options_of(req, &allow, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_respond_options(req, allow.at);
}

bool zd_dispatch_route(struct zd_request *req)
{
    struct zd_match match = {0};
    struct zd_span query;
    const struct zd_span raw = zd_route_path(req->target, &query);
    if (zd_route_decode(raw, req->path_text, NULL) != ZD_OK ||
        zd_route_find(zd_handlers, req->method, req->path_text->at, &match) != ZD_ROUTE_FOUND) {
        return false;
    }
    take_route(req, &match);
    return true;
}

enum zd_next zd_dispatch(struct zd_request *req)
{
    static const struct zd_problem bad_slashes = {
        .code = "bad_path", .detail = "the path has an empty segment ('//')"};
    struct zd_error err = {0};
    struct zd_match match = {0};
    struct zd_span query;
    if (strcmp(req->method, "OPTIONS") == 0) {
        return answer_options(req);
    }
    const struct zd_span raw = zd_route_path(req->target, &query);
    if (zd_route_decode(raw, req->path_text, &err) != ZD_OK) {
        return zd_respond_error(req, err.status == ZD_INVALID ? "bad_path" : NULL, &err);
    }
    switch (zd_route_find(zd_handlers, req->method, req->path_text->at, &match)) {
    case ZD_ROUTE_FOUND:
        take_route(req, &match);
        return ZD_NEXT;
    case ZD_ROUTE_METHOD:
        return refuse_method(req, match.route, writes_to_read_only(req, &match));
    case ZD_ROUTE_BAD_SLASHES:
        return zd_respond_problem(req, &bad_slashes);
    case ZD_ROUTE_UNKNOWN:
        break;
    }
    return refuse_route(req);
}
