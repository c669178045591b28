/* Which elements become one: the dimensions that go, and the blocks of those that stay. */
#include "server/slice/slice_blocks.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

/* A list of dimensions that is being read. */
struct reading {
    struct zd_slice_blocks *blocks;
    const struct zd_meta *meta;
    const char *parameter; /* "over" or "coarsen" */
    struct zd_error *err;
};

static enum zd_status refuse(const struct reading *reading, struct zd_span found, const char *why)
{
    const int shown = (int)zd_min_u64(found.len, ZD_FACT_TEXT_BYTES);
    const enum zd_status status = zd_fail_name(reading->err, reading->parameter, "%s: '%.*s' %s",
        reading->parameter, shown, (const char *)found.ptr, why);
    zd_fact_found(reading->err, "%.*s", shown, (const char *)found.ptr);
    return status;
}

/* Whether the answer so far has a dimension. */
static bool is_there(const struct zd_slice_blocks *blocks, uint32_t d)
{
    return !blocks->stored.axis[d].dropped && !blocks->is_over[d];
}

static bool find_name(const struct reading *reading, struct zd_span name, uint32_t *ret_dim)
{
    char *const *names = reading->meta->dimension_name;
    for (uint32_t d = 0; names != NULL && d < reading->blocks->stored.rank; d++) {
        if (names[d] != NULL && is_there(reading->blocks, d) && zd_span_is(name, names[d])) {
            *ret_dim = d;
            return true;
        }
    }
    return false;
}

/* By a name, or the number that it has in the answer: those in `dims`. */
static bool find_dim(const struct reading *reading, struct zd_span name, const uint32_t *dims,
    uint32_t n_dims, uint32_t *ret_dim)
{
    uint64_t number;
    if (find_name(reading, name, ret_dim)) {
        return true;
    }
    if (zd_scan_whole_u64(name, UINT64_MAX, &number) != ZD_OK || number >= n_dims) {
        return false;
    }
    *ret_dim = dims[number];
    return true;
}

static uint32_t list_dims(const struct zd_slice_blocks *blocks, uint32_t ret_dims[ZD_RANK_MAX])
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < blocks->stored.rank; d++) {
        if (is_there(blocks, d)) {
            ret_dims[n++] = d;
        }
    }
    return n;
}

/* The next entry of a list whose entries end with NUL. @return false: there is none */
static bool next_entry(struct zd_span *rest, struct zd_span *ret_entry)
{
    if (rest->len == 0) {
        return false;
    }
    *ret_entry = (struct zd_span){.ptr = rest->ptr, .len = strlen((const char *)rest->ptr)};
    rest->ptr += ret_entry->len + 1;
    rest->len -= ret_entry->len + 1;
    return true;
}

/* ---- over ---- */

static enum zd_status read_over(struct reading *reading, const struct zd_slice_params *ask)
{
    struct zd_slice_blocks *blocks = reading->blocks;
    uint32_t dims[ZD_RANK_MAX];
    bool is_over[ZD_RANK_MAX] = {false};
    const uint32_t n_dims = list_dims(blocks, dims);
    struct zd_span rest = zd_text_span(&ask->over);
    struct zd_span name;
    uint32_t d;
    reading->parameter = "over";
    while (next_entry(&rest, &name)) {
        if (!find_dim(reading, name, dims, n_dims, &d)) {
            return refuse(reading, name, "is not a dimension of the answer");
        }
        if (is_over[d]) {
            return refuse(reading, name, "is listed twice");
        }
        is_over[d] = true;
    }
    for (uint32_t i = 0; i < n_dims; i++) {
        blocks->is_over[dims[i]] = !ask->has_over || is_over[dims[i]];
    }
    return ZD_OK;
}

/* ---- coarsen ---- */

static bool split_block(struct zd_span entry, struct zd_span *ret_name, uint64_t *ret_block)
{
    size_t at = entry.len;
    while (at > 0 && entry.ptr[at - 1] != ':') {
        at--;
    }
    const struct zd_span number = {.ptr = entry.ptr + at, .len = entry.len - at};
    if (at == 0 || zd_scan_whole_u64(number, UINT64_MAX, ret_block) != ZD_OK) {
        return false;
    }
    *ret_name = (struct zd_span){.ptr = entry.ptr, .len = at - 1};
    return *ret_block > 0;
}

static enum zd_status read_coarsen(struct reading *reading, const struct zd_slice_params *ask)
{
    struct zd_slice_blocks *blocks = reading->blocks;
    uint32_t dims[ZD_RANK_MAX];
    bool is_read[ZD_RANK_MAX] = {false};
    const uint32_t n_dims = list_dims(blocks, dims);
    struct zd_span rest = zd_text_span(&ask->coarsen);
    struct zd_span entry;
    struct zd_span name;
    uint64_t block;
    uint32_t d;
    reading->parameter = "coarsen";
    while (next_entry(&rest, &entry)) {
        if (!split_block(entry, &name, &block)) {
            return refuse(reading, entry, "is not of the form DIM:N with N above 0");
        }
        if (!find_dim(reading, name, dims, n_dims, &d)) {
            return refuse(reading, name, "is not a dimension of the answer");
        }
        if (is_read[d]) {
            return refuse(reading, name, "is listed twice");
        }
        is_read[d] = true;
        blocks->block[d] = zd_max_u64(zd_min_u64(block, blocks->stored.axis[d].count), 1);
    }
    return ZD_OK;
}

/* ---- max_size ---- */

static uint64_t elements_with(
    const struct zd_slice_blocks *blocks, const uint32_t *dims, uint32_t n_dims, uint64_t factor)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < n_dims; i++) {
        const uint64_t block = i + 2 >= n_dims ? factor : 1;
        const uint64_t count = zd_div_up(blocks->stored.axis[dims[i]].count, block);
        if (count == 0) {
            return 0;
        }
        if (ckd_mul(&n, n, count)) {
            n = UINT64_MAX;
        }
    }
    return n;
}

static enum zd_status read_max_size(
    struct reading *reading, const struct zd_slice_params *ask, const char **ret_code)
{
    struct zd_slice_blocks *blocks = reading->blocks;
    uint32_t dims[ZD_RANK_MAX];
    const uint32_t n_dims = list_dims(blocks, dims);
    uint64_t factor = 1;
    while (elements_with(blocks, dims, n_dims, factor) > ask->max_size && factor <= INT64_MAX) {
        factor *= 2;
    }
    const uint64_t n = elements_with(blocks, dims, n_dims, factor);
    if (n > ask->max_size) {
        *ret_code = "too_large";
        return zd_fail_limit(reading->err, ask->max_size, n,
            "the answer keeps %llu elements even with one element in each of the last two "
            "dimensions; max_size is %llu",
            (unsigned long long)n, (unsigned long long)ask->max_size);
    }
    for (uint32_t i = n_dims < 2 ? 0 : n_dims - 2; i < n_dims; i++) {
        const uint64_t count = blocks->stored.axis[dims[i]].count;
        blocks->block[dims[i]] = zd_max_u64(zd_min_u64(factor, count), 1);
    }
    return ZD_OK;
}

/* ---- what is read, and where results are ---- */

/* Every n-th element. Its count does not exceed that of the axis, so that steps fit. */
static enum zd_status stride(
    const struct reading *reading, const struct zd_axis *axis, uint64_t n, struct zd_axis *ret_axis)
{
    struct zd_axis every = *axis;
    if (axis->list != NULL) {
        return zd_fail_name(reading->err, reading->parameter,
            "%s: a list of indices or points cannot be divided into blocks", reading->parameter);
    }
    every.count = zd_div_up(axis->count, n);
    every.slack = 0;
    every.step = 1;
    if (every.count > 1 && (n > INT64_MAX || ckd_mul(&every.step, axis->step, (int64_t)n) ||
                               every.step == INT64_MIN)) {
        return zd_fail_name(
            reading->err, reading->parameter, "%s: the blocks are too long", reading->parameter);
    }
    *ret_axis = every;
    return ZD_OK;
}

static enum zd_status place(struct reading *reading, bool is_nearest)
{
    struct zd_slice_blocks *blocks = reading->blocks;
    blocks->places = blocks->stored;
    for (uint32_t d = 0; d < blocks->stored.rank; d++) {
        struct zd_axis *axis = &blocks->places.axis[d];
        blocks->joined[d] = is_nearest ? 1 : blocks->block[d];
        blocks->joins = blocks->joins || blocks->joined[d] > 1;
        if (blocks->is_over[d]) {
            *axis = (struct zd_axis){.start = axis->start, .count = 1, .step = 1, .dropped = true};
        } else if (blocks->block[d] > 1) {
            ZD_TRY(stride(reading, &blocks->stored.axis[d], blocks->block[d], axis));
            blocks->stored.axis[d] = is_nearest ? *axis : blocks->stored.axis[d];
        }
    }
    return ZD_OK;
}

/* Parameters that say nothing without another one. */
static enum zd_status check_together(const struct zd_slice_params *ask, struct zd_error *err)
{
    if (ask->has_coarsen && ask->has_max_size) {
        return zd_fail_name(err, "max_size", "coarsen and max_size cannot be combined");
    }
    if (ask->has_over && !ask->has_reduce) {
        return zd_fail_name(err, "over", "over requires reduce");
    }
    if (ask->has_agg && !ask->has_coarsen && !ask->has_max_size && !ask->is_of_level) {
        return zd_fail_name(err, "agg", "agg requires coarsen or max_size");
    }
    if (ask->has_skipna && !ask->has_reduce && !ask->has_coarsen && !ask->has_max_size &&
        !ask->is_of_level) {
        return zd_fail_name(err, "skipna", "skipna requires reduce, coarsen or max_size");
    }
    return ZD_OK;
}

enum zd_status zd_slice_blocks_plan(struct zd_slice_blocks *blocks, const struct zd_meta *meta,
    const struct zd_slice_params *ask, const struct zd_selection *stored, const char **ret_code,
    struct zd_error *err)
{
    struct reading reading = {.blocks = blocks, .meta = meta, .parameter = "max_size", .err = err};
    *blocks = (struct zd_slice_blocks){.stored = *stored};
    *ret_code = "bad_parameter";
    for (uint32_t d = 0; d < stored->rank; d++) {
        blocks->block[d] = 1;
    }
    ZD_TRY(check_together(ask, err));
    if (ask->has_reduce) {
        ZD_TRY(read_over(&reading, ask));
    }
    if (ask->has_coarsen) {
        ZD_TRY(read_coarsen(&reading, ask));
    }
    if (ask->has_max_size) {
        ZD_TRY(read_max_size(&reading, ask, ret_code));
    }
    const bool is_nearest = ask->has_agg ? ask->agg == ZD_SLICE_AGG_NEAREST : ask->has_max_size;
    return place(&reading, is_nearest);
}

uint64_t zd_slice_blocks_count(const struct zd_meta *meta, const struct zd_slice_params *ask,
    const struct zd_selection *stored)
{
    struct zd_slice_params of_level = *ask; /* borrows all that it has */
    struct zd_slice_blocks blocks;
    const char *code;
    uint64_t n;
    of_level.has_max_size = false;
    of_level.is_of_level = true;
    const bool is_planned =
        zd_slice_blocks_plan(&blocks, meta, &of_level, stored, &code, NULL) == ZD_OK;
    return zd_selection_overflows(is_planned ? &blocks.places : stored, &n) ? UINT64_MAX : n;
}

void zd_slice_blocks_dimensions(const struct zd_meta *meta, const struct zd_selection *selection,
    const char *ret_name[ZD_RANK_MAX + 1])
{
    static const char *const numbers[ZD_RANK_MAX] = {"0", "1", "2", "3", "4", "5", "6", "7", "8",
        "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23",
        "24", "25", "26", "27", "28", "29", "30", "31"};
    uint32_t n = 0;
    for (uint32_t d = 0; d < selection->rank; d++) {
        if (!selection->axis[d].dropped) {
            const bool is_named = meta->dimension_name != NULL && meta->dimension_name[d] != NULL;
            ret_name[n] = is_named ? meta->dimension_name[d] : numbers[n];
            n++;
        }
    }
    ret_name[n] = NULL;
}

void zd_slice_blocks_source(const struct zd_slice_blocks *blocks, const struct zd_selection *band,
    struct zd_selection *ret_source)
{
    *ret_source = *band;
    for (uint32_t d = 0; d < band->rank; d++) {
        const struct zd_axis *axis = &blocks->stored.axis[d];
        struct zd_axis *source = &ret_source->axis[d];
        if (blocks->is_over[d]) {
            *source = *axis;
        } else if (blocks->joined[d] > 1) {
            const struct zd_axis *places = &blocks->places.axis[d];
            const uint64_t distance = source->start > places->start ? source->start - places->start
                                                                    : places->start - source->start;
            const uint64_t first = distance / zd_axis_stride(places) * blocks->joined[d];
            const uint64_t left = axis->count - first;
            *source = *axis;
            source->slack = 0;
            source->start = zd_axis_at(axis, first);
            source->count = left / blocks->joined[d] < band->axis[d].count
                                ? left
                                : band->axis[d].count * blocks->joined[d];
        }
    }
}
