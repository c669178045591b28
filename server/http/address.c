/* Addresses as users write them. */
#include "server/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define SHOWN_BYTES UINT64_C(128) /* of an address that is refused */

static enum zd_status malformed(struct zd_span text, struct zd_error *err)
{
    return zd_fail(err, ZD_INVALID,
        "address '%.*s' is malformed: expected 127.0.0.1:8080, [::]:8080, :8080 or 8080 "
        "(ports end at 65535)",
        (int)zd_min_u64(text.len, SHOWN_BYTES), (const char *)text.ptr);
}

static bool set_v4(struct zd_address *address, const char *host, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address->socket;
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address->len = sizeof *v4;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4->sin_addr) ==
           1;
}

static bool set_v6(struct zd_address *address, const char *host, uint16_t port)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->socket;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address->len = sizeof *v6;
    return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
}

/* The text up to the last colon; without one it is a port alone. */
static struct zd_span host_of(struct zd_span text, struct zd_span *ret_digits)
{
    static const char local[] = "localhost";
    const uint8_t *colon = text.len == 0 ? NULL : memrchr(text.ptr, ':', text.len);
    if (colon == NULL) {
        *ret_digits = text;
        return zd_span_of(local);
    }
    const size_t len = (size_t)(colon - text.ptr);
    *ret_digits = (struct zd_span){.ptr = colon + 1, .len = text.len - len - 1};
    return (struct zd_span){.ptr = text.ptr, .len = len};
}

enum zd_status zd_address_parse(
    struct zd_span text, struct zd_address *ret_address, struct zd_error *err)
{
    struct zd_span digits;
    struct zd_address address = {.host = host_of(text, &digits)};
    const uint8_t *at = address.host.ptr;
    const size_t len = address.host.len;
    const bool has_brackets = len > 2 && at[0] == '[' && at[len - 1] == ']';
    address.is_all = len == 0 || zd_span_is(address.host, "*");
    if (has_brackets) {
        address.host.ptr++;
        address.host.len -= 2;
    } else if (address.is_all) {
        address.host = zd_span_of("::");
    }
    uint64_t port = 0;
    char host[INET6_ADDRSTRLEN] = "";
    if (zd_scan_whole_u64(digits, UINT16_MAX, &port) != ZD_OK || address.host.len >= sizeof host) {
        return malformed(text, err);
    }
    memcpy(host, address.host.ptr, address.host.len);
    const bool ok = has_brackets || address.is_all ? set_v6(&address, host, (uint16_t)port)
                                                   : set_v4(&address, host, (uint16_t)port);
    if (!ok) {
        return malformed(text, err);
    }
    if (address.is_all) {
        address.host = zd_span_of("localhost"); /* a URL for this machine */
    }
    *ret_address = address;
    return ZD_OK;
}

struct zd_address zd_address_all_v4(uint16_t port)
{
    struct zd_address address = {.host = zd_span_of("localhost"), .is_all = true};
    (void)set_v4(&address, "0.0.0.0", port);
    return address;
}

bool zd_address_is_loopback(const struct zd_address *address)
{
    if (address->socket.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->socket.ss_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&address->socket)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(v6) ||
               (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
    }
    return false;
}

uint16_t zd_address_port(const struct zd_address *address)
{
    if (address->socket.ss_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)&address->socket)->sin_port);
    }
    if (address->socket.ss_family == AF_INET6) {
        return ntohs(((const struct sockaddr_in6 *)&address->socket)->sin6_port);
    }
    return 0;
}
