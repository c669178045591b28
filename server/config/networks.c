/* Lists of networks: IP addresses and prefixes, as settings name them. */
#include "server/config/networks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/scan.h"

#define V4_BITS      32
#define V6_BITS      128
#define V4_AT        12 /* where the bytes of IPv4 are in those of IPv6 */
#define SHOWN_BYTES  64 /* of an item that is refused */
#define BITS_OF_BYTE 8

static struct zd_networks_ip ip_of_v4(const void *bytes)
{
    struct zd_networks_ip ip = {.bits = V4_BITS};
    memcpy(ip.byte + V4_AT, bytes, sizeof ip.byte - V4_AT);
    return ip;
}

static struct zd_networks_ip ip_of_v6(const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address) != 0) {
        return ip_of_v4(address->s6_addr + V4_AT);
    }
    struct zd_networks_ip ip = {.bits = V6_BITS};
    memcpy(ip.byte, address, sizeof ip.byte);
    return ip;
}

bool zd_networks_parse_ip(const char *text, size_t len, struct zd_networks_ip *ret_ip)
{
    char copy[ZD_NETWORKS_IP_TEXT_BYTES] = "";
    struct in_addr v4;
    struct in6_addr v6;
    if (len >= sizeof copy || memchr(text, '\0', len) != NULL) {
        return false;
    }
    memcpy(copy, text, len);
    if (inet_pton(AF_INET, copy, &v4) == 1) {
        *ret_ip = ip_of_v4(&v4);
        return true;
    }
    if (inet_pton(AF_INET6, copy, &v6) == 1) {
        *ret_ip = ip_of_v6(&v6);
        return true;
    }
    return false;
}

struct zd_networks_ip zd_networks_ip_of(const struct sockaddr *address)
{
    if (address != NULL && address->sa_family == AF_INET) {
        return ip_of_v4(&((const struct sockaddr_in *)(const void *)address)->sin_addr);
    }
    if (address != NULL && address->sa_family == AF_INET6) {
        return ip_of_v6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    }
    return (struct zd_networks_ip){.bits = 0};
}

void zd_networks_set_socket(const struct zd_networks_ip *ip, struct sockaddr_storage *ret_address)
{
    *ret_address = (struct sockaddr_storage){0};
    if (ip->bits == V4_BITS) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
        v4->sin_family = AF_INET;
        memcpy(&v4->sin_addr, ip->byte + V4_AT, sizeof v4->sin_addr);
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
        v6->sin6_family = AF_INET6;
        memcpy(&v6->sin6_addr, ip->byte, sizeof v6->sin6_addr);
    }
}

const char *zd_networks_name_ip(const struct zd_networks_ip *ip, char to[ZD_NETWORKS_IP_TEXT_BYTES])
{
    const bool is_v4 = ip->bits == V4_BITS;
    const char *name = ip->bits == 0
                           ? NULL
                           : inet_ntop(is_v4 ? AF_INET : AF_INET6, ip->byte + (is_v4 ? V4_AT : 0),
                                 to, ZD_NETWORKS_IP_TEXT_BYTES);
    if (name == NULL) {
        memcpy(to, "unknown", sizeof "unknown");
    }
    return to;
}

bool zd_networks_is_loopback(const struct zd_networks_ip *ip)
{
    static const struct zd_networks_ip v6 = {.byte = {[15] = 1}, .bits = V6_BITS};
    return ip->bits == V4_BITS ? ip->byte[V4_AT] == IN_LOOPBACKNET : zd_networks_same_ip(ip, &v6);
}

bool zd_networks_same_ip(const struct zd_networks_ip *a, const struct zd_networks_ip *b)
{
    return a->bits == b->bits && memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

/* A length is of the address as it is written: that of a mapped one says 96 bits too many. */
static bool parse_prefix(const char *text, size_t len, struct zd_networks_prefix *ret_prefix)
{
    const char *slash = len == 0 ? NULL : memchr(text, '/', len);
    const size_t ip_len = slash == NULL ? len : (size_t)(slash - text);
    struct zd_networks_prefix prefix;
    if (!zd_networks_parse_ip(text, ip_len, &prefix.ip)) {
        return false;
    }
    const bool is_mapped = prefix.ip.bits == V4_BITS && memchr(text, ':', ip_len) != NULL;
    const uint64_t surplus = is_mapped ? V6_BITS - V4_BITS : 0;
    uint64_t bits = prefix.ip.bits + surplus;
    if (slash != NULL) {
        const struct zd_span digits = {(const uint8_t *)slash + 1, len - ip_len - 1};
        if (zd_scan_whole_u64(digits, bits, &bits) != ZD_OK || bits < surplus) {
            return false;
        }
    }
    prefix.len = (uint8_t)(bits - surplus);
    *ret_prefix = prefix;
    return true;
}

bool zd_networks_is_item(const char *text, size_t len)
{
    struct zd_networks_prefix prefix;
    return parse_prefix(text, len, &prefix);
}

static size_t count_words(const char *list)
{
    size_t n = 0;
    for (list += strspn(list, " "); *list != '\0'; list += strspn(list, " ")) {
        list += strcspn(list, " ");
        n++;
    }
    return n;
}

enum zd_status zd_networks_init(
    const char *list, struct zd_networks *ret_networks, struct zd_error *err)
{
    const size_t n = count_words(list);
    struct zd_networks networks = {.n = 0};
    networks.prefix = zd_alloc_zero(n, sizeof *networks.prefix);
    if (networks.prefix == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %zu networks", n);
    }
    for (list += strspn(list, " "); *list != '\0'; list += strspn(list, " ")) {
        const size_t len = strcspn(list, " ");
        if (!parse_prefix(list, len, &networks.prefix[networks.n])) {
            zd_networks_done(&networks);
            return zd_fail(err, ZD_INVALID, "'%.*s' is neither an address nor a prefix",
                (int)zd_min_u64(len, SHOWN_BYTES), list);
        }
        networks.n++;
        list += len;
    }
    *ret_networks = networks;
    return ZD_OK;
}

void zd_networks_done(struct zd_networks *networks)
{
    zd_free(networks->prefix);
    *networks = (struct zd_networks){.n = 0};
}

static bool has_ip(const struct zd_networks_prefix *prefix, const struct zd_networks_ip *ip)
{
    const size_t from = ip->bits == V4_BITS ? V4_AT : 0;
    const size_t n_whole = prefix->len / BITS_OF_BYTE;
    const unsigned n_rest = prefix->len % BITS_OF_BYTE;
    if (prefix->ip.bits != ip->bits ||
        memcmp(prefix->ip.byte + from, ip->byte + from, n_whole) != 0) {
        return false;
    }
    const unsigned differ =
        n_rest == 0 ? 0U : (unsigned)(prefix->ip.byte[from + n_whole] ^ ip->byte[from + n_whole]);
    return differ >> (BITS_OF_BYTE - n_rest) == 0;
}

bool zd_networks_have(const struct zd_networks *networks, const struct zd_networks_ip *ip)
{
    for (size_t i = 0; i < networks->n; i++) {
        if (ip->bits > 0 && has_ip(&networks->prefix[i], ip)) {
            return true;
        }
    }
    return false;
}
