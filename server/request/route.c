/* Which handler answers a path: templates against decoded paths. */
#include "server/request/route.h"

#include <string.h>
#include <strings.h>

#include "server/http/escape.h"

struct zd_span zd_route_path(const char *target, struct zd_span *ret_query)
{
    /* RFC 9112, 3.2.2: an absolute target is the same resource. */
    const size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                          : strncasecmp(target, "https://", 8) == 0 ? 8
                                                                    : 0;
    if (scheme > 0) {
        target += scheme;
        target += strcspn(target, "/?");
    }
    const size_t len = strcspn(target, "?");
    const char *query = target[len] == '?' ? target + len + 1 : target + len;
    *ret_query = zd_span_of(query);
    if (scheme > 0 && len == 0) {
        return zd_span_of("/");
    }
    return (struct zd_span){.ptr = (const uint8_t *)target, .len = len};
}

static bool has_dot_segment(const char *path)
{
    while (*path != '\0') {
        path += strspn(path, "/");
        const size_t len = strcspn(path, "/");
        if ((len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.')) {
            return true;
        }
        path += len;
    }
    return false;
}

enum zd_status zd_route_decode(struct zd_span raw, struct zd_text *to, struct zd_error *err)
{
    zd_text_clear(to);
    /* The same bytes first: decoding never makes them longer, so it is done in place. */
    if (zd_text_add_bytes(to, raw.ptr, raw.len) != ZD_OK) {
        return zd_fail(err, to->status, "no room for a path of %zu bytes", raw.len);
    }
    if (raw.len == 0 || raw.ptr[0] != '/') {
        return zd_fail(err, ZD_INVALID, "the path does not begin with '/'");
    }
    ZD_TRY(zd_escape_percent_decode(raw, to->at, &to->len, err));
    if (has_dot_segment(to->at)) {
        return zd_fail(err, ZD_INVALID, "the path has a '.' or '..' segment");
    }
    return ZD_OK;
}

/* What the variables of a template took. */
struct taken {
    struct zd_span dataset;
    char *rest; /* from {path} or {key} on; NULL when the template has none */
};

static bool is_last_variable(const char *template)
{
    return strncmp(template, "{path}", 6) == 0 || strncmp(template, "{key}", 5) == 0;
}

static bool matches(const char *template, char *path, struct taken *ret_taken)
{
    struct taken taken = {0};
    while (*template != '\0') {
        if (*template != '{' && *template == *path) { /* most characters are */
            template ++;
            path++;
        } else if (strncmp(template, "{d}", 3) == 0) {
            taken.dataset = (struct zd_span){(const uint8_t *)path, strcspn(path, "/")};
            if (taken.dataset.len == 0) {
                return false;
            }
            path += taken.dataset.len;
            template += 3;
        } else if (is_last_variable(template) ||
                   (*template == '/' && *path == '\0' && is_last_variable(template + 1))) {
            taken.rest = path;
            *ret_taken = taken;
            return true;
        } else {
            return false;
        }
    }
    *ret_taken = taken;
    return *path == '\0';
}

static void collapse(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0'; from++) {
        if (!(*from == '/' && (to == path || to[-1] == '/'))) {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Sets path and ends_in_slash from the rest; false: runs of slashes that must not be. */
static bool take_rest(const struct zd_route *route, char *rest, struct zd_match *match)
{
    static char nothing[1] = "";
    match->path = nothing;
    match->ends_in_slash = false;
    if (rest == NULL) {
        return true;
    }
    if (route->collapse_slashes) {
        match->ends_in_slash = rest[-1] == '/' && rest[strspn(rest, "/")] == '\0';
        collapse(rest);
    } else if (rest[0] == '/' || strstr(rest, "//") != NULL) {
        return false;
    } else {
        match->ends_in_slash = rest[0] == '\0' && rest[-1] == '/';
    }
    const size_t len = strlen(rest);
    if (len > 0 && rest[len - 1] == '/') {
        rest[len - 1] = '\0';
        match->ends_in_slash = true;
    }
    match->path = rest;
    return true;
}

static bool serves(const struct zd_route *route, const char *method)
{
    /* HEAD is GET without its body (RFC 9110, 9.3.2). */
    return strcmp(route->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

enum zd_route_answer zd_route_find(const struct zd_handler *const *handlers, const char *method,
    char *path, struct zd_match *ret_match)
{
    enum zd_route_answer answer = ZD_ROUTE_UNKNOWN;
    struct zd_match match = {0};
    for (; *handlers != NULL; handlers++) {
        for (size_t i = 0; i < (*handlers)->n_routes; i++) {
            const struct zd_route *route = &(*handlers)->route[i];
            struct taken taken;
            match.number++;
            if (!matches(route->path, path, &taken)) {
                continue;
            }
            match.route = route;
            match.dataset = taken.dataset;
            if (serves(route, method)) {
                *ret_match = match;
                return take_rest(route, taken.rest, ret_match) ? ZD_ROUTE_FOUND
                                                               : ZD_ROUTE_BAD_SLASHES;
            }
            answer = ZD_ROUTE_METHOD;
            *ret_match = match;
        }
    }
    if (answer == ZD_ROUTE_UNKNOWN && strstr(path, "//") != NULL) {
        return ZD_ROUTE_BAD_SLASHES;
    }
    return answer;
}

void zd_route_allow(const struct zd_handler *const *handlers, const struct zd_route *route,
    bool with_writes, struct zd_text *text)
{
    for (; *handlers != NULL; handlers++) {
        for (size_t i = 0; i < (*handlers)->n_routes; i++) {
            const struct zd_route *other = &(*handlers)->route[i];
            if (strcmp(other->path, route->path) == 0 && (with_writes || !other->needs_writable)) {
                zd_text_add(text, other->method);
                zd_text_add(text, strcmp(other->method, "GET") == 0 ? ", HEAD, " : ", ");
            }
        }
    }
    zd_text_add(text, "OPTIONS");
}

uint32_t zd_route_count(const struct zd_handler *const *handlers)
{
    uint32_t n = 0;
    for (; *handlers != NULL; handlers++) {
        n += (uint32_t)(*handlers)->n_routes;
    }
    return n;
}

const struct zd_route *zd_route_of(const struct zd_handler *const *handlers, uint32_t number)
{
    for (; number > 0 && *handlers != NULL; handlers++) {
        if (number <= (*handlers)->n_routes) {
            return &(*handlers)->route[number - 1];
        }
        number -= (uint32_t)(*handlers)->n_routes;
    }
    return NULL;
}
