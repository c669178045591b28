/* The client's preferences: media types (RFC 9110, 12.5.1) and content codings (12.5.3). */
#include "server/http/accept.h"

#include <strings.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define TOKEN           "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define TOKEN_BYTES_MAX 128

/* An item of a header: a media range, or a coding. */
struct item {
    struct zd_span name;    /* of a coding, or the type of a range */
    struct zd_span subtype; /* of a range; a coding has none */
    uint32_t quality;
};

/* Without regard to case. */
static bool span_is(struct zd_span span, const char *text)
{
    return span.len == strlen(text) && strncasecmp((const char *)span.ptr, text, span.len) == 0;
}

/* 0.5, 1.000: at most three digits (RFC 9110, 12.4.2). */
static bool scan_quality(struct zd_scan *scan, uint32_t *ret_quality)
{
    uint64_t whole;
    if (zd_scan_u64(scan, 1, &whole) != ZD_OK) {
        return false;
    }
    uint32_t quality = (uint32_t)whole * ZD_ACCEPT_FULL;
    if (zd_scan_char(scan, '.')) {
        for (uint32_t unit = 100; unit > 0 && scan->at < scan->end; unit /= 10) {
            const char digit = *scan->at;
            if (digit < '0' || digit > '9') {
                break;
            }
            quality += unit * (uint32_t)(digit - '0');
            scan->at++;
        }
    }
    *ret_quality = quality;
    return quality <= ZD_ACCEPT_FULL;
}

/* Parameters other than q do not narrow what we offer. */
static bool scan_parameters(struct zd_scan *scan, uint32_t *ret_quality)
{
    zd_scan_skip_spaces(scan);
    while (zd_scan_char(scan, ';')) {
        struct zd_span name;
        struct zd_span value;
        zd_scan_skip_spaces(scan);
        if (zd_scan_run(scan, TOKEN, TOKEN_BYTES_MAX, &name) != ZD_OK || !zd_scan_char(scan, '=')) {
            return false;
        }
        if (span_is(name, "q")) {
            if (!scan_quality(scan, ret_quality)) {
                return false;
            }
        } else if (zd_scan_run(scan, TOKEN "\"", TOKEN_BYTES_MAX, &value) != ZD_OK) {
            return false;
        }
        zd_scan_skip_spaces(scan);
    }
    return true;
}

/* The next item of a list that is well-formed; false at its end. */
static bool next_item(struct zd_scan *list, struct item *ret_item)
{
    bool is_fine = false;
    while (!is_fine && !zd_scan_at_end(list)) {
        *ret_item = (struct item){.quality = ZD_ACCEPT_FULL};
        zd_scan_skip_spaces(list);
        is_fine = zd_scan_run(list, TOKEN, TOKEN_BYTES_MAX, &ret_item->name) == ZD_OK &&
                  (!zd_scan_char(list, '/') ||
                      zd_scan_run(list, TOKEN, TOKEN_BYTES_MAX, &ret_item->subtype) == ZD_OK) &&
                  scan_parameters(list, &ret_item->quality) &&
                  (zd_scan_at_end(list) || *list->at == ',');
        while (!zd_scan_at_end(list) && !zd_scan_char(list, ',')) {
            list->at++; /* the rest of a malformed item */
        }
    }
    return is_fine;
}

/* 0 = the range does not name the type; more = more specific. */
static int specificity(const struct item *range, const char *media_type)
{
    const size_t type_len = strcspn(media_type, "/");
    const bool any_subtype = span_is(range->subtype, "*");
    if (any_subtype && span_is(range->name, "*")) {
        return 1;
    }
    if (range->name.len != type_len ||
        strncasecmp((const char *)range->name.ptr, media_type, type_len) != 0) {
        return 0;
    }
    if (any_subtype) {
        return 2;
    }
    return span_is(range->subtype, media_type + type_len + 1) ? 3 : 0;
}

uint32_t zd_accept_quality(const char *accept, const char *media_type)
{
    if (accept == NULL || accept[0] == '\0') {
        return ZD_ACCEPT_FULL;
    }
    int best = 0;
    uint32_t quality = 0;
    struct zd_scan list = zd_scan_of(zd_span_of(accept));
    struct item range;
    while (next_item(&list, &range)) {
        const int level = specificity(&range, media_type);
        if (level > best) {
            best = level;
            quality = range.quality;
        }
    }
    return quality;
}

bool zd_accept_is_for_people(const char *accept)
{
    const uint32_t page = zd_accept_quality(accept, "text/html");
    return page > zd_accept_quality(accept, "application/json") &&
           page > zd_accept_quality(accept, "application/problem+json");
}

/* The header's statement about a coding. */
struct wish {
    bool is_named;
    uint32_t quality;
};

/* The wishes for all codings; an unnamed coding gets the wish for "*". */
static void scan_wishes(const char *accept_encoding, struct wish wishes[ZD_CODINGS])
{
    struct wish any = {0};
    struct zd_scan list = zd_scan_of(zd_span_of(accept_encoding));
    struct item item;
    while (next_item(&list, &item)) {
        const struct wish wish = {.is_named = true, .quality = item.quality};
        if (item.subtype.len > 0) {
            continue;
        }
        if (span_is(item.name, "*")) {
            any = wish;
        }
        if (span_is(item.name, "x-gzip")) { /* RFC 9110, 8.4.1.3 */
            wishes[ZD_GZIP] = wish;
        }
        for (int coding = 0; coding < ZD_CODINGS; coding++) {
            if (span_is(item.name, zd_compress_name((enum zd_coding)coding))) {
                wishes[coding] = wish;
            }
        }
    }
    for (int coding = 0; coding < ZD_CODINGS; coding++) {
        if (!wishes[coding].is_named) {
            wishes[coding] = any;
        }
    }
}

enum zd_coding zd_accept_coding(const char *accept_encoding, uint64_t len)
{
    if (accept_encoding == NULL || accept_encoding[0] == '\0') {
        return ZD_PLAIN;
    }
    struct wish wishes[ZD_CODINGS] = {{0}};
    scan_wishes(accept_encoding, wishes);
    const struct wish *plain = &wishes[ZD_PLAIN];
    const bool refuses_plain = plain->is_named && plain->quality == 0;
    if (len < ZD_COMPRESSED_BYTES_MIN && !refuses_plain) {
        return ZD_PLAIN;
    }
    enum zd_coding best = ZD_PLAIN;
    for (int coding = ZD_PLAIN + 1; coding < ZD_CODINGS; coding++) {
        if (wishes[coding].quality > 0 && wishes[coding].quality >= wishes[best].quality) {
            best = (enum zd_coding)coding;
        }
    }
    return best;
}
