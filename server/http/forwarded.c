/* Proxies' statements about the client behind them. */
#include "server/http/forwarded.h"

#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define NODE_BYTES_MAX 64 /* of an address with its port */

static const char name_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
static const char path_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~/";

/* ---- pieces ---- */

static bool is_word(struct zd_span text, const char *word)
{
    return text.len == strlen(word) && strncasecmp((const char *)text.ptr, word, text.len) == 0;
}

static bool consists_of(struct zd_span text, const char *bytes)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\0' || strchr(bytes, text.ptr[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Split the text at the first such byte; false: there is none, and the whole text is before it.
 * An empty part points into the text: the caller may go on from there. */
static bool split(
    struct zd_span text, uint8_t at, struct zd_span *ret_before, struct zd_span *ret_behind)
{
    const uint8_t *found = text.len == 0 ? NULL : memchr(text.ptr, at, text.len);
    *ret_before = text;
    *ret_behind = (struct zd_span){text.ptr, 0};
    if (found != NULL) {
        ret_before->len = (size_t)(found - text.ptr);
        *ret_behind = (struct zd_span){found + 1, text.len - ret_before->len - 1};
    }
    return found != NULL;
}

/* Takes what stands behind the last separator off; a separator between quotes is none. Nothing
 * that the proxies write needs a quote within quotes. The list that is left has no ptr where
 * nothing stood before: an empty element is one, too. */
static struct zd_span take_last(struct zd_span *list, uint8_t separator)
{
    bool is_quoted = false;
    size_t at = list->len;
    while (at > 0 && (is_quoted || list->ptr[at - 1] != separator)) {
        at--;
        is_quoted ^= list->ptr[at] == '"';
    }
    const struct zd_span last = {at == 0 ? list->ptr : list->ptr + at, list->len - at};
    *list = at == 0 ? (struct zd_span){0} : (struct zd_span){list->ptr, at - 1};
    return zd_span_trim(last);
}

/* Without its quotes; false: they are no pair around all of it. */
static bool unquote(struct zd_span *value)
{
    const bool is_quoted =
        value->len >= 2 && value->ptr[0] == '"' && value->ptr[value->len - 1] == '"';
    if (is_quoted) {
        value->ptr++;
        value->len -= 2;
    }
    return value->len > 0 && memchr(value->ptr, '"', value->len) == NULL &&
           memchr(value->ptr, '\\', value->len) == NULL;
}

/* Digits, or nothing behind the colon (RFC 3986, 3.2.3). */
static bool is_port(struct zd_span text)
{
    uint64_t port;
    return text.len == 0 || zd_scan_whole_u64(text, UINT16_MAX, &port) == ZD_OK;
}

/* "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]", "[2001:db8::1]:80" and, of X-Forwarded-For,
 * "2001:db8::1". */
static bool parse_node(struct zd_span node, struct zd_networks_ip *ret_ip)
{
    struct zd_span ip;
    struct zd_span port;
    const char *text = (const char *)node.ptr;
    if (node.len == 0 || node.len > NODE_BYTES_MAX) {
        return false;
    }
    if (text[0] == '[') {
        const bool has_end = split(node, ']', &ip, &port);
        const bool has_port = port.len > 0 && port.ptr[0] == ':';
        const struct zd_span digits = {port.ptr + has_port, port.len - has_port};
        return has_end && (has_port ? is_port(digits) : port.len == 0) &&
               memchr(text, ':', ip.len) != NULL &&
               zd_networks_parse_ip(text + 1, ip.len - 1, ret_ip);
    }
    (void)split(node, ':', &ip, &port);
    return zd_networks_parse_ip(text, node.len, ret_ip) ||
           (is_port(port) && zd_networks_parse_ip(text, ip.len, ret_ip));
}

static bool is_proto(struct zd_span text)
{
    return is_word(text, "http") || is_word(text, "https");
}

static bool is_host(struct zd_span text)
{
    struct zd_networks_ip ip;
    struct zd_span name;
    struct zd_span port;
    if (text.len == 0 || text.len >= ZD_FORWARDED_HOST_BYTES) {
        return false;
    }
    (void)split(text, ':', &name, &port);
    return text.ptr[0] == '[' ? parse_node(text, &ip)
                              : name.len > 0 && is_port(port) && consists_of(name, name_bytes);
}

/* A segment that leads elsewhere, or "//", which would name a host. */
static bool has_odd_segment(struct zd_span path)
{
    while (path.len > 0) {
        const struct zd_span segment = take_last(&path, '/');
        if (segment.len == 0 || zd_span_is(segment, ".") || zd_span_is(segment, "..")) {
            return true;
        }
    }
    return false;
}

static bool is_prefix(struct zd_span path)
{
    return path.len > 1 && path.len < ZD_FORWARDED_PREFIX_BYTES && path.ptr[0] == '/' &&
           consists_of(path, path_bytes) && !has_odd_segment(path);
}

/* ---- lists ---- */

/* The element that a proxy wrote. */
struct element {
    struct zd_span node;
    struct zd_span proto;
    struct zd_span host;
};

/* @return false: it is malformed, or a parameter is repeated */
static bool parse_element(struct zd_span text, struct element *ret_element)
{
    struct element element = {.node = {.len = 0}};
    const struct {
        const char *name;
        struct zd_span *value;
    } known[] = {{"for", &element.node}, {"proto", &element.proto}, {"host", &element.host}};
    while (text.len > 0) {
        struct zd_span name;
        struct zd_span value;
        if (!split(take_last(&text, ';'), '=', &name, &value) || !unquote(&value)) {
            return false;
        }
        for (size_t i = 0; i < ZD_COUNT_OF(known); i++) {
            const bool is_it = is_word(name, known[i].name);
            if (is_it && known[i].value->len > 0) {
                return false;
            }
            *known[i].value = is_it ? value : *known[i].value;
        }
    }
    *ret_element = element;
    return true;
}

/* Whether the search ends at a hop: nobody who is trusted says more, or nobody says anything. */
static bool is_end(
    const struct zd_networks *trusted, const struct zd_networks_ip *hop, struct zd_span rest)
{
    return !zd_networks_have(trusted, hop) || rest.ptr == NULL;
}

static struct zd_forwarded read_forwarded(struct zd_span list, const struct zd_networks *trusted)
{
    struct zd_forwarded said = {.client = {.bits = 0}};
    for (size_t i = 0; i < ZD_FORWARDED_HOPS_MAX && list.ptr != NULL; i++) {
        struct element element;
        struct zd_networks_ip hop;
        if (!parse_element(take_last(&list, ','), &element)) {
            break;
        }
        said.proto = is_proto(element.proto) ? element.proto : said.proto;
        said.host = is_host(element.host) ? element.host : said.host;
        if (!parse_node(element.node, &hop)) {
            break;
        }
        if (is_end(trusted, &hop, list)) {
            said.client = hop;
            break;
        }
    }
    return said;
}

static struct zd_networks_ip read_x_for(struct zd_span list, const struct zd_networks *trusted)
{
    for (size_t i = 0; i < ZD_FORWARDED_HOPS_MAX && list.ptr != NULL; i++) {
        struct zd_networks_ip hop;
        if (!parse_node(take_last(&list, ','), &hop)) {
            break;
        }
        if (is_end(trusted, &hop, list)) {
            return hop;
        }
    }
    return (struct zd_networks_ip){.bits = 0};
}

static struct zd_span last_if(struct zd_span list, bool (*is_good)(struct zd_span text))
{
    const struct zd_span last = take_last(&list, ',');
    return is_good(last) ? last : (struct zd_span){.len = 0};
}

static struct zd_span read_prefix(struct zd_span list)
{
    struct zd_span prefix = take_last(&list, ',');
    prefix.len -= prefix.len > 1 && prefix.ptr[prefix.len - 1] == '/';
    return is_prefix(prefix) ? prefix : (struct zd_span){.len = 0};
}

struct zd_forwarded zd_forwarded_read(
    const struct zd_forwarded_fields *fields, const struct zd_networks *trusted)
{
    struct zd_forwarded said = read_forwarded(fields->forwarded, trusted);
    const struct zd_networks_ip x_client = read_x_for(fields->x_for, trusted);
    const bool has_both = fields->forwarded.ptr != NULL && fields->x_for.ptr != NULL;
    said.prefix = read_prefix(fields->x_prefix);
    said.x_host = last_if(fields->x_host, is_host);
    if (has_both && !zd_networks_same_ip(&said.client, &x_client)) {
        said.client = (struct zd_networks_ip){.bits = 0};
        said.proto = (struct zd_span){.len = 0};
        return said;
    }
    if (fields->forwarded.ptr == NULL) {
        said.client = x_client;
    }
    if (said.proto.len == 0) {
        said.proto = last_if(fields->x_proto, is_proto);
    }
    return said;
}

/* ---- names ---- */

/* How a name of the table is compared. */
enum part { WHOLE, BEGINNING, END };

#define NAME(text, part) {(text), sizeof(text) - 1, (part)}

/* Fields of the standards, and of the usual proxies, balancers and networks of caches. */
static const struct {
    const char *text;
    size_t len;
    enum part part;
} names[] = {
    NAME("Via", WHOLE),
    NAME("Forwarded", BEGINNING),
    NAME("X-Forwarded", BEGINNING),
    NAME("X-Original-", BEGINNING),
    NAME("X-Real-", BEGINNING),
    NAME("X-Proxy", BEGINNING),
    NAME("X-Envoy-", BEGINNING),
    NAME("CF-", BEGINNING),
    NAME("-IP", END), /* X-Client-IP, True-Client-IP, Fly-Client-IP, X-Cluster-Client-IP, ... */
    NAME("-ClientIP", END),
    NAME("X-Remote-Addr", WHOLE),
    NAME("X-Varnish", WHOLE),
    NAME("CDN-Loop", WHOLE),
    NAME("Surrogate-Capability", WHOLE),
};

bool zd_forwarded_is_field(const char *name, size_t len)
{
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        const size_t from = names[i].part == END && len > names[i].len ? len - names[i].len : 0;
        const bool may_be = names[i].part == WHOLE ? len == names[i].len : len >= names[i].len;
        if (may_be && strncasecmp(name + from, names[i].text, names[i].len) == 0) {
            return true;
        }
    }
    return false;
}
