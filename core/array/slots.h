/* A stored object taken apart: its chunks of all levels, some of which get other bytes. No I/O. */
#ifndef ZD_CORE_ARRAY_SLOTS_H
#define ZD_CORE_ARRAY_SLOTS_H

#include "core/array/layout.h"
#include "core/base/list.h"

enum zd_slot_state {
    ZD_SLOT_ABSENT,
    ZD_SLOT_STORED,  /* as the shard around it has it, or the object itself */
    ZD_SLOT_BYTES,   /* it was given other bytes */
    ZD_SLOT_OPENED,  /* a shard in which chunks were looked for */
    ZD_SLOT_DAMAGED, /* the index of its shard has an impossible entry; it stays so */
    ZD_SLOT_UNKNOWN, /* the object was not read, or the shard around it does not decode */
};

struct zd_opened;

/** The stored form of a chunk, now or after the write. */
struct zd_slot {
    enum zd_slot_state state;
    union {
        struct zd_buf *bytes;     /* owned */
        struct zd_opened *opened; /* borrowed from the slots */
    } in;
};

/** Where a chunk has its slot. */
struct zd_slot_place {
    struct zd_slot *slot;
    struct zd_opened *shard; /* around it; NULL: it is the object itself */
    uint64_t i;              /* of its entry there */
};

/** An object, or a shard within one, and the shards that were opened in it. */
struct zd_slots {
    const struct zd_layout *layout; /* borrowed */
    uint32_t level;                 /* of the object itself */
    uint64_t index[ZD_RANK_MAX];    /* of it, in that level's grid */
    struct zd_buf *stored;          /* borrowed; NULL: nothing, or unknown */
    uint64_t bytes_max;             /* of what is made */
    struct zd_slot root;
    bool is_changed; /* the root was given something else */
    struct zd_list opened[ZD_LEVELS_MAX];
    struct zd_list lost; /* of them, since zd_slots_take_lost: their own bytes do not decode */
};

/**
 * Begin.
 * @param index  of the object, in that level's grid
 * @param stored its bytes; borrowed until the end; NULL: it is absent
 */
void zd_slots_init(struct zd_slots *slots, const struct zd_layout *layout, uint32_t level,
    const uint64_t *index, struct zd_buf *stored, uint64_t bytes_max);
void zd_slots_done(struct zd_slots *slots);

/**
 * The place of a chunk; the shards around it are opened, empty ones where there are none.
 *
 * @param level     the object's or one below
 * @param index     in that level's grid
 * @retval ZD_CORRUPT   the index of a shard, or the entry of one in it
 * @retval ZD_TOO_LARGE the index of a shard alone has more than bytes_max bytes
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slots_find(struct zd_slots *slots, uint32_t level, const uint64_t *index,
    struct zd_slot_place *ret_place, struct zd_error *err);

/** The same for a chunk whose slot is known: it is a shard, and is opened. */
ZD_RESULT zd_slots_open(struct zd_slots *slots, const struct zd_slot_place *place, uint32_t level,
    struct zd_error *err);

/** The same for one of which nothing is to remain: when its index does not decode it is opened as a
 * lost one, whose chunks are unknown. */
ZD_RESULT zd_slots_open_over(struct zd_slots *slots, const struct zd_slot_place *place,
    uint32_t level, struct zd_error *err);

/** The write that was to replace the lost shards is done: they are ordinary shards now. */
void zd_slots_take_lost(struct zd_slots *slots);

/** It is not: they are what they were. Nothing was put in them. */
void zd_slots_restore_lost(struct zd_slots *slots);

/** Whether its bytes can be had, or are none.
 * @retval ZD_CORRUPT its entry in the index of the shard cannot be true */
ZD_RESULT zd_slots_check(const struct zd_slot_place *place, struct zd_error *err);

/** Whether nothing is stored of a chunk; an unknown one may be there. */
bool zd_slots_is_absent(const struct zd_slots *slots, const struct zd_slot_place *place);

/** The encoded bytes of a chunk that is stored, or was given some: borrowed until it is given
 * others; NULL and 0 in all other states. */
struct zd_span zd_slots_span(const struct zd_slots *slots, const struct zd_slot_place *place);

/** The same as a buffer, owned; a reference where there is one to have. NULL without memory. */
struct zd_buf *zd_slots_read(const struct zd_slots *slots, const struct zd_slot_place *place);

/** Give a chunk other bytes. @param bytes taken over; NULL: it is absent from now on */
void zd_slots_put(struct zd_slots *slots, const struct zd_slot_place *place, struct zd_buf *bytes);

/**
 * Put the object together again; nothing but zd_slots_done may follow.
 *
 * @param ret_is_changed whether any chunk was given something
 * @param ret_bytes      when it has changed: owned; NULL when nothing is left of it. Else NULL
 * @retval ZD_TOO_LARGE  it has more than bytes_max bytes; facts limit, requested
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slots_finish(
    struct zd_slots *slots, bool *ret_is_changed, struct zd_buf **ret_bytes, struct zd_error *err);

#endif
