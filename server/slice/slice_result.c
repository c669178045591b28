/* The result of a slice: the selected elements, or an operation on them. */
#include "server/slice/slice_result.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/runtime/workers.h"

#define LOT             512
#define MADE_NS         3 /* to decode or to convert an element */
#define CLEARED_NS      3 /* to empty a cell */
#define JOINED_NS       8 /* to finish a cell, and to add its result to another one */
#define INDEX_BYTES_MAX 1024

/* ---- what is made ---- */

const void *zd_slice_result_missing_fill(const struct zd_meta *meta)
{
    return strcmp(meta->dialect->name, "v2") == 0 && !meta->has_no_fill ? meta->fill : NULL;
}

static enum zd_status plan_decode(struct zd_slice_result *result, const struct zd_slice_params *ask,
    const char **ret_code, struct zd_error *err)
{
    const struct zd_cf_decode_array array = {
        .attributes = result->node->meta->attributes,
        .dtype = result->node->meta->dtype,
        .leaves_times = ask->leaves_times,
        .fill = zd_slice_result_missing_fill(result->node->meta),
    };
    *ret_code = "invalid_metadata";
    ZD_TRY(zd_cf_decode_init(&result->decode, &array, err));
    result->is_decoded = true;
    result->dtype = result->decode.to;
    return ZD_OK;
}

static enum zd_status plan_convert(struct zd_slice_result *result,
    const struct zd_slice_params *ask, const char **ret_code, struct zd_error *err)
{
    *ret_code = "bad_parameter";
    ZD_TRY(zd_convert_init(&result->convert, &result->dtype, zd_text_span(&ask->dtype), err));
    result->is_converted = true;
    result->dtype = result->convert.to;
    return ZD_OK;
}

static enum zd_status plan_reduce(struct zd_slice_result *result, const struct zd_slice_params *ask,
    const char **ret_code, struct zd_error *err)
{
    const bool skips_nan = !ask->has_skipna || ask->skipna;
    *ret_code = "unsupported_data_type";
    if (ask->has_reduce) {
        ZD_TRY(zd_reduce_plan(
            &result->reduce, (enum zd_reduce_op)ask->reduce, &result->dtype, skips_nan, err));
        result->reduces = true;
        result->dtype = result->reduce.to;
    }
    if (result->blocks.joins) {
        const enum zd_reduce_op op = ask->has_agg ? (enum zd_reduce_op)ask->agg : ZD_REDUCE_MEAN;
        ZD_TRY(zd_reduce_plan(&result->coarsen, op, &result->dtype, skips_nan, err));
        result->coarsens = true;
        result->dtype = result->coarsen.to;
    }
    return ZD_OK;
}

/* Without elements there is no extreme; floats answer NaN. */
static enum zd_status check_extreme(
    const struct zd_slice_result *result, const char **ret_code, struct zd_error *err)
{
    const struct zd_slice_blocks *blocks = &result->blocks;
    const struct zd_reduce *reduce = &result->reduce;
    bool is_empty = false;
    for (uint32_t d = 0; d < blocks->stored.rank; d++) {
        is_empty = is_empty || (blocks->is_over[d] && blocks->stored.axis[d].count == 0);
    }
    const bool has_none = reduce->way == ZD_REDUCE_SIGNED || reduce->way == ZD_REDUCE_UNSIGNED;
    if (result->reduces && is_empty && has_none &&
        (reduce->op == ZD_REDUCE_MIN || reduce->op == ZD_REDUCE_MAX)) {
        *ret_code = "bad_parameter";
        return zd_fail_name(err, "reduce", "%s of an empty selection of %s is undefined",
            zd_reduce_names[reduce->op], reduce->from.name);
    }
    return ZD_OK;
}

/* Two results of one selection are the same when their hashes are. */
static uint64_t hash_of(const struct zd_slice_result *result, const struct zd_slice_params *ask)
{
    struct zd_hash hash = {0};
    bool is_any = result->is_decoded || result->is_converted || result->reduces;
    zd_hash_add_u64(&hash, result->is_decoded ? 1 : 0);
    zd_hash_add_u64(&hash, result->is_converted ? (uint64_t)result->convert.rule + 1 : 0);
    zd_hash_add(&hash, zd_span_of(result->dtype.name));
    zd_hash_add_u64(&hash, result->reduces ? (uint64_t)result->reduce.op + 1 : 0);
    zd_hash_add_u64(&hash, result->coarsens ? (uint64_t)result->coarsen.op + 1 : 0);
    zd_hash_add_u64(&hash, !ask->has_skipna || ask->skipna ? 1 : 0);
    for (uint32_t d = 0; d < result->asked.rank; d++) {
        zd_hash_add_u64(&hash, result->blocks.is_over[d] ? 0 : result->blocks.block[d]);
        is_any = is_any || result->blocks.block[d] > 1;
    }
    return is_any ? hash.value : 0;
}

enum zd_status zd_slice_result_plan(struct zd_slice_result *result,
    const struct zd_slice_result_terms *terms, const char **ret_code, struct zd_error *err)
{
    const struct zd_slice_params *ask = terms->ask;
    const struct zd_meta *meta = terms->node->meta;
    zd_slice_result_done(result);
    *result =
        (struct zd_slice_result){.node = terms->node, .asked = *terms->asked, .dtype = meta->dtype};
    ZD_TRY(zd_slice_blocks_plan(&result->blocks, meta, ask, terms->stored, ret_code, err));
    if (ask->decodes) {
        ZD_TRY(plan_decode(result, ask, ret_code, err));
    }
    ZD_TRY(plan_reduce(result, ask, ret_code, err));
    ZD_TRY(check_extreme(result, ret_code, err));
    if (ask->has_dtype) {
        ZD_TRY(plan_convert(result, ask, ret_code, err));
    }
    result->hash = hash_of(result, ask);
    return ZD_OK;
}

void zd_slice_result_done(struct zd_slice_result *result)
{
    zd_buf_unref(ZD_TAKE(result->raw));
    zd_buf_unref(ZD_TAKE(result->room));
    zd_buf_unref(ZD_TAKE(result->fine));
    zd_reduce_done(&result->reduce);
    zd_reduce_done(&result->coarsen);
}

static bool decodes(const struct zd_slice_result *result)
{
    return result->is_decoded && result->decode.way != ZD_CF_DECODE_NOTHING;
}

static bool converts(const struct zd_slice_result *result)
{
    return result->is_converted && result->convert.rule != ZD_CONVERT_COPY;
}

bool zd_slice_result_joins(const struct zd_slice_result *result)
{
    return result->reduces || result->coarsens;
}

static bool is_plain(const struct zd_slice_result *result)
{
    return !decodes(result) && !converts(result) && !zd_slice_result_joins(result);
}

bool zd_slice_result_may_leave_times(const struct zd_slice_result *result)
{
    return result->is_decoded && result->decode.way == ZD_CF_DECODE_TIMES;
}

uint32_t zd_slice_result_shape(
    const struct zd_slice_result *result, uint64_t ret_shape[ZD_RANK_MAX])
{
    return zd_selection_shape(&result->blocks.places, ret_shape);
}

uint64_t zd_slice_result_bytes(const struct zd_slice_result *result)
{
    uint64_t n;
    return zd_selection_overflows(&result->blocks.places, &n) ||
                   ckd_mul(&n, n, (uint64_t)result->dtype.bytes)
               ? UINT64_MAX
               : n;
}

void zd_slice_result_answer(struct zd_slice_result *result, struct zd_answer *ret_answer)
{
    const struct zd_selection *places = &result->blocks.places;
    bool has_blocks = false;
    uint32_t rank = 0;
    zd_format_answer_init(ret_answer, result->node->meta, places);
    ret_answer->selection = &result->asked;
    ret_answer->dtype = result->dtype;
    ret_answer->is_decoded = result->is_decoded;
    ret_answer->units = result->is_decoded ? result->decode.units : NULL;
    for (uint32_t d = 0; d < places->rank; d++) {
        if (!places->axis[d].dropped) {
            has_blocks = has_blocks || result->blocks.block[d] > 1;
            result->block[rank++] = result->blocks.block[d];
        }
    }
    ret_answer->block = has_blocks ? result->block : NULL;
}

/* ---- bands ---- */

static uint64_t raw_bytes(const struct zd_slice_result *result, uint64_t n_band)
{
    return is_plain(result) || zd_slice_result_joins(result)
               ? 0
               : n_band * result->node->meta->dtype.bytes;
}

/* The results of `reduce` of which so many elements are made. */
static uint64_t fine_cells(const struct zd_slice_result *result, uint64_t n_band)
{
    uint64_t n = n_band;
    for (uint32_t d = 0; result->coarsens && d < result->blocks.stored.rank; d++) {
        if (ckd_mul(&n, n, result->blocks.joined[d])) {
            return UINT64_MAX;
        }
    }
    return n;
}

static bool has_two_stages(const struct zd_slice_result *result)
{
    return result->reduces && result->coarsens;
}

/* Bytes, or UINT64_MAX. */
static uint64_t times(uint64_t n, uint64_t bytes)
{
    return ckd_mul(&n, n, bytes) ? UINT64_MAX : n;
}

uint64_t zd_slice_result_held_bytes(const struct zd_slice_result *result, uint64_t n_band)
{
    const uint64_t n_fine = fine_cells(result, n_band);
    uint64_t bytes = raw_bytes(result, n_band);
    uint64_t parts[4] = {0};
    if (zd_slice_result_joins(result)) {
        parts[0] = zd_layout_leaf(result->node->layout)->chunk_bytes;
    }
    if (result->reduces) {
        parts[1] = times(n_fine, zd_reduce_cell_bytes(&result->reduce));
    }
    if (result->coarsens) {
        parts[2] = times(n_band, zd_reduce_cell_bytes(&result->coarsen));
    }
    if (has_two_stages(result)) {
        parts[3] = times(n_fine, result->reduce.to.bytes);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(parts); i++) {
        if (ckd_add(&bytes, bytes, parts[i])) {
            return UINT64_MAX;
        }
    }
    return bytes;
}

static enum zd_status begin_buffer(struct zd_buf **held, uint64_t bytes, struct zd_error *err)
{
    if (*held == NULL && bytes > 0) {
        *held = zd_buf_new(bytes);
    }
    return *held == NULL && bytes > 0
               ? zd_fail(err, ZD_NO_MEMORY, "no memory for a band of the slice")
               : ZD_OK;
}

static enum zd_status begin_cells(
    struct zd_slice_result *result, uint64_t n_band, struct zd_error *err)
{
    const uint64_t n_fine = fine_cells(result, n_band);
    if (result->reduces && result->reduce.memory == NULL) {
        ZD_TRY(zd_reduce_init(&result->reduce, n_fine, err));
    }
    if (result->coarsens && result->coarsen.memory == NULL) {
        ZD_TRY(zd_reduce_init(&result->coarsen, n_band, err));
    }
    if (has_two_stages(result)) {
        ZD_TRY(begin_buffer(&result->fine, times(n_fine, result->reduce.to.bytes), err));
    }
    return begin_buffer(&result->room, zd_layout_leaf(result->node->layout)->chunk_bytes, err);
}

enum zd_status zd_slice_result_begin(
    struct zd_slice_result *result, uint64_t n_band, struct zd_error *err)
{
    result->has_failed = false;
    return zd_slice_result_joins(result)
               ? begin_cells(result, n_band, err)
               : begin_buffer(&result->raw, raw_bytes(result, n_band), err);
}

/* The cells that a band is made of, as many as it has elements, or as are joined to them. */
static uint64_t count_cells(const struct zd_slice_result *result)
{
    uint64_t n = 1;
    for (uint32_t d = 0; has_two_stages(result) && d < result->source.rank; d++) {
        n *= result->blocks.is_over[d] ? 1 : result->source.axis[d].count;
    }
    return has_two_stages(result) ? n : result->n_elements;
}

void zd_slice_result_band(struct zd_slice_result *result, const struct zd_band *band, uint8_t *to)
{
    uint8_t *room = result->raw == NULL ? to : result->raw->data;
    result->band = band->selection;
    zd_slice_blocks_source(&result->blocks, &result->band, &result->source);
    result->raw_block = zd_block_of(&result->source, &result->node->meta->dtype, room);
    result->to = to;
    result->first = band->first;
    result->n_elements = band->n_elements;
    result->n_made = 0;
    result->is_making = false;
    result->is_cleared = false;
}

static void fail(struct zd_slice_result *result, uint64_t place, const char *why)
{
    result->has_failed = true;
    result->failed_at = result->first + place;
    result->failed_why = why;
}

/* ---- elements into cells ---- */

/* The cells of a box within the band. @param count, to of the box, in elements that are read
 * @param joins whether blocks are joined, and not only dimensions taken away */
static struct zd_cells cells_of(
    const struct zd_slice_result *result, const uint64_t *count, const uint64_t *to, bool joins)
{
    const struct zd_slice_blocks *blocks = &result->blocks;
    struct zd_cells cells = {.rank = result->source.rank};
    uint64_t stride = 1;
    for (uint32_t d = cells.rank; d-- > 0;) {
        struct zd_cells_dim *dim = &cells.dim[d];
        *dim = (struct zd_cells_dim){.count = count[d], .block = ZD_CELLS_ALL, .stride = stride};
        if (!blocks->is_over[d]) {
            dim->first = to[d];
            dim->block = joins ? blocks->joined[d] : 1;
            stride *= joins ? result->band.axis[d].count : result->source.axis[d].count;
        }
    }
    return cells;
}

static void add_part(struct zd_slice_result *result, const struct zd_fetch *fetch, uint32_t i)
{
    const struct zd_part *part = &fetch->want[i].part;
    const struct zd_meta *meta = result->node->meta;
    struct zd_reduce *reduce = result->reduces ? &result->reduce : &result->coarsen;
    const struct zd_cells cells = cells_of(result, part->count, part->to, !has_two_stages(result));
    uint64_t n_elements;
    uint64_t cell;
    const uint8_t *elements = zd_fetch_box(fetch, i, result->room->data, &n_elements);
    if (elements == NULL) {
        zd_dtype_fill(&meta->dtype, result->room->data, meta->fill, n_elements);
        elements = result->room->data;
    }
    if (!zd_cells_add(&cells, reduce, decodes(result) ? &result->decode : NULL, elements, &cell)) {
        fail(result, has_two_stages(result) ? 0 : cell, "depends on times outside datetime64[ns]");
        result->is_beyond = true;
    }
}

/* There may be many: not on the loop thread. */
static void clear_cells(struct zd_slice_result *result)
{
    if (result->reduces) {
        zd_reduce_clear(&result->reduce, count_cells(result));
    }
    if (result->coarsens) {
        zd_reduce_clear(&result->coarsen, result->n_elements);
    }
    result->is_cleared = true;
}

static bool add_parts(struct zd_slice_result *result, struct zd_fetch *fetch)
{
    uint32_t first;
    uint32_t end;
    if (!result->is_cleared) {
        clear_cells(result);
    }
    const bool has_more = zd_fetch_take_piece(fetch, &first, &end);
    for (uint32_t i = first; i < end && !result->has_failed; i++) {
        add_part(result, fetch, i);
    }
    return has_more;
}

/* ---- cells into elements ---- */

/* How many elements of a dimension cell number `at` of the band has. */
static uint64_t block_at(const struct zd_slice_result *result, uint32_t d, uint64_t at)
{
    const uint64_t block = result->blocks.joined[d];
    return result->blocks.is_over[d] ? 1
                                     : zd_min_u64(block, result->source.axis[d].count - at * block);
}

/* How many elements each of some cells of the last stage has. */
static void count_added(
    const struct zd_slice_result *result, uint64_t first, uint64_t n, uint64_t ret_n_added[LOT])
{
    const uint32_t rank = result->source.rank;
    uint64_t at[ZD_RANK_MAX] = {0};
    uint64_t n_over = 1;
    for (uint32_t d = rank; d-- > 0;) {
        /* With two stages, the first one has them. */
        const bool counts = result->blocks.is_over[d] && !has_two_stages(result);
        n_over *= counts ? result->blocks.stored.axis[d].count : 1;
        at[d] = first % result->band.axis[d].count;
        first /= result->band.axis[d].count;
    }
    for (uint64_t i = 0; i < n; i++) {
        ret_n_added[i] = n_over;
        for (uint32_t d = 0; result->coarsens && d < rank; d++) {
            ret_n_added[i] *= block_at(result, d, at[d]);
        }
        for (uint32_t d = rank; d-- > 0;) {
            at[d]++;
            if (at[d] < result->band.axis[d].count) {
                break;
            }
            at[d] = 0;
        }
    }
}

/* All results of `reduce` are known: they are joined. */
static void join_results(struct zd_slice_result *result)
{
    static const uint64_t nowhere[ZD_RANK_MAX] = {0};
    const uint64_t n_cells = count_cells(result);
    const uint32_t bytes = result->reduce.to.bytes;
    uint64_t n_added[LOT];
    uint64_t count[ZD_RANK_MAX];
    uint64_t n_over = 1;
    uint64_t place;
    for (uint32_t d = 0; d < result->source.rank; d++) {
        const bool is_over = result->blocks.is_over[d];
        count[d] = is_over ? 1 : result->source.axis[d].count;
        n_over *= is_over ? result->source.axis[d].count : 1;
    }
    for (uint64_t i = 0; i < LOT; i++) {
        n_added[i] = n_over;
    }
    for (uint64_t at = 0; at < n_cells; at += LOT) {
        if (!zd_reduce_finish(&result->reduce, at, zd_min_u64(LOT, n_cells - at), n_added,
                result->fine->data + at * bytes, &place)) {
            fail(result, 0, "depends on a sum that does not fit its data type");
            return;
        }
    }
    const struct zd_cells cells = cells_of(result, count, nowhere, true);
    (void)zd_cells_add(&cells, &result->coarsen, NULL, result->fine->data, &place);
}

/* Results of some cells of the last stage, converted. */
static void finish_lot(struct zd_slice_result *result, uint64_t first, uint64_t n, uint8_t *to)
{
    const struct zd_reduce *last = result->coarsens ? &result->coarsen : &result->reduce;
    uint8_t made[LOT * sizeof(uint64_t)];
    uint64_t n_added[LOT];
    uint64_t place;
    count_added(result, first, n, n_added);
    if (!zd_reduce_finish(last, first, n, n_added, converts(result) ? made : to, &place)) {
        fail(result, first + place, "is a sum that does not fit its data type");
    } else if (converts(result) && !zd_convert_run(&result->convert, made, n, to, &place)) {
        fail(result, first + place, "does not fit its data type");
    }
}

/* ---- elements ---- */

static void make_lot(struct zd_slice_result *result, uint64_t first, uint64_t n, uint8_t *to)
{
    const uint8_t *from = result->raw_block.data + first * result->raw_block.dtype.bytes;
    uint8_t decoded[LOT * ZD_CF_DECODE_ELEMENT_MAX];
    uint64_t place;
    if (decodes(result)) {
        if (!zd_cf_decode_run(&result->decode, from, n, converts(result) ? decoded : to, &place)) {
            fail(result, first + place, "is a time outside datetime64[ns]");
            result->is_beyond = true;
            return;
        }
        from = decoded;
    }
    if (converts(result) && !zd_convert_run(&result->convert, from, n, to, &place)) {
        fail(result, first + place, "does not fit its data type");
    }
}

/* @return whether there is more to make of the band */
static bool make_piece(struct zd_slice_result *result)
{
    const uint64_t piece = ZD_WORKERS_PIECE_NS / MADE_NS;
    const uint64_t end = result->n_made + zd_min_u64(piece, result->n_elements - result->n_made);
    while (result->n_made < end && !result->has_failed) {
        const uint64_t n = zd_min_u64(LOT, end - result->n_made);
        uint8_t *to = result->to + result->n_made * result->dtype.bytes;
        if (zd_slice_result_joins(result)) {
            finish_lot(result, result->n_made, n, to);
        } else {
            make_lot(result, result->n_made, n, to);
        }
        result->n_made += n;
    }
    return result->n_made < result->n_elements && !result->has_failed;
}

/* @return whether there are more parts of those that have arrived */
static bool take_parts(struct zd_slice_result *result, struct zd_fetch *fetch)
{
    if (zd_slice_result_joins(result)) {
        return add_parts(result, fetch);
    }
    return zd_fetch_copy(fetch, &result->raw_block);
}

bool zd_slice_result_work(struct zd_slice_result *result, struct zd_fetch *fetch)
{
    if (!result->is_making) {
        const bool has_more = take_parts(result, fetch);
        result->is_making = !is_plain(result) && !has_more && fetch->is_last;
        if (!result->is_making || result->has_failed) {
            return has_more && !result->has_failed;
        }
        if (has_two_stages(result)) {
            join_results(result);
        }
    }
    return make_piece(result);
}

/* Besides the parts: few elements may come first, or last, of very many cells. */
static uint64_t cells_cost_ns(const struct zd_slice_result *result, const struct zd_fetch *fetch)
{
    const bool is_joined = has_two_stages(result) && fetch->is_last;
    const uint64_t each_ns =
        (result->is_cleared ? 0 : CLEARED_NS) + (is_joined ? JOINED_NS : UINT64_C(0));
    return zd_slice_result_joins(result) ? count_cells(result) * each_ns : 0;
}

uint64_t zd_slice_result_cost_ns(const struct zd_slice_result *result, const struct zd_fetch *fetch)
{
    const bool is_made = !is_plain(result) && fetch->is_last;
    return fetch->copy_ns + cells_cost_ns(result, fetch) +
           (is_made ? result->n_elements * MADE_NS : 0);
}

/* ---- failures ---- */

/* The index of an element in the result. */
static uint32_t index_of(
    const struct zd_slice_result *result, uint64_t place, uint64_t ret_index[ZD_RANK_MAX])
{
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_slice_result_shape(result, shape);
    for (uint32_t d = rank; d-- > 0;) {
        ret_index[d] = place % shape[d];
        place /= shape[d];
    }
    return rank;
}

struct zd_json *zd_slice_result_failure(const struct zd_slice_result *result, struct zd_error *err)
{
    uint64_t index[ZD_RANK_MAX];
    const uint32_t rank = index_of(result, result->failed_at, index);
    ZD_SCOPED_TEXT(place, INDEX_BYTES_MAX);
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    zd_format_add_lengths(&place, index, rank);
    err->status = zd_fail(err, ZD_INVALID,
        "element [%s] of the answer %s (%s): request another type, or select fewer elements",
        place.at, result->failed_why, result->dtype.name);
    struct zd_json *list = extra == NULL ? NULL : zd_json_new_array();
    if (list == NULL || zd_json_set(extra, "index", list) != ZD_OK) {
        return NULL;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (zd_json_append(list, zd_json_new_u64(index[d])) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(extra);
}
