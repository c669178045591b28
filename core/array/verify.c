/* Whether encoded bytes are a chunk: a walk through the shards within it. */
#include "core/array/verify.h"

#include <inttypes.h>

#include "core/array/chunk.h"
#include "core/base/num.h"
#include "core/codec/shard_index.h"

/* A shard on the way to the chunk that is looked at. */
struct frame {
    struct zd_byte_range run; /* of the encoded bytes */
    struct zd_buf *index;     /* decoded; owned */
    uint64_t next;            /* entry */
};

struct walk {
    const struct zd_layout *layout;
    const struct zd_level *top; /* as the chunk itself has its level; of zd_layout_open */
    uint32_t top_level;
    struct zd_buf *encoded;
    uint64_t n_decoded;   /* bytes */
    uint64_t decoded_max; /* of them */
    struct zd_verified *verified;
    struct frame frame[ZD_LEVELS_MAX];
};

static enum zd_status charge(struct walk *walk, uint64_t n_bytes, struct zd_error *err)
{
    if (ckd_add(&walk->n_decoded, walk->n_decoded, n_bytes)) {
        walk->n_decoded = UINT64_MAX;
    }
    if (walk->n_decoded <= walk->decoded_max) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(
        err, ZD_TOO_LARGE, "the decoded chunk has more than %" PRIu64 " bytes", walk->decoded_max);
    zd_fact_limit(err, walk->decoded_max, walk->n_decoded);
    return status;
}

/* Copy the run into a buffer of its own, as the decoders need it. */
static enum zd_status cut(const struct walk *walk, struct zd_byte_range run,
    struct zd_buf **ret_bytes, struct zd_error *err)
{
    struct zd_buf *bytes =
        run.len == walk->encoded->len
            ? zd_buf_ref(walk->encoded)
            : zd_buf_copy((struct zd_span){.ptr = walk->encoded->data + run.first, .len = run.len});
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate %" PRIu64 " bytes", run.len);
    }
    *ret_bytes = bytes;
    return ZD_OK;
}

static const struct zd_level *level_of(const struct walk *walk, uint32_t level)
{
    return level == walk->top_level ? walk->top : &walk->layout->level[level];
}

static enum zd_status look_at_leaf(
    struct walk *walk, struct zd_byte_range run, struct zd_error *err)
{
    const struct zd_level *leaf = level_of(walk, walk->layout->n_levels - 1);
    ZD_AUTO(zd_buf) bytes = NULL;
    ZD_AUTO(zd_buf) elements = NULL;
    ZD_TRY(charge(walk, leaf->chunk_bytes, err));
    ZD_TRY(cut(walk, run, &bytes, err));
    ZD_TRY(zd_chunk_decode(leaf, bytes, &elements, err));
    const struct zd_meta *meta = walk->layout->meta;
    const bool is_empty = zd_chunk_is_fill(elements, leaf->n_elements, meta);
    walk->verified->n_empty += is_empty;
    walk->verified->n_full += !is_empty;
    if (walk->verified->written != NULL) {
        zd_written_add(walk->verified->written, elements->data, leaf->n_elements);
    }
    return ZD_OK;
}

static enum zd_status enter(
    struct walk *walk, uint32_t level, struct zd_byte_range run, struct zd_error *err)
{
    const struct zd_level *at = level_of(walk, level);
    struct zd_byte_range range;
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_AUTO(zd_buf) index = NULL;
    ZD_TRY(zd_layout_index_range(at, run, &range, err));
    ZD_TRY(charge(walk, range.len, err));
    ZD_TRY(cut(walk, range, &encoded, err));
    ZD_TRY(zd_layout_index_decode(at, encoded, &index, err));
    walk->frame[level] = (struct frame){.run = run, .index = ZD_TAKE(index)};
    return ZD_OK;
}

/* The next chunk of the shard at that level. @param ret_level where to go on */
static enum zd_status step(
    struct walk *walk, uint32_t level, uint32_t *ret_level, struct zd_error *err)
{
    struct frame *frame = &walk->frame[level];
    const uint64_t i = frame->next++;
    const struct zd_shard *shard = level_of(walk, level)->shard;
    const struct zd_shard_entry entry = zd_shard_entry_at(frame->index, i);
    *ret_level = level;
    if (zd_shard_entry_is_missing(entry)) {
        return ZD_OK;
    }
    ZD_TRY(zd_shard_entry_check(shard, entry, i, frame->run.len, err));
    const struct zd_byte_range run = {.first = frame->run.first + entry.first, .len = entry.len};
    if (level + 2 == walk->layout->n_levels) {
        return look_at_leaf(walk, run, err);
    }
    *ret_level = level + 1;
    return enter(walk, level + 1, run, err);
}

static enum zd_status look_at_shard(struct walk *walk, uint32_t top, struct zd_error *err)
{
    const struct zd_byte_range whole = {.len = walk->encoded->len};
    ZD_TRY(enter(walk, top, whole, err));
    for (uint32_t level = top;;) {
        struct frame *frame = &walk->frame[level];
        if (frame->next < level_of(walk, level)->shard->n_chunks) {
            ZD_TRY(step(walk, level, &level, err));
            continue;
        }
        zd_buf_unref(ZD_TAKE(frame->index));
        if (level == top) {
            return ZD_OK;
        }
        level--;
    }
}

enum zd_status zd_verify_chunk(const struct zd_layout *layout, uint32_t level,
    const uint64_t *index, struct zd_buf *encoded, uint64_t decoded_max,
    struct zd_verified *verified, struct zd_error *err)
{
    struct walk walk = {
        .layout = layout,
        .top_level = level,
        .encoded = encoded,
        .decoded_max = decoded_max,
        .verified = verified,
    };
    ZD_TRY(zd_layout_open(layout, level, index, &walk.top, err));
    const enum zd_status status =
        level + 1 == layout->n_levels
            ? look_at_leaf(&walk, (struct zd_byte_range){.len = encoded->len}, err)
            : look_at_shard(&walk, level, err);
    for (uint32_t i = 0; i < ZD_LEVELS_MAX; i++) {
        zd_buf_unref(walk.frame[i].index);
    }
    zd_layout_close(walk.top);
    return status;
}
