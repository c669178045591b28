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

/* One that no grid has is a number all the same. */
static bool scan_number(struct zd_scan *scan, uint64_t *ret_number, bool *is_outside)
{
    const enum zd_status status = zd_scan_u64(scan, UINT64_MAX, ret_number);
    if (status == ZD_TOO_LARGE) {
        struct zd_span digits;
        *is_outside = true;
        return zd_scan_run(scan, "0123456789", SIZE_MAX, &digits) == ZD_OK;
    }
    return status == ZD_OK;
}

enum zd_status zd_chunk_key_parse(
    const struct zd_meta *meta, struct zd_span key, uint64_t *ret_index)
{
    const struct zd_grid *grid = &meta->grid;
    struct zd_scan scan = zd_scan_of(key);
    uint64_t index[ZD_RANK_MAX] = {0};
    bool is_outside = false;
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
        if (!scan_number(&scan, &index[d], &is_outside)) {
            return ZD_NOT_FOUND;
        }
    }
    if (!zd_scan_at_end(&scan)) {
        return ZD_NOT_FOUND;
    }
    if (is_outside || zd_grid_check(grid, index, NULL) != ZD_OK) {
        return ZD_OUT_OF_BOUNDS;
    }
    memcpy(ret_index, index, grid->rank * sizeof *index);
    return ZD_OK;
}
