/* GET /openapi.json: the description embedded in the program. */
#include "server/http/embedded.h"
#include "server/request/handler.h"

/* Made from openapi/openapi.json by cmake/embed.cmake. */
extern const struct zd_embedded zd_openapi[];

static enum zd_next step_get(struct zd_request *req)
{
    struct zd_representation document = {.media_type = "application/json", .accepts_ranges = true};
    return zd_respond_embedded(req, &zd_openapi[0], &document);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/openapi.json", .first = step_get, .scope = ZD_SCOPE_READ},
};

const struct zd_handler zd_handler_openapi = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
