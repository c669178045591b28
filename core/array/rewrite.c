/* The bytes of a stored object after some of its chunks were changed.
 *
 * The object is taken apart as far as the edits need (core/array/slots). Those that follow each
 * other in one chunk of the last level find it decoded: it is kept so until another one comes. */
#include "core/array/rewrite.h"

#include <inttypes.h>
#include <string.h>

#include "core/array/chunk.h"
#include "core/array/slots.h"
#include "core/base/num.h"
#include "core/grid/plan.h"
#include "core/grid/variable.h"

enum outcome {
    WRITTEN,
    ERASED,
    UNCHANGED,
};

struct work {
    const struct zd_rewrite *rewrite;
    const struct zd_layout *layout;
    const struct zd_level *leaf; /* where the object itself is of it, of zd_layout_open */
    struct zd_slots slots;
    struct zd_slot_place
        hot; /* a chunk of the last level that has changed, and is not encoded yet */
    struct zd_buf *elements; /* of it; NULL: there is none; owned */
};

/* The box that an edit paints, or the part of it that lies in one chunk of the last level. */
struct brush {
    const struct zd_source *source;
    struct zd_part part;
    bool keeps_empty; /* as in struct zd_edit */
    uint64_t n_left;  /* out: chunks of the last level that are stored from now on */
};

/* A chunk of the last level as it will be. */
struct change {
    struct zd_list link;
    struct zd_slot_place place;
    enum outcome outcome;
    struct zd_buf *elements; /* to be encoded later; owned, or NULL */
    struct zd_buf *bytes;    /* encoded; owned, or NULL */
};

/* The constant is what a static analyser can follow. */
static enum zd_status no_memory(struct zd_error *err, uint64_t n_bytes)
{
    const enum zd_status status =
        zd_fail(err, ZD_NO_MEMORY, "cannot allocate %" PRIu64 " bytes for a chunk", n_bytes);
    assert(status == ZD_NO_MEMORY);
    (void)status;
    return ZD_NO_MEMORY;
}

static bool is_hot(const struct work *work, const struct zd_slot_place *place)
{
    return work->elements != NULL && work->hot.slot == place->slot;
}

/* Decoded elements are encoded to bytes again. */
static enum zd_status cool_down(struct work *work, struct zd_error *err)
{
    if (work->elements == NULL) {
        return ZD_OK;
    }
    struct zd_buf *bytes;
    ZD_TRY(zd_chain_encode(work->leaf->chain, work->elements, &bytes, err));
    zd_slots_put(&work->slots, &work->hot, bytes);
    zd_buf_unref(ZD_TAKE(work->elements));
    return ZD_OK;
}

/* The elements of a chunk of the last level as they are; NULL when it is absent, or lost. */
static enum zd_status elements_of(struct work *work, const struct zd_slot_place *place,
    struct zd_buf **ret_elements, struct zd_error *err)
{
    if (is_hot(work, place)) {
        *ret_elements = zd_buf_ref(work->elements);
        return ZD_OK;
    }
    ZD_TRY(zd_slots_check(place, err));
    const struct zd_span span = zd_slots_span(&work->slots, place);
    if (span.ptr == NULL) {
        *ret_elements = NULL;
        return ZD_OK;
    }
    if (span.len > work->leaf->stored_max) {
        const struct zd_chain *chain = work->leaf->chain;
        const enum zd_status status = zd_fail(err, ZD_CORRUPT,
            "the stored chunk has more than %" PRIu64
            " bytes, the most that its codecs can produce",
            work->leaf->stored_max);
        zd_fact_name(err, zd_chain_codec(chain, zd_chain_count(chain) - 1)->name);
        return status;
    }
    ZD_AUTO(zd_buf) stored = zd_slots_read(&work->slots, place);
    if (stored == NULL) {
        return no_memory(err, span.len);
    }
    return zd_chunk_decode(work->leaf, stored, ret_elements, err);
}

/* The remains of a chunk of the last level: nothing, or the elements beside the brush. Elements
 * outside the array are kept: another process may have made the array larger. A chunk that does not
 * decode is overwritten if the array needs nothing of it. */
static enum zd_status rest_of(struct work *work, const struct brush *brush,
    const struct zd_slot_place *place, struct zd_buf **ret_elements, struct zd_error *err)
{
    const struct zd_grid *grid = &work->leaf->grid;
    *ret_elements = NULL;
    if (zd_plan_part_covers(grid, &brush->part)) {
        return ZD_OK;
    }
    const enum zd_status status = elements_of(work, place, ret_elements, err);
    return status == ZD_CORRUPT && zd_plan_part_covers_inside(grid, &brush->part) ? ZD_OK : status;
}

/* The elements that a chunk of the last level will have. */
static enum zd_status paint(struct work *work, const struct brush *brush,
    const struct zd_buf *before, struct zd_buf **ret_elements, struct zd_error *err)
{
    ZD_AUTO(zd_buf)
    elements = before == NULL ? zd_chunk_of_fill(work->leaf, work->layout->meta)
                              : zd_buf_copy(zd_buf_span(before));
    if (elements == NULL) {
        return no_memory(err, work->leaf->chunk_bytes);
    }
    zd_scatter_block(brush->source, &brush->part, &work->leaf->grid, elements->data);
    if (zd_dtype_is_variable(&work->layout->meta->dtype)) {
        const uint64_t n = work->leaf->n_elements; /* what they borrow goes before they do */
        return zd_variable_pack(elements->data, n, zd_variable_bytes_max(n), ret_elements, err);
    }
    *ret_elements = ZD_TAKE(elements);
    return ZD_OK;
}

static bool is_left_out(
    const struct work *work, const struct brush *brush, const struct zd_buf *elements)
{
    return !work->rewrite->write_empty && !brush->keeps_empty && !work->layout->meta->has_no_fill &&
           zd_chunk_is_fill(elements, work->leaf->n_elements, work->layout->meta);
}

static void change_done(struct change *change)
{
    zd_buf_unref(change->elements);
    zd_buf_unref(change->bytes);
}

/* Apply the brush to a chunk of the last level; its elements are not encoded yet. */
static enum zd_status change_elements(
    struct work *work, struct brush *brush, struct change *change, struct zd_error *err)
{
    ZD_AUTO(zd_buf) before = NULL;
    ZD_AUTO(zd_buf) after = NULL;
    ZD_TRY(zd_slots_find(
        &work->slots, work->layout->n_levels - 1, brush->part.chunk, &change->place, err));
    ZD_TRY(rest_of(work, brush, &change->place, &before, err));
    ZD_TRY(paint(work, brush, before, &after, err));
    const bool was_absent =
        !is_hot(work, &change->place) && zd_slots_is_absent(&work->slots, &change->place);
    const bool is_same = before != NULL && zd_dtype_same_elements(&work->layout->meta->dtype,
                                               before->data, after->data, work->leaf->n_elements);
    if (is_left_out(work, brush, after)) {
        change->outcome = was_absent ? UNCHANGED : ERASED;
        return ZD_OK;
    }
    brush->n_left++;
    change->outcome = is_same ? UNCHANGED : WRITTEN;
    change->elements = is_same ? NULL : ZD_TAKE(after);
    return ZD_OK;
}

/* Its bytes, which may equal the stored ones. */
static enum zd_status encode_change(struct work *work, struct change *change, struct zd_error *err)
{
    if (change->outcome != WRITTEN) {
        return ZD_OK;
    }
    ZD_TRY(zd_chain_encode(work->leaf->chain, change->elements, &change->bytes, err));
    zd_buf_unref(ZD_TAKE(change->elements));
    const struct zd_span was = zd_slots_span(&work->slots, &change->place);
    if (!is_hot(work, &change->place) && zd_span_equal(was, zd_buf_span(change->bytes))) {
        zd_buf_unref(ZD_TAKE(change->bytes));
        change->outcome = UNCHANGED;
    }
    return ZD_OK;
}

static void count(enum outcome outcome, struct zd_edit_counts *counts)
{
    counts->n_written += outcome == WRITTEN;
    counts->n_erased += outcome == ERASED;
    counts->n_unchanged += outcome == UNCHANGED;
}

static void commit(struct work *work, struct change *change, struct zd_edit_counts *counts)
{
    count(change->outcome, counts);
    if (change->outcome != UNCHANGED) {
        zd_slots_put(&work->slots, &change->place, ZD_TAKE(change->bytes));
    }
}

/* The chunk is what it was, or has its bytes. */
static enum zd_status settle(
    struct work *work, struct change *change, struct zd_edit_counts *counts, struct zd_error *err)
{
    ZD_TRY(encode_change(work, change, err));
    if (change->outcome != UNCHANGED && is_hot(work, &change->place)) {
        zd_buf_unref(ZD_TAKE(work->elements));
    }
    commit(work, change, counts);
    return ZD_OK;
}

/* The chunk stays decoded: others may change more of it. */
static enum zd_status keep_hot(
    struct work *work, struct change *change, struct zd_edit_counts *counts, struct zd_error *err)
{
    if (!is_hot(work, &change->place)) {
        ZD_TRY(cool_down(work, err));
    }
    zd_buf_unref(work->elements);
    work->elements = ZD_TAKE(change->elements);
    work->hot = change->place;
    count(WRITTEN, counts);
    return ZD_OK;
}

/* A box in one chunk of the last level. */
static enum zd_status paint_one(
    struct work *work, struct brush *brush, struct zd_edit_counts *counts, struct zd_error *err)
{
    struct change change = {.outcome = UNCHANGED};
    const bool is_whole = zd_plan_part_covers_inside(&work->leaf->grid, &brush->part);
    enum zd_status status = change_elements(work, brush, &change, err);
    if (status == ZD_OK) {
        status = change.outcome == WRITTEN && !is_whole ? keep_hot(work, &change, counts, err)
                                                        : settle(work, &change, counts, err);
    }
    change_done(&change);
    return status;
}

static void drop_changes(struct zd_list *changes)
{
    for (struct zd_list *link; (link = zd_list_pop_front(changes)) != NULL;) {
        struct change *change = ZD_CONTAINER(link, struct change, link);
        change_done(change);
        zd_free(change);
    }
}

/* Add another chunk of a box that has several. */
static enum zd_status add_change(
    struct work *work, struct brush *brush, struct zd_list *changes, struct zd_error *err)
{
    struct change *change = zd_alloc_zero(1, sizeof *change);
    if (change == NULL) {
        return no_memory(err, sizeof *change);
    }
    zd_list_push_back(changes, &change->link);
    ZD_TRY(change_elements(work, brush, change, err));
    return encode_change(work, change, err);
}

static bool next_part(struct zd_plan *plan, const struct zd_part *whole, struct zd_part *ret_part)
{
    if (!zd_plan_next(plan, ret_part)) {
        return false;
    }
    for (uint32_t d = 0; d < plan->grid->rank; d++) {
        ret_part->to[d] += whole->to[d];
    }
    return true;
}

/* A box in a chunk of some level: all of its chunks of the last level, or none. */
static enum zd_status paint_many(struct work *work, struct brush *brush, uint32_t level,
    struct zd_edit_counts *counts, struct zd_error *err)
{
    const struct zd_part whole = brush->part;
    struct zd_selection selection;
    struct zd_plan plan;
    struct zd_list changes;
    zd_plan_part_selection(&work->layout->level[level].grid, &whole, &selection);
    zd_plan_init(&plan, &work->leaf->grid, &selection);
    uint64_t n_parts = 0;
    if (!zd_plan_overflows(&work->leaf->grid, &selection, &n_parts) && n_parts == 1) {
        (void)next_part(&plan, &whole, &brush->part);
        return paint_one(work, brush, counts, err);
    }
    ZD_TRY(cool_down(work, err));
    zd_list_init(&changes);
    enum zd_status status = ZD_OK;
    while (status == ZD_OK && next_part(&plan, &whole, &brush->part)) {
        status = add_change(work, brush, &changes, err);
    }
    for (struct zd_list *link = changes.next; status == ZD_OK && link != &changes;
        link = link->next) {
        commit(work, ZD_CONTAINER(link, struct change, link), counts);
    }
    drop_changes(&changes);
    return status;
}

/* The shards of some level of which the box leaves nothing: those that are lost are made anew. */
static enum zd_status open_covered(
    struct work *work, const struct zd_selection *selection, uint32_t level, struct zd_error *err)
{
    const struct zd_grid *grid = &work->layout->level[level].grid;
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, grid, selection);
    while (zd_plan_next(&plan, &part)) {
        struct zd_slot_place place;
        if (!zd_plan_part_covers_inside(grid, &part)) {
            continue;
        }
        ZD_TRY(zd_slots_find(&work->slots, level, part.chunk, &place, err));
        ZD_TRY(zd_slots_open_over(&work->slots, &place, level, err));
    }
    return ZD_OK;
}

static enum zd_status paint_shard(struct work *work, struct brush *brush, uint32_t level,
    struct zd_edit_counts *counts, struct zd_error *err)
{
    struct zd_selection selection;
    zd_plan_part_selection(&work->layout->level[level].grid, &brush->part, &selection);
    for (uint32_t at = level; at + 1 < work->layout->n_levels; at++) {
        ZD_TRY(open_covered(work, &selection, at, err));
    }
    return paint_many(work, brush, level, counts, err);
}

static enum zd_status apply_box(struct work *work, uint32_t level, struct brush *brush,
    struct zd_edit_counts *counts, struct zd_error *err)
{
    if (level + 1 == work->layout->n_levels) {
        return paint_one(work, brush, counts, err);
    }
    const enum zd_status status = paint_shard(work, brush, level, counts, err);
    if (status == ZD_OK) {
        zd_slots_take_lost(&work->slots);
    } else {
        zd_slots_restore_lost(&work->slots);
    }
    return status;
}

/* The chunk with its padding is one box. */
static enum zd_status apply_decoded(struct work *work, const struct zd_edit *edit,
    struct zd_edit_counts *counts, struct zd_error *err)
{
    const struct zd_grid *grid = &work->layout->level[edit->level].grid;
    struct zd_block block = {
        .data = edit->bytes->data, .rank = grid->rank, .dtype = work->layout->meta->dtype};
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(grid, edit->part.chunk, space);
    memcpy(block.shape, shape, grid->rank * sizeof *shape);
    const struct zd_source source = zd_scatter_source_of_block(&block);
    struct brush brush = {.source = &source, .keeps_empty = edit->keeps_empty};
    for (uint32_t d = 0; d < grid->rank; d++) {
        brush.part.chunk[d] = edit->part.chunk[d];
        brush.part.step[d] = 1;
        brush.part.count[d] = shape[d];
    }
    struct zd_edit_counts inner = {0};
    ZD_TRY(apply_box(work, edit->level, &brush, &inner, err));
    enum outcome outcome = brush.n_left > 0 ? WRITTEN : ERASED;
    if (inner.n_written + inner.n_erased == 0) {
        outcome = UNCHANGED;
    }
    count(outcome, counts);
    return ZD_OK;
}

static void apply_bytes(struct work *work, const struct zd_edit *edit,
    const struct zd_slot_place *place, struct zd_edit_counts *counts)
{
    const struct zd_span was = zd_slots_span(&work->slots, place);
    enum outcome outcome = WRITTEN;
    if (edit->kind == ZD_EDIT_ERASE) {
        outcome = zd_slots_is_absent(&work->slots, place) ? UNCHANGED : ERASED;
    } else if (was.ptr != NULL && zd_span_equal(was, zd_buf_span(edit->bytes))) {
        outcome = UNCHANGED;
    }
    if (outcome != UNCHANGED) {
        zd_slots_put(&work->slots, place, outcome == ERASED ? NULL : zd_buf_ref(edit->bytes));
    }
    count(outcome, counts);
}

static enum zd_status apply(
    struct work *work, struct zd_edit *edit, struct zd_edit_counts *counts, struct zd_error *err)
{
    struct zd_slot_place place;
    ZD_TRY(zd_rewrite_edit_check_codecs(work->layout, edit, err));
    if (edit->kind != ZD_EDIT_BOX || edit->only_absent) {
        assert(edit->is_verified || edit->kind == ZD_EDIT_BOX || edit->kind == ZD_EDIT_ERASE);
        ZD_TRY(cool_down(work, err));
    }
    ZD_TRY(zd_slots_find(&work->slots, edit->level, edit->part.chunk, &place, err));
    if (edit->only_absent && !zd_slots_is_absent(&work->slots, &place)) {
        return zd_fail(err, ZD_PRECONDITION, "the chunk is stored already");
    }
    switch (edit->kind) {
    case ZD_EDIT_BOX: {
        struct brush brush = {
            .source = &edit->source, .part = edit->part, .keeps_empty = edit->keeps_empty};
        return apply_box(work, edit->level, &brush, counts, err);
    }
    case ZD_EDIT_DECODED:
        return apply_decoded(work, edit, counts, err);
    case ZD_EDIT_ENCODED:
    case ZD_EDIT_ERASE:
        apply_bytes(work, edit, &place, counts);
        return ZD_OK;
    }
    return zd_fail(err, ZD_INTERNAL, "unknown kind of edit");
}

static void apply_all(struct work *work)
{
    for (uint32_t i = 0; i < work->rewrite->n_edits; i++) {
        struct zd_edit *edit = work->rewrite->edit[i];
        struct zd_edit_counts counts = {0};
        struct zd_error err = {0};
        zd_free(ZD_TAKE(edit->err));
        edit->status = apply(work, edit, &counts, &err);
        edit->err = edit->status == ZD_OK ? NULL : zd_alloc(sizeof *edit->err);
        if (edit->err != NULL) {
            *edit->err = err;
        }
        edit->counts = edit->status == ZD_OK ? counts : (struct zd_edit_counts){0};
    }
}

enum zd_status zd_rewrite(struct zd_rewrite *rewrite, struct zd_error *err)
{
    const struct zd_layout *layout = rewrite->layout;
    assert(!rewrite->old_is_unknown || rewrite->old == NULL);
    assert(!rewrite->old_is_unknown ||
           (rewrite->n_edits == 1 && zd_rewrite_edit_is_whole(layout, rewrite->edit[0])));
    uint64_t index[ZD_RANK_MAX];
    struct work work = {.rewrite = rewrite, .layout = layout};
    zd_rewrite_edit_object(layout, rewrite->edit[0], index); /* all are of one object */
    ZD_TRY(zd_layout_open(layout, layout->n_levels - 1, index, &work.leaf, err));
    zd_slots_init(&work.slots, layout, 0, index, rewrite->old, rewrite->bytes_max);
    if (rewrite->old_is_unknown) {
        work.slots.root.state = ZD_SLOT_UNKNOWN;
    }
    apply_all(&work);
    enum zd_status status = cool_down(&work, err);
    if (status == ZD_OK) {
        status = zd_slots_finish(&work.slots, &rewrite->is_changed, &rewrite->bytes, err);
    }
    if (rewrite->old_is_unknown && status == ZD_OK && rewrite->bytes != NULL) {
        zd_rewrite_was_absent(rewrite); /* its empty chunks may not have been stored */
    }
    zd_buf_unref(work.elements);
    zd_slots_done(&work.slots);
    zd_layout_close(work.leaf);
    return status;
}

void zd_rewrite_was_absent(struct zd_rewrite *rewrite)
{
    struct zd_edit_counts *counts = &rewrite->edit[0]->counts;
    counts->n_unchanged += counts->n_erased;
    counts->n_erased = 0;
}
