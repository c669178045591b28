/* /: links for programs, and a page that lists the datasets for people. */
#include "server/describe/links.h"
#include "server/http/accept.h"
#include "server/http/escape.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (4U << 20)

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

static enum zd_next respond_page(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    zd_text_add(&text,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>zarrd</title>\n"
        "<style>body{font:16px sans-serif;margin:3em}td,th{padding:.3em 1em;text-align:left}"
        "</style></head>\n<body><h1>zarrd</h1>\n<table>\n");
    for (size_t i = 0; i < req->server->n_datasets; i++) {
        add_row(&text, &req->server->dataset[i]->config);
    }
    zd_text_add(&text, "</table>\n<p><a href=\"/v1\">API</a> <a href=\"/openapi.json\">OpenAPI</a> "
                       "<a href=\"/metrics\">metrics</a></p>\n</body></html>\n");
    struct zd_representation representation = {
        .media_type = "text/html; charset=utf-8",
        .header = {{"Vary", "Accept"}},
        .n_headers = 1,
    };
    return zd_respond_text(req, &text, &representation);
}

static enum zd_next respond_links(struct zd_request *req)
{
    static const struct zd_link links[] = {
        {"api", "/v1"}, {"datasets", "/v1/datasets"}, {"openapi", "/openapi.json"}};
    struct zd_representation representation = {
        .header = {{"Vary", "Accept"}},
        .n_headers = 1,
    };
    return zd_links_respond(req, links, ZD_COUNT_OF(links), &representation);
}

static enum zd_next step_root(struct zd_request *req)
{
    /* Browsers name text/html; a client that takes anything gets links. */
    const char *accept = req->accept;
    const uint32_t page = zd_accept_quality(accept, "text/html");
    const uint32_t links = zd_accept_quality(accept, "application/json");
    return page > links ? respond_page(req) : respond_links(req);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/", .first = step_root},
};

const struct zd_handler zd_handler_root = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
