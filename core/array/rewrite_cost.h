/* The cost of edits: memory and time. */
#ifndef ZD_CORE_ARRAY_REWRITE_COST_H
#define ZD_CORE_ARRAY_REWRITE_COST_H

#include "core/array/rewrite_edit.h"

/** The most memory that edits of one object need: the object before and after, the indexes of its
 * shards, one chunk of the last level decoded and encoded. Excludes the bytes of the edit. */
uint64_t zd_rewrite_cost_bytes(const struct zd_layout *layout, uint64_t object_bytes_max);

/** The longest stored object that an edit may read: what its codecs produce at most, or a shard
 * with gaps of about an eighth. zd_rewrite_cost_bytes has room for it. */
uint64_t zd_rewrite_object_max(const struct zd_layout *layout, uint64_t object_bytes_max);

/** Estimated time of an edit, including its verification until that is done. */
uint64_t zd_rewrite_cost_ns(const struct zd_layout *layout, const struct zd_edit *edit);

#endif
