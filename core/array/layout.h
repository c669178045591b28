/* Where the bytes of chunks are: stored objects, shards within them, shards within those. No I/O.
 */
#ifndef ZD_CORE_ARRAY_LAYOUT_H
#define ZD_CORE_ARRAY_LAYOUT_H

#include "core/dialect/meta.h"
#include "core/grid/plan.h"

#define ZD_LEVELS_MAX 4

/**
 * A level of chunks. Level 0 holds the chunks of the array's grid, one stored object each; level n
 * + 1 are the inner chunks of level n's shards. Every level cuts the whole array, in the array's
 * own axes; all but level 0 do so regularly, since inner chunks divide all shards. Where the chunks
 * of level 0 differ, all here is of the largest; zd_layout_open gives what one of them is.
 */
struct zd_level {
    struct zd_grid grid; /* same shape at every level */
    struct zd_chain *
        chain; /* decodes one chunk of this level to elements, C order in the array's axes; owned */
    uint64_t chunk_bytes; /* decoded; of elements of variable length the most that one can have */
    uint64_t n_elements;  /* of a chunk */
    uint64_t stored_max;  /* what is longer is none of them; shards may have gaps of any length */
    uint64_t decode_ns;   /* about how long decoding one takes */
    /* when the next level exists: this level's chunks are shards */
    const struct zd_shard *shard; /* borrowed from chain; NULL at the last level */
    uint64_t ratio[ZD_RANK_MAX];  /* next level's chunks per chunk of this level, per dimension of
                                     the array */
    uint32_t order[ZD_RANK_MAX];  /* axis i of the shard is axis order[i] of the array */
    bool is_one;                  /* of zd_layout_open: this is one chunk of an irregular grid */
    uint64_t first[ZD_RANK_MAX]; /* then: the first of its inner chunks, in the next level's grid */
};

/** All levels of an array: immutable. */
struct zd_layout {
    struct zd_meta *meta; /* shared */
    uint32_t n_levels;    /* >= 1 */
    struct zd_level level[ZD_LEVELS_MAX];
    /* The last level's chunks are nothing but their elements, perhaps permuted and byte-swapped:
     * any of them can be read alone. */
    bool is_linear;
    /* They are such elements behind one codec that can decode some of its bytes alone. */
    bool has_parts;
    bool is_swapped;              /* when either: units are big-endian */
    uint64_t stride[ZD_RANK_MAX]; /* when either: bytes between neighbours along each dimension of
                                     the array; zd_layout_strides where chunks differ */
    uint32_t order[ZD_RANK_MAX];  /* then: the dimension whose neighbours are nearest comes last */
};

/**
 * The layout of an array that is not refused.
 *
 * @param meta       shared (one more reference is taken)
 * @param ret_layout owned
 * @param chunk_bytes_max of a decoded chunk of the last level: chunks above it are shards, of which
 *                        slices decode the inner chunks that they need
 * @retval ZD_UNSUPPORTED such a chunk is larger (facts limit, requested)
 * Thread: any.
 */
ZD_RESULT zd_layout_new(struct zd_meta *meta, uint64_t chunk_bytes_max,
    struct zd_layout **ret_layout, struct zd_error *err);
void zd_layout_free(struct zd_layout *layout); /* accepts NULL */
ZD_OWN(zd_layout, zd_layout_free);

/**
 * A level as one of its chunks has it: where chunks have all one shape the level itself, else one
 * with that chunk's own sizes, chain and shard. Only the grid is that of all.
 *
 * @param index     of the chunk in that level's grid
 * @param ret_level give it to zd_layout_close, while the layout lives
 * @retval ZD_UNSUPPORTED a codec takes no chunk of that shape
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_layout_open(const struct zd_layout *layout, uint32_t level, const uint64_t *index,
    const struct zd_level **ret_level, struct zd_error *err);
void zd_layout_close(const struct zd_level *level); /* accepts NULL */

/** The decoded length of a chunk, bytes. With elements of variable length it is the upper bound. */
uint64_t zd_layout_chunk_bytes(
    const struct zd_layout *layout, uint32_t level, const uint64_t *index);

/** The last level: the chunks that are decoded and cached. */
const struct zd_level *zd_layout_leaf(const struct zd_layout *layout);

/** The chunk of level `to` that holds chunk index[] of level `from`; to <= from. */
void zd_layout_ancestor(const struct zd_layout *layout, uint32_t from, uint32_t to,
    const uint64_t *index, uint64_t ret_index[ZD_RANK_MAX]);

/**
 * Where the index of a shard is: within the byte run `shard` of the stored object. Here and below
 * `level` is what zd_layout_open gives for the shard.
 * @retval ZD_CORRUPT the shard is shorter than its index
 */
ZD_RESULT zd_layout_index_range(const struct zd_level *level, struct zd_byte_range shard,
    struct zd_byte_range *ret_range, struct zd_error *err);

/**
 * The part of an index to read to find chunk index[] of level + 1, from the first byte of the
 * index: all of it, or of a large one whose entries are at fixed places the page with that entry,
 * as it is decoded. The checksum of an index that is read by pages is not checked.
 */
struct zd_byte_range zd_layout_index_piece(const struct zd_level *level, const uint64_t *index);

/** The most that looking for one chunk in the indexes of its shards holds at once. */
uint64_t zd_layout_index_held_bytes(const struct zd_layout *layout);

/** Decode an index. Its entries are not judged: a wrong one is the fault of its chunk alone, and
 * told when that is looked for. @param ret_index owned: u64 pairs */
ZD_RESULT zd_layout_index_decode(const struct zd_level *level, struct zd_buf *encoded,
    struct zd_buf **ret_index, struct zd_error *err);

/** Which entry of its shard's index chunk index[] of level + 1 has; the level is that of its shard.
 * Thread: any. */
uint64_t zd_layout_entry(const struct zd_level *level, const uint64_t *index);

/**
 * Where chunk index[] of level + 1 is, by its shard's index; offsets are those of the stored
 * object.
 * @param shard_index the decoded piece that zd_layout_index_piece names
 * @param index      index of the chunk in level + 1's grid
 * @retval ZD_NOT_FOUND the inner chunk is missing: all elements are the fill value
 * @retval ZD_CORRUPT   as zd_shard_entry_check
 */
ZD_RESULT zd_layout_find(const struct zd_level *level, const struct zd_buf *shard_index,
    struct zd_byte_range shard, const uint64_t *index, struct zd_byte_range *ret_range,
    struct zd_error *err);

/** When linear, or with parts: the bytes between neighbours in one chunk of the last level, rank
 * entries. @param space used where chunks differ */
const uint64_t *zd_layout_strides(
    const struct zd_layout *layout, const uint64_t *index, uint64_t space[ZD_RANK_MAX]);

/** When linear, or with parts: the run of bytes in a last-level chunk, decompressed, that holds all
 * elements of the part. */
struct zd_byte_range zd_layout_span(const struct zd_layout *layout, const struct zd_part *part);

#endif
