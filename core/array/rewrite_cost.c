/* The cost of edits: memory and time. */
#include "core/array/rewrite_cost.h"

#include "core/base/num.h"
#include "core/codec/codec.h"
#include "core/grid/plan.h"

#define ENCODE_PER_DECODE 4 /* how much longer the one takes than the other */
#define COPY_BYTES_PER_NS 4
#define INDEX_NS_PER_BYTE 3 /* an index is read, given its slots, made anew and encoded */
#define INDEX_COPIES      5 /* its slots; read and made: each encoded and decoded */

/* Saturating, as all sums here: what is too much is too much. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t result;
    return ckd_add(&result, a, b) ? UINT64_MAX : result;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return ckd_mul(&result, a, b) ? UINT64_MAX : result;
}

/* The index bytes of all shards in an object, nested ones included. */
static uint64_t index_bytes(const struct zd_layout *layout)
{
    uint64_t n_shards = 1;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i + 1 < layout->n_levels; i++) {
        const struct zd_shard *shard = layout->level[i].shard;
        bytes = sum(bytes, product(n_shards, shard->index_bytes));
        n_shards = product(n_shards, shard->n_chunks);
    }
    return bytes;
}

uint64_t zd_rewrite_object_max(const struct zd_layout *layout, uint64_t object_bytes_max)
{
    const struct zd_level *level = &layout->level[0];
    const uint64_t bytes = level->shard == NULL
                               ? level->stored_max
                               : zd_codec_bound(sum(level->chunk_bytes, index_bytes(layout)));
    return zd_min_u64(bytes, object_bytes_max);
}

uint64_t zd_rewrite_cost_bytes(const struct zd_layout *layout, uint64_t object_bytes_max)
{
    const uint64_t indexes = index_bytes(layout);
    const uint64_t object = zd_rewrite_object_max(layout, object_bytes_max);
    const uint64_t chunks = product(zd_layout_leaf(layout)->chunk_bytes, 3);
    return sum(sum(chunks, product(object, 2)), product(indexes, INDEX_COPIES));
}

/* Encoding takes longer than decoding; how much longer is different with each codec. */
static uint64_t change_ns(const struct zd_level *level)
{
    return sum(
        product(level->decode_ns, 1 + ENCODE_PER_DECODE), level->chunk_bytes / COPY_BYTES_PER_NS);
}

/* The time for the indexes of one shard of each level down to that one. A missing shard costs as
 * much: its index is made. */
static uint64_t indexes_ns(const struct zd_layout *layout, uint32_t level)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < level; i++) {
        ns = sum(ns, product(layout->level[i].shard->index_bytes, INDEX_NS_PER_BYTE));
    }
    return ns;
}

static uint64_t box_ns(const struct zd_layout *layout, const struct zd_edit *edit)
{
    const struct zd_level *leaf = zd_layout_leaf(layout);
    struct zd_selection selection;
    uint64_t n_parts = 0;
    zd_plan_part_selection(&layout->level[edit->level].grid, &edit->part, &selection);
    return zd_plan_overflows(&leaf->grid, &selection, &n_parts) ? UINT64_MAX
                                                                : product(n_parts, change_ns(leaf));
}

uint64_t zd_rewrite_cost_ns(const struct zd_layout *layout, const struct zd_edit *edit)
{
    const struct zd_level *level = &layout->level[edit->level];
    switch (edit->kind) {
    case ZD_EDIT_ERASE:
        return indexes_ns(layout, edit->level);
    case ZD_EDIT_ENCODED:
        return sum(edit->is_verified ? 0 : level->decode_ns, indexes_ns(layout, edit->level));
    case ZD_EDIT_DECODED:
        return sum(change_ns(level), indexes_ns(layout, layout->n_levels - 1));
    case ZD_EDIT_BOX:
        return sum(box_ns(layout, edit), indexes_ns(layout, layout->n_levels - 1));
    }
    return 0;
}
