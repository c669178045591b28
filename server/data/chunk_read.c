/* One chunk of some level, as it is stored or decoded. */
#include "server/data/chunk_read.h"

#include <string.h>

#include "core/array/block.h"
#include "core/base/num.h"
#include "server/data/object_key.h"

#define COPY_BYTES_PER_NS 1 /* the elements of a linear chunk, brought into order */

enum zd_status zd_chunk_read_level(
    const struct zd_layout *layout, bool is_inner, uint32_t *ret_level, struct zd_error *err)
{
    if (is_inner && layout->n_levels < 2) {
        const enum zd_status status =
            zd_fail(err, ZD_INVALID, "level=inner: the array has no shards, so no inner chunks");
        zd_fact_name(err, "level");
        zd_fact_expected(err, "outer");
        zd_fact_found(err, "inner");
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
    for (uint32_t d = 0; d < grid->rank; d++) {
        part.chunk[d] = read->index[d];
        part.step[d] = 1;
        part.count[d] = grid->chunk[d];
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
        read->stored = (struct zd_stored_chunk_want){
            .wait = zd_gather_wait(read->gather), .level = read->level};
        memcpy(read->stored.index, read->index, sizeof read->index);
        next = zd_stored_chunk_want(read->node, &read->stored);
    }
    zd_gather_add(read->gather, next);
}

enum zd_status zd_chunk_read_collect(struct zd_chunk_read *read, struct zd_error *err)
{
    const struct zd_wait *wait = is_by_cache(read) ? &read->leaf.wait : &read->stored.wait;
    const bool is_missing = !is_by_cache(read) && wait->status == ZD_NOT_FOUND;
    if (wait->status != ZD_OK && !is_missing) {
        *err = wait->err;
        return wait->status;
    }
    if (is_by_cache(read)) {
        read->is_absent = read->leaf.data == NULL;
        read->generation = read->leaf.generation;
        return ZD_OK;
    }
    read->is_absent = is_missing;
    read->generation = read->stored.stat.generation;
    read->mtime_ms = read->stored.stat.mtime_ms;
    return ZD_OK;
}

/* The elements of a linear chunk, brought into C order. */
static enum zd_status gather(struct zd_chunk_read *read)
{
    const struct zd_layout *layout = read->node->layout;
    const struct zd_level *level = level_of(read);
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
    memcpy(block.shape, level->grid.chunk, sizeof block.shape);
    zd_block_gather(&block, &read->leaf.part, layout, zd_buf_span(read->leaf.data));
    body->len = level->chunk_bytes;
    read->body = body;
    return ZD_OK;
}

static enum zd_status fill(struct zd_chunk_read *read)
{
    read->body = zd_chunk_of_fill(level_of(read), read->node->meta);
    return read->body == NULL ? zd_fail(&read->err, ZD_NO_MEMORY, "no memory for a chunk") : ZD_OK;
}

/* The decoder does not know where its bytes come from. */
static enum zd_status decode(struct zd_chunk_read *read)
{
    struct zd_error err = {0};
    const enum zd_status status =
        zd_chunk_decode(level_of(read), read->stored.bytes, &read->body, &err);
    if (status == ZD_OK) {
        return ZD_OK;
    }
    char key[ZD_KEY_BYTES_MAX + 1];
    if (zd_object_key_of(read->node, read->level, read->index, key, NULL) != ZD_OK) {
        key[0] = '\0';
    }
    const enum zd_status failed = zd_fail(&read->err, status, "chunk %s: %.300s", key, err.text);
    zd_fact_name(&read->err, key);
    return failed;
}

void zd_chunk_read_make(struct zd_chunk_read *read)
{
    read->status = ZD_OK;
    if (!read->is_decoded) {
        read->body = read->is_absent ? NULL : zd_buf_ref(read->stored.bytes);
    } else if (read->is_absent) {
        read->status = fill(read);
    } else if (!is_by_cache(read)) {
        read->status = decode(read);
    } else if (read->leaf.is_span) {
        read->status = gather(read);
    } else {
        read->body = zd_buf_ref(read->leaf.data);
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
        zd_stored_chunk_release(&read->stored);
    }
    zd_buf_unref(read->body);
    read->body = NULL;
}
