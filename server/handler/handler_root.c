/* / and /v1: links for programs; and a page that lists the datasets for people. */
#include "server/http/accept.h"
#include "server/http/escape.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define PAGE_BYTES_MAX  (4U << 20)
#define LINKS_BYTES_MAX (64U << 10)

static void add_row(struct zd_text *text, const struct zd_dataset_config *config)
{
    const char *name = config->name; /* its characters need no escape */
    zd_text_addf(text, "<tr><th>%s</th><td>", name);
    zd_escape_html(text, config->title == NULL ? "" : config->title);
    zd_text_addf(text,
        "</td><td><a href=\"/v1/datasets/%s/tree/?pretty=1\">tree</a> "
        "<a href=\"/v1/datasets/%s/nodes/?pretty=1\">root</a>",
        name, name);
    if (config->allow_keys) {
        zd_text_addf(text, " <a href=\"/zarr/%s/\">keys</a>", name);
    }
    zd_text_addf(text, "</td><td>%s</td></tr>\n", config->writable ? "writable" : "read-only");
}

static enum zd_next respond_page(struct zd_request *req, struct zd_representation *representation)
{
    ZD_SCOPED_TEXT(text, PAGE_BYTES_MAX);
    zd_text_add(&text,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>zarrd</title>\n"
        "<style>body{font:16px sans-serif;margin:3em}td,th{padding:.3em 1em;text-align:left}"
        "</style></head>\n<body><h1>zarrd</h1>\n<table>\n");
    for (size_t i = 0; i < req->server->n_datasets; i++) {
        add_row(&text, &req->server->dataset[i]->config);
    }
    zd_text_add(&text, "</table>\n<p><a href=\"/v1\">API</a> <a href=\"/openapi.json\">OpenAPI</a> "
                       "<a href=\"/metrics\">metrics</a></p>\n</body></html>\n");
    representation->media_type = "text/html; charset=utf-8";
    return zd_respond_text(req, &text, representation);
}

/* Ended by one without name. */
struct link {
    const char *name;
    const char *target;
};

static const struct link root_links[] = {
    {"api", "/v1"},
    {"datasets", "/v1/datasets"},
    {"openapi", "/openapi.json"},
    {NULL, NULL},
};

static const struct link v1_links[] = {
    {"self", "/v1"},
    {"datasets", "/v1/datasets"},
    {"extensions", "/v1/extensions"},
    {"limits", "/v1/limits"},
    {"openapi", "/openapi.json"},
    {"livez", "/livez"},
    {"readyz", "/readyz"},
    {"metrics", "/metrics"},
    {NULL, NULL},
};

/* @param representation without body */
static enum zd_next respond_links(
    struct zd_request *req, const struct link *link, struct zd_representation *representation)
{
    ZD_SCOPED_TEXT(text, LINKS_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "name", "zarrd");
    zd_emit_member_string(&emit, "version", ZD_VERSION);
    zd_emit_member_object(&emit, "links");
    for (; link->name != NULL; link++) {
        zd_emit_member_string(&emit, link->name, link->target);
    }
    zd_emit_object_end(&emit);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, representation);
}

static enum zd_next step_root(struct zd_request *req)
{
    struct zd_representation representation = {
        .header = {{"Vary", "Accept"}},
        .n_headers = 1,
    };
    /* Browsers name text/html; a client that takes anything gets links. */
    const uint32_t page = zd_accept_quality(req->accept, "text/html");
    const uint32_t links = zd_accept_quality(req->accept, "application/json");
    return page > links ? respond_page(req, &representation)
                        : respond_links(req, root_links, &representation);
}

static enum zd_next step_v1(struct zd_request *req)
{
    return respond_links(req, v1_links, &(struct zd_representation){0});
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/", .first = step_root},
    {.method = "GET", .path = "/v1", .first = step_v1, .params = zd_params_none},
};

const struct zd_handler zd_handler_root = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
