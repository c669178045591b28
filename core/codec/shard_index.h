/* The decoded index of a shard: where its inner chunks are, and whether they can be there. */
#ifndef ZD_CORE_CODEC_SHARD_INDEX_H
#define ZD_CORE_CODEC_SHARD_INDEX_H

#include "core/codec/chain.h"

/** Bytes of an entry: offset and length, two uint64. */
#define ZD_SHARD_ENTRY_BYTES 16U

/** The entry written for an inner chunk whose entry was impossible. It lies beyond the end
 * of every shard, so that it stays damaged, and is never taken for a missing one. */
#define ZD_SHARD_DAMAGED ((struct zd_shard_entry){.first = INT64_MAX - 1, .len = 1})

/** Where an inner chunk is; both words ZD_SHARD_MISSING when it is not stored. */
struct zd_shard_entry {
    uint64_t first; /* from the first byte of the shard */
    uint64_t len;   /* bytes */
};

/** The number of bytes to decode as the index of a stored shard: shard->index_bytes, or less if the
 * shard is too short for an implied checksum. Thread: any. */
uint64_t zd_shard_index_bytes(const struct zd_shard *shard, uint64_t shard_bytes);

/**
 * Decode an index. One of which the document says nothing (drafts of 2023) may lack the checksum
 * that is assumed: then its entries are those at the edge of the shard.
 *
 * @param encoded   zd_shard_index_bytes of the shard, where the index is
 * @param ret_index owned
 * @retval as zd_chain_decode
 * Thread: any.
 */
ZD_RESULT zd_shard_index_decode(const struct zd_shard *shard, struct zd_buf *encoded,
    struct zd_buf **ret_index, struct zd_error *err);

/** Entry i of a decoded index: of inner chunk i in C order. Thread: any. */
struct zd_shard_entry zd_shard_entry_at(const struct zd_buf *index, uint64_t i);

static inline bool zd_shard_entry_is_missing(struct zd_shard_entry entry)
{
    return entry.first == ZD_SHARD_MISSING && entry.len == ZD_SHARD_MISSING;
}

/**
 * Whether an entry that is not missing can be true: it lies in the shard and is no longer than the
 * inner codecs can make a chunk. Entries may share bytes; without a bound of their own, a small
 * shard could have each of a million inner chunks read and copy all of it.
 *
 * @param i           of the entry, for the message
 * @param shard_bytes length of the shard
 * @retval ZD_CORRUPT facts name, expected and found
 * Thread: any.
 */
ZD_RESULT zd_shard_entry_check(const struct zd_shard *shard, struct zd_shard_entry entry,
    uint64_t i, uint64_t shard_bytes, struct zd_error *err);

/**
 * Check all entries of a decoded index.
 *
 * @param ret_any_missing whether an inner chunk is missing
 * @retval ZD_CORRUPT as zd_shard_entry_check
 * Thread: any.
 */
ZD_RESULT zd_shard_index_check(const struct zd_shard *shard, const struct zd_buf *index,
    uint64_t shard_bytes, bool *ret_any_missing, struct zd_error *err);

#endif
