/* The stored objects that a selection touches, the generation each was seen in, and the entity tag
 * that follows. Thread: loop. */
#ifndef ZD_DATA_SEEN_OBJECTS_H
#define ZD_DATA_SEEN_OBJECTS_H

#include "core/array/layout.h"
#include "core/base/hash.h"
#include "core/grid/touch.h"
#include "core/store/contract/store.h"

/** A stored object. */
struct zd_seen_object {
    struct zd_generation generation; /* zero = absent */
    bool is_known;
};

struct zd_seen_objects {
    struct zd_layout *layout; /* borrowed */
    uint32_t rank;
    struct zd_touch touch[ZD_RANK_MAX]; /* over the grid of level 0 */
    uint64_t *listed[ZD_RANK_MAX]; /* of a list: the chunks that it touches, in order and each once;
                                      touch.n of them; of points, in [0], a number for each object;
                                      owned; NULL: no list */
    bool is_joint;                 /* of points */
    struct zd_seen_object *object; /* n of them, in C order of the result; owned */
    uint64_t n;
    uint64_t n_known;
};

/**
 * Nothing is known yet.
 *
 * @param layout    borrowed until zd_seen_objects_done
 * @param selection not too large: its chunks were counted
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_seen_objects_init(struct zd_seen_objects *seen, struct zd_layout *layout,
    const struct zd_selection *selection, struct zd_error *err);
void zd_seen_objects_done(struct zd_seen_objects *seen); /* accepts a zeroed one */

/** Forget all generations. */
void zd_seen_objects_forget(struct zd_seen_objects *seen);

/** How many of those that are known are absent. */
uint64_t zd_seen_objects_absent(const struct zd_seen_objects *seen);

/** The number of an object, by its index in the grid of level 0; it is touched. */
uint64_t zd_seen_objects_at(struct zd_seen_objects *seen, const uint64_t *index);

/** The number of the object that holds a chunk of the last level, which is touched. */
uint64_t zd_seen_objects_number(struct zd_seen_objects *seen, const uint64_t *leaf_index);

/** An object was seen in that generation. @return false when it was seen in another one before */
bool zd_seen_objects_see(
    struct zd_seen_objects *seen, uint64_t number, struct zd_generation generation);

/** Adds all generations in order; every object is known (asserted). */
void zd_seen_objects_hash(const struct zd_seen_objects *seen, struct zd_hash *hash);

#endif
