/* What the caches forget when a stored key changes. */
#include "server/changes.h"

#include <string.h>

#include "server/objects.h"

/* Whether the key is a document of the node at that path. */
static bool is_document_of(
    const struct zd_dialect *dialect, const char *path, const char *key, struct zd_text *memory)
{
    bool is_document = false;
    for (uint32_t i = 0; i < dialect->n_documents && !is_document; i++) {
        zd_text_clear(memory);
        is_document =
            dialect->document_key(path, i, memory) == ZD_OK && strcmp(memory->at, key) == 0;
    }
    return is_document;
}

static void forget_node(struct zd_dataset *dataset, struct zd_span path, const char *key)
{
    ZD_SCOPED_TEXT(own_path, ZD_KEY_BYTES_MAX);
    ZD_SCOPED_TEXT(memory, ZD_KEY_BYTES_MAX);
    if (zd_text_add_bytes(&own_path, path.ptr, path.len) != ZD_OK) {
        return;
    }
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        if (is_document_of(*dialect, own_path.at, key, &memory)) {
            zd_catalog_forget(dataset, path);
            return;
        }
    }
}

void zd_changes_note(struct zd_dataset *dataset, const char *key)
{
    dataset->n_changes++;
    zd_objects_forget_change(dataset, key);
    const char *slash = strrchr(key, '/');
    const struct zd_span parent = {
        .ptr = (const uint8_t *)key, .len = slash == NULL ? 0 : (size_t)(slash - key)};
    forget_node(dataset, parent, key);
}
