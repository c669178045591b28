/* Whole chunks: decode and encode. */
#include "core/array/chunk.h"

#include <inttypes.h>
#include <string.h>

#define PART_CHUNK_MIN (16 << 10) /* smaller chunks are read whole: that costs no more */
#define PART_SHARE     2          /* a part is had alone when it is no more than 1/2 of its chunk */

enum zd_status zd_chunk_decode(const struct zd_level *level, struct zd_buf *stored,
    struct zd_buf **ret_data, struct zd_error *err)
{
    return zd_chain_decode(level->chain, stored, ret_data, err);
}

enum zd_status zd_chunk_decode_leaf(const struct zd_layout *layout, const uint64_t *index,
    struct zd_buf *stored, struct zd_buf **ret_data, struct zd_error *err)
{
    const struct zd_level *leaf;
    ZD_TRY(zd_layout_open(layout, layout->n_levels - 1, index, &leaf, err));
    const enum zd_status status = zd_chunk_decode(leaf, stored, ret_data, err);
    zd_layout_close(leaf);
    return status;
}

/* A whole chunk is worth more: it stays in the cache for later reads. */
bool zd_chunk_part_pays(
    const struct zd_layout *layout, const uint64_t *index, struct zd_byte_range run)
{
    const struct zd_level *leaf = zd_layout_leaf(layout);
    const uint64_t chunk_bytes = zd_layout_chunk_bytes(layout, layout->n_levels - 1, index);
    if (chunk_bytes <= PART_CHUNK_MIN || run.len > chunk_bytes / PART_SHARE) {
        return false;
    }
    return layout->is_linear || zd_chain_part_ns(leaf->chain, run) < leaf->decode_ns / PART_SHARE;
}

enum zd_status zd_chunk_decode_part(const struct zd_level *level, struct zd_buf *stored,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err)
{
    return zd_chain_decode_part(level->chain, stored, run, ret_bytes, err);
}

enum zd_status zd_chunk_encode(const struct zd_level *level, struct zd_buf *data,
    struct zd_buf **ret_stored, struct zd_error *err)
{
    ZD_TRY(zd_chain_check_encodes(level->chain, err));
    if (!zd_codec_repr_has(zd_chain_decoded(level->chain), data)) {
        const enum zd_status status = zd_fail(err, ZD_INVALID,
            "expected %" PRIu64 " bytes for a chunk, found %zu", level->chunk_bytes, data->len);
        zd_fact_expected(err, "%" PRIu64 " bytes", level->chunk_bytes);
        zd_fact_found(err, "%zu bytes", data->len);
        return status;
    }
    return zd_chain_encode(level->chain, data, ret_stored, err);
}

struct zd_buf *zd_chunk_of_fill(const struct zd_level *level, const struct zd_meta *meta)
{
    const uint64_t n_bytes = level->n_elements * meta->dtype.bytes; /* no more than chunk_bytes */
    struct zd_buf *data = zd_buf_new(n_bytes);
    if (data != NULL) {
        zd_dtype_fill(&meta->dtype, data->data, meta->fill, level->n_elements);
        data->len = n_bytes;
    }
    return data;
}

bool zd_chunk_is_fill(const struct zd_buf *data, uint64_t n_elements, const struct zd_meta *meta)
{
    const struct zd_dtype *dtype = &meta->dtype;
    if (n_elements == 0) {
        return true;
    }
    /* The first element is the fill value, and each of the others equals the one before it. */
    return zd_dtype_same_elements(dtype, data->data, meta->fill, 1) &&
           zd_dtype_same_elements(dtype, data->data, data->data + dtype->bytes, n_elements - 1);
}
