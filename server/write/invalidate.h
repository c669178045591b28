/* Invalidating caches when a stored key changes, so that the next request sees the change.
 *
 * A cache entry of the key, or of the node whose document the key is, is removed; requests that
 * already wait for it get it. An entry made of many keys (decoded chunks, shard indexes, prepared
 * answers) holds the dataset's count of changes, taken before the store was first asked. When the
 * count differs later, the store is asked again, as after revalidate_ms, and an equal generation or
 * tag makes the entry good again. So work under way during a change brings nothing old back.
 * Thread: loop. */
#ifndef ZD_WRITE_INVALIDATE_H
#define ZD_WRITE_INVALIDATE_H

#include "server/data/catalog.h"

/** A key was written or erased, or may have been: in this dataset, and in all datasets that share
 * its store. */
void zd_invalidate_key(struct zd_dataset *dataset, const char *key);

#endif
