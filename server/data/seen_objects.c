/* The stored objects that a selection touches: which generation each was seen in, and what entity
 * tag follows. */
#include "server/data/seen_objects.h"

#include <string.h>

#include "core/base/num.h"

enum zd_status zd_seen_objects_init(struct zd_seen_objects *touched, struct zd_layout *layout,
    const struct zd_selection *selection, struct zd_error *err)
{
    *touched = (struct zd_seen_objects){.layout = layout, .rank = selection->rank, .n = 1};
    uint64_t n[ZD_RANK_MAX];
    for (uint32_t d = 0; d < selection->rank; d++) {
        touched->touch[d] = zd_touch_of(&layout->level[0].grid, selection, d);
        n[d] = touched->touch[d].n;
    }
    if (zd_product(&touched->n, n, selection->rank)) {
        return zd_fail(err, ZD_TOO_LARGE, "the selection touches more than 2^64 chunks");
    }
    touched->object = zd_alloc_zero(touched->n, sizeof *touched->object);
    if (touched->object == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the tags of %llu stored objects",
            (unsigned long long)touched->n);
    }
    return ZD_OK;
}

void zd_seen_objects_done(struct zd_seen_objects *touched)
{
    zd_free(touched->object);
    *touched = (struct zd_seen_objects){0};
}

void zd_seen_objects_forget(struct zd_seen_objects *touched)
{
    memset(touched->object, 0, touched->n * sizeof *touched->object);
    touched->n_known = 0;
}

uint64_t zd_seen_objects_number(const struct zd_seen_objects *touched, const uint64_t *leaf_index)
{
    uint64_t index[ZD_RANK_MAX];
    zd_layout_ancestor(touched->layout, touched->layout->n_levels - 1, 0, leaf_index, index);
    uint64_t number = 0;
    for (uint32_t d = 0; d < touched->rank; d++) {
        number = number * touched->touch[d].n + zd_touch_number(&touched->touch[d], index[d]);
    }
    return number;
}

bool zd_seen_objects_see(
    struct zd_seen_objects *touched, uint64_t number, struct zd_generation generation)
{
    struct zd_seen_objects_object *object = &touched->object[number];
    if (object->is_known) {
        return zd_generation_equal(object->generation, generation);
    }
    *object = (struct zd_seen_objects_object){.generation = generation, .is_known = true};
    touched->n_known++;
    return true;
}

void zd_seen_objects_hash(const struct zd_seen_objects *touched, struct zd_hash *hash)
{
    assert(touched->n_known == touched->n);
    for (uint64_t i = 0; i < touched->n; i++) {
        zd_hash_add_u64(hash, touched->object[i].generation.word[0]);
        zd_hash_add_u64(hash, touched->object[i].generation.word[1]);
    }
}
