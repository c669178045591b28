/* One slice being written. */
#include "server/slice/slice_write.h"

#include <string.h>

#include "core/array/rewrite_cost.h"
#include "core/base/num.h"
#include "core/codec/strided.h"
#include "core/dialect/dialect.h"
#include "server/request/admit.h"
#include "server/runtime/server.h"
#include "server/slice/slice_commit.h"
#include "server/request/task.h"

#define FLYING_MAX       32
#define FLYING_BYTES_MAX (UINT64_C(64) << 20) /* of rewrites that are under way at once */
#define OBJECT_EXTRA                                                                               \
    4096 /* bytes that one takes besides what is here: keys, locks, temporaries                    \
          */
#define SUM_BYTES_PER_NS 1
#define BANDS_AT_ONCE    2 /* the one that is read, and what is left of the one before */

static const struct zd_settings *settings_of(const struct zd_slice_write *write)
{
    return &write->node->dataset->server->config->settings;
}

static const struct zd_level *outermost(const struct zd_slice_write *write)
{
    return &write->node->layout->level[0];
}

struct zd_slice_write *zd_slice_write_new(struct zd_request *req)
{
    struct zd_slice_write *write = zd_alloc_zero(1, sizeof *write);
    if (write != NULL) {
        write->req = req;
        zd_slice_params_init(&write->ask, req->server);
    }
    return write;
}

void zd_slice_write_abort(struct zd_slice_write *write)
{
    assert(write->commit == NULL);
    for (uint64_t i = 0; write->object != NULL && i < write->n_objects; i++) {
        zd_edit_release(&write->object[i].want);
    }
    zd_free(write->object);
    write->object = NULL;
    write->n_objects = 0;
    zd_node_lock_release(&write->lock);
}

void zd_slice_write_give_way(struct zd_slice_write *write)
{
    zd_slice_write_abort(write);
    zd_seen_objects_done(&write->touched);
    zd_metadata_release(&write->append.change);
    const bool is_append = write->append.node != NULL;
    zd_node_unref(write->append.node);
    write->append = (struct zd_slice_append){.is_asked = is_append};
}

void zd_slice_write_free(struct zd_slice_write *write)
{
    zd_slice_write_abort(write);
    zd_survey_done(&write->survey);
    zd_seen_objects_done(&write->touched);
    zd_slice_body_done(&write->body);
    zd_slice_params_done(&write->ask);
    zd_buf_unref(write->elements);
    zd_metadata_release(&write->append.change);
    zd_node_unref(write->append.node);
    zd_node_unref(write->node);
    zd_free(write);
}

void zd_slice_write_leave(struct zd_slice_write *write)
{
    write->req = NULL;
    if (write->is_summing) {
        zd_workers_cancel(&write->summing);
    } else if (write->commit == NULL) {
        zd_slice_write_free(write);
    }
}

/* ---- the plan ---- */

/* A band ends with a row of stored objects, so that none is touched by two. */
static uint64_t row_elements(const struct zd_slice_write *write)
{
    const struct zd_grid *grid = &outermost(write)->grid;
    uint64_t row = 1;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_touch touch = zd_touch_of(grid, &write->selection, d);
        row *= row > 1 ? touch.axis.count : touch.per_chunk_max; /* at most all elements */
    }
    return row;
}

static struct zd_edit edit_of(const struct zd_part *part)
{
    return (struct zd_edit){.kind = ZD_EDIT_BOX, .part = *part};
}

static uint64_t part_elements(const struct zd_slice_write *write, const struct zd_part *part)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < write->selection.rank; d++) {
        n *= part->count[d]; /* at most all elements */
    }
    return n;
}

/* What objects that are covered in part need their elements for is to repeat the edit, when another
 * process has written in between. */
static bool is_kept(const struct zd_slice_write *write, const struct zd_edit *edit)
{
    return !write->is_conditional && !zd_rewrite_edit_is_all(write->node->layout, edit);
}

/* Objects at the array's edge are read, but all of a long slice cannot be kept for them. */
static bool is_once(const struct zd_slice_write *write, const struct zd_edit *edit)
{
    const struct zd_layout *layout = write->node->layout;
    return write->has_bands && !write->is_conditional && zd_rewrite_edit_is_all(layout, edit) &&
           !zd_rewrite_edit_is_whole(layout, edit);
}

static uint64_t partial_bytes(const struct zd_slice_write *write)
{
    uint64_t n_elements = 0;
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, &outermost(write)->grid, &write->selection);
    while (zd_plan_next(&plan, &part)) {
        const struct zd_edit edit = edit_of(&part);
        n_elements += is_kept(write, &edit) ? part_elements(write, &part) : 0;
    }
    return n_elements * write->node->meta->dtype.bytes;
}

static uint64_t rewrite_bytes(const struct zd_slice_write *write)
{
    return zd_max_u64(
        zd_rewrite_cost_bytes(write->node->layout, settings_of(write)->limits_object_bytes), 1);
}

static void plan_bands(struct zd_slice_write *write, uint64_t n_elements)
{
    const uint32_t element = write->node->meta->dtype.bytes;
    const struct zd_settings *settings = settings_of(write);
    const uint64_t bytes = zd_min_u64(settings->http_stream_bytes, settings->limits_write_bytes);
    const uint64_t wanted = zd_max_u64(bytes / element, 1);
    const uint64_t n = zd_max_u64(wanted, row_elements(write));
    write->band_elements = zd_max_u64(zd_min_u64(n, n_elements), 1);
    write->has_bands = write->band_elements < n_elements;
    zd_bands_init(&write->bands, &outermost(write)->grid, &write->selection, 0, n_elements,
        write->band_elements);
    write->partial_bytes = write->has_bands ? partial_bytes(write) : 0;
}

enum zd_status zd_slice_write_plan(struct zd_slice_write *write, struct zd_error *err)
{
    ZD_TRY(zd_seen_objects_init(&write->touched, write->node->layout, &write->selection, err));
    write->n_objects = write->touched.n;
    write->n_flying_max =
        (uint32_t)zd_max_u64(zd_min_u64(FLYING_BYTES_MAX / rewrite_bytes(write), FLYING_MAX), 1);
    if (write->is_broadcast) {
        return ZD_OK;
    }
    uint64_t n_elements;
    const bool overflows = zd_selection_overflows(&write->selection, &n_elements);
    assert(!overflows); /* the limits were checked */
    (void)overflows;
    plan_bands(write, n_elements);
    const uint64_t held =
        write->band_elements * write->node->meta->dtype.bytes + write->partial_bytes;
    const uint64_t limit = settings_of(write)->limits_write_bytes;
    if (held > limit) {
        const enum zd_status told = zd_fail(err, ZD_TOO_LARGE,
            "writing the slice holds %llu bytes of it, limits.write_bytes is %llu: a row of its "
            "stored objects, and those that it covers in part",
            (unsigned long long)held, (unsigned long long)limit);
        zd_fact_limit(err, limit, held);
        return told;
    }
    return ZD_OK;
}

size_t zd_slice_write_window_bytes(const struct zd_slice_write *write)
{
    const struct zd_upload *upload = &write->req->upload;
    const uint64_t most = settings_of(write)->http_stream_bytes;
    return zd_max_u64(upload->has_length ? zd_min_u64(upload->length, most) : most, 1);
}

uint64_t zd_slice_write_held_bytes(const struct zd_slice_write *write)
{
    const uint64_t object = sizeof *write->object + sizeof(struct zd_edit) + OBJECT_EXTRA;
    const uint64_t n_flying = zd_min_u64(write->n_flying_max, write->n_objects);
    const uint64_t band = write->band_elements * write->node->meta->dtype.bytes;
    return zd_slice_write_window_bytes(write) + write->n_objects * object +
           n_flying * rewrite_bytes(write) + (write->has_bands ? BANDS_AT_ONCE : 1) * band +
           write->partial_bytes;
}

enum zd_status zd_slice_write_forget(const struct zd_slice_write *write, struct zd_error *err)
{
    const struct zd_node *node = write->node;
    struct zd_plan plan;
    struct zd_part part;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    zd_plan_init(&plan, &node->layout->level[0].grid, &write->selection);
    while (zd_plan_next(&plan, &part)) {
        zd_text_clear(&key);
        const enum zd_status status =
            node->meta->dialect->chunk_key(node->meta, node->path, part.chunk, &key);
        if (status != ZD_OK) {
            return zd_fail(err, status, "the key of a chunk cannot be made");
        }
        zd_objects_forget(node->dataset, key.at);
    }
    return ZD_OK;
}

/* ---- objects ---- */

static void object_told(struct zd_wait *wait);

static void set_condition(struct zd_slice_write *write, uint64_t number, struct zd_edit_want *want)
{
    const struct zd_seen_objects_object *seen = &write->touched.object[number];
    const struct zd_generation absent = {0};
    if (!write->is_conditional) {
        return;
    }
    want->generation = seen->generation;
    want->condition = zd_generation_equal(seen->generation, absent) ? ZD_CONDITION_ABSENT
                                                                    : ZD_CONDITION_GENERATION;
}

enum zd_status zd_slice_write_begin(struct zd_slice_write *write, struct zd_error *err)
{
    struct zd_plan plan;
    struct zd_part part;
    write->object = zd_alloc_zero(write->n_objects, sizeof *write->object);
    bool has_memory = write->object != NULL;
    zd_plan_init(&plan, &outermost(write)->grid, &write->selection);
    for (uint64_t i = 0; has_memory && zd_plan_next(&plan, &part); i++) {
        struct zd_slice_object *object = &write->object[i];
        struct zd_edit *edit = zd_rewrite_edit_new();
        has_memory = edit != NULL;
        if (has_memory) {
            *edit = edit_of(&part);
            object->write = write;
            object->want = (struct zd_edit_want){
                .wait = {.done = object_told},
                .edit = edit,
                .is_dry = write->is_dry,
                .is_once = is_once(write, edit),
                .owner = zd_task_owner(write->req),
            };
            write->is_once = write->is_once || object->want.is_once;
            set_condition(write, i, &object->want);
        }
    }
    return has_memory ? ZD_OK
                      : zd_fail(err, ZD_NO_MEMORY, "no memory to write %llu stored objects",
                            (unsigned long long)write->n_objects);
}

/* The number of the object that is the i-th in the order of the grid: whoever locks several does so
 * in that order, whatever the direction of the slice. */
static uint64_t number_in_grid(const struct zd_slice_write *write, uint64_t i)
{
    uint64_t number = 0;
    uint64_t weight = 1;
    for (uint32_t d = write->selection.rank; d-- > 0;) {
        const struct zd_touch *touch = &write->touched.touch[d];
        const uint64_t at = i % touch->n;
        number += weight * (touch->axis.step < 0 ? touch->n - 1 - at : at);
        weight *= touch->n;
        i /= touch->n;
    }
    return number;
}

void zd_slice_write_fail(struct zd_slice_write *write, enum zd_status status, const char *code,
    const struct zd_error *err)
{
    if (write->status == ZD_OK) {
        write->status = status;
        write->code = code;
        write->err = *err;
    }
}

static void note(struct zd_slice_write *write, const struct zd_wait *wait)
{
    if (wait->status != ZD_OK) {
        zd_slice_write_fail(write, wait->status, NULL, &wait->err);
    }
}

enum zd_next zd_slice_write_lock(struct zd_slice_write *write)
{
    while (zd_slice_write_is_staged(write) && write->n_told < write->n_objects &&
           write->status == ZD_OK) {
        if (write->n_asked > write->n_told) {
            return ZD_WAIT;
        }
        struct zd_edit_want *want = &write->object[number_in_grid(write, write->n_asked)].want;
        write->n_asked++;
        if (zd_edit_lock(write->node, want) == ZD_WAIT) {
            return ZD_WAIT;
        }
        write->n_told++;
        note(write, &want->wait);
    }
    write->n_asked = 0;
    write->n_told = 0;
    return ZD_NEXT;
}

/* ---- bands ---- */

enum zd_status zd_slice_write_next_band(
    struct zd_slice_write *write, bool *ret_is_over, struct zd_error *err)
{
    const struct zd_dtype *dtype = &write->node->meta->dtype;
    uint64_t n = 1;
    if (write->is_broadcast) {
        *ret_is_over = write->elements != NULL;
    } else {
        *ret_is_over = !zd_bands_next(&write->bands, &write->band);
        n = write->band.n_elements;
    }
    if (*ret_is_over) {
        return ZD_OK;
    }
    zd_buf_unref(write->elements);
    write->elements = zd_buf_new(n * dtype->bytes);
    if (write->elements == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a band of the slice");
    }
    write->elements->len = n * dtype->bytes;
    zd_slice_body_aim(&write->body, write->elements->data, n);
    return ZD_OK;
}

/* The elements of one part of a band, in memory of their own. */
static struct zd_buf *copy_part(
    const struct zd_slice_write *write, const struct zd_block *block, const struct zd_part *part)
{
    const uint32_t bytes = block->dtype.bytes;
    struct zd_buf *copy = zd_buf_new(part_elements(write, part) * bytes);
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
    return copy;
}

/* The band's memory is shared, but by those that keep their elements until they are committed. */
static bool give_elements(struct zd_slice_write *write, struct zd_edit *edit, struct zd_part *part)
{
    const struct zd_dtype *dtype = &write->node->meta->dtype;
    struct zd_block block = zd_block_of(&write->band.selection, dtype, write->elements->data);
    if (write->is_broadcast) {
        edit->bytes = zd_buf_ref(write->elements);
        edit->source =
            zd_scatter_source_of_element(write->selection.rank, dtype, write->elements->data);
    } else if (write->has_bands && is_kept(write, edit)) {
        edit->bytes = copy_part(write, &block, part);
        if (edit->bytes == NULL) {
            return false;
        }
        block.data = edit->bytes->data;
        memcpy(block.shape, part->count, sizeof block.shape);
        memset(part->to, 0, sizeof part->to);
        edit->source = zd_scatter_source_of_block(&block);
    } else {
        edit->bytes = zd_buf_ref(write->elements);
        edit->source = zd_scatter_source_of_block(&block);
    }
    edit->part = *part;
    return true;
}

enum zd_status zd_slice_write_cut(struct zd_slice_write *write, struct zd_error *err)
{
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, &outermost(write)->grid,
        write->is_broadcast ? &write->selection : &write->band.selection);
    while (zd_plan_next(&plan, &part)) {
        struct zd_edit *edit = write->object[write->n_cut].want.edit;
        assert(
            memcmp(edit->part.chunk, part.chunk, write->selection.rank * sizeof *part.chunk) == 0);
        if (!give_elements(write, edit, &part)) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for the elements of a stored object");
        }
        write->n_cut++;
    }
    return ZD_OK;
}

/* ---- staging and committing ---- */

/* The elements of an object that is staged and will not be made again. */
static void drop_elements(struct zd_slice_write *write, struct zd_edit *edit)
{
    if (write->has_bands && !is_kept(write, edit)) {
        zd_buf_unref(edit->bytes);
        edit->bytes = NULL;
    }
}

static void object_is_told(struct zd_slice_write *write, struct zd_edit_want *want)
{
    write->n_told++;
    note(write, &want->wait);
    if (want->wait.status == ZD_OK && write->commit == NULL && want->edit->bytes != NULL) {
        drop_elements(write, want->edit);
    }
}

enum zd_next zd_slice_write_stage(struct zd_slice_write *write)
{
    while (write->status == ZD_OK && write->n_asked < write->n_cut &&
           write->n_asked - write->n_told < write->n_flying_max) {
        struct zd_edit_want *want = &write->object[write->n_asked].want;
        write->n_asked++;
        if (zd_edit_stage(want) == ZD_NEXT) {
            object_is_told(write, want);
        }
    }
    return write->n_told < write->n_asked ? ZD_WAIT : ZD_NEXT;
}

bool zd_slice_write_commit_some(struct zd_slice_write *write)
{
    const bool is_staged = zd_slice_write_is_staged(write);
    while (write->status == ZD_OK && write->n_asked < write->n_objects &&
           write->n_asked - write->n_told < write->n_flying_max) {
        struct zd_edit_want *want = &write->object[write->n_asked].want;
        write->n_asked++;
        const enum zd_next next =
            is_staged ? zd_edit_commit(want) : zd_edit_want(write->node, want);
        if (next == ZD_NEXT) {
            object_is_told(write, want);
        }
    }
    return write->n_told == write->n_asked;
}

bool zd_slice_write_settle_some(struct zd_slice_write *write)
{
    while (
        write->n_asked < write->n_objects && write->n_asked - write->n_told < write->n_flying_max) {
        struct zd_edit_want *want = &write->object[write->n_asked].want;
        write->n_asked++;
        if (zd_edit_settle(want) == ZD_NEXT) {
            object_is_told(write, want);
        }
    }
    return write->n_told == write->n_asked;
}

bool zd_slice_write_undo_some(struct zd_slice_write *write)
{
    assert(write->status != ZD_OK);
    while (
        write->n_asked < write->n_begun && write->n_asked - write->n_told < write->n_flying_max) {
        struct zd_edit_want *want = &write->object[write->n_begun - 1 - write->n_asked].want;
        write->n_asked++;
        if (zd_edit_undo(want) == ZD_NEXT) {
            object_is_told(write, want);
        }
    }
    return write->n_told == write->n_asked;
}

static void object_told(struct zd_wait *wait)
{
    struct zd_slice_object *object = ZD_CONTAINER(wait, struct zd_slice_object, want.wait);
    struct zd_slice_write *write = object->write;
    object_is_told(write, &object->want);
    if (write->commit != NULL) {
        zd_slice_commit_go_on(write->commit);
    } else {
        zd_request_go_on(write->req);
    }
}

/* ---- what extensions are to know ---- */

static void sum(struct zd_job *job)
{
    struct zd_slice_write *write = ZD_CONTAINER(job, struct zd_slice_write, summing);
    const uint64_t n = write->elements->len / write->node->meta->dtype.bytes;
    zd_written_add(&write->written, write->elements->data, n);
}

static void summed(struct zd_job *job, bool cancelled)
{
    struct zd_slice_write *write = ZD_CONTAINER(job, struct zd_slice_write, summing);
    write->is_summing = false;
    if (write->req == NULL) {
        zd_slice_write_free(write);
        return;
    }
    if (cancelled) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_CANCELLED, "the work was dropped");
        zd_slice_write_fail(write, err.status, NULL, &err);
    }
    zd_request_go_on(write->req);
}

enum zd_next zd_slice_write_sum(struct zd_slice_write *write)
{
    if (!write->written.is_wanted) {
        return ZD_NEXT;
    }
    write->summing =
        (struct zd_job){.work = sum, .done = summed, .owner = zd_task_owner(write->req)};
    const uint64_t cost_ns = write->elements->len / SUM_BYTES_PER_NS;
    if (zd_workers_is_cheap(write->req->server, cost_ns)) {
        sum(&write->summing);
        return ZD_NEXT;
    }
    write->is_summing = true;
    zd_workers_submit(write->req->server, &write->summing, cost_ns);
    return ZD_WAIT;
}
