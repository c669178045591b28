/* The storage transformer of the drafts that makes shards, as a codec of final v3. */
#ifndef ZD_CORE_DIALECT_DRAFTS_DRAFT_SHARD_H
#define ZD_CORE_DIALECT_DRAFTS_DRAFT_SHARD_H

#include "core/base/fault.h"

/**
 * Judge a list of storage transformers. Sharding is the only one that is known, and never ignored.
 *
 * @param list any JSON value, or NULL: there is none
 * @param rank of the array
 * @return its chunks_per_shard: that many integers of 1 or more, borrowed; NULL: there are no
 * shards, or the faults refuse
 * Thread: any.
 */
const struct zd_json *zd_draft_shard_judge(
    const struct zd_json *list, size_t rank, struct zd_faults *faults);

/**
 * Let a final v3 document, whose chunks are those that shards are made of, have the shards as its
 * chunks: their codecs become those of inner chunks.
 *
 * @param document its chunk grid is regular, its chunk_shape any JSON; changed
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_draft_shard_apply(
    const struct zd_json *per_shard, struct zd_json *document, struct zd_faults *faults);

/** Let the findings about such a document point to what it was before, and to the transformer. */
void zd_draft_shard_move_faults(struct zd_faults *faults);

#endif
