/* The routes below a path. */
#include "server/request/route_below.h"

#include <string.h>

/* The next segment behind a slash. @return false: there is none */
static bool next_segment(struct zd_span *rest, struct zd_span *ret_segment)
{
    if (rest->len == 0 || rest->ptr[0] != '/') {
        return false;
    }
    const uint8_t *from = rest->ptr + 1;
    const uint8_t *slash = rest->len == 1 ? NULL : memchr(from, '/', rest->len - 1);
    const size_t len = slash == NULL ? rest->len - 1 : (size_t)(slash - from);
    *ret_segment = (struct zd_span){.ptr = from, .len = len};
    rest->ptr += 1 + len;
    rest->len -= 1 + len;
    return true;
}

bool zd_route_below(const char *template, struct zd_span prefix, struct zd_route_below *ret_below)
{
    struct zd_route_below below = {0};
    struct zd_span templates = zd_span_of(template);
    struct zd_span wanted;
    struct zd_span segment;
    while (prefix.len > 0) {
        const struct zd_span rest = prefix;
        if (!next_segment(&templates, &wanted) || !next_segment(&prefix, &segment)) {
            return false;
        }
        if (zd_span_is(wanted, "{path}") || zd_span_is(wanted, "{key}")) {
            below.path = (struct zd_span){.ptr = rest.ptr + 1, .len = rest.len - 1};
            break;
        }
        if (zd_span_is(wanted, "{d}")) {
            below.dataset = segment;
        } else if (!zd_span_equal(wanted, segment)) {
            return false;
        }
    }
    *ret_below = below;
    return true;
}
