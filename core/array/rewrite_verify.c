/* Edits judged without the stored object: do encoded bytes decode, and which of their chunks are
 * empty? */
#include "core/array/rewrite_verify.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/array/chunk.h"
#include "core/array/slots.h"
#include "core/array/verify.h"

static enum zd_status check_length(
    const struct zd_level *level, const struct zd_buf *elements, struct zd_error *err)
{
    if (elements->len == level->chunk_bytes) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, ZD_INVALID,
        "expected %" PRIu64 " bytes for a chunk, found %zu", level->chunk_bytes, elements->len);
    zd_fact_expected(err, "%" PRIu64 " bytes", level->chunk_bytes);
    zd_fact_found(err, "%zu bytes", elements->len);
    return status;
}

static enum zd_status drop_if_empty(
    struct zd_slots *slots, const struct zd_slot_place *place, struct zd_error *err)
{
    const struct zd_layout *layout = slots->layout;
    ZD_AUTO(zd_buf) elements = NULL;
    ZD_AUTO(zd_buf) encoded = zd_slots_read(slots, place);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for an inner chunk");
    }
    ZD_TRY(zd_chunk_decode(zd_layout_leaf(layout), encoded, &elements, err));
    if (zd_chunk_is_fill(elements, layout->meta)) {
        zd_slots_put(slots, place, NULL);
    }
    return ZD_OK;
}

/* A shard on the way to the chunk that is looked at. */
struct shard_walk {
    uint64_t index[ZD_RANK_MAX]; /* of the shard in its level's grid */
    uint64_t next;               /* of its chunks */
};

static void inner_index(const struct zd_layout *layout, uint32_t level,
    const struct shard_walk *walk, uint64_t ret_index[ZD_RANK_MAX])
{
    const struct zd_grid *grid = &layout->level[level].grid;
    const struct zd_grid *inner = &layout->level[level + 1].grid;
    uint64_t rest = walk->next;
    for (uint32_t d = grid->rank; d-- > 0;) {
        const uint64_t per_chunk = grid->chunk[d] / inner->chunk[d];
        ret_index[d] = walk->index[d] * per_chunk + rest % per_chunk;
        rest /= per_chunk;
    }
}

/* One chunk of the last level after the other, so that a shard may be larger than memory. */
static enum zd_status drop_empty(
    struct zd_slots *slots, const struct zd_edit *edit, struct zd_error *err)
{
    const struct zd_layout *layout = slots->layout;
    struct shard_walk walk[ZD_LEVELS_MAX] = {0};
    memcpy(walk[edit->level].index, edit->part.chunk, sizeof walk[0].index);
    for (uint32_t level = edit->level;;) {
        struct zd_slot_place place;
        if (walk[level].next == layout->level[level].shard->n_chunks) {
            if (level == edit->level) {
                return ZD_OK;
            }
            level--;
            continue;
        }
        struct shard_walk inner = {0};
        inner_index(layout, level, &walk[level], inner.index);
        walk[level].next++;
        ZD_TRY(zd_slots_find(slots, level + 1, inner.index, &place, err));
        if (zd_slots_is_absent(slots, &place)) {
            continue;
        }
        if (level + 2 == layout->n_levels) {
            ZD_TRY(drop_if_empty(slots, &place, err));
        } else {
            walk[++level] = inner;
        }
    }
}

/* What a client encoded, without the chunks that are not to be stored. */
static enum zd_status leave_out_empty(const struct zd_layout *layout, struct zd_edit *edit,
    const struct zd_verified *verified, struct zd_error *err)
{
    struct zd_slots slots;
    struct zd_buf *bytes = NULL;
    bool is_changed = false;
    if (verified->n_full == 0) {
        edit->kind = ZD_EDIT_ERASE;
        zd_buf_unref(ZD_TAKE(edit->bytes));
        return ZD_OK;
    }
    if (verified->n_empty == 0) {
        return ZD_OK;
    }
    zd_slots_init(&slots, layout, edit->level, edit->bytes, edit->bytes->len);
    enum zd_status status = drop_empty(&slots, edit, err);
    if (status == ZD_OK) {
        status = zd_slots_finish(&slots, &is_changed, &bytes, err);
    }
    zd_slots_done(&slots);
    if (status == ZD_OK && is_changed) {
        zd_buf_unref(edit->bytes);
        edit->bytes = bytes;
    }
    return status;
}

static enum zd_status verify_encoded(const struct zd_layout *layout, struct zd_edit *edit,
    uint64_t decoded_max, struct zd_error *err)
{
    struct zd_verified verified = {.written = edit->written};
    ZD_TRY(zd_verify_chunk(layout, edit->level, edit->bytes, decoded_max, &verified, err));
    return layout->meta->view.skips_empty ? leave_out_empty(layout, edit, &verified, err) : ZD_OK;
}

enum zd_status zd_rewrite_verify(const struct zd_layout *layout, struct zd_edit *edit,
    uint64_t decoded_max, struct zd_error *err)
{
    const struct zd_level *level = &layout->level[edit->level];
    assert(edit->level < layout->n_levels);
    ZD_TRY(zd_rewrite_edit_check_codecs(layout, edit, err));
    if (edit->kind == ZD_EDIT_ENCODED) {
        ZD_TRY(verify_encoded(layout, edit, decoded_max, err));
    } else if (edit->kind == ZD_EDIT_DECODED) {
        ZD_TRY(check_length(level, edit->bytes, err));
        if (edit->written != NULL) {
            zd_written_add(
                edit->written, edit->bytes->data, level->chunk_bytes / layout->meta->dtype.bytes);
        }
    }
    edit->is_verified = true;
    return ZD_OK;
}
