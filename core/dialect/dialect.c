/* The list of dialects, and the names of nodes. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/base/scan.h"

const struct zd_dialect *zd_dialect_find(const char *name)
{
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        if (strcmp(zd_dialects[i]->name, name) == 0) {
            return zd_dialects[i];
        }
    }
    return NULL;
}

enum zd_status zd_document_path(const char *key, struct zd_text *ret_path)
{
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        zd_text_clear(ret_path);
        const enum zd_status status = zd_dialects[i]->document_path(zd_span_of(key), ret_path);
        if (status != ZD_NOT_FOUND) {
            return status;
        }
    }
    return ZD_NOT_FOUND;
}

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
    return !is_reserved && !zd_span_is(name, "zarr.json") && zd_is_utf8(name);
}
