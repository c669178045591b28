/* Whole chunks: decode and encode. */
#include "core/array/chunk.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"

enum zd_status zd_chunk_decode(const struct zd_level *level, struct zd_buf *stored,
    struct zd_buf **ret_data, struct zd_error *err)
{
    return zd_chain_decode(level->chain, stored, ret_data, err);
}

/* A whole chunk is worth more: it stays in the cache for later reads. */
bool zd_chunk_part_pays(const struct zd_level *level, struct zd_byte_range run)
{
    return zd_chain_part_ns(level->chain, run) < level->decode_ns / 2;
}

enum zd_status zd_chunk_decode_part(const struct zd_level *level, struct zd_buf *stored,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err)
{
    return zd_chain_decode_part(level->chain, stored, run, ret_bytes, err);
}

enum zd_status zd_chunk_encode(const struct zd_layout *layout, struct zd_buf *data,
    struct zd_buf **ret_stored, struct zd_error *err)
{
    const struct zd_level *level = &layout->level[0];
    if (zd_chain_is_partial(level->chain)) {
        return zd_fail(err, ZD_UNSUPPORTED,
            "the array has a codec that this build does not know: its chunks cannot be encoded");
    }
    if (data->len != level->chunk_bytes) {
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
    struct zd_buf *data = zd_buf_new(level->chunk_bytes);
    if (data != NULL) {
        zd_dtype_fill(&meta->dtype, data->data, meta->fill, level->chunk_bytes / meta->dtype.bytes);
        data->len = level->chunk_bytes;
    }
    return data;
}

bool zd_chunk_is_fill(const struct zd_buf *data, const struct zd_meta *meta)
{
    const size_t bytes = meta->dtype.bytes;
    if (data->len == 0) {
        return true;
    }
    /* The first element is the fill value, and each of the others equals the one before it. */
    return memcmp(data->data, meta->fill, bytes) == 0 &&
           memcmp(data->data, data->data + bytes, data->len - bytes) == 0;
}
