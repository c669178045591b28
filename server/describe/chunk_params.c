/* Which chunk a request names. */
#include "server/describe/chunk_params.h"

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/chunk_read.h"

static enum zd_status count_is_wrong(struct zd_error *err, struct zd_span text, uint32_t rank)
{
    const enum zd_status status = zd_fail(err, ZD_INVALID,
        "index must be %u numbers separated by commas: the array has rank %u", rank, rank);
    zd_fact_name(err, "index");
    zd_fact_expected(err, "%u numbers", rank);
    zd_fact_found(
        err, "%.*s", (int)zd_min_u64(text.len, ZD_FACT_TEXT_BYTES), (const char *)text.ptr);
    return status;
}

/* "-1" is a number, and outside. */
static enum zd_status negative(
    struct zd_error *err, const struct zd_grid *grid, uint32_t dim, uint64_t magnitude)
{
    const int64_t index = -(int64_t)zd_min_u64(magnitude, INT64_MAX);
    const uint64_t size = zd_grid_count(grid, dim);
    const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
        "chunk index %lld of dimension %u is outside the grid of %llu", (long long)index,
        (unsigned)dim, (unsigned long long)size);
    zd_fact_dim(err, dim);
    zd_fact_index(err, index);
    zd_fact_size(err, size);
    return status;
}

static enum zd_status parse_index(struct zd_span text, const struct zd_grid *grid,
    uint64_t ret_index[ZD_RANK_MAX], struct zd_error *err)
{
    struct zd_scan scan = zd_scan_of(text);
    for (uint32_t d = 0; d < grid->rank; d++) {
        if (d > 0 && !zd_scan_char(&scan, ',')) {
            return count_is_wrong(err, text, grid->rank);
        }
        const bool is_negative = zd_scan_char(&scan, '-');
        const enum zd_status status = zd_scan_u64(&scan, UINT64_MAX, &ret_index[d]);
        if (status == ZD_TOO_LARGE) {
            ret_index[d] = UINT64_MAX;
            return zd_grid_check(grid, ret_index, err);
        }
        if (status != ZD_OK) {
            return count_is_wrong(err, text, grid->rank);
        }
        if (is_negative && ret_index[d] > 0) {
            return negative(err, grid, d, ret_index[d]);
        }
    }
    return zd_scan_at_end(&scan) ? zd_grid_check(grid, ret_index, err)
                                 : count_is_wrong(err, text, grid->rank);
}

enum zd_status zd_chunk_params_check_decoded(const struct zd_meta *meta, struct zd_error *err)
{
    return zd_dtype_is_variable(&meta->dtype)
               ? zd_fail(err, ZD_UNSUPPORTED,
                     "chunks of %s have no decoded form: request a slice with format=json or csv",
                     meta->dtype.name)
               : ZD_OK;
}

enum zd_status zd_chunk_params_parse(const struct zd_params *params, const struct zd_layout *layout,
    struct zd_chunk_params *ret_ask, struct zd_error *err)
{
    static const char *const levels[] = {"outer", "inner", NULL};
    struct zd_chunk_params ask = {0};
    struct zd_span text;
    uint32_t level;
    ZD_TRY(zd_params_flag(params, "decoded", false, &ask.is_decoded, err));
    ZD_TRY(zd_params_choice(params, "level", levels, &level, err));
    ZD_TRY(ask.is_decoded ? zd_chunk_params_check_decoded(layout->meta, err) : ZD_OK);
    ZD_TRY(zd_chunk_read_level(layout, level == 1, &ask.level, err));
    if (!zd_params_find(params, "index", &text)) {
        return zd_fail_name(
            err, "index", "index= is required (index=0,3); present=1 lists the stored chunks");
    }
    ZD_TRY(parse_index(text, &layout->level[ask.level].grid, ask.index, err));
    *ret_ask = ask;
    return ZD_OK;
}

void zd_chunk_params_tag(const struct zd_node *node, const struct zd_chunk_params *ask,
    struct zd_generation generation, char to[ZD_TAG_BYTES])
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, node->tag);
    zd_hash_add_u64(&hash, generation.word[0]);
    zd_hash_add_u64(&hash, generation.word[1]);
    zd_hash_add_u64(&hash, ask->level);
    for (uint32_t d = 0; d < node->meta->grid.rank; d++) {
        zd_hash_add_u64(&hash, ask->index[d]);
    }
    zd_tag_format(to, hash.value, ask->is_decoded ? "decoded" : "encoded");
}
