/* Keys of chunks: an index to its key and back. */
#include "core/dialect/chunk_key.h"

#include <string.h>

#include "core/base/scan.h"

enum zd_status zd_chunk_key_add(
    const struct zd_meta *meta, const uint64_t *index, struct zd_text *key)
{
    const uint32_t rank = meta->grid.rank;
    if (meta->key_encoding == ZD_KEYS_DEFAULT) {
        ZD_TRY(zd_text_add_char(key, 'c'));
    } else if (rank == 0) {
        /* Zarr v3, chunk key encoding v2: a scalar has the key of a chunk in one dimension. */
        return zd_text_add_char(key, '0');
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (d > 0 || meta->key_encoding == ZD_KEYS_DEFAULT) {
            ZD_TRY(zd_text_add_char(key, meta->key_separator));
        }
        ZD_TRY(zd_text_add_u64(key, index[d]));
    }
    return ZD_OK;
}

enum zd_status zd_chunk_key_parse(
    const struct zd_meta *meta, struct zd_span key, uint64_t *ret_index)
{
    const struct zd_grid *grid = &meta->grid;
    struct zd_scan scan = zd_scan_of(key);
    uint64_t index[ZD_RANK_MAX] = {0};
    if (meta->key_encoding == ZD_KEYS_DEFAULT && !zd_scan_char(&scan, 'c')) {
        return ZD_NOT_FOUND;
    }
    if (meta->key_encoding == ZD_KEYS_V2 && grid->rank == 0 && !zd_scan_char(&scan, '0')) {
        return ZD_NOT_FOUND;
    }
    for (uint32_t d = 0; d < grid->rank; d++) {
        const bool has_separator = d > 0 || meta->key_encoding == ZD_KEYS_DEFAULT;
        if (has_separator && !zd_scan_char(&scan, meta->key_separator)) {
            return ZD_NOT_FOUND;
        }
        if (zd_scan_u64(&scan, UINT64_MAX, &index[d]) != ZD_OK) {
            return ZD_NOT_FOUND;
        }
    }
    if (!zd_scan_at_end(&scan) || zd_grid_check(grid, index, NULL) != ZD_OK) {
        return ZD_NOT_FOUND;
    }
    memcpy(ret_index, index, grid->rank * sizeof *index);
    return ZD_OK;
}
