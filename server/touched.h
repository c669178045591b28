/* The stored objects that a selection touches: which generation each was seen in, and what entity
 * tag follows. Thread: loop. */
#ifndef ZD_SERVER_TOUCHED_H
#define ZD_SERVER_TOUCHED_H

#include "core/array/layout.h"
#include "core/base/hash.h"
#include "core/grid/touch.h"
#include "core/store/store.h"

/** One stored object. */
struct zd_touched_object {
    struct zd_generation generation; /* zero = absent */
    bool is_known;
};

struct zd_touched {
    struct zd_layout *layout; /* borrowed */
    uint32_t rank;
    struct zd_touch touch[ZD_RANK_MAX]; /* over the grid of level 0 */
    struct zd_touched_object *object;   /* n of them, in C order of the result; owned */
    uint64_t n;
    uint64_t n_known;
};

/**
 * Nothing is known yet.
 *
 * @param layout    borrowed until zd_touched_done
 * @param selection not too large: its chunks were counted
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_touched_init(struct zd_touched *touched, struct zd_layout *layout,
    const struct zd_selection *selection, struct zd_error *err);
void zd_touched_done(struct zd_touched *touched); /* accepts a zeroed one */

/** Forget all generations. */
void zd_touched_forget(struct zd_touched *touched);

/** The number of the object that holds a chunk of the last level, which is touched. */
uint64_t zd_touched_number(const struct zd_touched *touched, const uint64_t *leaf_index);

/** An object was seen in that generation. @return false when it was seen in another one before */
bool zd_touched_see(struct zd_touched *touched, uint64_t number, struct zd_generation generation);

/** Adds all generations in order; every object is known (asserted). */
void zd_touched_hash(const struct zd_touched *touched, struct zd_hash *hash);

#endif
