/* Hosts that requests are meant for (RFC 9110, 7.2). */
#include "server/http/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

struct zd_span zd_host_of_target(const char *target)
{
    const size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                          : strncasecmp(target, "https://", 8) == 0 ? 8
                                                                    : 0;
    const size_t len = scheme == 0 ? 0 : strcspn(target + scheme, "/?");
    return (struct zd_span){.ptr = (const uint8_t *)target + scheme, .len = len};
}

/* Takes the port off; false: what follows the host is none. */
static bool cut_port(struct zd_span *host)
{
    const uint8_t *bracket = host->len == 0 ? NULL : memrchr(host->ptr, ']', host->len);
    const size_t from = bracket == NULL ? 0 : (size_t)(bracket - host->ptr) + 1;
    const uint8_t *colon =
        from == host->len ? NULL : memchr(host->ptr + from, ':', host->len - from);
    const size_t len = colon == NULL ? host->len : (size_t)(colon - host->ptr);
    for (size_t i = len + 1; i < host->len; i++) {
        if (host->ptr[i] < '0' || host->ptr[i] > '9') {
            return false;
        }
    }
    host->len = len;
    return bracket == NULL || len == from;
}

/* Exactly as an address is written: of other forms a name service may be asked. */
static bool is_address(struct zd_span host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    const bool has_brackets = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    const size_t len = host.len - (has_brackets ? 2 : 0);
    if (len == 0 || len >= sizeof text) {
        return false;
    }
    memcpy(text, host.ptr + (has_brackets ? 1 : 0), len);
    text[len] = '\0';
    return strlen(text) == len && inet_pton(has_brackets ? AF_INET6 : AF_INET, text, &address) == 1;
}

static bool is_listed(struct zd_span host, const char *names)
{
    for (names += strspn(names, " "); *names != '\0'; names += strspn(names, " ")) {
        const size_t len = strcspn(names, " ");
        if ((len == 1 && *names == '*') ||
            (len == host.len && strncasecmp(names, (const char *)host.ptr, len) == 0)) {
            return true;
        }
        names += len;
    }
    return false;
}

/* Labels of letters, digits, hyphens and underscores, the last of them `localhost`; a dot may end
 * them all, as it ends every name (RFC 1034, 3.1). */
static bool is_localhost(struct zd_span host)
{
    static const char name[] = "localhost";
    host.len -= host.len > 0 && host.ptr[host.len - 1] == '.';
    const size_t len = strlen(name);
    if (host.len < len || strncasecmp((const char *)host.ptr + host.len - len, name, len) != 0) {
        return false;
    }
    bool is_label = false; /* some of it is there */
    for (size_t i = 0; i < host.len - len; i++) {
        const uint8_t byte = host.ptr[i];
        if (byte == '.' ? !is_label : strchr(name_bytes, byte) == NULL || byte == '\0') {
            return false;
        }
        is_label = byte != '.';
    }
    return !is_label;
}

bool zd_host_is_loopback(struct zd_span host)
{
    return is_localhost(host) ||
           (is_address(host) &&
               (host.ptr[0] == '[' ? zd_span_is(host, "[::1]")
                                   : strncmp((const char *)host.ptr, "127.", 4) == 0));
}

bool zd_host_is_own(struct zd_span host, const char *names)
{
    return cut_port(&host) && (is_localhost(host) || is_address(host) || is_listed(host, names));
}
