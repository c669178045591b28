/* /metrics: what happened so far, for Prometheus. */
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (16U << 20)

static enum zd_next step_metrics(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    req->server->add_metrics(req->server, &text);
    struct zd_representation representation = {
        .media_type = "text/plain; version=0.0.4; charset=utf-8",
    };
    return zd_respond_text(req, &text, &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/metrics", .first = step_metrics, .params = zd_params_none},
};

const struct zd_handler zd_handler_metrics = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
