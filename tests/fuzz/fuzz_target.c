/* Request targets: the path is decoded once or refused, and what was decoded leads to one route
 * with a path that is safe to give to a store. */
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/base/text.h"
#include "server/http/escape.h"
#include "server/request/route.h"
#include "tests/fuzz/input.h"

#define PATH_BYTES_MAX    8192
#define ENCODED_BYTES_MAX (3 * PATH_BYTES_MAX)

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "BREW"};

/* No decoded path holds these. */
static void check_segments(const char *path)
{
    while (*path != '\0') {
        path += strspn(path, "/");
        const struct zd_span segment = {.ptr = (const uint8_t *)path, .len = strcspn(path, "/")};
        zd_fuzz_insist(!zd_span_is(segment, ".") && !zd_span_is(segment, ".."));
        path += segment.len;
    }
}

static void check_decoded(const struct zd_text *path)
{
    zd_fuzz_insist(path->at[0] == '/' && strlen(path->at) == path->len);
    zd_fuzz_insist(zd_scan_is_utf8(zd_text_span(path)));
    for (size_t i = 0; i < path->len; i++) {
        const uint8_t c = (uint8_t)path->at[i];
        zd_fuzz_insist(c >= 0x20 && c != 0x7f && c != '\\');
    }
    check_segments(path->at);
}

/* Encoded and decoded again it is the same. */
static void check_encoding(const struct zd_text *path)
{
    ZD_SCOPED_TEXT(encoded, ENCODED_BYTES_MAX);
    ZD_SCOPED_TEXT(again, ENCODED_BYTES_MAX);
    zd_fuzz_insist(zd_escape_percent_encode(zd_text_span(path), &encoded) == ZD_OK);
    zd_fuzz_insist(zd_route_decode(zd_text_span(&encoded), &again, NULL) == ZD_OK);
    zd_fuzz_insist(zd_span_equal(zd_text_span(path), zd_text_span(&again)));
}

static void check_match(const struct zd_match *match, const char *path, size_t len)
{
    const size_t rest_len = strlen(match->path);
    zd_fuzz_insist(zd_route_of(zd_handlers, match->number) == match->route);
    zd_fuzz_insist(rest_len <= len && match->path[0] != '/');
    zd_fuzz_insist(rest_len == 0 || match->path[rest_len - 1] != '/');
    zd_fuzz_insist(strstr(match->path, "//") == NULL);
    zd_fuzz_insist(
        match->dataset.len == 0 || memchr(match->dataset.ptr, '/', match->dataset.len) == NULL);
    zd_fuzz_insist(match->dataset.len == 0 || (const char *)match->dataset.ptr > path);
}

static void check_routes(const struct zd_text *path)
{
    for (size_t i = 0; i < ZD_COUNT_OF(methods); i++) {
        ZD_AUTO_TEXT own = zd_strdup(path->at);
        struct zd_match match = {0};
        zd_fuzz_insist(own != NULL);
        if (zd_route_find(zd_handlers, methods[i], own, &match) == ZD_ROUTE_FOUND) {
            check_match(&match, own, path->len);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    struct zd_span query;
    struct zd_error err = {0};
    ZD_AUTO_TEXT target = zd_fuzz_rest(&input);
    const struct zd_span raw = zd_route_path(target, &query);
    zd_fuzz_insist(raw.len == 0 || memchr(raw.ptr, '?', raw.len) == NULL);
    zd_fuzz_insist(query.len <= strlen(target));
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    const enum zd_status status = zd_route_decode(raw, &path, &err);
    if (status != ZD_OK) {
        zd_fuzz_insist(status == ZD_INVALID || status == ZD_TOO_LARGE);
        zd_fuzz_insist(err.text[0] != '\0');
        return 0;
    }
    check_decoded(&path);
    check_encoding(&path);
    check_routes(&path);
    return 0;
}
