/* The stored objects that a selection touches, the generation each was seen in, and the entity tag
 * that follows. */
#include "server/data/seen_objects.h"

#include <string.h>

#include "core/base/num.h"

enum zd_status zd_seen_objects_init(struct zd_seen_objects *seen, struct zd_layout *layout,
    const struct zd_selection *selection, struct zd_error *err)
{
    *seen = (struct zd_seen_objects){.layout = layout, .rank = selection->rank, .n = 1};
    uint64_t n[ZD_RANK_MAX];
    for (uint32_t d = 0; d < selection->rank; d++) {
        seen->touch[d] = zd_touch_of(&layout->level[0].grid, selection, d);
        n[d] = seen->touch[d].n;
    }
    if (zd_product(&seen->n, n, selection->rank)) {
        return zd_fail(err, ZD_TOO_LARGE, "the selection touches more than 2^64 chunks");
    }
    seen->object = zd_alloc_zero(seen->n, sizeof *seen->object);
    if (seen->object == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the tags of %llu stored objects",
            (unsigned long long)seen->n);
    }
    return ZD_OK;
}

void zd_seen_objects_done(struct zd_seen_objects *seen)
{
    zd_free(seen->object);
    *seen = (struct zd_seen_objects){0};
}

void zd_seen_objects_forget(struct zd_seen_objects *seen)
{
    memset(seen->object, 0, seen->n * sizeof *seen->object);
    seen->n_known = 0;
}

uint64_t zd_seen_objects_absent(const struct zd_seen_objects *seen)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < seen->n; i++) {
        n += seen->object[i].is_known && !zd_generation_is_set(seen->object[i].generation);
    }
    return n;
}

uint64_t zd_seen_objects_number(struct zd_seen_objects *seen, const uint64_t *leaf_index)
{
    uint64_t index[ZD_RANK_MAX];
    zd_layout_ancestor(seen->layout, seen->layout->n_levels - 1, 0, leaf_index, index);
    uint64_t number = 0;
    for (uint32_t d = 0; d < seen->rank; d++) {
        number = number * seen->touch[d].n + zd_touch_number(&seen->touch[d], index[d]);
    }
    return number;
}

bool zd_seen_objects_see(
    struct zd_seen_objects *seen, uint64_t number, struct zd_generation generation)
{
    struct zd_seen_object *object = &seen->object[number];
    if (object->is_known) {
        return zd_generation_equal(object->generation, generation);
    }
    *object = (struct zd_seen_object){.generation = generation, .is_known = true};
    seen->n_known++;
    return true;
}

void zd_seen_objects_hash(const struct zd_seen_objects *seen, struct zd_hash *hash)
{
    assert(seen->n_known == seen->n);
    for (uint64_t i = 0; i < seen->n; i++) {
        zd_hash_add_u64(hash, seen->object[i].generation.word[0]);
        zd_hash_add_u64(hash, seen->object[i].generation.word[1]);
    }
}
