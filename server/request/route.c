/* Which handler answers a path: templates against decoded paths; a request's way to its first step.
 */
#include "server/request/route.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/http/escape.h"
#include "server/http/redact.h"
#include "server/http/suggest.h"
#include "server/http/foreign_param.h"
#include "server/request/connection.h"
#include "server/request/permission.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define ALLOW_BYTES_MAX 256
#define NAME_BYTES_MAX  64 /* of a dataset: no name is longer */

/* ---- which route ---- */

struct zd_span zd_route_path(const char *target, struct zd_span *ret_query)
{
    /* RFC 9112, 3.2.2: an absolute target is the same resource. */
    const size_t scheme = target[0] == '/'                          ? 0
                          : strncasecmp(target, "http://", 7) == 0  ? 7
                          : strncasecmp(target, "https://", 8) == 0 ? 8
                                                                    : 0;
    if (scheme > 0) {
        target += scheme;
        target += strcspn(target, "/?");
    }
    const size_t len = strcspn(target, "?");
    const char *query = target[len] == '?' ? target + len + 1 : target + len;
    *ret_query = zd_span_of(query);
    if (scheme > 0 && len == 0) {
        return zd_span_of("/");
    }
    return (struct zd_span){.ptr = (const uint8_t *)target, .len = len};
}

static bool has_dot_segment(const char *path)
{
    while (*path != '\0') {
        path += strspn(path, "/");
        const size_t len = strcspn(path, "/");
        if ((len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.')) {
            return true;
        }
        path += len;
    }
    return false;
}

enum zd_status zd_route_decode(struct zd_span raw, struct zd_text *to, struct zd_error *err)
{
    zd_text_clear(to);
    /* The same bytes first: decoding never makes them longer, so it is done in place. */
    if (zd_text_add_bytes(to, raw.ptr, raw.len) != ZD_OK) {
        return zd_fail(err, to->status, "no memory for a path of %zu bytes", raw.len);
    }
    if (raw.len == 0 || raw.ptr[0] != '/') {
        return zd_fail(err, ZD_INVALID, "the path does not begin with '/'");
    }
    ZD_TRY(zd_escape_percent_decode(raw, to->at, &to->len, err));
    if (has_dot_segment(to->at)) {
        return zd_fail(err, ZD_INVALID, "the path has a '.' or '..' segment");
    }
    return ZD_OK;
}

/* The values of a template's variables. */
struct taken {
    struct zd_span dataset;
    char *rest; /* from {path} or {key} on; NULL when the template has none */
};

static bool is_last_variable(const char *template)
{
    return strncmp(template, "{path}", 6) == 0 || strncmp(template, "{key}", 5) == 0;
}

/* "/v1/" is "/v1": the slash that the template does not have. */
static bool is_last_slash(const char *rest)
{
    return rest[0] == '/' && rest[1] == '\0' && rest[-1] != '/';
}

static bool matches(const char *template, char *path, struct taken *ret_taken)
{
    struct taken taken = {0};
    while (*template != '\0') {
        if (*template != '{' && *template == *path) { /* most characters are */
            template ++;
            path++;
        } else if (strncmp(template, "{d}", 3) == 0) {
            taken.dataset = (struct zd_span){(const uint8_t *)path, strcspn(path, "/")};
            if (taken.dataset.len == 0) {
                return false;
            }
            path += taken.dataset.len;
            template += 3;
        } else if (is_last_variable(template) ||
                   (*template == '/' && *path == '\0' && is_last_variable(template + 1))) {
            taken.rest = path;
            *ret_taken = taken;
            return true;
        } else {
            return false;
        }
    }
    *ret_taken = taken;
    return *path == '\0' || is_last_slash(path);
}

static void collapse(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0'; from++) {
        if (!(*from == '/' && (to == path || to[-1] == '/'))) {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Sets path and ends_in_slash from the rest; false: runs of slashes that must not be. */
static bool take_rest(const struct zd_route *route, char *rest, struct zd_match *match)
{
    static char nothing[1] = "";
    match->path = nothing;
    match->ends_in_slash = false;
    if (rest == NULL) {
        return true;
    }
    if (route->collapse_slashes) {
        match->ends_in_slash = rest[-1] == '/' && rest[strspn(rest, "/")] == '\0';
        collapse(rest);
    } else if (rest[0] == '/' || strstr(rest, "//") != NULL) {
        return false;
    } else {
        match->ends_in_slash = rest[0] == '\0' && rest[-1] == '/';
    }
    const size_t len = strlen(rest);
    if (len > 0 && rest[len - 1] == '/') {
        rest[len - 1] = '\0';
        match->ends_in_slash = true;
    }
    match->path = rest;
    return true;
}

static bool serves(const struct zd_route *route, const char *method)
{
    /* HEAD is GET without its body (RFC 9110, 9.3.2). */
    return strcmp(route->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

enum zd_route_answer zd_route_find(const struct zd_handler *const *handlers, const char *method,
    char *path, struct zd_match *ret_match)
{
    enum zd_route_answer answer = ZD_ROUTE_UNKNOWN;
    struct zd_match match = {0};
    for (; *handlers != NULL; handlers++) {
        for (size_t i = 0; i < (*handlers)->n_routes; i++) {
            const struct zd_route *route = &(*handlers)->route[i];
            struct taken taken;
            match.number++;
            if (!matches(route->path, path, &taken)) {
                continue;
            }
            match.route = route;
            match.dataset = taken.dataset;
            if (serves(route, method)) {
                *ret_match = match;
                return take_rest(route, taken.rest, ret_match) ? ZD_ROUTE_FOUND
                                                               : ZD_ROUTE_BAD_SLASHES;
            }
            answer = ZD_ROUTE_METHOD;
            *ret_match = match;
        }
    }
    if (answer == ZD_ROUTE_UNKNOWN && strstr(path, "//") != NULL) {
        return ZD_ROUTE_BAD_SLASHES;
    }
    return answer;
}

void zd_route_allow(const struct zd_handler *const *handlers, const struct zd_route *route,
    bool with_writes, struct zd_text *text)
{
    for (; *handlers != NULL; handlers++) {
        for (size_t i = 0; i < (*handlers)->n_routes; i++) {
            const struct zd_route *other = &(*handlers)->route[i];
            if (strcmp(other->path, route->path) == 0 &&
                (with_writes || other->scope != ZD_SCOPE_WRITE)) {
                zd_text_add(text, other->method);
                zd_text_add(text, strcmp(other->method, "GET") == 0 ? ", HEAD, " : ", ");
            }
        }
    }
    zd_text_add(text, "OPTIONS");
}

uint32_t zd_route_count(const struct zd_handler *const *handlers)
{
    uint32_t n = 0;
    for (; *handlers != NULL; handlers++) {
        n += (uint32_t)(*handlers)->n_routes;
    }
    return n;
}

const struct zd_route *zd_route_of(const struct zd_handler *const *handlers, uint32_t number)
{
    for (; number > 0 && *handlers != NULL; handlers++) {
        if (number <= (*handlers)->n_routes) {
            return &(*handlers)->route[number - 1];
        }
        number -= (uint32_t)(*handlers)->n_routes;
    }
    return NULL;
}

/* ---- a request on its way to its handler ---- */

static bool has_segment(const char *template, struct zd_span segment)
{
    const char *path = (const char *)segment.ptr;
    return strncmp(template, path, segment.len) == 0 &&
           (template[segment.len] == '/' || template[segment.len] == '\0');
}

static bool is_first_segment(struct zd_span segment)
{
    for (uint32_t i = 1; zd_route_of(zd_handlers, i) != NULL; i++) {
        if (has_segment(zd_route_of(zd_handlers, i)->path, segment)) {
            return true;
        }
    }
    return false;
}

/* The routes that begin as the path does; where none does, those that are a slip away. */
static enum zd_next refuse_route(struct zd_request *req)
{
    struct zd_error err = {0};
    struct zd_suggest nearest = {.n = 0};
    const char *path = req->path_text->at;
    const size_t len = path[0] == '/' ? 1 + strcspn(path + 1, "/") : 0;
    const struct zd_span segment = {.ptr = (const uint8_t *)path, .len = len};
    const bool is_known = is_first_segment(segment);
    err.status = zd_fail(&err, ZD_NOT_FOUND, "there is no resource '%.200s'", path);
    for (uint32_t i = 1; zd_route_of(zd_handlers, i) != NULL; i++) {
        const char *template = zd_route_of(zd_handlers, i)->path;
        const uint32_t distance = zd_suggest_path_distance(path, template);
        const bool is_near = len <= 1 || distance <= ZD_SUGGEST_MEANT_MAX;
        if (is_known ? has_segment(template, segment) : is_near) {
            zd_suggest_add(&nearest, template, distance);
        }
    }
    return zd_respond_suggestions(req, "no_such_route", &err, &nearest);
}

/* The methods of a path: Allow is the same in all answers. @param dataset NULL: any */
static void add_methods(
    const struct zd_route *route, const struct zd_dataset *dataset, struct zd_text *allow)
{
    const bool takes_writes = dataset == NULL || (dataset->config.writable &&
                                                     zd_store_failure(dataset->store)[0] == '\0');
    zd_route_allow(zd_handlers, route, takes_writes, allow);
}

/* A dataset that the client may not see does not exist for it. */
static const struct zd_dataset *seen_dataset(const struct zd_request *req, struct zd_span name)
{
    const struct zd_dataset *dataset = zd_dataset_find(req->server, name);
    return dataset != NULL && zd_permission_sees(req, dataset) ? dataset : NULL;
}

/* None of the path's routes has the method. */
static enum zd_next refuse_method(struct zd_request *req, const struct zd_match *match)
{
    ZD_SCOPED_TEXT(allow, ALLOW_BYTES_MAX);
    add_methods(match->route, seen_dataset(req, match->dataset), &allow);
    ZD_SCOPED_TEXT(detail, ZD_ERROR_TEXT_BYTES);
    zd_text_addf(&detail, "method %.40s is not allowed here (allowed: %s)",
        req->is_head ? "GET" : zd_redact_word(req->method), allow.at);
    const struct zd_problem problem = {
        .code = "method_not_allowed", .detail = detail.at, .allow = allow.at};
    return zd_respond_problem(req, &problem);
}

static enum zd_next refuse_read_only(struct zd_request *req)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_READ_ONLY,
        "dataset '%s' is read-only; start with --writable to change it", req->dataset->config.name);
    return zd_respond_error(req, NULL, &err);
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
        const struct zd_dataset *dataset = req->server->dataset[i];
        if (zd_permission_sees(req, dataset)) {
            zd_suggest_add_typed(&nearest, typed, dataset->config.name);
        }
    }
    return zd_respond_suggestions(req, "dataset_not_found", &err, &nearest);
}

/* A name of other servers: it is no slip of ours, and the detail shows how ours is used. */
static enum zd_next refuse_usual_param(
    struct zd_request *req, const struct zd_foreign_param *usual, const struct zd_error *unknown)
{
    struct zd_error err = *unknown;
    struct zd_suggest ours = {.n = 0};
    err.status = zd_fail_name(
        &err, unknown->facts.name, "unknown parameter '%s'; use %s", usual->name, usual->example);
    zd_suggest_add(&ours, usual->ours, ZD_SUGGEST_MEANT_MAX + 1);
    return zd_respond_suggestions(req, "unknown_parameter", &err, &ours);
}

/* A repeated parameter is known, and means itself. */
static enum zd_next refuse_params(
    struct zd_request *req, const char *const *allowed, const struct zd_error *err)
{
    struct zd_suggest nearest = {.n = 0};
    const bool is_named = allowed != NULL && (err->facts.set & ZD_FACT_NAME) != 0;
    const struct zd_foreign_param *usual =
        is_named ? zd_foreign_param_find(err->facts.name, allowed) : NULL;
    if (usual != NULL) {
        return refuse_usual_param(req, usual, err);
    }
    for (size_t i = 0; is_named && allowed[i] != NULL; i++) {
        if (strcmp(allowed[i], err->facts.name) == 0) {
            nearest.n = 0;
            break;
        }
        zd_suggest_add_typed(&nearest, err->facts.name, allowed[i]);
    }
    return zd_respond_suggestions(req, "unknown_parameter", err, &nearest);
}

/* Below /v1 every parameter must be known; `pretty` is known everywhere there. */
static enum zd_next take_params(struct zd_request *req, struct zd_span query)
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
    const enum zd_status status =
        zd_params_parse(query, allowed, req->route->repeats, &req->params, &err);
    if (status == ZD_INVALID) {
        return refuse_params(req, allowed, &err);
    }
    return status == ZD_OK ? ZD_NEXT : zd_respond_error(req, NULL, &err);
}

static enum zd_next step_begin(struct zd_request *req)
{
    struct zd_span query;
    struct zd_error err = {0};
    (void)zd_route_path(req->target, &query);
    if (take_params(req, query) != ZD_NEXT) {
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

static bool is_write(const struct zd_request *req)
{
    return req->route->scope == ZD_SCOPE_WRITE;
}

/* The table has what is at the dataset's location now. */
static enum zd_next step_seen(struct zd_request *req)
{
    struct zd_dataset *dataset = zd_dataset_ref(zd_dataset_find(req->server, req->dataset_name));
    req->dataset = dataset;
    if (dataset == NULL || !zd_permission_sees(req, dataset)) {
        return refuse_dataset(req, req->dataset_name);
    }
    if (is_write(req) && !dataset->config.writable) {
        return refuse_read_only(req);
    }
    if (dataset->store == NULL) {
        return refuse_unavailable(req);
    }
    if (is_write(req) && zd_store_failure(dataset->store)[0] != '\0') {
        return refuse_write(req);
    }
    zd_step *const refusal = zd_permission_judge(req, dataset);
    if (refusal != NULL) {
        return refusal(req); /* it was another one when the head was judged */
    }
    req->n_changes = dataset->n_changes;
    req->step = step_begin;
    return ZD_NEXT;
}

/* Writers trust nothing that was seen earlier. */
static enum zd_next step_dataset(struct zd_request *req)
{
    struct zd_dataset *dataset = zd_dataset_find(req->server, req->dataset_name);
    if (dataset == NULL || !zd_permission_sees(req, dataset)) {
        return refuse_dataset(req, req->dataset_name);
    }
    req->step = step_seen;
    req->wait.done = zd_machine_wake;
    req->wait.context = &req->machine;
    return zd_dataset_look(dataset, is_write(req) ? ZD_FRESH : ZD_TRUSTED, &req->wait);
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

/* The methods of the path, and those that only read. A path without a route allows all methods, so
 * that a browser sends its request and gets the 404. */
static enum zd_status options_of(
    struct zd_request *req, struct zd_text *allow, struct zd_text *reads, struct zd_error *err)
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
        zd_text_add(reads, "GET, HEAD, POST, OPTIONS");
    } else {
        add_methods(match.route, seen_dataset(req, match.dataset), allow);
        zd_route_allow(zd_handlers, match.route, false, reads);
    }
    return allow->status == ZD_OK ? ZD_OK
                                  : zd_fail(err, allow->status, "no memory for the methods");
}

static enum zd_next answer_options(struct zd_request *req)
{
    ZD_SCOPED_TEXT(allow, ALLOW_BYTES_MAX);
    ZD_SCOPED_TEXT(reads, ALLOW_BYTES_MAX);
    struct zd_error err = {0};
    if (options_of(req, &allow, &reads, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_respond_options(req, allow.at, zd_request_may_write(req) ? allow.at : reads.at);
}

bool zd_route_begin(struct zd_request *req)
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

enum zd_next zd_route_dispatch(struct zd_request *req)
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
        return refuse_method(req, &match);
    case ZD_ROUTE_BAD_SLASHES:
        return zd_respond_problem(req, &bad_slashes);
    case ZD_ROUTE_UNKNOWN:
        break;
    }
    return refuse_route(req);
}
