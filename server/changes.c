/* What the caches forget when a stored key changes. */
#include "server/changes.h"

#include "server/objects.h"

void zd_changes_note(struct zd_dataset *dataset, const char *key)
{
    dataset->n_changes++;
    zd_objects_forget_change(dataset, key);
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (zd_document_path(key, &path) == ZD_OK) {
        zd_catalog_forget(dataset, zd_text_span(&path));
    }
}
