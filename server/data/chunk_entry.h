/* Entries of the cache of decoded chunks. Thread: loop. */
#ifndef ZD_DATA_CHUNK_ENTRY_H
#define ZD_DATA_CHUNK_ENTRY_H

#include "server/data/node.h"

/** A decoded chunk, or its absence, or (is_span) a run of its bytes, or (is_mark) nothing yet. */
struct zd_chunk_entry {
    struct zd_cache_entry entry; /* first; key: dataset, tag, index, span, path */
    struct zd_dataset *dataset;
    bool is_span;
    bool is_mark;                    /* a run of the chunk was wanted before */
    struct zd_buf *data;             /* owned; NULL = absent, unless it is a mark */
    struct zd_generation generation; /* of the stored object; zero = absent */
    uint64_t checked_ms;
    uint64_t n_changes; /* of the dataset, when the store was asked */
};

/** The end of an entry: for zd_cache_init of server->chunks. */
void zd_chunk_free(struct zd_cache_entry *entry);

/**
 * The entry of a chunk of the last level, or NULL; borrowed. An entry whose work began before a
 * change is left to its waiters and not found.
 * @param span the run of its bytes; len 0: the whole chunk
 */
struct zd_chunk_entry *zd_chunk_entry_find(
    const struct zd_node *node, const uint64_t *index, struct zd_byte_range span);

/** A new entry with the caller's reference, or NULL without memory. */
struct zd_chunk_entry *zd_chunk_entry_new(
    const struct zd_node *node, const uint64_t *index, struct zd_byte_range span);

void zd_chunk_entry_unref(struct zd_chunk_entry *chunk);

/** Out of the cache. */
void zd_chunk_entry_drop(struct zd_chunk_entry *chunk);

/** Set its cost from what it holds now. */
void zd_chunk_entry_charge(struct zd_chunk_entry *chunk);

/** Whether the store was asked before something was changed. */
bool zd_chunk_entry_is_before_change(const struct zd_chunk_entry *chunk);

#endif
