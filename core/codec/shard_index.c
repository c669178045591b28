/* The decoded index of a shard: where its inner chunks are, and whether they can be there. */
#include "core/codec/shard_index.h"

#include <inttypes.h>

#include "core/base/num.h"

/* Without checksum. */
static uint64_t entry_bytes(const struct zd_shard *shard)
{
    return zd_chain_decoded(shard->index)->size;
}

uint64_t zd_shard_index_bytes(const struct zd_shard *shard, uint64_t shard_bytes)
{
    return shard->index_is_implied && shard_bytes < shard->index_bytes ? entry_bytes(shard)
                                                                       : shard->index_bytes;
}

/* The bytes read may be longer: at the end of a shard, other bytes come before the entries. */
static enum zd_status take_bare(const struct zd_shard *shard, const struct zd_buf *encoded,
    struct zd_buf **ret_index, struct zd_error *err)
{
    const size_t len = entry_bytes(shard);
    assert(encoded->len >= len);
    const size_t first = shard->index_at_start ? 0 : encoded->len - len;
    struct zd_buf *index = zd_buf_copy((struct zd_span){.ptr = encoded->data + first, .len = len});
    if (index == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "sharding_indexed: cannot allocate %zu bytes", len);
    }
    *ret_index = index;
    return ZD_OK;
}

enum zd_status zd_shard_index_decode(const struct zd_shard *shard, struct zd_buf *encoded,
    struct zd_buf **ret_index, struct zd_error *err)
{
    if (!shard->index_is_implied) {
        return zd_chain_decode(shard->index, encoded, ret_index, err);
    }
    const enum zd_status status = zd_chain_decode(shard->index, encoded, ret_index, NULL);
    if (status == ZD_CORRUPT) {
        return take_bare(shard, encoded, ret_index, err);
    }
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, "sharding_indexed: no memory");
}

struct zd_shard_entry zd_shard_entry_at(const struct zd_buf *index, uint64_t i)
{
    const uint8_t *at = index->data + i * ZD_SHARD_ENTRY_BYTES;
    return (struct zd_shard_entry){
        .first = zd_load_u64(at), .len = zd_load_u64(at + sizeof(uint64_t))};
}

static enum zd_status corrupt(struct zd_error *err, uint64_t i, const char *what,
    struct zd_shard_entry entry, uint64_t len_max)
{
    const enum zd_status status = zd_fail(err, ZD_CORRUPT,
        "sharding_indexed: inner chunk %" PRIu64 " (in C order) %s: %" PRIu64 " bytes at %" PRIu64
        ", at most %" PRIu64 " expected",
        i, what, entry.len, entry.first, len_max);
    zd_fact_name(err, "sharding_indexed");
    zd_fact_expected(err, "at most %" PRIu64 " bytes", len_max);
    zd_fact_found(err, "%" PRIu64 " bytes at %" PRIu64, entry.len, entry.first);
    return status;
}

enum zd_status zd_shard_entry_check(const struct zd_shard *shard, struct zd_shard_entry entry,
    uint64_t i, uint64_t shard_bytes, struct zd_error *err)
{
    /* Both words say that the chunk is missing, or none (Zarr v3, sharding codec). */
    if (entry.first == ZD_SHARD_MISSING || entry.len == ZD_SHARD_MISSING) {
        return corrupt(err, i, "has only one of two words marked as missing", entry, shard_bytes);
    }
    uint64_t end;
    if (ckd_add(&end, entry.first, entry.len) || end > shard_bytes) {
        return corrupt(err, i, "lies beyond the shard", entry, shard_bytes);
    }
    const uint64_t len_max = zd_chain_encoded_max(shard->inner);
    if (entry.len > len_max) {
        return corrupt(err, i, "is longer than its codecs can produce", entry, len_max);
    }
    return ZD_OK;
}

enum zd_status zd_shard_index_check(const struct zd_shard *shard, const struct zd_buf *index,
    uint64_t shard_bytes, bool *ret_any_missing, struct zd_error *err)
{
    assert(index->len == shard->n_chunks * ZD_SHARD_ENTRY_BYTES);
    bool any_missing = false;
    for (uint64_t i = 0; i < shard->n_chunks; i++) {
        const struct zd_shard_entry entry = zd_shard_entry_at(index, i);
        if (zd_shard_entry_is_missing(entry)) {
            any_missing = true;
        } else {
            ZD_TRY(zd_shard_entry_check(shard, entry, i, shard_bytes, err));
        }
    }
    *ret_any_missing = any_missing;
    return ZD_OK;
}
