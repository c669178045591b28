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

enum zd_status zd_dialect_node_path(const char *key, struct zd_text *ret_path)
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

extern const struct zd_dialect zd_dialect_v3;

enum zd_status zd_dialect_judge(struct zd_span text, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    const struct zd_documents documents = {.text = {text}, .present = {true}};
    return zd_dialect_v3.parse(&documents, reading, ret_meta, err);
}

struct zd_json *zd_dialect_new_group(void)
{
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL || zd_json_set(document, "zarr_format", zd_json_new_u64(3)) != ZD_OK ||
        zd_json_set(document, "node_type", zd_json_new_text("group")) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(document);
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

bool zd_dialect_node_name_is_valid(struct zd_span name)
{
    if (name.len == 0 || is_all_periods(name) || memchr(name.ptr, '/', name.len) != NULL ||
        memchr(name.ptr, '\0', name.len) != NULL) {
        return false;
    }
    const bool is_reserved = name.len >= 2 && name.ptr[0] == '_' && name.ptr[1] == '_';
    return !is_reserved && !zd_span_is(name, "zarr.json") && zd_scan_is_utf8(name);
}
