/* Edits judged without the stored object: do encoded bytes decode, and which of their chunks are
 * empty? */
#include "core/array/rewrite_verify.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/array/chunk.h"
#include "core/array/slots.h"
#include "core/array/verify.h"

/* Spans are addresses of this process: none may come from outside. */
static enum zd_status check_fixed(const struct zd_layout *layout, struct zd_error *err)
{
    const struct zd_dtype *dtype = &layout->meta->dtype;
    return zd_dtype_is_variable(dtype)
               ? zd_fail(err, ZD_UNSUPPORTED,
                     "decoded chunks of %s cannot be stored: their elements have no fixed size",
                     dtype->name)
               : ZD_OK;
}

static enum zd_status check_length(
    uint64_t chunk_bytes, const struct zd_buf *elements, struct zd_error *err)
{
    if (elements->len == chunk_bytes) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, ZD_INVALID,
        "expected %" PRIu64 " bytes for a chunk, found %zu", chunk_bytes, elements->len);
    zd_fact_expected(err, "%" PRIu64 " bytes", chunk_bytes);
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
    if (zd_chunk_is_fill(elements, zd_layout_leaf(layout)->n_elements, layout->meta)) {
        zd_slots_put(slots, place, NULL);
    }
    return ZD_OK;
}

/* A shard on the way to the chunk that is looked at. */
struct shard_walk {
    uint64_t index[ZD_RANK_MAX]; /* of the shard in its level's grid */
    uint64_t next;               /* of its chunks */
};

static void inner_index(
    const struct zd_level *level, const struct shard_walk *walk, uint64_t ret_index[ZD_RANK_MAX])
{
    uint64_t rest = walk->next;
    for (uint32_t d = level->grid.rank; d-- > 0;) {
        const uint64_t ratio = level->ratio[d];
        const uint64_t first = level->is_one ? level->first[d] : walk->index[d] * ratio;
        ret_index[d] = first + rest % ratio;
        rest /= ratio;
    }
}

/* Visit the chunks of the last level one by one, so that a shard may be larger than memory. */
static enum zd_status drop_empty(struct zd_slots *slots, const struct zd_edit *edit,
    const struct zd_level *top, struct zd_error *err)
{
    const struct zd_layout *layout = slots->layout;
    struct shard_walk walk[ZD_LEVELS_MAX] = {0};
    memcpy(walk[edit->level].index, edit->part.chunk, sizeof walk[0].index);
    for (uint32_t level = edit->level;;) {
        struct zd_slot_place place;
        const struct zd_level *at = level == edit->level ? top : &layout->level[level];
        if (walk[level].next == at->shard->n_chunks) {
            if (level == edit->level) {
                return ZD_OK;
            }
            level--;
            continue;
        }
        struct shard_walk inner = {0};
        inner_index(at, &walk[level], inner.index);
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

/* The client's encoded bytes without the chunks that are not to be stored. */
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
    const struct zd_level *top;
    ZD_TRY(zd_layout_open(layout, edit->level, edit->part.chunk, &top, err));
    zd_slots_init(&slots, layout, edit->level, edit->part.chunk, edit->bytes, edit->bytes->len);
    enum zd_status status = drop_empty(&slots, edit, top, err);
    zd_layout_close(top);
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
    ZD_TRY(zd_verify_chunk(
        layout, edit->level, edit->part.chunk, edit->bytes, decoded_max, &verified, err));
    return layout->meta->view.skips_empty ? leave_out_empty(layout, edit, &verified, err) : ZD_OK;
}

enum zd_status zd_rewrite_verify(const struct zd_layout *layout, struct zd_edit *edit,
    uint64_t decoded_max, struct zd_error *err)
{
    assert(edit->level < layout->n_levels);
    ZD_TRY(zd_rewrite_edit_check_codecs(layout, edit, err));
    if (edit->kind == ZD_EDIT_ENCODED) {
        ZD_TRY(verify_encoded(layout, edit, decoded_max, err));
    } else if (edit->kind == ZD_EDIT_DECODED) {
        ZD_TRY(check_fixed(layout, err));
        const uint64_t bytes = zd_layout_chunk_bytes(layout, edit->level, edit->part.chunk);
        ZD_TRY(check_length(bytes, edit->bytes, err));
        if (edit->written != NULL) {
            zd_written_add(edit->written, edit->bytes->data, bytes / layout->meta->dtype.bytes);
        }
    }
    edit->is_verified = true;
    return ZD_OK;
}
