/* The chunks of a selection, some at a time, and their elements into one block. Thread: loop, but
 * for what a worker does. */
#ifndef ZD_DATA_FETCH_H
#define ZD_DATA_FETCH_H

#include "core/array/block.h"
#include "server/data/chunks.h"
#include "server/data/seen_objects.h"
#include "server/runtime/gather.h"

struct zd_fetch {
    struct zd_gather gather;
    struct zd_node *node;         /* borrowed */
    struct zd_seen_objects *seen; /* borrowed; gets the generation of every object; NULL = none */
    struct zd_plan plan;
    struct zd_chunk_want *want; /* room for n_room of them; owned */
    uint32_t n_room;
    uint32_t n_part;     /* that are used at once; 0 = not begun */
    uint32_t n_asked;    /* want[0 .. n_asked) are under way, or hold their chunk */
    uint32_t n_taken;    /* want[0 .. n_taken) were taken by zd_fetch_take_piece */
    uint64_t element_ns; /* cost of further work on each element */
    bool is_last;        /* no part follows those asked */
    /* Elements of variable length: the block borrows their bytes from chunks that are kept until
     * the next selection begins. */
    struct zd_buf **kept; /* n_kept of them, room for n_kept_room; owned */
    uint32_t n_kept;
    uint32_t n_kept_room;
    uint64_t kept_bytes;
    uint64_t kept_max;   /* of kept_bytes */
    uint64_t copy_ns;    /* out: cost of copying the elements of the parts asked */
    uint64_t n_together; /* of the selection's parts, as many as are asked at once */
    uint64_t n_parts;    /* collected since the beginning */
    uint64_t n_absent;   /* of those, how many chunks are absent */
    uint64_t checked_ms; /* loop time when the store was asked about the first of them */
    uint64_t asked_ns;   /* when the parts were asked (uv_hrtime) */
    uint64_t read_ns;    /* out, of zd_fetch_collect: what the parts asked took, side by side */
    uint64_t decode_ns;  /* the same */
};

/**
 * Begin. A fetch that is zeroed, or has want and n_room of an earlier one.
 * @param gather      idle: the machine that goes on when the parts asked have arrived, and for whom
 *                    they are decoded
 * @param n_parts_max how many parts one selection has at the most
 * @param bytes_max   of decoded chunks held at once; one may be larger
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_fetch_init(struct zd_fetch *fetch, struct zd_gather gather, struct zd_node *node,
    uint64_t n_parts_max, uint64_t bytes_max, struct zd_error *err);

/** The bytes that a fetch of so many parts holds at the same time: chunks, and the indexes of
 * shards by which they are found. */
uint64_t zd_fetch_held_bytes(const struct zd_node *node, uint64_t n_parts_max, uint64_t bytes_max);
void zd_fetch_done(struct zd_fetch *fetch); /* stops waiting; accepts a zeroed one */

/** The next selection; borrowed until its last part is copied. */
void zd_fetch_begin(struct zd_fetch *fetch, const struct zd_selection *selection);

/** Want the next parts, as many as may be under way at once. @return what the step returns */
enum zd_next zd_fetch_ask(struct zd_fetch *fetch);

/**
 * All parts asked have arrived: judge them.
 * @param ret_is_stale an object was seen in two generations
 * @retval ZD_CORRUPT, ZD_STORE ... of the first part that failed
 * @retval ZD_TOO_LARGE elements of variable length, and their chunks are larger than may be kept
 */
ZD_RESULT zd_fetch_collect(struct zd_fetch *fetch, bool *ret_is_stale, struct zd_error *err);

/**
 * The next of the parts asked, as many as a piece of work is long: copying them, and `element_ns`.
 *
 * @param ret_first, ret_end want[first .. end)
 * @return whether there are more
 * Thread: any; nothing else happens to the fetch meanwhile.
 */
bool zd_fetch_take_piece(struct zd_fetch *fetch, uint32_t *ret_first, uint32_t *ret_end);

/** Copy the next of the parts asked into the block of the selection: a piece of work. @return
 * whether there are more. Thread: any; nothing else happens to the fetch meanwhile. */
bool zd_fetch_copy(struct zd_fetch *fetch, const struct zd_block *block);

/**
 * The elements of one of the parts asked, where their order does not matter.
 *
 * @param room has room for the elements of a chunk
 * @param ret_n_elements how many they are
 * @return in the chunk or in room; NULL: the chunk is absent
 * Thread: any; nothing else happens to the fetch meanwhile.
 */
const uint8_t *zd_fetch_elements(
    const struct zd_fetch *fetch, uint32_t i, uint8_t *room, uint64_t *ret_n_elements);

/** The same in C order of the part's box. */
const uint8_t *zd_fetch_box(
    const struct zd_fetch *fetch, uint32_t i, uint8_t *room, uint64_t *ret_n_elements);

/** Give back the chunks that are kept: nothing borrows from them any longer. */
void zd_fetch_drop(struct zd_fetch *fetch);

/** Give back the chunks of the parts asked. */
void zd_fetch_release(struct zd_fetch *fetch);

#endif
