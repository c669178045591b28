/* /v1: links to everything. */
#include "server/describe/links.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

static const struct zd_link links[] = {
    {"self", "/v1"},
    {"datasets", "/v1/datasets"},
    {"extensions", "/v1/extensions"},
    {"limits", "/v1/limits"},
    {"openapi", "/openapi.json"},
    {"livez", "/livez"},
    {"readyz", "/readyz"},
    {"metrics", "/metrics"},
};

static enum zd_next step_links(struct zd_request *req)
{
    struct zd_representation representation = {0};
    return zd_links_respond(req, links, ZD_COUNT_OF(links), &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/v1", .first = step_links, .params = zd_params_none},
};

const struct zd_handler zd_handler_v1 = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
