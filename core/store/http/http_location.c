/* Where a store of HTTP is, and what is sent there with each request. */
#include "core/store/http/http_location.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/aside.h"
#include "core/base/num.h"

#define FILE_BYTES_MAX (16U << 10)

static const char unreserved[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
static const char token[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";

bool zd_http_location_is_ours(const char *location)
{
    return strncmp(location, "http://", 7) == 0 || strncmp(location, "https://", 8) == 0;
}

static bool has_odd_byte(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f || *text == '\\' || *text == '"') {
            return true;
        }
    }
    return false;
}

enum zd_status zd_http_location_parse(const char *location, char **ret_url, struct zd_error *err)
{
    const char *host = strstr(location, "://") + 3;
    const size_t host_len = strcspn(host, "/?#");
    size_t len = strlen(location);
    if (memchr(host, '@', host_len) != NULL) {
        return zd_fail(err, ZD_INVALID,
            "the location has a user or a password: put a line 'Authorization: ...' into the "
            "file that the option headers_file names");
    }
    if (strpbrk(host, "?#") != NULL) {
        return zd_fail(err, ZD_INVALID,
            "the location has a query or a fragment: put the query, as a line that begins with "
            "'?', into the file that the option headers_file names");
    }
    if (host_len == 0 || host[0] == ':' || has_odd_byte(location)) {
        return zd_fail(err, ZD_INVALID,
            "the location is not a URL: expected http://HOST[:PORT]/PATH, percent-encoded");
    }
    if (len > ZD_HTTP_LOCATION_BYTES_MAX) {
        return zd_fail(err, ZD_INVALID, "the location has %zu bytes; the limit is %d", len,
            ZD_HTTP_LOCATION_BYTES_MAX);
    }
    while (location[len - 1] == '/') {
        len--;
    }
    *ret_url = zd_strndup(location, len);
    return *ret_url == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for a location") : ZD_OK;
}

void zd_http_location_add_key(struct zd_text *url, const char *key)
{
    static const char digits[] = "0123456789ABCDEF";
    (void)zd_text_add_char(url, '/');
    while (*key != '\0') {
        const size_t n = strspn(key, unreserved);
        (void)zd_text_add_bytes(url, key, n);
        key += n;
        if (*key != '\0') { /* RFC 3986, 2.1 */
            const unsigned char byte = (unsigned char)*key++;
            const char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
            (void)zd_text_add_bytes(url, escape, sizeof escape);
        }
    }
}

/* ---- the file of headers ---- */

static enum zd_status refuse(struct zd_error *err, const char *path, size_t number, const char *why)
{
    return zd_fail(
        err, ZD_INVALID, "headers_file" ZD_ASIDE(" %s") ", line %zu: %s", path, number, why);
}

/* Headers that the store sends itself. */
static bool is_reserved(const char *line, size_t len)
{
    static const char *const name[] = {"Host", "Range", "Connection", "Content-Length",
        "Transfer-Encoding", "Accept-Encoding", "If-Match", "If-None-Match", "If-Range",
        "If-Modified-Since", "If-Unmodified-Since", "Expect", "TE", "Upgrade"};
    for (size_t i = 0; i < ZD_COUNT_OF(name); i++) {
        if (strlen(name[i]) == len && strncasecmp(line, name[i], len) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_control(const char *text)
{
    while (*text != '\0' && ((unsigned char)*text >= ' ' || *text == '\t') && *text != 0x7f) {
        text++;
    }
    return *text != '\0';
}

static enum zd_status take_line(const char *path, size_t number, const char *line,
    struct zd_http_headers *headers, struct zd_error *err)
{
    const bool is_query = line[0] == '?';
    const size_t name_len = strspn(line, token);
    if (has_control(line)) {
        return refuse(err, path, number, "the line has a control character");
    }
    if (is_query && (headers->query != NULL || has_odd_byte(line) || strchr(line, '#') != NULL)) {
        return refuse(err, path, number, "the query is malformed, or the second one");
    }
    if (!is_query && (name_len == 0 || line[name_len] != ':')) {
        return refuse(err, path, number, "expected 'Name: value', or a query: '?name=value'");
    }
    if (!is_query && is_reserved(line, name_len)) {
        return refuse(err, path, number, "this header is set by the server itself");
    }
    if (headers->n == ZD_HTTP_HEADERS_MAX) {
        return refuse(err, path, number, "too many lines");
    }
    char *copy = zd_strdup(line);
    if (copy == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, "headers_file" ZD_ASIDE(" %s") ": no memory for its lines", path);
    }
    if (is_query) {
        headers->query = copy;
    } else {
        headers->line[headers->n++] = copy;
    }
    return ZD_OK;
}

static enum zd_status take_lines(
    const char *path, char *text, struct zd_http_headers *headers, struct zd_error *err)
{
    for (size_t number = 1; text != NULL; number++) {
        char *line = text;
        const size_t len = strcspn(line, "\n");
        text = line[len] == '\0' ? NULL : line + len + 1;
        line[len > 0 && line[len - 1] == '\r' ? len - 1 : len] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            ZD_TRY(take_line(path, number, line, headers, err));
        }
    }
    return ZD_OK;
}

enum zd_status zd_http_location_read_headers(
    const char *path, struct zd_http_headers *ret_headers, struct zd_error *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return zd_fail(
            err, ZD_INVALID, "headers_file" ZD_ASIDE(" %s") ": %s", path, strerror(errno));
    }
    char text[FILE_BYTES_MAX + 2];
    const size_t len = fread(text, 1, FILE_BYTES_MAX + 1, file);
    const bool has_failed = ferror(file) != 0;
    (void)fclose(file);
    if (has_failed || len > FILE_BYTES_MAX || memchr(text, '\0', len) != NULL) {
        return zd_fail(err, ZD_INVALID,
            "headers_file" ZD_ASIDE(
                " %s") ": the file cannot be read, has more than %u bytes, or is not text",
            path, FILE_BYTES_MAX);
    }
    text[len] = '\0';
    struct zd_http_headers headers = {0};
    const enum zd_status status = take_lines(path, text, &headers, err);
    if (status != ZD_OK) {
        zd_http_location_free_headers(&headers);
        return status;
    }
    *ret_headers = headers;
    return ZD_OK;
}

void zd_http_location_free_headers(struct zd_http_headers *headers)
{
    for (size_t i = 0; i < headers->n; i++) {
        zd_free(headers->line[i]);
    }
    zd_free(headers->query);
    *headers = (struct zd_http_headers){0};
}
