/* The names of nodes. */
#include "core/dialect/node_name.h"

#include <string.h>

#include "core/base/scan.h"

static bool is_all_periods(struct zd_span name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] != '.') {
            return false;
        }
    }
    return true;
}

bool zd_node_name_is_valid(struct zd_span name)
{
    if (name.len == 0 || is_all_periods(name) || memchr(name.ptr, '/', name.len) != NULL ||
        memchr(name.ptr, '\0', name.len) != NULL) {
        return false;
    }
    const bool is_reserved = name.len >= 2 && name.ptr[0] == '_' && name.ptr[1] == '_';
    return !is_reserved && !zd_span_is(name, "zarr.json") && zd_scan_is_utf8(name);
}
