/* The stored bytes of chunks, whole objects and parts of shards. Thread: loop. */
#ifndef ZD_DATA_STORED_CHUNK_H
#define ZD_DATA_STORED_CHUNK_H

#include "server/data/node.h"

/**
 * The stored bytes of one chunk of a level, unchanged: an inner chunk is found through its shards'
 * indexes. wait.status: ZD_OK, ZD_NOT_FOUND (absent), ZD_CORRUPT (the index), ZD_STORE ...
 */
struct zd_stored_chunk_want {
    struct zd_wait wait;
    uint32_t level;              /* in */
    uint64_t index[ZD_RANK_MAX]; /* in: of that level's grid */
    struct zd_buf *bytes;        /* out: a reference for the caller */
    struct zd_stat stat;         /* out: of the stored object; zero = absent */
    void *load;                  /* its own */
};
enum zd_next zd_stored_chunk_want(struct zd_node *node, struct zd_stored_chunk_want *want);

/** Stop waiting, and release the output. */
void zd_stored_chunk_release(struct zd_stored_chunk_want *want);

#endif
