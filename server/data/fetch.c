/* The chunks of a selection, some at a time, and their elements into one block. */
#include "server/data/fetch.h"

#include <string.h>

#include "core/base/num.h"
#include "server/runtime/workers.h"

#define IN_FLIGHT_MAX    128
#define AHEAD            8
#define KEPT_BYTES_MAX   (UINT64_C(16) << 20) /* of several chunks; one may be larger */
#define PART_COST_NS     200
#define RUN_BYTES_PER_NS 8 /* where neighbours stay neighbours */
#define ELEMENTS_PER_NS  1 /* where each element is taken by itself */

/* A chunk, and what is held to find it. */
static uint64_t part_bytes(const struct zd_node *node)
{
    const uint64_t chunk_bytes = zd_max_u64(zd_layout_leaf(node->layout)->chunk_bytes, 1);
    return chunk_bytes + zd_layout_index_held_bytes(node->layout);
}

/* How many parts may be under way at once. */
static uint64_t parts_at_once(const struct zd_node *node, uint64_t n_parts_max, uint64_t bytes_max)
{
    const uint64_t n_held = zd_max_u64(bytes_max / part_bytes(node), 1);
    return zd_min_u64(n_parts_max, zd_min_u64(n_held, IN_FLIGHT_MAX));
}

/* The chunks of which the block of a selection borrows, at the most. */
static uint64_t kept_max(const struct zd_node *node, uint64_t n_parts_max)
{
    const uint64_t chunk_bytes = zd_layout_leaf(node->layout)->chunk_bytes;
    uint64_t all;
    if (!zd_dtype_is_variable(&node->meta->dtype)) {
        return 0;
    }
    const bool is_much = ckd_mul(&all, n_parts_max, chunk_bytes) || all > KEPT_BYTES_MAX;
    return is_much ? zd_max_u64(chunk_bytes, KEPT_BYTES_MAX) : all;
}

uint64_t zd_fetch_held_bytes(const struct zd_node *node, uint64_t n_parts_max, uint64_t bytes_max)
{
    return parts_at_once(node, n_parts_max, bytes_max) * part_bytes(node) +
           kept_max(node, n_parts_max);
}

static void drop_kept(struct zd_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->n_kept; i++) {
        zd_buf_unref(fetch->kept[i]);
    }
    fetch->n_kept = 0;
    fetch->kept_bytes = 0;
}

/* @retval ZD_NO_MEMORY */
static enum zd_status reserve_kept(struct zd_fetch *fetch, struct zd_error *err)
{
    const uint32_t n_room = fetch->n_kept + fetch->n_asked;
    if (n_room <= fetch->n_kept_room) {
        return ZD_OK;
    }
    struct zd_buf **kept = (struct zd_buf **)zd_alloc_zero(2 * (size_t)n_room, sizeof *kept);
    if (kept == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to keep %u chunks", n_room);
    }
    if (fetch->n_kept > 0) {
        memcpy((void *)kept, (const void *)fetch->kept, fetch->n_kept * sizeof *kept);
    }
    zd_free((void *)fetch->kept);
    fetch->kept = kept;
    fetch->n_kept_room = 2 * n_room;
    return ZD_OK;
}

/* The chunks that have arrived stay until the next selection. */
static enum zd_status keep(struct zd_fetch *fetch, struct zd_error *err)
{
    ZD_TRY(reserve_kept(fetch, err));
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        struct zd_buf *data = fetch->want[i].data;
        const uint64_t bytes = fetch->kept_bytes + (data == NULL ? 0 : data->cap);
        if (bytes > fetch->kept_max) {
            return zd_fail_limit(err, fetch->kept_max, bytes,
                "one row of chunks of %s has more than %llu bytes: request fewer chunks per row",
                fetch->node->meta->dtype.name, (unsigned long long)fetch->kept_max);
        }
        if (data != NULL) {
            fetch->kept[fetch->n_kept++] = zd_buf_ref(data);
            fetch->kept_bytes = bytes;
        }
    }
    return ZD_OK;
}

enum zd_status zd_fetch_init(struct zd_fetch *fetch, struct zd_gather gather, struct zd_node *node,
    uint64_t n_parts_max, uint64_t bytes_max, struct zd_error *err)
{
    const uint32_t n_part = (uint32_t)parts_at_once(node, n_parts_max, bytes_max);
    if (n_part > fetch->n_room || fetch->want == NULL) {
        struct zd_chunk_want *want = zd_alloc(n_part * sizeof *want);
        if (want == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory to request %u chunks", n_part);
        }
        zd_free(fetch->want);
        fetch->want = want;
        fetch->n_room = n_part;
    }
    *fetch = (struct zd_fetch){
        .gather = gather,
        .node = node,
        .want = fetch->want,
        .n_room = fetch->n_room,
        .n_part = n_part,
        .kept_max = kept_max(node, n_parts_max),
    };
    return ZD_OK;
}

void zd_fetch_done(struct zd_fetch *fetch)
{
    zd_fetch_release(fetch);
    zd_fetch_drop(fetch);
    zd_free(fetch->want);
    fetch->want = NULL;
    fetch->n_room = 0;
    fetch->n_part = 0;
}

void zd_fetch_begin(struct zd_fetch *fetch, const struct zd_selection *selection)
{
    const struct zd_grid *grid = &zd_layout_leaf(fetch->node->layout)->grid;
    uint64_t n_parts;
    drop_kept(fetch);
    zd_plan_init(&fetch->plan, grid, selection);
    fetch->n_together = zd_plan_overflows(grid, selection, &n_parts)
                            ? fetch->n_part
                            : zd_min_u64(n_parts, fetch->n_part);
    fetch->is_last = false;
    fetch->checked_ms = UINT64_MAX;
}

/* The cost of copying a part. */
static uint64_t copy_ns(const struct zd_fetch *fetch, const struct zd_part *part)
{
    const struct zd_meta *meta = fetch->node->meta;
    const struct zd_layout *layout = fetch->node->layout;
    uint64_t n = 0;
    (void)zd_product_overflows(
        &n, part->count, meta->grid.rank); /* at most a chunk's, which were counted */
    const uint32_t last = meta->grid.rank - 1;
    const bool has_runs = meta->grid.rank == 0 || part->count[last] == 1 || part->step[last] == 1;
    const bool is_plain =
        !layout->is_linear || meta->grid.rank == 0 || layout->stride[last] == meta->dtype.bytes;
    const uint64_t run_ns = n * meta->dtype.bytes / RUN_BYTES_PER_NS;
    return PART_COST_NS + (has_runs && is_plain ? run_ns : n / ELEMENTS_PER_NS) +
           n * fetch->element_ns;
}

enum zd_next zd_fetch_ask(struct zd_fetch *fetch)
{
    assert(fetch->n_asked == 0);
    fetch->copy_ns = 0;
    fetch->n_taken = 0;
    fetch->asked_ns = uv_hrtime();
    zd_gather_begin(&fetch->gather);
    while (fetch->n_asked < fetch->n_part && !fetch->is_last) {
        struct zd_chunk_want *want = &fetch->want[fetch->n_asked];
        zd_chunks_want_init(want, zd_gather_wake, &fetch->gather);
        want->n_together = fetch->n_together;
        want->owner = fetch->gather.owner;
        if (!zd_plan_next(&fetch->plan, &want->part)) {
            fetch->is_last = true;
            break;
        }
        fetch->n_asked++;
        fetch->copy_ns += copy_ns(fetch, &want->part);
        zd_gather_add(&fetch->gather, zd_chunks_want(fetch->node, want));
    }
    fetch->is_last = fetch->is_last || fetch->plan.done;
    return zd_gather_end(&fetch->gather);
}

enum zd_status zd_fetch_collect(struct zd_fetch *fetch, bool *ret_is_stale, struct zd_error *err)
{
    bool is_stale = false;
    fetch->read_ns = 0;
    fetch->decode_ns = 0;
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        const struct zd_chunk_want *want = &fetch->want[i];
        if (want->wait.status != ZD_OK) {
            *err = want->wait.err;
            return want->wait.status;
        }
        if (fetch->seen != NULL) {
            const uint64_t number = zd_seen_objects_number(fetch->seen, want->part.chunk);
            is_stale = !zd_seen_objects_see(fetch->seen, number, want->generation) || is_stale;
        }
        fetch->checked_ms = zd_min_u64(fetch->checked_ms, want->checked_ms);
        fetch->n_parts++;
        fetch->n_absent += want->data == NULL;
        fetch->read_ns += want->times.read_ns;
        fetch->decode_ns += want->times.decode_ns;
    }
    *ret_is_stale = is_stale;
    return zd_dtype_is_variable(&fetch->node->meta->dtype) ? keep(fetch, err) : ZD_OK;
}

/* A small part is copied faster than its chunk comes from memory: several are on their way. */
static void look_ahead(const struct zd_fetch *fetch, const struct zd_block *block, uint32_t i)
{
    const struct zd_chunk_want *want = i < fetch->n_asked ? &fetch->want[i] : NULL;
    if (want != NULL && want->data != NULL && !want->is_span) {
        zd_block_prefetch(
            block, &want->part, &zd_layout_leaf(fetch->node->layout)->grid, want->data);
    }
}

bool zd_fetch_take_piece(struct zd_fetch *fetch, uint32_t *ret_first, uint32_t *ret_end)
{
    uint64_t ns = 0;
    *ret_first = fetch->n_taken;
    while (fetch->n_taken < fetch->n_asked && ns < ZD_WORKERS_PIECE_NS) {
        ns += copy_ns(fetch, &fetch->want[fetch->n_taken].part);
        fetch->n_taken++;
    }
    *ret_end = fetch->n_taken;
    return fetch->n_taken < fetch->n_asked;
}

bool zd_fetch_copy(struct zd_fetch *fetch, const struct zd_block *block)
{
    const struct zd_layout *layout = fetch->node->layout;
    uint32_t first;
    uint32_t end;
    const bool has_more = zd_fetch_take_piece(fetch, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const struct zd_chunk_want *want = &fetch->want[i];
        look_ahead(fetch, block, i + AHEAD);
        if (want->data == NULL) {
            zd_block_fill(block, &want->part, layout->meta->fill);
        } else if (want->is_span) {
            zd_block_gather(block, &want->part, layout, zd_buf_span(want->data));
        } else {
            zd_block_copy(block, &want->part, &zd_layout_leaf(layout)->grid, want->data);
        }
    }
    return has_more;
}

/* True when the part is the whole chunk, as decoded. */
static bool is_chunk(const struct zd_chunk_want *want, const struct zd_grid *grid)
{
    return !want->is_span && zd_plan_part_covers(grid, &want->part);
}

static void copy_part(const struct zd_fetch *fetch, const struct zd_chunk_want *want, uint8_t *room)
{
    const struct zd_layout *layout = fetch->node->layout;
    struct zd_part part = want->part;
    struct zd_block block = {
        .data = room, .rank = layout->meta->grid.rank, .dtype = layout->meta->dtype};
    for (uint32_t d = 0; d < block.rank; d++) {
        block.shape[d] = part.count[d];
        part.to[d] = 0;
    }
    if (want->is_span) {
        zd_block_gather(&block, &part, layout, zd_buf_span(want->data));
    } else {
        zd_block_copy(&block, &part, &zd_layout_leaf(layout)->grid, want->data);
    }
}

/* True when no dimension of it runs backwards. */
static bool is_forward(const struct zd_part *part, uint32_t rank)
{
    bool is_forward = true;
    for (uint32_t d = 0; d < rank; d++) {
        is_forward = is_forward && part->step[d] > 0;
    }
    return is_forward;
}

static const uint8_t *elements_of(const struct zd_fetch *fetch, uint32_t i, bool is_in_place,
    uint8_t *room, uint64_t *ret_n_elements)
{
    const struct zd_chunk_want *want = &fetch->want[i];
    /* At most the elements of a chunk, which were counted. */
    (void)zd_product_overflows(ret_n_elements, want->part.count, fetch->node->meta->grid.rank);
    if (want->data == NULL) {
        return NULL;
    }
    if (is_in_place) {
        return want->data->data;
    }
    copy_part(fetch, want, room);
    return room;
}

const uint8_t *zd_fetch_elements(
    const struct zd_fetch *fetch, uint32_t i, uint8_t *room, uint64_t *ret_n_elements)
{
    const struct zd_grid *grid = &zd_layout_leaf(fetch->node->layout)->grid;
    return elements_of(fetch, i, is_chunk(&fetch->want[i], grid), room, ret_n_elements);
}

const uint8_t *zd_fetch_box(
    const struct zd_fetch *fetch, uint32_t i, uint8_t *room, uint64_t *ret_n_elements)
{
    const struct zd_grid *grid = &zd_layout_leaf(fetch->node->layout)->grid;
    const struct zd_chunk_want *want = &fetch->want[i];
    return elements_of(fetch, i, is_chunk(want, grid) && is_forward(&want->part, grid->rank), room,
        ret_n_elements);
}

void zd_fetch_drop(struct zd_fetch *fetch)
{
    drop_kept(fetch);
    zd_free((void *)ZD_TAKE(fetch->kept));
    fetch->n_kept_room = 0;
}

void zd_fetch_release(struct zd_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        zd_chunks_release(&fetch->want[i]);
    }
    fetch->n_asked = 0;
    zd_gather_cancel(&fetch->gather);
}
