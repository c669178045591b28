/* /v1/limits: every limit with its value and unit. */
#include "server/handler/handler.h"
#include "server/server.h"

#define DOCUMENT_BYTES_MAX (64U << 10)

static const char *const no_params[] = {NULL};

static enum zd_next step_limits(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_key(&emit, "limits");
    zd_config_emit_limits(&req->server->config->settings, &emit);
    zd_emit_object_end(&emit);
    struct zd_representation representation = {0};
    return zd_respond_json(req, &text, &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/v1/limits", .first = step_limits, .params = no_params},
};

const struct zd_handler zd_handler_limits = {
    .name = "limits",
    .route = routes,
    .n_routes = sizeof routes / sizeof routes[0],
};
