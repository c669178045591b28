/* A stored object taken apart, and put together again.
 *
 * A shard is opened when one of its chunks is looked for: its index is decoded, and each chunk has
 * a slot. At the end the shards are closed, the innermost ones first: one of which no chunk was
 * given anything is what it was before. */
#include "core/array/slots.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/shard_index.h"

/* A shard with its chunks side by side. */
struct zd_opened {
    struct zd_list link;             /* in slots->opened */
    struct zd_list lost;             /* in slots->lost, or alone */
    struct zd_slot_place place;      /* its own */
    uint32_t level;                  /* its own */
    const struct zd_level *at_level; /* as this shard has it; of zd_layout_open */
    struct zd_slot was;      /* its slot before it was opened; bytes are borrowed from `from` */
    struct zd_buf *from;     /* has its bytes; NULL: there was no shard; a reference */
    struct zd_byte_range at; /* where, in `from` */
    struct zd_buf *index;    /* decoded; NULL: there was no shard; owned */
    bool is_changed;
    bool is_gone; /* its slot was given something else */
    uint64_t n;
    struct zd_slot slot[];
};

static void slot_done(struct zd_slot *slot)
{
    if (slot->state == ZD_SLOT_BYTES) {
        zd_buf_unref(slot->in.bytes);
    }
}

static void opened_free(struct zd_opened *opened)
{
    if (opened != NULL) {
        for (uint64_t i = 0; i < opened->n; i++) {
            slot_done(&opened->slot[i]);
        }
        zd_buf_unref(opened->index);
        zd_buf_unref(opened->from);
        zd_layout_close(opened->at_level);
        zd_free(opened);
    }
}
ZD_OWN(zd_opened, opened_free);

void zd_slots_init(struct zd_slots *slots, const struct zd_layout *layout, uint32_t level,
    const uint64_t *index, struct zd_buf *stored, uint64_t bytes_max)
{
    *slots = (struct zd_slots){
        .layout = layout,
        .level = level,
        .stored = stored,
        .bytes_max = bytes_max,
        .root.state = stored == NULL ? ZD_SLOT_ABSENT : ZD_SLOT_STORED,
    };
    memcpy(slots->index, index, layout->meta->grid.rank * sizeof *index);
    for (uint32_t i = 0; i < ZD_LEVELS_MAX; i++) {
        zd_list_init(&slots->opened[i]);
    }
    zd_list_init(&slots->lost);
}

void zd_slots_done(struct zd_slots *slots)
{
    for (uint32_t i = ZD_LEVELS_MAX; i-- > 0;) {
        for (struct zd_list *link; (link = zd_list_pop_front(&slots->opened[i])) != NULL;) {
            opened_free(ZD_CONTAINER(link, struct zd_opened, link));
        }
    }
    slot_done(&slots->root);
    slots->root.state = ZD_SLOT_UNKNOWN;
}

static enum zd_status too_large(struct zd_error *err, uint64_t limit, uint64_t requested)
{
    const enum zd_status status = zd_fail(err, ZD_TOO_LARGE,
        "the stored object would have %" PRIu64 " bytes; the limit is %" PRIu64, requested, limit);
    zd_fact_limit(err, limit, requested);
    return status;
}

static enum zd_status no_memory(struct zd_error *err, uint64_t n_bytes)
{
    return zd_fail(err, ZD_NO_MEMORY, "cannot allocate %" PRIu64 " bytes for a shard", n_bytes);
}

/* An entry in the index of a shard that was there. */
static struct zd_byte_range run_of(const struct zd_opened *opened, uint64_t i)
{
    const struct zd_shard_entry entry = zd_shard_entry_at(opened->index, i);
    return (struct zd_byte_range){.first = opened->at.first + entry.first, .len = entry.len};
}

/* Which bytes a slot has, and in which buffer. */
static struct zd_buf *bytes_of(
    const struct zd_slots *slots, const struct zd_slot_place *place, struct zd_byte_range *ret_run)
{
    const struct zd_slot *slot = place->slot;
    if (slot->state == ZD_SLOT_BYTES) {
        *ret_run = (struct zd_byte_range){.len = slot->in.bytes->len};
        return slot->in.bytes;
    }
    if (slot->state != ZD_SLOT_STORED) {
        return NULL;
    }
    if (place->shard == NULL) {
        *ret_run = (struct zd_byte_range){.len = slots->stored->len};
        return slots->stored;
    }
    *ret_run = run_of(place->shard, place->i);
    return place->shard->from;
}

struct zd_span zd_slots_span(const struct zd_slots *slots, const struct zd_slot_place *place)
{
    struct zd_byte_range run;
    const struct zd_buf *bytes = bytes_of(slots, place, &run);
    if (bytes == NULL) {
        return (struct zd_span){.ptr = NULL};
    }
    return (struct zd_span){.ptr = bytes->data + run.first, .len = run.len};
}

struct zd_buf *zd_slots_read(const struct zd_slots *slots, const struct zd_slot_place *place)
{
    struct zd_byte_range run;
    struct zd_buf *bytes = bytes_of(slots, place, &run);
    assert(bytes != NULL);
    return run.len == bytes->len ? zd_buf_ref(bytes) : zd_buf_copy(zd_slots_span(slots, place));
}

static enum zd_status check_entry(
    const struct zd_shard *shard, const struct zd_opened *opened, uint64_t i, struct zd_error *err)
{
    const struct zd_shard_entry entry = zd_shard_entry_at(opened->index, i);
    return zd_shard_entry_check(shard, entry, i, opened->at.len, err);
}

enum zd_status zd_slots_check(const struct zd_slot_place *place, struct zd_error *err)
{
    if (place->shard == NULL || place->slot->state != ZD_SLOT_DAMAGED) {
        return ZD_OK; /* the object itself has no entry */
    }
    return check_entry(place->shard->at_level->shard, place->shard, place->i, err);
}

/* The index of a shard that is there, into an opened one. */
static enum zd_status read_index(
    const struct zd_level *level, struct zd_opened *opened, struct zd_error *err)
{
    struct zd_byte_range range;
    ZD_TRY(zd_layout_index_range(level, opened->at, &range, err));
    ZD_AUTO(zd_buf)
    encoded =
        zd_buf_copy((struct zd_span){.ptr = opened->from->data + range.first, .len = range.len});
    if (encoded == NULL) {
        return no_memory(err, range.len);
    }
    ZD_TRY(zd_layout_index_decode(level, encoded, &opened->index, err));
    for (uint64_t i = 0; i < opened->n; i++) {
        const bool is_missing = zd_shard_entry_is_missing(zd_shard_entry_at(opened->index, i));
        const bool can_be = is_missing || check_entry(level->shard, opened, i, NULL) == ZD_OK;
        opened->slot[i].state = is_missing ? ZD_SLOT_ABSENT
                                : can_be   ? ZD_SLOT_STORED
                                           : ZD_SLOT_DAMAGED;
    }
    return ZD_OK;
}

static struct zd_opened *opened_new(uint64_t n)
{
    size_t bytes;
    struct zd_opened *opened;
    if (ckd_mul(&bytes, n, sizeof opened->slot[0]) || ckd_add(&bytes, bytes, sizeof *opened)) {
        return NULL;
    }
    opened = zd_alloc_zero(1, bytes);
    if (opened != NULL) {
        opened->n = n;
    }
    return opened;
}

/* A shard of which nothing but its number of chunks is known. */
static void lose_chunks(struct zd_opened *opened)
{
    for (uint64_t i = 0; i < opened->n; i++) {
        opened->slot[i].state = ZD_SLOT_UNKNOWN;
    }
}

static enum zd_status read_shard(
    const struct zd_slots *slots, struct zd_opened *opened, struct zd_error *err)
{
    ZD_TRY(zd_slots_check(&opened->place, err));
    struct zd_buf *from = bytes_of(slots, &opened->place, &opened->at);
    if (from != NULL) {
        opened->from = zd_buf_ref(from);
        return read_index(opened->at_level, opened, err);
    }
    if (opened->was.state == ZD_SLOT_UNKNOWN) {
        lose_chunks(opened);
    }
    return ZD_OK;
}

/* Only the object itself, the chunk of the array, can be of another shape than others. */
static enum zd_status make_opened(const struct zd_slots *slots, uint32_t level,
    struct zd_opened **ret_opened, struct zd_error *err)
{
    const struct zd_level *at;
    ZD_TRY(zd_layout_open(slots->layout, level, slots->index, &at, err));
    const struct zd_shard *shard = at->shard;
    assert(shard != NULL);
    const bool is_too_large = shard->index_bytes > slots->bytes_max;
    struct zd_opened *opened = is_too_large ? NULL : opened_new(shard->n_chunks);
    if (opened == NULL) {
        const enum zd_status status = is_too_large
                                          ? too_large(err, slots->bytes_max, shard->index_bytes)
                                          : no_memory(err, shard->index_bytes);
        zd_layout_close(at);
        return status;
    }
    opened->at_level = at;
    *ret_opened = opened;
    return ZD_OK;
}

static enum zd_status open_shard(struct zd_slots *slots, const struct zd_slot_place *place,
    uint32_t level, enum zd_status not_fatal, struct zd_error *err)
{
    if (place->slot->state == ZD_SLOT_OPENED) {
        return ZD_OK;
    }
    ZD_AUTO(zd_opened) opened = NULL;
    ZD_TRY(make_opened(slots, level, &opened, err));
    opened->place = *place;
    opened->level = level;
    opened->was = *place->slot;
    const enum zd_status status = read_shard(slots, opened, err);
    if (status != ZD_OK && status != not_fatal) {
        return status;
    }
    if (status != ZD_OK) {
        lose_chunks(opened);
        zd_list_push_back(&slots->lost, &opened->lost);
    }
    slot_done(place->slot); /* `from` has a reference */
    *place->slot = (struct zd_slot){.state = ZD_SLOT_OPENED, .in.opened = opened};
    zd_list_push_back(&slots->opened[level], &opened->link);
    (void)ZD_TAKE(opened);
    return ZD_OK;
}

enum zd_status zd_slots_open(
    struct zd_slots *slots, const struct zd_slot_place *place, uint32_t level, struct zd_error *err)
{
    return open_shard(slots, place, level, ZD_OK, err);
}

enum zd_status zd_slots_open_over(
    struct zd_slots *slots, const struct zd_slot_place *place, uint32_t level, struct zd_error *err)
{
    return open_shard(slots, place, level, ZD_CORRUPT, err);
}

/* Restore the slot as it was before it was opened. */
static void restore_slot(const struct zd_opened *opened)
{
    *opened->place.slot = opened->was;
    if (opened->was.state == ZD_SLOT_BYTES) {
        (void)zd_buf_ref(opened->was.in.bytes);
    }
}

void zd_slots_take_lost(struct zd_slots *slots)
{
    while (zd_list_pop_front(&slots->lost) != NULL) {
    }
}

void zd_slots_restore_lost(struct zd_slots *slots)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&slots->lost)) != NULL;) {
        struct zd_opened *opened = ZD_CONTAINER(link, struct zd_opened, lost);
        opened->is_gone = true;
        restore_slot(opened);
    }
}

enum zd_status zd_slots_find(struct zd_slots *slots, uint32_t level, const uint64_t *index,
    struct zd_slot_place *ret_place, struct zd_error *err)
{
    const struct zd_layout *layout = slots->layout;
    struct zd_slot_place place = {.slot = &slots->root};
    for (uint32_t at = slots->level; at < level; at++) {
        uint64_t inner[ZD_RANK_MAX];
        ZD_TRY(zd_slots_open(slots, &place, at, err));
        zd_layout_ancestor(layout, level, at + 1, index, inner);
        struct zd_opened *opened = place.slot->in.opened;
        const uint64_t i = zd_layout_entry(opened->at_level, inner);
        place = (struct zd_slot_place){.slot = &opened->slot[i], .shard = opened, .i = i};
    }
    *ret_place = place;
    return ZD_OK;
}

/* Whether a slot that leads to it, at any level, was given something else. */
static bool is_gone(const struct zd_opened *opened)
{
    bool gone = false;
    for (; opened != NULL && !gone; opened = opened->place.shard) {
        gone = opened->is_gone;
    }
    return gone;
}

static bool is_within(const struct zd_opened *opened, const struct zd_opened *outer)
{
    while (opened != NULL && opened != outer) {
        opened = opened->place.shard;
    }
    return opened == outer;
}

static bool has_chunks(const struct zd_opened *opened)
{
    for (uint64_t i = 0; i < opened->n; i++) {
        const enum zd_slot_state state = opened->slot[i].state;
        if (state == ZD_SLOT_STORED || state == ZD_SLOT_BYTES || state == ZD_SLOT_DAMAGED) {
            return true;
        }
    }
    return false;
}

bool zd_slots_is_absent(const struct zd_slots *slots, const struct zd_slot_place *place)
{
    if (place->slot->state != ZD_SLOT_OPENED) {
        return place->slot->state == ZD_SLOT_ABSENT;
    }
    const struct zd_opened *outer = place->slot->in.opened;
    for (uint32_t level = outer->level; level < ZD_LEVELS_MAX; level++) {
        const struct zd_list *head = &slots->opened[level];
        for (const struct zd_list *link = head->next; link != head; link = link->next) {
            const struct zd_opened *opened = ZD_CONTAINER(link, struct zd_opened, link);
            if (is_within(opened, outer) && !is_gone(opened) && has_chunks(opened)) {
                return false;
            }
        }
    }
    return true;
}

static void mark_changed(struct zd_slots *slots, struct zd_opened *shard)
{
    if (shard == NULL) {
        slots->is_changed = true;
    } else {
        shard->is_changed = true;
    }
}

void zd_slots_put(struct zd_slots *slots, const struct zd_slot_place *place, struct zd_buf *bytes)
{
    struct zd_slot *slot = place->slot;
    if (slot->state == ZD_SLOT_OPENED) {
        slot->in.opened->is_gone = true;
    }
    slot_done(slot);
    *slot = bytes == NULL ? (struct zd_slot){.state = ZD_SLOT_ABSENT}
                          : (struct zd_slot){.state = ZD_SLOT_BYTES, .in.bytes = bytes};
    mark_changed(slots, place->shard);
}

/* The index entry of a chunk whose bytes, if any, are put there. */
static struct zd_shard_entry entry_of(const struct zd_slot *slot, struct zd_span chunk, uint64_t at)
{
    if (slot->state == ZD_SLOT_DAMAGED) {
        return ZD_SHARD_DAMAGED;
    }
    if (chunk.ptr == NULL) {
        return (struct zd_shard_entry){.first = ZD_SHARD_MISSING, .len = ZD_SHARD_MISSING};
    }
    return (struct zd_shard_entry){.first = at, .len = chunk.len};
}

/* Where each chunk will be. @param ret_len of the whole shard; 0 when it has no chunk */
static enum zd_status lay_out(const struct zd_slots *slots, struct zd_opened *opened,
    struct zd_buf *index, uint64_t *ret_len, struct zd_error *err)
{
    const struct zd_shard *shard = opened->at_level->shard;
    uint64_t len = shard->index_bytes;
    uint64_t at = shard->index_at_start ? shard->index_bytes : 0;
    for (uint64_t i = 0; i < opened->n; i++) {
        const struct zd_slot_place place = {.slot = &opened->slot[i], .shard = opened, .i = i};
        uint8_t *to = index->data + i * ZD_SHARD_ENTRY_BYTES;
        const struct zd_span chunk = zd_slots_span(slots, &place);
        const struct zd_shard_entry entry = entry_of(&opened->slot[i], chunk, at);
        zd_store_u64(to, entry.first);
        zd_store_u64(to + sizeof(uint64_t), entry.len);
        at += chunk.len;
        if (ckd_add(&len, len, chunk.len) || len > slots->bytes_max) {
            return too_large(err, slots->bytes_max, len);
        }
    }
    *ret_len = has_chunks(opened) ? len : 0;
    return ZD_OK;
}

static void append(struct zd_buf *to, struct zd_span piece)
{
    if (piece.len > 0) {
        memcpy(to->data + to->len, piece.ptr, piece.len);
        to->len += piece.len;
    }
}

/* The shard's bytes; NULL when it has no chunk. */
static enum zd_status assemble(const struct zd_slots *slots, struct zd_opened *opened,
    struct zd_buf **ret_bytes, struct zd_error *err)
{
    const struct zd_shard *shard = opened->at_level->shard;
    ZD_AUTO(zd_buf) index = zd_buf_new(opened->n * ZD_SHARD_ENTRY_BYTES);
    if (index == NULL) {
        return no_memory(err, opened->n * ZD_SHARD_ENTRY_BYTES);
    }
    index->len = index->cap;
    uint64_t len = 0;
    ZD_TRY(lay_out(slots, opened, index, &len, err));
    if (len == 0) {
        *ret_bytes = NULL;
        return ZD_OK;
    }
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_TRY(zd_chain_encode(shard->index, index, &encoded, err));
    assert(encoded->len == shard->index_bytes);
    ZD_AUTO(zd_buf) bytes = zd_buf_new(len);
    if (bytes == NULL) {
        return no_memory(err, len);
    }
    append(bytes, shard->index_at_start ? zd_buf_span(encoded) : (struct zd_span){.ptr = NULL});
    for (uint64_t i = 0; i < opened->n; i++) {
        const struct zd_slot_place place = {.slot = &opened->slot[i], .shard = opened, .i = i};
        append(bytes, zd_slots_span(slots, &place));
    }
    append(bytes, shard->index_at_start ? (struct zd_span){.ptr = NULL} : zd_buf_span(encoded));
    assert(bytes->len == len);
    *ret_bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

/* The shard is one chunk again. */
static enum zd_status close_shard(
    struct zd_slots *slots, struct zd_opened *opened, struct zd_error *err)
{
    if (is_gone(opened)) {
        return ZD_OK;
    }
    if (!opened->is_changed) {
        restore_slot(opened);
        return ZD_OK;
    }
    struct zd_buf *bytes = NULL;
    ZD_TRY(assemble(slots, opened, &bytes, err));
    *opened->place.slot = (struct zd_slot){.state = ZD_SLOT_ABSENT};
    zd_slots_put(slots, &opened->place, bytes);
    return ZD_OK;
}

enum zd_status zd_slots_finish(
    struct zd_slots *slots, bool *ret_is_changed, struct zd_buf **ret_bytes, struct zd_error *err)
{
    for (uint32_t level = ZD_LEVELS_MAX; level-- > 0;) {
        const struct zd_list *head = &slots->opened[level];
        for (const struct zd_list *link = head->next; link != head; link = link->next) {
            ZD_TRY(close_shard(slots, ZD_CONTAINER(link, struct zd_opened, link), err));
        }
    }
    const bool has_bytes = slots->is_changed && slots->root.state == ZD_SLOT_BYTES;
    if (has_bytes && slots->root.in.bytes->len > slots->bytes_max) {
        return too_large(err, slots->bytes_max, slots->root.in.bytes->len);
    }
    *ret_is_changed = slots->is_changed;
    *ret_bytes = has_bytes ? zd_buf_ref(slots->root.in.bytes) : NULL;
    return ZD_OK;
}
