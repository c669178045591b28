/* The key of the stored object that holds a chunk. */
#include "server/data/object_key.h"

#include <stdio.h>
#include <string.h>

enum zd_status zd_object_key_of(const struct zd_node *node, uint32_t level, const uint64_t *index,
    char ret_key[ZD_KEY_BYTES_MAX + 1], struct zd_error *err)
{
    uint64_t object_index[ZD_RANK_MAX];
    zd_layout_ancestor(node->layout, level, 0, index, object_index);
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    const enum zd_status status =
        node->meta->dialect->chunk_key(node->meta, node->path, object_index, &key);
    if (status != ZD_OK) {
        return zd_fail(err, status, "%s: the key of a chunk has more than %d bytes", node->path,
            ZD_KEY_BYTES_MAX);
    }
    memcpy(ret_key, key.at, key.len + 1);
    return ZD_OK;
}

void zd_object_key_in_error(struct zd_error *err, const char *what, const char *key)
{
    char prefix[ZD_ERROR_TEXT_BYTES / 2];
    (void)snprintf(prefix, sizeof prefix, "%s %.200s: ", what, key);
    const size_t len = strlen(prefix);
    memmove(err->text + len, err->text, sizeof err->text - len - 1);
    memcpy(err->text, prefix, len);
    err->text[sizeof err->text - 1] = '\0';
}
