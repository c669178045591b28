/* Decoded chunks through the cache: locate, read, decode, once for all waiters. Thread: loop. */
#ifndef ZD_DATA_CHUNKS_H
#define ZD_DATA_CHUNKS_H

#include "server/data/node.h"
#include "server/runtime/workers.h"

/** Times for a chunk that was not in the cache; zeroed if it was. By uv_hrtime. */
struct zd_chunk_times {
    uint64_t read_began_ns;
    uint64_t read_ns;
    uint64_t decode_began_ns;
    uint64_t decode_ns;
};

/** A chunk that a request wants; embedded in the request's list of parts. */
struct zd_chunk_want {
    struct zd_wait wait;
    /* in */
    struct zd_part part; /* of a plan over the layout's last level */
    uint64_t n_together; /* chunks that are wanted at once: they share the loop thread's time */
    struct zd_job_owner owner; /* the request that it is decoded for */
    /* out */
    struct zd_buf *data; /* a reference for the caller: the whole decoded chunk, or (is_span) the
                          * bytes of zd_layout_span; NULL with ZD_OK: the chunk is absent, its
                          * elements are the fill value */
    bool is_span;
    struct zd_generation generation; /* of the stored object (the shard); zero = absent */
    uint64_t checked_ms;             /* loop time when the store was asked */
    struct zd_chunk_times times;
    struct zd_flight *flight; /* its own: what it waits for */
};

/** Make a want that can be released, and asked for once its part is set. It is large, so most of it
 * is not even zeroed. @param done, context of its wait */
void zd_chunks_want_init(
    struct zd_chunk_want *want, void (*done)(struct zd_wait *wait), void *context);

/**
 * The elements of one part: from the cache, or read and decoded. Shards: their index and the inner
 * chunk by range; linear chunks of which little is wanted: only that run of bytes. wait.status:
 * ZD_OK, ZD_CORRUPT (the error names the key), ZD_STORE ...
 */
enum zd_next zd_chunks_want(struct zd_node *node, struct zd_chunk_want *want);

/**
 * Look for a decoded chunk, or its absence, that is at hand: nothing is read, asked or counted.
 * @param index      in the last level's grid
 * @param generation of the stored object now
 */
bool zd_chunks_find(const struct zd_node *node, const uint64_t *index,
    struct zd_generation generation, bool *ret_is_absent);

/** Stop waiting and release the output. */
void zd_chunks_release(struct zd_chunk_want *want);

/** The end of a decoded chunk: for zd_cache_init of server->chunks. */
void zd_chunk_free(struct zd_cache_entry *entry);

#endif
