/* Where the drafts of 2019 to January 2023 keep documents and chunks. */
#include "core/dialect/drafts/draft_keys.h"

#include <string.h>

#include "core/dialect/node_name.h"

enum zd_status zd_draft_keys_add_document(
    const struct zd_draft_keys *keys, const char *path, const char *type, struct zd_text *key)
{
    if (path[0] == '\0') {
        return zd_text_addf(key, "%s%s%s%s", keys->meta, keys->root_join, type, keys->suffix);
    }
    return zd_text_addf(key, "%s/%s.%s%s", keys->meta, path, type, keys->suffix);
}

static ZD_RESULT add_below(const char *tree, const char *path, struct zd_text *text)
{
    return zd_text_addf(text, "%s/%s%s", tree, path, path[0] == '\0' ? "" : "/");
}

enum zd_status zd_draft_keys_add_children(
    const struct zd_draft_keys *keys, const char *path, struct zd_text *prefix)
{
    return add_below(keys->meta, path, prefix);
}

/* The entry without `.TYPE` and the suffix; false when it does not end so. */
static bool cut_type(const struct zd_draft_keys *keys, const char *type, struct zd_span *entry)
{
    ZD_SCOPED_TEXT(ending, 64);
    if (zd_text_addf(&ending, ".%s%s", type, keys->suffix) != ZD_OK || entry->len < ending.len ||
        memcmp(entry->ptr + entry->len - ending.len, ending.at, ending.len) != 0) {
        return false;
    }
    entry->len -= ending.len;
    return true;
}

enum zd_status zd_draft_keys_add_child(
    const struct zd_draft_keys *keys, struct zd_span entry, bool is_prefix, struct zd_text *name)
{
    const bool is_child =
        is_prefix || cut_type(keys, "array", &entry) || cut_type(keys, "group", &entry);
    if (!is_child || !zd_node_name_is_valid(entry)) {
        return ZD_NOT_FOUND;
    }
    return zd_text_add_bytes(name, entry.ptr, entry.len);
}

enum zd_status zd_draft_keys_add_data(
    const struct zd_draft_keys *keys, const char *path, struct zd_text *key)
{
    return add_below(keys->data, path, key);
}
