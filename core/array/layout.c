/* Where the bytes of chunks are: levels of chunks, found through the indexes of shards. */
#include "core/array/layout.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/chain_inner.h"
#include "core/codec/shard_index.h"
#include "core/grid/variable.h"

#define WHOLE_INDEX_MAX (128 << 10) /* a longer index is read by pages, where that is possible */
#define PAGE_BYTES      (16 << 10)
#define DECODE_COPIES   2                   /* of an index: as it is stored, and decoded */
#define TOO_MUCH        (UINT64_C(1) << 60) /* for any memory; sums of a few such are exact */

/* The shard of the chain's chunks if its inner chunks can be read one by one; else NULL. */
static const struct zd_shard *shard_of(
    const struct zd_chain *chain, uint32_t ret_order[ZD_RANK_MAX])
{
    const uint32_t i = zd_chain_array_bytes(chain);
    const struct zd_codec *codec = zd_chain_codec(chain, i);
    const bool is_last = i + 1 == zd_chain_count(chain);
    if (codec->shard == NULL || !is_last || !zd_chain_order(chain, ret_order)) {
        return NULL;
    }
    return codec->shard(zd_chain_state(chain, i));
}

/* The bytes of so many elements; true when they do not fit. */
static bool bytes_overflow(uint64_t n_elements, const struct zd_dtype *dtype, uint64_t *ret_bytes)
{
    const uint64_t variable = zd_dtype_is_variable(dtype) ? zd_variable_bytes_max(n_elements) : 0;
    return ckd_mul(ret_bytes, n_elements, dtype->bytes) || ckd_add(ret_bytes, *ret_bytes, variable);
}

/* @param shape of a chunk */
static enum zd_status measure(struct zd_level *level, const uint64_t *shape,
    const struct zd_dtype *dtype, struct zd_error *err)
{
    uint64_t n_elements = 0;
    uint64_t chunk_bytes = 0;
    if (zd_product_overflows(&n_elements, shape, level->grid.rank) ||
        bytes_overflow(n_elements, dtype, &chunk_bytes)) {
        return zd_fail(err, ZD_UNSUPPORTED, "a chunk could have 2^64 bytes or more");
    }
    const struct zd_codec *codec = zd_chain_codec(level->chain, zd_chain_array_bytes(level->chain));
    level->chunk_bytes = chunk_bytes;
    level->n_elements = n_elements;
    level->stored_max = codec->shard == NULL ? zd_chain_encoded_max(level->chain) : UINT64_MAX;
    level->decode_ns = zd_chain_decode_ns(level->chain);
    return ZD_OK;
}

/* Level n + 1, when level n's chunks are shards. */
static enum zd_status add_level(struct zd_layout *layout, struct zd_error *err)
{
    struct zd_level *outer = &layout->level[layout->n_levels - 1];
    struct zd_level *inner = &layout->level[layout->n_levels];
    inner->grid.rank = outer->grid.rank; /* without edges: inner chunks have all one shape */
    for (uint32_t i = 0; i < outer->grid.rank; i++) {
        const uint32_t d = outer->order[i];
        inner->grid.shape[d] = outer->grid.shape[d];
        inner->grid.chunk[d] = outer->shard->chunk_shape[i];
        outer->ratio[d] = outer->shard->grid[i];
    }
    ZD_TRY(zd_chain_inner_open(outer->chain, &inner->chain, err));
    layout->n_levels++;
    return measure(inner, inner->grid.chunk, &layout->meta->dtype, err);
}

/* In a chunk of that shape. */
static void find_strides_in(
    const struct zd_layout *layout, const uint64_t *shape, uint64_t ret_stride[ZD_RANK_MAX])
{
    uint64_t stride = layout->meta->dtype.bytes;
    for (uint32_t i = layout->meta->grid.rank; i-- > 0;) {
        ret_stride[layout->order[i]] = stride;
        stride *= shape[layout->order[i]]; /* fits: it ends at chunk_bytes */
    }
}

/* Whether the last level's chunks are their elements and nothing else, or would be without their
 * compression, and where each is. Compressed chunks that differ in shape are decoded whole. */
static void find_strides(struct zd_layout *layout)
{
    const struct zd_level *leaf = zd_layout_leaf(layout);
    const uint32_t i_codec = zd_chain_array_bytes(leaf->chain);
    const struct zd_codec *codec = zd_chain_codec(leaf->chain, i_codec);
    const bool is_last = i_codec + 1 == zd_chain_count(leaf->chain);
    const bool has_parts = zd_chain_has_parts(leaf->chain) && leaf->grid.edges == NULL;
    if (codec->is_swapped == NULL || !(is_last || has_parts) ||
        !zd_chain_order(leaf->chain, layout->order)) {
        return;
    }
    layout->is_linear = is_last;
    layout->has_parts = has_parts;
    layout->is_swapped = codec->is_swapped(zd_chain_state(leaf->chain, i_codec));
    find_strides_in(layout, leaf->grid.chunk, layout->stride);
}

const uint64_t *zd_layout_strides(
    const struct zd_layout *layout, const uint64_t *index, uint64_t space[ZD_RANK_MAX])
{
    const struct zd_grid *grid = &zd_layout_leaf(layout)->grid;
    uint64_t shape[ZD_RANK_MAX];
    if (grid->edges == NULL) {
        return layout->stride;
    }
    memset(space, 0, grid->rank * sizeof *space); /* every entry is set, whatever the order */
    find_strides_in(layout, zd_grid_chunk_shape(grid, index, shape), space);
    return space;
}

enum zd_status zd_layout_new(struct zd_meta *meta, uint64_t chunk_bytes_max,
    struct zd_layout **ret_layout, struct zd_error *err)
{
    assert(zd_meta_is_array(meta));
    ZD_AUTO(zd_layout) layout = zd_alloc_zero(1, sizeof *layout);
    if (layout == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the layout of an array");
    }
    layout->meta = zd_meta_ref(meta);
    layout->n_levels = 1;
    struct zd_level *level = &layout->level[0];
    level->grid = meta->grid;
    level->chain = zd_chain_ref(meta->chain);
    ZD_TRY(measure(level, level->grid.chunk, &meta->dtype, err));
    while (layout->n_levels < ZD_LEVELS_MAX) {
        level = &layout->level[layout->n_levels - 1];
        level->shard = shard_of(level->chain, level->order);
        if (level->shard == NULL) {
            break;
        }
        ZD_TRY(add_level(layout, err));
    }
    const uint64_t chunk_bytes = zd_layout_leaf(layout)->chunk_bytes;
    if (chunk_bytes > chunk_bytes_max) {
        const enum zd_status status = zd_fail(err, ZD_UNSUPPORTED,
            "a decoded chunk has %" PRIu64 " bytes; the limit is %" PRIu64, chunk_bytes,
            chunk_bytes_max);
        zd_fact_limit(err, chunk_bytes_max, chunk_bytes);
        return status;
    }
    find_strides(layout);
    *ret_layout = ZD_TAKE(layout);
    return ZD_OK;
}

void zd_layout_free(struct zd_layout *layout)
{
    if (layout == NULL) {
        return;
    }
    for (uint32_t i = ZD_LEVELS_MAX; i-- > 0;) {
        zd_chain_unref(layout->level[i].chain);
    }
    zd_meta_unref(layout->meta);
    zd_free(layout);
}

/* The chain of chunks of another shape. The same codecs were judged with the node: what they refuse
 * now is that shape. */
static enum zd_status open_chain(const struct zd_layout *layout, const uint64_t *shape,
    struct zd_chain **ret_chain, struct zd_error *err)
{
    struct zd_repr decoded = *zd_chain_decoded(layout->level[0].chain);
    memcpy(decoded.shape, shape, decoded.rank * sizeof *shape);
    const bool overflows = zd_codec_repr_overflows(&decoded, &decoded.size);
    assert(!overflows); /* the largest chunk does not */
    (void)overflows;
    const struct zd_chain_config config = {
        .codecs = zd_json_member(layout->meta->document, "codecs"),
        .at = {.text = "/codecs"},
        .decoded = &decoded,
        .judgement = ZD_JUDGE_READ,
    };
    struct zd_faults faults = {0};
    struct zd_error why = {0};
    const enum zd_status status = zd_chain_open(&config, ret_chain, &faults);
    const enum zd_status refusal = zd_faults_status(&faults, &why);
    zd_faults_done(&faults);
    if (status == ZD_OK) {
        return ZD_OK;
    }
    return status == ZD_NO_MEMORY || refusal == ZD_NO_MEMORY
               ? zd_fail(err, ZD_NO_MEMORY, "no memory for the codecs of a chunk")
               : zd_fail(err, ZD_UNSUPPORTED, "the codecs cannot encode a chunk of this shape: %s",
                     why.text);
}

static enum zd_status open_one(const struct zd_layout *layout, const uint64_t *index,
    struct zd_level *one, struct zd_error *err)
{
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(&one->grid, index, space);
    ZD_TRY(open_chain(layout, shape, &one->chain, err));
    ZD_TRY(measure(one, shape, &layout->meta->dtype, err));
    if (one->shard == NULL) {
        return ZD_OK;
    }
    one->shard = shard_of(one->chain, one->order);
    assert(one->shard != NULL);
    for (uint32_t i = 0; i < one->grid.rank; i++) {
        const uint32_t d = one->order[i];
        one->ratio[d] = one->shard->grid[i];
        one->first[d] =
            zd_grid_cell_of(&one->grid, d, index[d]).origin / one->shard->chunk_shape[i];
    }
    return ZD_OK;
}

enum zd_status zd_layout_open(const struct zd_layout *layout, uint32_t level, const uint64_t *index,
    const struct zd_level **ret_level, struct zd_error *err)
{
    const struct zd_level *all = &layout->level[level];
    assert(level < layout->n_levels);
    if (all->grid.edges == NULL) {
        *ret_level = all;
        return ZD_OK;
    }
    struct zd_level *one = zd_alloc(sizeof *one);
    if (one == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the description of a chunk");
    }
    *one = *all;
    one->chain = NULL;
    one->is_one = true;
    const enum zd_status status = open_one(layout, index, one, err);
    if (status != ZD_OK) {
        zd_layout_close(one);
        return status;
    }
    *ret_level = one;
    return ZD_OK;
}

void zd_layout_close(const struct zd_level *level)
{
    if (level != NULL && level->is_one) {
        zd_chain_unref(level->chain);
        zd_free((void *)level);
    }
}

uint64_t zd_layout_chunk_bytes(
    const struct zd_layout *layout, uint32_t level, const uint64_t *index)
{
    const struct zd_level *all = &layout->level[level];
    uint64_t n_elements = 0;
    uint64_t bytes = 0;
    if (all->grid.edges == NULL) {
        return all->chunk_bytes;
    }
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(&all->grid, index, space);
    (void)zd_product_overflows(
        &n_elements, shape, all->grid.rank); /* no more than those of the largest */
    (void)bytes_overflow(n_elements, &layout->meta->dtype, &bytes);
    return bytes;
}

const struct zd_level *zd_layout_leaf(const struct zd_layout *layout)
{
    return &layout->level[layout->n_levels - 1];
}

void zd_layout_ancestor(const struct zd_layout *layout, uint32_t from, uint32_t to,
    const uint64_t *index, uint64_t ret_index[ZD_RANK_MAX])
{
    assert(to <= from && from < layout->n_levels);
    const struct zd_grid *grid = &layout->meta->grid;
    const bool is_irregular = grid->edges != NULL && to == 0 && from > 0;
    for (uint32_t d = 0; d < grid->rank; d++) {
        ret_index[d] = index[d];
        for (uint32_t i = from; i > (is_irregular ? 1 : to); i--) {
            ret_index[d] /= layout->level[i - 1].ratio[d];
        }
        if (is_irregular) {
            const uint64_t x = ret_index[d] * layout->level[1].grid.chunk[d];
            ret_index[d] = zd_grid_cell_at(grid, d, x).index;
        }
    }
}

enum zd_status zd_layout_index_range(const struct zd_level *level, struct zd_byte_range shard,
    struct zd_byte_range *ret_range, struct zd_error *err)
{
    const uint64_t len = zd_shard_index_bytes(level->shard, shard.len);
    if (shard.len < len) {
        const enum zd_status status = zd_fail(err, ZD_CORRUPT,
            "a shard has %" PRIu64 " bytes, fewer than its index of %" PRIu64, shard.len, len);
        zd_fact_name(err, "sharding_indexed");
        zd_fact_expected(err, "%" PRIu64 " bytes or more", len);
        zd_fact_found(err, "%" PRIu64 " bytes", shard.len);
        return status;
    }
    *ret_range = (struct zd_byte_range){
        .first = level->shard->index_at_start ? shard.first : shard.first + shard.len - len,
        .len = len,
    };
    return ZD_OK;
}

enum zd_status zd_layout_index_decode(const struct zd_level *level, struct zd_buf *encoded,
    struct zd_buf **ret_index, struct zd_error *err)
{
    return zd_shard_index_decode(level->shard, encoded, ret_index, err);
}

uint64_t zd_layout_entry(const struct zd_level *level, const uint64_t *index)
{
    uint64_t i = 0;
    for (uint32_t axis = 0; axis < level->grid.rank; axis++) {
        const uint32_t d = level->order[axis];
        const uint64_t at = level->is_one ? index[d] - level->first[d] : index[d] % level->ratio[d];
        i = i * level->ratio[d] + at;
    }
    return i;
}

static bool has_pages(const struct zd_shard *shard)
{
    return shard->index_is_plain && shard->index_bytes > WHOLE_INDEX_MAX;
}

struct zd_byte_range zd_layout_index_piece(const struct zd_level *level, const uint64_t *index)
{
    const struct zd_shard *shard = level->shard;
    if (!has_pages(shard)) {
        return (struct zd_byte_range){.first = 0, .len = shard->index_bytes};
    }
    const uint64_t at = zd_layout_entry(level, index) * ZD_SHARD_ENTRY_BYTES;
    const uint64_t first = at - at % PAGE_BYTES;
    const uint64_t entry_bytes = shard->n_chunks * ZD_SHARD_ENTRY_BYTES; /* less than 2^64 */
    return (struct zd_byte_range){
        .first = first, .len = zd_min_u64(PAGE_BYTES, entry_bytes - first)};
}

uint64_t zd_layout_index_held_bytes(const struct zd_layout *layout)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i + 1 < layout->n_levels; i++) {
        const struct zd_shard *shard = layout->level[i].shard;
        uint64_t held = shard->index_bytes;
        if (has_pages(shard)) {
            held = PAGE_BYTES;
        } else if (!shard->index_is_plain) {
            held = zd_min_u64(held, TOO_MUCH) * DECODE_COPIES;
        }
        bytes = zd_max_u64(bytes, held);
    }
    return zd_min_u64(bytes, TOO_MUCH);
}

enum zd_status zd_layout_find(const struct zd_level *level, const struct zd_buf *shard_index,
    struct zd_byte_range shard, const uint64_t *index, struct zd_byte_range *ret_range,
    struct zd_error *err)
{
    const uint64_t i = zd_layout_entry(level, index);
    const uint64_t n_before = zd_layout_index_piece(level, index).first / ZD_SHARD_ENTRY_BYTES;
    const struct zd_shard_entry entry = zd_shard_entry_at(shard_index, i - n_before);
    if (zd_shard_entry_is_missing(entry)) {
        return zd_fail(err, ZD_NOT_FOUND, "the shard has no inner chunk %" PRIu64, i);
    }
    ZD_TRY(zd_shard_entry_check(level->shard, entry, i, shard.len, err));
    *ret_range = (struct zd_byte_range){.first = shard.first + entry.first, .len = entry.len};
    return ZD_OK;
}

struct zd_byte_range zd_layout_span(const struct zd_layout *layout, const struct zd_part *part)
{
    assert(layout->is_linear || layout->has_parts);
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *stride = zd_layout_strides(layout, part->chunk, space);
    for (uint32_t d = 0; d < layout->meta->grid.rank; d++) {
        const uint64_t from = part->from[d];
        /* Unsigned arithmetic wraps: a negative step subtracts. */
        const uint64_t to = from + (part->count[d] - 1) * (uint64_t)part->step[d];
        first += zd_min_u64(from, to) * stride[d];
        last += zd_max_u64(from, to) * stride[d];
    }
    return (struct zd_byte_range){.first = first, .len = last - first + layout->meta->dtype.bytes};
}
