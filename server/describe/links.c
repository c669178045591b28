/* Documents of links: where a program begins. */
#include "server/describe/links.h"

#include "core/base/emit.h"
#include "server/request/client.h"

#define LINKS_BYTES_MAX (64U << 10)
#define LINK_BYTES_MAX  1024

/* Ended by one without name. */
struct link {
    const char *name;
    const char *target;
};

static const struct link start_links[] = {
    {"api", "/v1"},
    {"datasets", "/v1/datasets"},
    {"explorer", "/explore/"},
    {"docs", "/docs"},
    {"openapi", "/openapi.json"},
    {NULL, NULL},
};

static const struct link api_links[] = {
    {"self", "/v1"},
    {"datasets", "/v1/datasets"},
    {"extensions", "/v1/extensions"},
    {"limits", "/v1/limits"},
    {"docs", "/docs"},
    {"openapi", "/openapi.json"},
    {"livez", "/livez"},
    {"readyz", "/readyz"},
    {"metrics", "/metrics"},
    {NULL, NULL},
};

static enum zd_next respond_links(struct zd_request *req, const struct link *link)
{
    ZD_SCOPED_TEXT(text, LINKS_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "name", "zarrd");
    zd_emit_member_string(&emit, "version", ZD_VERSION);
    zd_emit_member_object(&emit, "links");
    for (; link->name != NULL; link++) {
        ZD_SCOPED_TEXT(target, LINK_BYTES_MAX);
        zd_text_addf(&target, "%s%s", zd_client_prefix(req), link->target);
        zd_emit_member_text(&emit, link->name, &target);
    }
    zd_emit_object_end(&emit);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &(struct zd_representation){0});
}

enum zd_next zd_links_respond_start(struct zd_request *req)
{
    return respond_links(req, start_links);
}

enum zd_next zd_links_respond_api(struct zd_request *req)
{
    return respond_links(req, api_links);
}
