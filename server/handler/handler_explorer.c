/* /, /explore/{path} and /explorer/{path}: the explorer, a page for people, and its files. They
 * hold no data: the page asks for the data that it shows, so every client may have them. */
#include <string.h>

#include "server/describe/links.h"
#include "server/http/accept.h"
#include "server/http/embedded.h"
#include "server/http/html.h"
#include "server/request/client.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"

#define PAGE_BYTES_MAX (64U << 10)
#define PAGE_TYPE      "text/html"

/* Made from server/explorer by cmake/embed.cmake. */
extern const struct zd_embedded zd_explorer[];
extern const char zd_explorer_version[];

/* ---- the page ---- */

/* Scripts and styles are files of this server, and nothing but them runs; nothing is asked of other
 * hosts; no text becomes markup; no page may frame it. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/* The files have the version in their path, so no page runs the files of another version. */
static enum zd_next respond_page(struct zd_request *req)
{
    const struct zd_embedded_mark marks[] = {
        {"{{prefix}}", zd_client_prefix(req)},
        {"{{version}}", zd_explorer_version},
        {NULL, NULL},
    };
    struct zd_representation representation = {
        .media_type = ZD_HTML_TYPE,
        .may_code = true,
        .header = {{"Content-Security-Policy", policy},
            {"Cross-Origin-Opener-Policy", "same-origin"}},
        .n_headers = 2,
    };
    ZD_SCOPED_TEXT(text, PAGE_BYTES_MAX);
    ZD_AUTO(zd_buf) page = zd_embedded_read(zd_embedded_find(zd_explorer, "index.html"));
    if (page == NULL) {
        return zd_respond_no_memory(req, "the page; retry later");
    }
    zd_embedded_add_page((const char *)page->data, marks, &text);
    return zd_respond_text(req, &text, &representation);
}

static enum zd_next step_start(struct zd_request *req)
{
    return zd_accept_is_for_people(zd_dependence_accept(req)) ? respond_page(req)
                                                              : zd_links_respond_start(req);
}

/* The path may be anything: the page finds out whether it leads to a node, and says so. */
static enum zd_next step_page(struct zd_request *req)
{
    static const char *const allowed[] = {PAGE_TYPE, NULL};
    if (zd_accept_quality(zd_dependence_accept(req), PAGE_TYPE) > 0) {
        return respond_page(req);
    }
    const struct zd_problem problem = {
        .code = "not_acceptable",
        .detail = "the explorer is available as HTML only; programs find the same data at /v1",
        .allowed = allowed,
    };
    return zd_respond_problem(req, &problem);
}

/* ---- its files ---- */

/* NULL: there is none of this version. */
static const struct zd_embedded *find_file(const char *path)
{
    const size_t len = strlen(zd_explorer_version);
    const bool is_ours = strncmp(path, zd_explorer_version, len) == 0 && path[len] == '/';
    return is_ours ? zd_embedded_find(zd_explorer, path + len + 1) : NULL;
}

static enum zd_next respond_no_file(struct zd_request *req)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_NOT_FOUND,
        "the explorer has no file '%.200s'; if the server was updated, reload the page", req->path);
    return zd_respond_error(req, "no_such_route", &err);
}

static enum zd_next step_file(struct zd_request *req)
{
    const struct zd_embedded *file = find_file(req->path);
    if (file == NULL) {
        return respond_no_file(req);
    }
    struct zd_representation representation = {
        .media_type = zd_embedded_type(file),
        .may_code = true,
        .header = {{"Cache-Control", "public, max-age=31536000, immutable"}},
        .n_headers = 1,
    };
    return zd_respond_embedded(req, file, &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/", .first = step_start, .scope = ZD_SCOPE_NONE},
    {.method = "GET", .path = "/explore/{path}", .first = step_page, .scope = ZD_SCOPE_NONE},
    {.method = "GET", .path = "/explorer/{path}", .first = step_file, .scope = ZD_SCOPE_NONE},
};

const struct zd_handler zd_handler_explorer = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
