#include "core/dialect/node_keys.h"

#include "core/base/scan.h"
#include "core/dialect/chunk_key.h"
#include "core/dialect/node_name.h"

enum zd_status zd_node_keys_children_prefix(const char *path, struct zd_text *prefix)
{
    if (path[0] == '\0') {
        return ZD_OK;
    }
    ZD_TRY(zd_text_add(prefix, path));
    return zd_text_add_char(prefix, '/');
}

enum zd_status zd_node_keys_chunk(
    const struct zd_meta *meta, const char *path, const uint64_t *index, struct zd_text *key)
{
    ZD_TRY(zd_node_keys_children_prefix(path, key));
    return zd_chunk_key_add(meta, index, key);
}

enum zd_status zd_node_keys_chunk_index(
    const struct zd_meta *meta, const char *key, uint64_t *ret_index)
{
    return zd_chunk_key_parse(meta, zd_span_of(key), ret_index);
}

bool zd_node_keys_is_name(struct zd_span name)
{
    const bool is_reserved = name.len > 2 && name.ptr[0] == '_' && name.ptr[1] == '_';
    return is_reserved ? zd_scan_is_utf8(name) : zd_node_name_is_valid(name);
}

enum zd_status zd_node_keys_child_name(struct zd_span entry, bool is_prefix, struct zd_text *name)
{
    if (!is_prefix || !zd_node_keys_is_name(entry)) {
        return ZD_NOT_FOUND;
    }
    return zd_text_add_bytes(name, entry.ptr, entry.len);
}
