/* Where the stored bytes of inner chunks are, by the indexes of their shards. Thread: loop. */
#ifndef ZD_DATA_SHARD_LOOKUP_H
#define ZD_DATA_SHARD_LOOKUP_H

#include "server/data/node.h"
#include "server/data/object_cache.h"

/** The place of a chunk below level 0, found level by level. */
struct zd_place_want {
    struct zd_wait wait;
    /* in */
    uint32_t level;              /* 1 or more */
    uint64_t index[ZD_RANK_MAX]; /* in that level's grid */
    struct zd_generation gone;   /* not zero: the object no longer has that generation */
    uint32_t n_retries;          /* 0 at first */
    /* out */
    struct zd_byte_range range; /* with ZD_OK: of the stored object */
    struct zd_stat stat;        /* of the stored object; zero when it is absent */
    uint64_t checked_ms;        /* loop time when the store was asked about the stored object */
    /* its own */
    struct zd_object_want found; /* the index of at_level */
    struct zd_node *node;        /* borrowed */
    const char *key;             /* borrowed */
    uint32_t at_level;
    const struct zd_level *level_at; /* as its shard has it; of zd_layout_open */
    struct zd_byte_range run;        /* of that level's chunk */
    struct zd_byte_range piece;      /* of its index: zd_layout_index_piece */
};

/**
 * The place of a chunk. wait.status: ZD_OK, ZD_NOT_FOUND (the object or the inner chunk is absent),
 * ZD_PRECONDITION (the object was replaced meanwhile: ask again), ZD_CORRUPT, ZD_STORE ...
 * @param node borrowed until the answer
 * @param key  of the stored object; borrowed until the answer
 */
enum zd_next zd_shards_want(struct zd_node *node, const char *key, struct zd_place_want *want);

/**
 * The object was replaced since it was looked at: look again.
 * @return false: that was often enough, and wait is answered with ZD_STORE
 */
bool zd_shards_retry(struct zd_place_want *want);

/**
 * Look for a chunk of the last of two levels by an index that is at hand: nothing is read or asked.
 *
 * @param index      in the last level's grid
 * @param generation of the stored object now
 * @param ret_bytes  that are stored of the chunk; 0: it is absent
 * @return false: its index is not at hand, or says nothing of it that can be believed
 */
bool zd_shards_find(const struct zd_node *node, const uint64_t *index,
    struct zd_generation generation, uint64_t *ret_bytes);

/** Stop waiting. Accepts a zeroed want, and one that was answered. */
void zd_shards_release(struct zd_place_want *want);

#endif
