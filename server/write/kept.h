/* Objects that a change has erased and may have to put back: they stay in the store under no key,
 * so that neither takes bytes. Thread: loop. */
#ifndef ZD_WRITE_KEPT_H
#define ZD_WRITE_KEPT_H

#include "server/runtime/gather.h"
#include "server/write/store_write.h"

/** An erased object. */
struct zd_kept_item {
    struct zd_list link;
    struct zd_staged *old; /* owned */
    bool is_last;          /* put back when all others are */
    char key[];
};

struct zd_kept_slot;

struct zd_kept {
    struct zd_dataset *dataset; /* borrowed */
    struct zd_list items;       /* the last one that was erased first */
    uint64_t n_bytes;
    bool needs_all;            /* what is_last is not put back when others are lost */
    struct zd_kept_slot *slot; /* of the batch under way, n_used of them; owned */
    uint32_t n_used;
    /* out */
    uint32_t n_lost; /* could not be put back, */
    bool has_lost_last;
    struct zd_error lost_err; /* and why: the first of them */
};

void zd_kept_init(struct zd_kept *kept, struct zd_dataset *dataset);

/** Discard what is left: for what does not wait for the end of that. */
void zd_kept_drop(struct zd_kept *kept);

/** The same, and give all memory back. */
void zd_kept_done(struct zd_kept *kept);

/** The memory for an object of that key. */
uint64_t zd_kept_bytes(const char *key);

/** Whether more may be remembered: all changes have zd_memory.kept_bytes together. */
bool zd_kept_has_room(const struct zd_kept *kept);

/** Add the memory that a change will need to that account. @param n bytes: zd_kept_bytes of each */
void zd_kept_foresee(struct zd_kept *kept, uint64_t n);

/** It is not any more. */
void zd_kept_forget(struct zd_kept *kept, uint64_t n);

/** Before the erasure: memory, to be given to zd_kept_add or zd_free. @return NULL: there is none
 */
struct zd_kept_item *zd_kept_reserve(struct zd_kept *kept, const char *key);

/** The object was erased with keeps_old, and ZD_OK. @param item is taken over */
void zd_kept_add(
    struct zd_kept *kept, struct zd_kept_item *item, struct zd_store_write_want *erasure);

/** Begin with the next objects. @param kind ZD_WRITE_UNDO puts them back; ZD_WRITE_SETTLE discards
 * them */
void zd_kept_begin(struct zd_kept *kept, struct zd_gather *gather, enum zd_store_write_kind kind);

/** When the gather has ended. A key that somebody else has written since is left to him.
 * @return whether there are more: begin again */
bool zd_kept_end(struct zd_kept *kept);

#endif
