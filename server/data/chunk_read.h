/* A chunk of any level, stored or decoded. Thread: loop, but for zd_chunk_read_make. */
#ifndef ZD_DATA_CHUNK_READ_H
#define ZD_DATA_CHUNK_READ_H

#include "core/array/chunk.h"
#include "server/data/chunks.h"
#include "server/runtime/gather.h"

/**
 * The stored bytes of one chunk of a level, unchanged: an inner chunk is found through its shards'
 * indexes. wait.status: ZD_OK, ZD_NOT_FOUND (absent), ZD_CORRUPT (the index), ZD_STORE ...
 */
struct zd_stored_chunk_want {
    struct zd_wait wait;
    uint32_t level;              /* in */
    uint64_t index[ZD_RANK_MAX]; /* in: of that level's grid */
    uint64_t bytes_max;          /* in: of a stored object; see struct zd_object_want */
    struct zd_buf *bytes;        /* out: a reference for the caller */
    struct zd_stat stat;         /* out: of the stored object; zero = absent */
    void *load;                  /* its own: until zd_chunk_stored_release */
};
enum zd_next zd_chunk_stored_want(struct zd_node *node, struct zd_stored_chunk_want *want);

/** Stop waiting, and release the output. */
void zd_chunk_stored_release(struct zd_stored_chunk_want *want);

/** The wanted chunk; embedded in the request's state. Set the inputs in a zeroed one. */
struct zd_chunk_read {
    struct zd_gather *gather;    /* in: counts the wait; borrowed */
    struct zd_node *node;        /* in; borrowed */
    uint32_t level;              /* in */
    uint64_t index[ZD_RANK_MAX]; /* in: of that level's grid */
    bool is_decoded;             /* in: its elements, not the stored bytes; those of variable
                                    length as zd_vlen_write has them */
    uint64_t bytes_max;          /* in: of a stored object; see struct zd_object_want */

    struct zd_chunk_want leaf;          /* decoded chunks of the last level come from the cache */
    struct zd_stored_chunk_want stored; /* all others */
    bool is_absent;                     /* out: no such chunk is stored */
    struct zd_generation generation;    /* out: of the stored object */
    int64_t mtime_ms;                   /* out: of the stored object; 0 = unknown */
    struct zd_buf *body;   /* out: owned; NULL when a chunk that is not decoded is absent */
    enum zd_status status; /* out: of zd_chunk_read_make */
    struct zd_error err;
};

/** The level that `level=` names: outer is 0, inner the next. @retval ZD_INVALID no shards */
ZD_RESULT zd_chunk_read_level(
    const struct zd_layout *layout, bool is_inner, uint32_t *ret_level, struct zd_error *err);

/** Want it, between zd_gather_begin and zd_gather_end. */
void zd_chunk_read_want(struct zd_chunk_read *read);

/** It has arrived. @retval ZD_CORRUPT, ZD_STORE ... (absence is no failure) */
ZD_RESULT zd_chunk_read_collect(struct zd_chunk_read *read, struct zd_error *err);

/** Makes body; status and err say whether it could. Thread: any. */
void zd_chunk_read_make(struct zd_chunk_read *read);

/** The cost of that. */
uint64_t zd_chunk_read_cost_ns(const struct zd_chunk_read *read);

/** Stop waiting and release all but the inputs; accepts a zeroed one. */
void zd_chunk_read_done(struct zd_chunk_read *read);

#endif
