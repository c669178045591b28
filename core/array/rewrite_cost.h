/* What edits cost: memory and time. */
#ifndef ZD_CORE_ARRAY_REWRITE_COST_H
#define ZD_CORE_ARRAY_REWRITE_COST_H

#include "core/array/rewrite_edit.h"

/** The most memory that edits of one object take: the object before and after, the indexes of its
 * shards, one chunk of the last level decoded and encoded. Without the edit's own bytes. */
uint64_t zd_rewrite_cost_bytes(const struct zd_layout *layout, uint64_t object_bytes_max);

/** About how long that edit takes; to verify it, as long as it is not. */
uint64_t zd_rewrite_cost_ns(const struct zd_layout *layout, const struct zd_edit *edit);

#endif
