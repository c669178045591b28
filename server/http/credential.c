/* Credentials in request targets and headers. */
#include "server/http/credential.h"

#include <string.h>
#include <strings.h>

#include "server/http/escape.h"
#include "server/http/host.h"

static const char scheme[] = "Bearer";

/* Whether bytes are a word once they are decoded. */
static bool spells(const char *from, size_t len, const char *word)
{
    size_t at = 0;
    while (at < len && *word != '\0' &&
           zd_escape_percent_next((const uint8_t *)from, len, &at) == *word) {
        word++;
    }
    return at == len && *word == '\0';
}

/* A credential that cannot be decoded matches none. */
static void keep(struct zd_text *token, const char *from, size_t len)
{
    for (size_t at = 0; token != NULL && at < len;) {
        const int byte = zd_escape_percent_next((const uint8_t *)from, len, &at);
        if (byte <= 0) {
            zd_text_clear(token);
            return;
        }
        zd_text_add_char(token, (char)byte);
    }
}

static void cut(char *from, size_t len)
{
    memmove(from, from + len, strlen(from + len) + 1);
}

/* `/t/T` and what follows, "/" at least. */
static uint32_t take_from_path(char *path, struct zd_text *token)
{
    uint32_t n = 0;
    while (path[0] == '/') {
        const size_t word_at = strspn(path, "/");
        const size_t word_len = strcspn(path + word_at, "/?");
        const char *after = path + word_at + word_len;
        const size_t slashes = strspn(after, "/");
        const size_t len = strcspn(after + slashes, "/?");
        if (slashes == 0 || len == 0 || !spells(path + word_at, word_len, "t")) {
            break;
        }
        keep(n == 0 ? token : NULL, after + slashes, len);
        char *const rest = path + word_at + word_len + slashes + len;
        if (*rest == '/') {
            cut(path, (size_t)(rest - path));
        } else {
            cut(path + 1, (size_t)(rest - path) - 1);
        }
        n++;
    }
    return n;
}

/* @param n how many came before */
static uint32_t take_from_query(char *target, uint32_t n, struct zd_text *token)
{
    char *at = strchr(target, '?');
    at = at == NULL ? NULL : at + 1;
    while (at != NULL && *at != '\0') {
        const size_t len = strcspn(at, "&");
        const size_t name_len = strcspn(at, "=&");
        if (!spells(at, name_len, "access_token")) {
            at += len + (at[len] == '&' ? 1 : 0);
            continue;
        }
        const size_t value_at = name_len + (at[name_len] == '=' ? 1 : 0);
        keep(n == 0 ? token : NULL, at + value_at, len - value_at);
        cut(at, len + (at[len] == '&' ? 1 : 0));
        n++;
    }
    return n;
}

/* The query loses the separator before what was its last parameter, and its mark when it is empty.
 */
static void trim_query(char *target)
{
    char *query = strchr(target, '?');
    size_t len = query == NULL ? 0 : strlen(query);
    if (len > 1 && query[len - 1] == '&') {
        query[--len] = '\0';
    }
    if (len == 1) {
        *query = '\0';
    }
}

uint32_t zd_credential_take(char *target, struct zd_text *token)
{
    if (token != NULL) {
        zd_text_clear(token);
    }
    const struct zd_span host = zd_host_of_target(target);
    char *const path = host.len == 0 ? target : target + (host.ptr + host.len - (uint8_t *)target);
    const uint32_t n_path = take_from_path(path, token);
    const uint32_t n = take_from_query(path, n_path, token);
    if (n > n_path) {
        trim_query(path);
    }
    return n;
}

/* RFC 9110, 11.1: a scheme is a token, of any case. */
bool zd_credential_is_bearer(const char *authorization)
{
    static const char token[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";
    const size_t len = sizeof scheme - 1;
    return strspn(authorization, token) == len && strncasecmp(authorization, scheme, len) == 0;
}

/* RFC 6750, 2.1. */
struct zd_span zd_credential_of_bearer(const char *authorization)
{
    const char *rest = authorization + sizeof scheme - 1;
    return zd_span_of(rest[0] == ' ' ? rest + strspn(rest, " ") : "");
}
