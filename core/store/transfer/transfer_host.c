/* Hosts that are this machine, or on its link. */
#include "core/store/transfer/transfer_host.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#define LINK_LOCAL_NET 0xa9feU /* 169.254.0.0/16: RFC 3927, 2.1 */

/* RFC 6761, 6.3. */
static bool is_name(const char *host)
{
    static const char name[] = "localhost";
    const size_t len = strlen(host);
    const size_t name_len = sizeof name - 1;
    if (len < name_len || strcasecmp(host + len - name_len, name) != 0) {
        return false;
    }
    return len == name_len || host[len - name_len - 1] == '.';
}

static bool is_v4(struct in_addr address)
{
    const uint32_t bits = ntohl(address.s_addr);
    return bits >> 24 == IN_LOOPBACKNET || bits == INADDR_ANY || bits >> 16 == LINK_LOCAL_NET;
}

static bool is_v6(const struct in6_addr *address)
{
    static const uint8_t cloud[] = {0xfd, 0x00, 0x0e, 0xc2}; /* fd00:ec2::254 of Amazon EC2 */
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        struct in_addr v4;
        memcpy(&v4, address->s6_addr + 12, sizeof v4);
        return is_v4(v4);
    }
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
           IN6_IS_ADDR_LINKLOCAL(address) || memcmp(address->s6_addr, cloud, sizeof cloud) == 0;
}

/* @param host changed: an address loses its brackets and zone, a name its last dots */
static bool is_near(char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (host[0] == '[') {
        host[strcspn(host, "]%")] = '\0';
        return inet_pton(AF_INET6, host + 1, &v6) == 1 && is_v6(&v6);
    }
    for (size_t len = strlen(host); len > 0 && host[len - 1] == '.'; len--) {
        host[len - 1] = '\0';
    }
    return is_name(host) || (inet_aton(host, &v4) != 0 && is_v4(v4));
}

bool zd_transfer_host_is_near(const char *url)
{
    char *host = NULL;
    CURLU *parts = curl_url();
    const bool has_host = parts != NULL &&
                          curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
                          curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    const bool is = has_host && is_near(host);
    curl_free(host);
    curl_url_cleanup(parts);
    return is;
}
