/* The stored objects that a selection touches: which generation each was seen in, and what entity
 * tag follows. */
#include "server/touched.h"

#include <string.h>

#include "core/base/num.h"

enum zd_status zd_touched_init(struct zd_touched *touched, struct zd_layout *layout,
    const struct zd_selection *selection, struct zd_error *err)
{
    *touched = (struct zd_touched){.layout = layout, .rank = selection->rank, .n = 1};
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

void zd_touched_done(struct zd_touched *touched)
{
    zd_free(touched->object);
    *touched = (struct zd_touched){0};
}

void zd_touched_forget(struct zd_touched *touched)
{
    memset(touched->object, 0, touched->n * sizeof *touched->object);
    touched->n_known = 0;
}

uint64_t zd_touched_number(const struct zd_touched *touched, const uint64_t *leaf_index)
{
    uint64_t index[ZD_RANK_MAX];
    zd_layout_ancestor(touched->layout, touched->layout->n_levels - 1, 0, leaf_index, index);
    uint64_t number = 0;
    for (uint32_t d = 0; d < touched->rank; d++) {
        number = number * touched->touch[d].n + zd_touch_number(&touched->touch[d], index[d]);
    }
    return number;
}

bool zd_touched_see(struct zd_touched *touched, uint64_t number, struct zd_generation generation)
{
    struct zd_touched_object *object = &touched->object[number];
    if (object->is_known) {
        return zd_generation_equal(object->generation, generation);
    }
    *object = (struct zd_touched_object){.generation = generation, .is_known = true};
    touched->n_known++;
    return true;
}

void zd_touched_hash(const struct zd_touched *touched, struct zd_hash *hash)
{
    assert(touched->n_known == touched->n);
    for (uint64_t i = 0; i < touched->n; i++) {
        zd_hash_add_u64(hash, touched->object[i].generation.word[0]);
        zd_hash_add_u64(hash, touched->object[i].generation.word[1]);
    }
}
