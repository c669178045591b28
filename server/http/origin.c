/* Origins of web pages (RFC 6454), as the header Origin says them. */
#include "server/http/origin.h"

#include <string.h>
#include <strings.h>

#include "core/base/scan.h"
#include "server/http/host.h"

bool zd_origin_is_listed(const char *origin, const char *list)
{
    const size_t len = strlen(origin);
    for (list += strspn(list, " "); *list != '\0'; list += strspn(list, " ")) {
        const size_t n = strcspn(list, " ");
        if ((n == 1 && *list == '*') || (n == len && strncasecmp(list, origin, n) == 0)) {
            return true;
        }
        list += n;
    }
    return false;
}

/* A port that a page can have come from; browsers never write an empty one. */
static bool is_port(struct zd_span text)
{
    uint64_t port;
    return zd_scan_whole_u64(text, UINT16_MAX, &port) == ZD_OK && port > 0;
}

bool zd_origin_is_loopback(const char *origin)
{
    struct zd_span host = zd_host_of_target(origin);
    if (host.len == 0 || host.ptr[host.len] != '\0') {
        return false; /* no scheme that is ours, or a path */
    }
    const char *bracket = strchr((const char *)host.ptr, ']');
    const char *colon = strchr(bracket == NULL ? (const char *)host.ptr : bracket, ':');
    if (colon != NULL) {
        host.len = (size_t)(colon - (const char *)host.ptr);
    }
    return (colon == NULL || is_port(zd_span_of(colon + 1))) && zd_host_is_loopback(host);
}
