/* The stored objects that a selection touches, the generation each was seen in, and the entity tag
 * that follows. */
#include "server/data/seen_objects.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"

/* ---- lists and points ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* In order and each once. @return how many there are */
static uint64_t sort(uint64_t *number, uint64_t n)
{
    uint64_t n_kept = 0;
    qsort(number, n, sizeof *number, compare);
    for (uint64_t i = 0; i < n; i++) {
        if (n_kept == 0 || number[n_kept - 1] != number[i]) {
            number[n_kept++] = number[i];
        }
    }
    return n_kept;
}

static uint64_t place_of(const uint64_t *number, uint64_t n, uint64_t wanted)
{
    const uint64_t *found = bsearch(&wanted, number, n, sizeof *number, compare);
    assert(found != NULL);
    return (uint64_t)(found - number);
}

/* A number for an object. That of another one may be the same, seldom: they seem to have changed
 * then, and the answer is made without regard to changes. */
static uint64_t number_of(const struct zd_seen_objects *seen, const uint64_t *index)
{
    struct zd_hash hash = {0};
    for (uint32_t d = 0; d < seen->rank; d++) {
        zd_hash_add_u64(&hash, index[d]);
    }
    return hash.value;
}

static uint64_t chunk_at(
    const struct zd_seen_objects *seen, uint32_t dim, const struct zd_axis *axis, uint64_t i)
{
    return zd_grid_cell_at(&seen->layout->level[0].grid, dim, axis->list[i]).index;
}

static enum zd_status list_points(
    struct zd_seen_objects *seen, const struct zd_selection *selection, struct zd_error *err)
{
    const uint64_t n = selection->axis[0].count;
    uint64_t index[ZD_RANK_MAX];
    seen->listed[0] = zd_alloc_zero(n, sizeof *seen->listed[0]);
    if (seen->listed[0] == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %llu points", (unsigned long long)n);
    }
    for (uint64_t i = 0; i < n; i++) {
        for (uint32_t d = 0; d < seen->rank; d++) {
            index[d] = chunk_at(seen, d, &selection->axis[d], i);
        }
        seen->listed[0][i] = number_of(seen, index);
    }
    seen->is_joint = true;
    seen->touch[0].n = sort(seen->listed[0], n);
    return ZD_OK;
}

static enum zd_status list_chunks(
    struct zd_seen_objects *seen, uint32_t dim, const struct zd_axis *axis, struct zd_error *err)
{
    uint64_t *listed = zd_alloc_zero(axis->count, sizeof *listed);
    if (listed == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a list of %llu indices",
            (unsigned long long)axis->count);
    }
    for (uint64_t i = 0; i < axis->count; i++) {
        listed[i] = chunk_at(seen, dim, axis, i);
    }
    seen->listed[dim] = listed;
    seen->touch[dim].n = sort(listed, axis->count);
    return ZD_OK;
}

/* ---- all of them ---- */

enum zd_status zd_seen_objects_init(struct zd_seen_objects *seen, struct zd_layout *layout,
    const struct zd_selection *selection, struct zd_error *err)
{
    *seen = (struct zd_seen_objects){.layout = layout, .rank = selection->rank, .n = 1};
    uint64_t n[ZD_RANK_MAX];
    for (uint32_t d = 0; d < selection->rank; d++) {
        const struct zd_axis *axis = &selection->axis[d];
        seen->touch[d] = zd_touch_of(&layout->level[0].grid, selection, d);
        if (axis->list != NULL && !axis->is_joint) {
            ZD_TRY(list_chunks(seen, d, axis, err));
        } else if (axis->list != NULL && d == 0) {
            ZD_TRY(list_points(seen, selection, err));
        }
        n[d] = seen->touch[d].n;
    }
    if (zd_product_overflows(&seen->n, n, selection->rank)) {
        return zd_fail(err, ZD_TOO_LARGE, "the selection covers more than 2^64 chunks");
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
    for (uint32_t d = 0; d < seen->rank; d++) {
        zd_free(seen->listed[d]);
    }
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

uint64_t zd_seen_objects_at(struct zd_seen_objects *seen, const uint64_t *index)
{
    uint64_t number = 0;
    if (seen->is_joint) {
        return place_of(seen->listed[0], seen->touch[0].n, number_of(seen, index));
    }
    for (uint32_t d = 0; d < seen->rank; d++) {
        const uint64_t at = seen->listed[d] == NULL
                                ? zd_touch_number(&seen->touch[d], index[d])
                                : place_of(seen->listed[d], seen->touch[d].n, index[d]);
        number = number * seen->touch[d].n + at;
    }
    return number;
}

uint64_t zd_seen_objects_number(struct zd_seen_objects *seen, const uint64_t *leaf_index)
{
    uint64_t index[ZD_RANK_MAX];
    zd_layout_ancestor(seen->layout, seen->layout->n_levels - 1, 0, leaf_index, index);
    return zd_seen_objects_at(seen, index);
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
