/* What the caches forget when a stored key changes, so that the next request sees the change.
 *
 * An entry that is found by the key, or by the path that the key is a document of, is dropped:
 * those who wait for it are told what they asked for, but nobody finds it any more. What is made of
 * many keys (decoded chunks, the indexes of shards, prepared answers) notes the count of changes
 * before the store was asked first; when another number stands there, the store is asked again, as
 * it is when revalidate_ms have passed, and an equal generation or tag makes the entry good again.
 * So nothing old comes back with work that was under way meanwhile either. Thread: loop. */
#ifndef ZD_WRITE_INVALIDATE_H
#define ZD_WRITE_INVALIDATE_H

#include "server/data/catalog.h"

/** A key was written or erased, or may have been: of this dataset, and of all that are served from
 * the same place. */
void zd_invalidate_key(struct zd_dataset *dataset, const char *key);

#endif
