/* The elements of a slice that is written, band by band. */
#include "server/slice/slice_bands.h"

#include <assert.h>
#include <string.h>

#include "core/array/rewrite_cost.h"
#include "core/base/num.h"
#include "core/codec/strided.h"
#include "core/grid/touch.h"
#include "core/grid/variable.h"
#include "server/runtime/server.h"

#define FLYING_MAX      32
#define BANDS_AT_ONCE   2 /* the one that is read, and the rest of the one before */
#define VARIABLE_COPIES 4 /* of bytes of any length: as text, read, of the band, kept */

static const struct zd_settings *settings_of(const struct zd_slice_bands *bands)
{
    return &bands->node->dataset->server->config->settings;
}

static const struct zd_grid *grid_of(const struct zd_slice_bands *bands)
{
    return &bands->node->layout->level[0].grid;
}

/* ---- memory ---- */

static uint64_t part_elements(const struct zd_slice_bands *bands, const struct zd_part *part)
{
    uint64_t n = 0;
    (void)zd_product_overflows(&n, part->count, bands->selection->rank); /* at most all elements */
    return n;
}

/* An object that is covered in part keeps its elements, to repeat the edit when another process has
 * written in between; under a condition that is a failure. */
static bool keeps_elements(const struct zd_slice_bands *bands, const struct zd_edit *edit)
{
    return !bands->is_conditional && !zd_rewrite_edit_is_all(bands->node->layout, edit);
}

/* Objects at the array's edge are read, but all of a long slice cannot be kept for them. */
static bool is_once(const struct zd_slice_bands *bands, const struct zd_edit *edit)
{
    const struct zd_layout *layout = bands->node->layout;
    return bands->is_split && !bands->is_conditional && zd_rewrite_edit_is_all(layout, edit) &&
           !zd_rewrite_edit_is_whole(layout, edit);
}

static uint64_t kept_bytes(const struct zd_slice_bands *bands)
{
    uint64_t n_elements = 0;
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, grid_of(bands), bands->selection);
    while (zd_plan_next(&plan, &part)) {
        const struct zd_edit edit = {.kind = ZD_EDIT_BOX, .part = part};
        n_elements += keeps_elements(bands, &edit) ? part_elements(bands, &part) : 0;
    }
    return n_elements * bands->node->meta->dtype.bytes;
}

static uint64_t rewrite_bytes(const struct zd_slice_bands *bands)
{
    const uint64_t object_max = settings_of(bands)->limits_object_bytes;
    return zd_max_u64(zd_rewrite_cost_bytes(bands->node->layout, object_max), 1);
}

static void split(struct zd_slice_bands *bands, uint64_t n_elements)
{
    const struct zd_settings *settings = settings_of(bands);
    const uint64_t bytes = zd_min_u64(settings->http_stream_bytes, settings->limits_write_bytes);
    const uint64_t wanted = zd_max_u64(bytes / bands->node->meta->dtype.bytes, 1);
    /* A band ends with a row of stored objects, so that no object needs two bands. */
    const uint64_t n = zd_max_u64(wanted, zd_touch_row_elements(grid_of(bands), bands->selection));
    bands->n_elements_max = zd_max_u64(zd_min_u64(n, n_elements), 1);
    bands->is_split = bands->n_elements_max < n_elements;
    zd_bands_init(
        &bands->rest, grid_of(bands), bands->selection, 0, n_elements, bands->n_elements_max);
    bands->kept_bytes = bands->is_split ? kept_bytes(bands) : 0;
}

enum zd_status zd_slice_bands_plan(struct zd_slice_bands *bands, struct zd_error *err)
{
    uint64_t n_elements;
    bands->n_at_once =
        (uint32_t)zd_max_u64(zd_min_u64(bands->flight_bytes / rewrite_bytes(bands), FLYING_MAX), 1);
    if (bands->is_broadcast) {
        return ZD_OK;
    }
    const bool overflows = zd_selection_overflows(bands->selection, &n_elements);
    assert(!overflows); /* the limits were checked */
    (void)overflows;
    split(bands, n_elements);
    const uint64_t held = bands->n_elements_max * bands->node->meta->dtype.bytes +
                          bands->kept_bytes + VARIABLE_COPIES * bands->variable_bytes;
    const uint64_t limit = settings_of(bands)->limits_write_bytes;
    if (held > limit) {
        return zd_fail_limit(err, limit, held,
            "writing the slice needs %llu bytes of memory; limits.write_bytes is %llu: write fewer "
            "stored objects per row",
            (unsigned long long)held, (unsigned long long)limit);
    }
    return ZD_OK;
}

uint64_t zd_slice_bands_held_bytes(
    const struct zd_slice_bands *bands, const struct zd_seen_objects *seen, uint64_t other_bytes)
{
    const uint64_t band = bands->n_elements_max * bands->node->meta->dtype.bytes;
    const uint64_t n_bands = bands->is_split ? BANDS_AT_ONCE : 1;
    const uint64_t n_at_once = zd_min_u64(bands->n_at_once, seen->n);
    uint64_t bytes;
    const bool overflows = ckd_mul(&bytes, n_at_once, rewrite_bytes(bands)) ||
                           ckd_add(&bytes, bytes, zd_edit_set_bytes(seen->n)) ||
                           ckd_add(&bytes, bytes, seen->n * sizeof *seen->object + other_bytes) ||
                           ckd_add(&bytes, bytes, n_bands * band + bands->kept_bytes) ||
                           ckd_add(&bytes, bytes, VARIABLE_COPIES * bands->variable_bytes);
    return overflows ? UINT64_MAX : bytes;
}

void zd_slice_bands_done(struct zd_slice_bands *bands)
{
    zd_buf_unref(bands->elements);
    *bands = (struct zd_slice_bands){0};
}

/* ---- elements ---- */

void zd_slice_bands_begin(
    const struct zd_slice_bands *bands, struct zd_edit_set *set, struct zd_job_owner owner)
{
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, grid_of(bands), bands->selection);
    for (uint64_t i = 0; zd_plan_next(&plan, &part); i++) {
        struct zd_edit_object *object = &set->object[i];
        struct zd_edit_want *want = &object->want;
        *want->edit =
            (struct zd_edit){.kind = ZD_EDIT_BOX, .part = part, .keeps_empty = bands->keeps_empty};
        want->drops_elements = is_once(bands, want->edit);
        want->is_dry = set->is_dry;
        want->owner = owner;
        if (bands->is_conditional) {
            want->generation = set->seen->object[i].generation;
            want->condition = zd_store_condition_of(want->generation);
        }
        object->frees_elements = bands->is_split && !keeps_elements(bands, want->edit);
    }
}

enum zd_status zd_slice_bands_next(
    struct zd_slice_bands *bands, bool *ret_is_over, struct zd_error *err)
{
    *ret_is_over =
        bands->is_broadcast ? bands->elements != NULL : !zd_bands_next(&bands->rest, &bands->band);
    if (*ret_is_over) {
        return ZD_OK;
    }
    const uint64_t n = bands->is_broadcast ? 1 : bands->band.n_elements;
    zd_buf_unref(bands->elements);
    bands->elements = zd_buf_new(n * bands->node->meta->dtype.bytes);
    if (bands->elements == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a band of the slice");
    }
    bands->elements->len = bands->elements->cap;
    return ZD_OK;
}

/* The elements with bytes of their own; NULL without memory. Takes the buffer. */
static struct zd_buf *pack(struct zd_buf *elements)
{
    ZD_AUTO(zd_buf) borrowed = elements;
    struct zd_buf *packed = NULL;
    const uint64_t n = elements->len / ZD_VARIABLE_BYTES;
    const enum zd_status status = zd_variable_pack(elements->data, n, UINT64_MAX, &packed, NULL);
    return status == ZD_OK ? packed : NULL;
}

/* The elements of one part of a band, in memory of their own. */
static struct zd_buf *copy_part(
    const struct zd_slice_bands *bands, const struct zd_block *block, const struct zd_part *part)
{
    const uint32_t bytes = block->dtype.bytes;
    struct zd_buf *copy = zd_buf_new(part_elements(bands, part) * bytes);
    if (copy == NULL) {
        return NULL;
    }
    uint64_t stride[ZD_RANK_MAX];
    uint64_t dense[ZD_RANK_MAX];
    const uint8_t *from = block->data;
    struct zd_strided box = {.rank = block->rank, .run_bytes = bytes};
    zd_strided_dense(block->rank, block->shape, bytes, stride);
    zd_strided_dense(block->rank, part->count, bytes, dense);
    for (uint32_t d = 0; d < block->rank; d++) {
        from += part->to[d] * stride[d];
        box.count[d] = part->count[d];
        box.from[d] = (int64_t)stride[d];
        box.to[d] = dense[d];
    }
    zd_strided_fold(&box);
    zd_strided_copy(&box, copy->data, from);
    copy->len = copy->cap;
    return zd_dtype_is_variable(&block->dtype) ? pack(copy) : copy;
}

/* Edits share the band's memory, except those that need their elements until the commit. */
static bool give_elements(
    const struct zd_slice_bands *bands, struct zd_edit *edit, struct zd_part *part)
{
    const struct zd_dtype *dtype = &bands->node->meta->dtype;
    uint8_t *elements = bands->elements->data;
    struct zd_block block = zd_block_of(&bands->band.selection, dtype, elements);
    const bool is_copied = bands->is_split && keeps_elements(bands, edit);
    edit->bytes = is_copied ? copy_part(bands, &block, part) : zd_buf_ref(bands->elements);
    if (edit->bytes == NULL) {
        return false;
    }
    if (is_copied) {
        block.data = edit->bytes->data;
        memcpy(block.shape, part->count, sizeof block.shape);
        memset(part->to, 0, sizeof part->to);
    }
    edit->source = bands->is_broadcast
                       ? zd_scatter_source_of_element(bands->selection->rank, dtype, elements)
                       : zd_scatter_source_of_block(&block);
    edit->part = *part;
    return true;
}

enum zd_status zd_slice_bands_cut(
    struct zd_slice_bands *bands, struct zd_edit_set *set, struct zd_error *err)
{
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(
        &plan, grid_of(bands), bands->is_broadcast ? bands->selection : &bands->band.selection);
    while (zd_plan_next(&plan, &part)) {
        struct zd_edit *edit = set->object[bands->n_cut].want.edit;
        assert(
            memcmp(edit->part.chunk, part.chunk, bands->selection->rank * sizeof *part.chunk) == 0);
        if (!give_elements(bands, edit, &part)) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for the elements of a stored object");
        }
        bands->n_cut++;
    }
    return ZD_OK;
}
