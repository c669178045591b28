/* /v1: links to everything. */
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (64U << 10)

static const char *const no_params[] = {NULL};

static const struct {
    const char *name;
    const char *target;
} links[] = {
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
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "name", "zarrd");
    zd_emit_member_string(&emit, "version", ZD_VERSION);
    zd_emit_key(&emit, "links");
    zd_emit_object(&emit);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        zd_emit_member_string(&emit, links[i].name, links[i].target);
    }
    zd_emit_object_end(&emit);
    zd_emit_object_end(&emit);
    struct zd_representation representation = {0};
    return zd_respond_text(req, &text, &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/v1", .first = step_links, .params = no_params},
};

const struct zd_handler zd_handler_v1 = {
    .name = "v1",
    .route = routes,
    .n_routes = sizeof routes / sizeof routes[0],
};
