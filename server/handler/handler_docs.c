/* GET /docs: the API as a page, and the style and the script that it loads. */
#include <string.h>

#include "server/http/embedded.h"
#include "server/http/html.h"
#include "server/request/client.h"
#include "server/request/handler.h"

#define PAGE_BYTES_MAX (4U << 20)

/* Made from openapi/docs.* by cmake/embed.cmake. */
extern const struct zd_embedded zd_docs[];

/* Scripts and styles are files of this server, and nothing is asked of others. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static enum zd_next step_page(struct zd_request *req)
{
    const struct zd_embedded_mark marks[] = {
        {"{{prefix}}", zd_client_prefix(req)},
        {NULL, NULL},
    };
    struct zd_representation representation = {
        .media_type = ZD_HTML_TYPE,
        .may_code = true,
        .header = {{"Content-Security-Policy", policy}},
        .n_headers = 1,
    };
    ZD_SCOPED_TEXT(text, PAGE_BYTES_MAX);
    ZD_AUTO(zd_buf) page = zd_embedded_read(zd_embedded_find(zd_docs, "docs.html"));
    if (page == NULL) {
        return zd_respond_no_memory(req, "the page; retry later");
    }
    zd_embedded_add_page((const char *)page->data, marks, &text);
    return zd_respond_text(req, &text, &representation);
}

/* The path is its name. */
static enum zd_next step_file(struct zd_request *req)
{
    const struct zd_embedded *file = zd_embedded_find(zd_docs, req->route->path + 1);
    struct zd_representation representation = {
        .media_type = zd_embedded_type(file), .may_code = true};
    return zd_respond_embedded(req, file, &representation);
}

/* They have no data of anybody. */
static const struct zd_route routes[] = {
    {.method = "GET", .path = "/docs", .first = step_page, .scope = ZD_SCOPE_NONE},
    {.method = "GET", .path = "/docs.js", .first = step_file, .scope = ZD_SCOPE_NONE},
    {.method = "GET", .path = "/docs.css", .first = step_file, .scope = ZD_SCOPE_NONE},
};

const struct zd_handler zd_handler_docs = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
