/* Keys of chunks: an index to its key and back. */
#include "core/dialect/chunk_key.h"

#include <string.h>

#include "core/base/scan.h"

/* How keys are made. */
struct form {
    enum zd_key_encoding encoding;
    char separator;
    bool is_reversed; /* the last axis comes first */
};

/* Which axis number d of a key is. */
static uint32_t axis_of(bool is_reversed, uint32_t rank, uint32_t d)
{
    return is_reversed ? rank - 1 - d : d;
}

static ZD_RESULT add(const struct zd_meta *meta, enum zd_key_encoding encoding,
    const uint64_t *index, struct zd_text *key)
{
    const uint32_t rank = meta->grid.rank;
    if (encoding == ZD_KEYS_DEFAULT) {
        ZD_TRY(zd_text_add_char(key, 'c'));
    } else if (rank == 0) {
        /* Zarr v3, chunk key encoding v2: a scalar has the key of a chunk in one dimension. */
        return zd_text_add_char(key, '0');
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (d > 0 || encoding == ZD_KEYS_DEFAULT) {
            ZD_TRY(zd_text_add_char(key, meta->key_separator));
        }
        ZD_TRY(zd_text_add_u64(key, index[axis_of(meta->has_reversed_keys, rank, d)]));
    }
    return ZD_OK;
}

enum zd_status zd_chunk_key_add(
    const struct zd_meta *meta, const uint64_t *index, struct zd_text *key)
{
    ZD_TRY(add(meta, meta->key_encoding, index, key));
    return meta->key_suffix == NULL ? ZD_OK : zd_text_add(key, meta->key_suffix);
}

/* All but "c" alone is the letter in front of a key of v2. */
static bool has_number(const struct zd_meta *meta)
{
    return meta->grid.rank > 0 || meta->is_scalar_numbered;
}

enum zd_status zd_chunk_key_add_glued(
    const struct zd_meta *meta, const uint64_t *index, struct zd_text *key)
{
    ZD_TRY(zd_text_add_char(key, 'c'));
    return has_number(meta) ? add(meta, ZD_KEYS_V2, index, key) : ZD_OK;
}

/* A number beyond every grid is still a number. */
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

static ZD_RESULT parse(
    const struct zd_grid *grid, struct form form, struct zd_span key, uint64_t *ret_index)
{
    struct zd_scan scan = zd_scan_of(key);
    uint64_t index[ZD_RANK_MAX] = {0};
    bool is_outside = false;
    if (form.encoding == ZD_KEYS_DEFAULT && !zd_scan_char(&scan, 'c')) {
        return ZD_NOT_FOUND;
    }
    if (form.encoding == ZD_KEYS_V2 && grid->rank == 0 && !zd_scan_char(&scan, '0')) {
        return ZD_NOT_FOUND;
    }
    for (uint32_t d = 0; d < grid->rank; d++) {
        const bool has_separator = d > 0 || form.encoding == ZD_KEYS_DEFAULT;
        if (has_separator && !zd_scan_char(&scan, form.separator)) {
            return ZD_NOT_FOUND;
        }
        if (!scan_number(&scan, &index[axis_of(form.is_reversed, grid->rank, d)], &is_outside)) {
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

enum zd_status zd_chunk_key_parse(
    const struct zd_meta *meta, struct zd_span key, uint64_t *ret_index)
{
    const struct form form = {meta->key_encoding, meta->key_separator, meta->has_reversed_keys};
    const struct zd_span suffix = zd_span_of(meta->key_suffix == NULL ? "" : meta->key_suffix);
    if (key.len < suffix.len) {
        return ZD_NOT_FOUND;
    }
    const struct zd_span base = {.ptr = key.ptr, .len = key.len - suffix.len};
    const struct zd_span rest = {.ptr = key.ptr + base.len, .len = suffix.len};
    return zd_span_equal(rest, suffix) ? parse(&meta->grid, form, base, ret_index) : ZD_NOT_FOUND;
}

enum zd_status zd_chunk_key_parse_default(
    const struct zd_grid *grid, struct zd_span key, uint64_t *ret_index)
{
    return parse(grid, (struct form){ZD_KEYS_DEFAULT, '/', false}, key, ret_index);
}

enum zd_status zd_chunk_key_parse_glued(
    const struct zd_meta *meta, struct zd_span key, uint64_t *ret_index)
{
    if (!has_number(meta)) {
        return parse(&meta->grid, (struct form){ZD_KEYS_DEFAULT, meta->key_separator, false}, key,
            ret_index);
    }
    if (key.len == 0 || key.ptr[0] != 'c') {
        return ZD_NOT_FOUND;
    }
    const struct zd_span rest = {.ptr = key.ptr + 1, .len = key.len - 1};
    return parse(
        &meta->grid, (struct form){ZD_KEYS_V2, meta->key_separator, false}, rest, ret_index);
}
