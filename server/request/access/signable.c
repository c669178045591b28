/* URLs that a client may sign. */
#include "server/request/access/signable.h"

#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "server/data/dataset.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/permission.h"
#include "server/request/route.h"
#include "server/request/route_below.h"
#include "server/runtime/server.h"

#define PATH_BYTES_MAX (64U << 10) /* longer than any target */

static bool is_write(const struct zd_route *route)
{
    return route->scope == ZD_SCOPE_WRITE;
}

/* Judges as the client's own request is judged. Without memory nothing is allowed. */
static bool may_ask(const struct zd_request *req, const struct zd_match *match)
{
    struct zd_request *asked = zd_alloc_zero(1, sizeof *asked);
    const struct zd_dataset *dataset =
        match->dataset.len == 0 ? NULL : zd_dataset_find(req->server, match->dataset);
    if (asked == NULL) {
        return false;
    }
    asked->server = req->server;
    asked->identity = req->identity;
    asked->route = match->route;
    asked->dataset_name = match->dataset;
    asked->path = match->path;
    asked->path_ends_in_slash = match->ends_in_slash;
    const bool is_there =
        match->dataset.len == 0 || (dataset != NULL && zd_permission_sees(req, dataset));
    const bool is_writable = !is_write(match->route) || dataset == NULL || dataset->config.writable;
    const bool may = is_there && is_writable && zd_permission_judge(asked, dataset) == NULL;
    zd_free(asked);
    return may;
}

static void keep_dataset(struct zd_signable_found *found, struct zd_span dataset)
{
    (void)snprintf(found->dataset, sizeof found->dataset, "%.*s", (int)dataset.len,
        dataset.len == 0 ? "" : (const char *)dataset.ptr);
}

/* ---- one path ---- */

static enum zd_signable_answer judge_path(const struct zd_request *req,
    const struct zd_signable *asked, struct zd_signable_found *ret_found)
{
    struct zd_match match = {0};
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX); /* finding changes it */
    if (zd_text_add(&path, asked->path) != ZD_OK) {
        return ZD_SIGNABLE_NO_PATH;
    }
    switch (zd_route_find(zd_handlers, asked->method, path.at, &match)) {
    case ZD_ROUTE_FOUND:
        break;
    case ZD_ROUTE_UNKNOWN:
    case ZD_ROUTE_BAD_SLASHES:
        return ZD_SIGNABLE_NO_PATH;
    case ZD_ROUTE_METHOD:
        return ZD_SIGNABLE_NO_METHOD;
    }
    if (match.route->is_never_signed || !may_ask(req, &match)) {
        return ZD_SIGNABLE_REFUSED;
    }
    ret_found->is_write = is_write(match.route);
    keep_dataset(ret_found, match.dataset);
    return ZD_SIGNABLE_ALLOWED;
}

/* ---- a prefix ---- */

/* Whether the client has a right at a path of a dataset, or below. */
static bool may_within(const struct zd_request *req, const struct zd_route *route,
    const struct zd_dataset *dataset, const char *path)
{
    if (!zd_permission_sees(req, dataset)) {
        return false;
    }
    if (is_write(route)) {
        return dataset->config.writable &&
               zd_identity_may_within(req->identity, ZD_IDENTITY_WRITE, &dataset->config, path);
    }
    return !zd_identity_names(req->identity, &dataset->config) ||
           zd_identity_may_within(req->identity, ZD_IDENTITY_READ, &dataset->config, path);
}

static bool may_somewhere(
    const struct zd_request *req, const struct zd_route *route, const struct zd_route_below *below)
{
    static char nothing[1] = "";
    if (strstr(route->path, "{d}") == NULL) {
        return may_ask(req, &(struct zd_match){.route = route, .path = nothing});
    }
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    if (zd_text_add_bytes(&path, below->path.ptr, below->path.len) != ZD_OK) {
        return false;
    }
    bool may = false;
    for (size_t i = 0; !may && i < req->server->n_datasets; i++) {
        const struct zd_dataset *dataset = req->server->dataset[i];
        may = (below->dataset.len == 0 || zd_span_is(below->dataset, dataset->config.name)) &&
              may_within(req, route, dataset, path.at);
    }
    return may;
}

static enum zd_signable_answer judge_prefix(const struct zd_request *req,
    const struct zd_signable *asked, struct zd_signable_found *ret_found)
{
    enum zd_signable_answer answer = ZD_SIGNABLE_NO_PATH;
    bool is_confined = true;
    struct zd_span dataset = {0};
    for (uint32_t i = 1; zd_route_of(zd_handlers, i) != NULL; i++) {
        const struct zd_route *route = zd_route_of(zd_handlers, i);
        struct zd_route_below below;
        if (!zd_route_below(route->path, zd_span_of(asked->path), &below)) {
            continue;
        }
        if (strcmp(route->method, asked->method) != 0) {
            answer = answer == ZD_SIGNABLE_NO_PATH ? ZD_SIGNABLE_NO_METHOD : answer;
            continue;
        }
        const bool may = !route->is_never_signed && may_somewhere(req, route, &below);
        answer = may || answer == ZD_SIGNABLE_ALLOWED ? ZD_SIGNABLE_ALLOWED : ZD_SIGNABLE_REFUSED;
        is_confined = is_confined && below.dataset.len > 0;
        dataset = below.dataset;
        ret_found->is_write = ret_found->is_write || is_write(route);
    }
    keep_dataset(ret_found, is_confined ? dataset : (struct zd_span){0});
    return answer;
}

enum zd_signable_answer zd_signable_judge(const struct zd_request *req,
    const struct zd_signable *asked, struct zd_signable_found *ret_found)
{
    *ret_found = (struct zd_signable_found){.is_write = false};
    return asked->is_prefix ? judge_prefix(req, asked, ret_found)
                            : judge_path(req, asked, ret_found);
}
