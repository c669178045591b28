/* Invalidating caches when a stored key changes. */
#include "server/write/invalidate.h"

#include "server/data/object_cache.h"
#include "server/runtime/server.h"

static void invalidate(struct zd_dataset *dataset, const char *key)
{
    dataset->n_changes++;
    zd_objects_forget_change(dataset, key);
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (zd_dialect_node_path(key, &path) == ZD_OK) {
        zd_catalog_forget(dataset, zd_text_span(&path));
    }
}

/* After a reload another dataset may share the store while writes to the old one end. */
void zd_invalidate_key(struct zd_dataset *dataset, const char *key)
{
    const struct zd_server *server = dataset->server;
    invalidate(dataset, key);
    for (size_t i = 0; i < server->n_datasets; i++) {
        struct zd_dataset *other = server->dataset[i];
        if (other != dataset && zd_store_is_shared(other->store, dataset->store)) {
            invalidate(other, key);
        }
    }
}
