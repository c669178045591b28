/* Tells caches whether they may keep an answer, and for which clients. */
#include "server/front/caching.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/request/access/access.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define CONTROL_BYTES_MAX 1024
#define VARY_BYTES_MAX    256

/* ---- Cache-Control ---- */

/* The next directive of a list: a comma between quotes ends none. */
static struct zd_span take_directive(const char **rest)
{
    const char *at = *rest + strspn(*rest, " \t,");
    const char *begin = at;
    bool is_quoted = false;
    for (; *at != '\0' && (is_quoted || *at != ','); at++) {
        is_quoted ^= *at == '"';
    }
    *rest = at;
    while (at > begin && (at[-1] == ' ' || at[-1] == '\t')) {
        at--;
    }
    return (struct zd_span){(const uint8_t *)begin, (size_t)(at - begin)};
}

/* Whether a directive is about caches that several clients share. `private="field"` keeps no more
 * than that field from them. */
static bool is_shared(struct zd_span directive)
{
    static const char *const names[] = {"public", "private", "s-maxage"};
    const char *text = (const char *)directive.ptr;
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        const size_t len = strlen(names[i]);
        if (directive.len >= len && strncasecmp(text, names[i], len) == 0 &&
            (directive.len == len || strchr(" \t=", text[len]) != NULL)) {
            return true;
        }
    }
    return false;
}

/* The same for the client alone. */
static void add_private(struct zd_text *to, const char *control)
{
    zd_text_add(to, "private");
    while (*control != '\0') {
        const struct zd_span directive = take_directive(&control);
        if (directive.len > 0 && !is_shared(directive)) {
            zd_text_add(to, ", ");
            zd_text_add_bytes(to, directive.ptr, directive.len);
        }
    }
}

/* A client that sends a credential may get less than others, or more. Its answer belongs to it
 * alone, whatever the dataset's settings say. */
static void add_control(
    const struct zd_request *req, const char *control, struct MHD_Response *response)
{
    ZD_SCOPED_TEXT(own, CONTROL_BYTES_MAX);
    if (req->has_credential) {
        add_private(&own, control);
        control = own.status == ZD_OK ? own.at : "no-store";
    }
    (void)MHD_add_response_header(response, "Cache-Control", control);
}

static const char *control_of(const struct zd_request *req, const struct zd_representation *rep)
{
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        if (strcasecmp(rep->header[i].name, "Cache-Control") == 0) {
            return rep->header[i].value;
        }
    }
    if (req->route != NULL && req->route->depends_on_identity) {
        return "private, no-cache";
    }
    const struct zd_dataset_config *config = req->dataset == NULL ? NULL : &req->dataset->config;
    if (config != NULL && config->cache_control != NULL) {
        return config->cache_control;
    }
    return config != NULL && config->immutable ? "public, max-age=31536000, immutable" : "no-cache";
}

/* ---- Vary ---- */

/* Needs no memory: a field may not be lost. */
static void add_field(char vary[VARY_BYTES_MAX], const char *name)
{
    const size_t len = strlen(vary);
    const int n = snprintf(vary + len, VARY_BYTES_MAX - len, "%s%s", len == 0 ? "" : ", ", name);
    assert(n >= 0 && (size_t)n < VARY_BYTES_MAX - len);
    (void)n;
}

static void add_vary(const struct zd_request *req, struct MHD_Response *response)
{
    /* Another credential may get another answer: 401 at least. */
    const bool is_judged = req->has_credential || zd_access_knows_credentials(req->server);
    const uint32_t noted = zd_dependence_of(req) | (is_judged ? ZD_DEPENDENCE_AUTHORIZATION : 0);
    char vary[VARY_BYTES_MAX] = "";
    for (uint32_t i = 0; i < ZD_DEPENDENCE_N; i++) {
        if ((noted >> i & 1) != 0) {
            add_field(vary, zd_dependence_name(i));
        }
    }
    if (vary[0] != '\0') {
        (void)MHD_add_response_header(response, "Vary", vary);
    }
}

void zd_caching_add(
    const struct zd_request *req, const char *control, struct MHD_Response *response)
{
    add_control(req, control, response);
    add_vary(req, response);
}

void zd_caching_add_of(const struct zd_request *req, const struct zd_representation *rep,
    struct MHD_Response *response)
{
    zd_caching_add(req, control_of(req, rep), response);
}
