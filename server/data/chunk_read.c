/* A chunk of any level, stored or decoded. */
#include "server/data/chunk_read.h"

#include <assert.h>
#include <string.h>

#include "core/array/block.h"
#include "core/base/num.h"
#include "core/codec/vlen.h"
#include "server/data/object_cache.h"
#include "server/data/range_read.h"
#include "server/data/shard_lookup.h"

#define COPY_BYTES_PER_NS 1 /* the elements of a linear chunk, brought into order */

/* ---- stored bytes ---- */

struct load {
    struct zd_machine machine;
    struct zd_stored_chunk_want *want;
    struct zd_node *node; /* a reference */
    char key[ZD_KEY_BYTES_MAX + 1];
    enum zd_next (*step)(struct load *load);
    struct zd_object_want object;
    struct zd_place_want place;
    struct zd_range_want range;
};

static void free_load(struct load *load)
{
    zd_objects_release(&load->object);
    zd_shards_release(&load->place);
    zd_range_read_release(&load->range);
    zd_node_unref(load->node);
    zd_free(load);
}

static enum zd_next run_step(struct zd_machine *machine)
{
    struct load *load = ZD_CONTAINER(machine, struct load, machine);
    return load->step(load);
}

static enum zd_next answer(struct load *load, const struct zd_wait *wait, struct zd_buf **bytes,
    const struct zd_stat *stat)
{
    struct zd_stored_chunk_want *want = load->want;
    zd_wait_answer(&want->wait, wait->status, wait->status == ZD_OK ? NULL : &wait->err);
    want->stat = *stat;
    if (wait->status == ZD_OK) {
        want->bytes = ZD_TAKE(*bytes);
    }
    return ZD_DONE;
}

static enum zd_next step_object_have(struct load *load)
{
    return answer(load, &load->object.wait, &load->object.bytes, &load->object.stat);
}

static enum zd_next step_object(struct load *load)
{
    load->object.wait = zd_machine_wait(&load->machine);
    load->object.bytes_max = load->want->bytes_max;
    load->step = step_object_have;
    return zd_objects_want(load->node->dataset, load->key, ZD_OBJECT_BYTES, &load->object);
}

static enum zd_next step_inner(struct load *load);

static enum zd_next step_inner_again(struct load *load)
{
    struct zd_place_want *place = &load->place;
    load->step = step_inner;
    return zd_shards_retry(place) ? ZD_NEXT
                                  : answer(load, &place->wait, &load->range.bytes, &place->stat);
}

static enum zd_next step_inner_have(struct load *load)
{
    struct zd_range_want *range = &load->range;
    if (range->wait.status == ZD_NOT_FOUND || range->wait.status == ZD_PRECONDITION) {
        return step_inner_again(load);
    }
    return answer(load, &range->wait, &range->bytes, &range->stat);
}

static enum zd_next step_inner_placed(struct load *load)
{
    struct zd_place_want *place = &load->place;
    if (place->wait.status == ZD_PRECONDITION) {
        return step_inner_again(load);
    }
    if (place->wait.status != ZD_OK) {
        return answer(load, &place->wait, &load->range.bytes, &place->stat);
    }
    load->range = (struct zd_range_want){
        .wait = zd_machine_wait(&load->machine),
        .range = {.kind = ZD_RANGE_FROM_TO, .first = place->range.first, .len = place->range.len},
        .only_generation = place->stat.generation,
    };
    load->step = step_inner_have;
    return zd_range_read_want(load->node->dataset, load->key, &load->range);
}

static enum zd_next step_inner(struct load *load)
{
    load->place.wait = zd_machine_wait(&load->machine);
    load->place.level = load->want->level;
    memcpy(load->place.index, load->want->index, sizeof load->place.index);
    load->step = step_inner_placed;
    return zd_shards_want(load->node, load->key, &load->place);
}

enum zd_next zd_chunk_stored_want(struct zd_node *node, struct zd_stored_chunk_want *want)
{
    assert(node->layout != NULL && want->level < node->layout->n_levels);
    want->bytes = NULL;
    want->load = NULL;
    want->stat = (struct zd_stat){0};
    struct load *load = zd_alloc_zero(1, sizeof *load);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to read a chunk");
        return ZD_NEXT;
    }
    load->machine = (struct zd_machine){.step = run_step, .wait = &want->wait};
    load->want = want;
    load->node = zd_node_ref(node);
    load->step = want->level == 0 ? step_object : step_inner;
    want->wait.status =
        zd_object_key_of(node, want->level, want->index, load->key, &want->wait.err);
    if (want->wait.status == ZD_OK && zd_machine_begin(&load->machine) == ZD_WAIT) {
        want->load = load;
        return ZD_WAIT;
    }
    free_load(load);
    return ZD_NEXT;
}

void zd_chunk_stored_release(struct zd_stored_chunk_want *want)
{
    struct load *load = ZD_TAKE(want->load);
    if (load != NULL) {
        free_load(load);
    }
    zd_buf_unref(ZD_TAKE(want->bytes));
}

/* ---- stored or decoded ---- */

enum zd_status zd_chunk_read_level(
    const struct zd_layout *layout, bool is_inner, uint32_t *ret_level, struct zd_error *err)
{
    if (is_inner && layout->n_levels < 2) {
        const enum zd_status status = zd_fail_expected(err, ZD_INVALID, "outer", "inner",
            "level=inner: the array has no shards and therefore no inner chunks");
        zd_fact_name(err, "level");
        return status;
    }
    *ret_level = is_inner ? 1 : 0;
    return ZD_OK;
}

static const struct zd_level *level_of(const struct zd_chunk_read *read)
{
    return &read->node->layout->level[read->level];
}

static bool is_by_cache(const struct zd_chunk_read *read)
{
    return read->is_decoded && read->level + 1 == read->node->layout->n_levels;
}

/* The whole chunk, with the part that lies outside the array. */
static struct zd_part whole_chunk(const struct zd_chunk_read *read)
{
    struct zd_part part = {0};
    const struct zd_grid *grid = &level_of(read)->grid;
    uint64_t space[ZD_RANK_MAX];
    const uint64_t *shape = zd_grid_chunk_shape(grid, read->index, space);
    for (uint32_t d = 0; d < grid->rank; d++) {
        part.chunk[d] = read->index[d];
        part.step[d] = 1;
        part.count[d] = shape[d];
    }
    return part;
}

void zd_chunk_read_want(struct zd_chunk_read *read)
{
    enum zd_next next;
    if (is_by_cache(read)) {
        read->leaf = (struct zd_chunk_want){
            .wait = zd_gather_wait(read->gather),
            .part = whole_chunk(read),
            .n_together = 1,
            .owner = read->gather->owner,
        };
        next = zd_chunks_want(read->node, &read->leaf);
    } else {
        read->stored = (struct zd_stored_chunk_want){.wait = zd_gather_wait(read->gather),
            .level = read->level,
            .bytes_max = read->bytes_max};
        memcpy(read->stored.index, read->index, sizeof read->index);
        next = zd_chunk_stored_want(read->node, &read->stored);
    }
    zd_gather_add(read->gather, next);
}

enum zd_status zd_chunk_read_collect(struct zd_chunk_read *read, struct zd_error *err)
{
    const bool is_leaf = is_by_cache(read);
    const struct zd_wait *wait = is_leaf ? &read->leaf.wait : &read->stored.wait;
    const bool is_missing = !is_leaf && wait->status == ZD_NOT_FOUND;
    if (wait->status != ZD_OK && !is_missing) {
        *err = wait->err;
        return wait->status;
    }
    read->is_absent = is_missing || (is_leaf && read->leaf.data == NULL);
    read->generation = is_leaf ? read->leaf.generation : read->stored.stat.generation;
    read->mtime_ms = is_leaf ? 0 : read->stored.stat.mtime_ms;
    return ZD_OK;
}

/* The elements of a linear chunk, brought into C order. */
static enum zd_status gather(struct zd_chunk_read *read, const struct zd_level *level)
{
    const struct zd_layout *layout = read->node->layout;
    struct zd_buf *body = zd_buf_new(level->chunk_bytes);
    if (body == NULL) {
        return zd_fail(&read->err, ZD_NO_MEMORY, "no memory for a chunk of %llu bytes",
            (unsigned long long)level->chunk_bytes);
    }
    struct zd_block block = {
        .data = body->data,
        .rank = level->grid.rank,
        .dtype = layout->meta->dtype,
    };
    memcpy(block.shape, read->leaf.part.count, sizeof block.shape); /* all of it */
    zd_block_gather(&block, &read->leaf.part, layout, zd_buf_span(read->leaf.data));
    body->len = level->chunk_bytes;
    read->body = body;
    return ZD_OK;
}

static enum zd_status fill(struct zd_chunk_read *read, const struct zd_level *level)
{
    read->body = zd_chunk_of_fill(level, read->node->meta);
    return read->body == NULL ? zd_fail(&read->err, ZD_NO_MEMORY, "no memory for a chunk") : ZD_OK;
}

/* The decoder does not know where its bytes come from. */
static enum zd_status decode(struct zd_chunk_read *read, const struct zd_level *level)
{
    const enum zd_status status =
        zd_chunk_decode(level, read->stored.bytes, &read->body, &read->err);
    char key[ZD_KEY_BYTES_MAX + 1];
    if (status != ZD_OK &&
        zd_object_key_of(read->node, read->level, read->index, key, NULL) == ZD_OK) {
        zd_object_key_in_error(&read->err, "chunk", key);
    }
    return status;
}

/* Elements of variable length are not where they seem to be. */
static enum zd_status write_out(struct zd_chunk_read *read, const struct zd_level *level)
{
    ZD_AUTO(zd_buf) elements = ZD_TAKE(read->body);
    return zd_vlen_write(elements->data, level->n_elements, &read->body, &read->err);
}

static enum zd_status make_decoded(struct zd_chunk_read *read, const struct zd_level *level)
{
    if (read->is_absent) {
        ZD_TRY(fill(read, level));
    } else if (!is_by_cache(read)) {
        ZD_TRY(decode(read, level));
    } else if (read->leaf.is_span) {
        ZD_TRY(gather(read, level));
    } else {
        read->body = zd_buf_ref(read->leaf.data);
    }
    return zd_dtype_is_variable(&read->node->meta->dtype) ? write_out(read, level) : ZD_OK;
}

void zd_chunk_read_make(struct zd_chunk_read *read)
{
    const struct zd_level *level;
    if (!read->is_decoded) {
        read->body = read->is_absent ? NULL : zd_buf_ref(read->stored.bytes);
        read->status = ZD_OK;
        return;
    }
    read->status = zd_layout_open(read->node->layout, read->level, read->index, &level, &read->err);
    if (read->status == ZD_OK) {
        read->status = make_decoded(read, level);
        zd_layout_close(level);
    }
}

uint64_t zd_chunk_read_cost_ns(const struct zd_chunk_read *read)
{
    const bool is_ready =
        !read->is_decoded || (is_by_cache(read) && !read->is_absent && !read->leaf.is_span);
    const struct zd_level *level = level_of(read);
    return is_ready ? 0 : zd_max_u64(level->decode_ns, level->chunk_bytes / COPY_BYTES_PER_NS);
}

void zd_chunk_read_done(struct zd_chunk_read *read)
{
    if (read->node == NULL) {
        return;
    }
    if (is_by_cache(read)) {
        zd_chunks_release(&read->leaf);
    } else {
        zd_chunk_stored_release(&read->stored);
    }
    zd_buf_unref(read->body);
    read->body = NULL;
}
