/* Statistics of a selection: read from the document, or computed chunk by chunk. */
#include "server/slice/stats.h"

#include "core/base/num.h"
#include "server/describe/node_json.h"
#include "server/http/fields.h"
#include "server/runtime/server.h"

#define FLIGHT_BYTES_MAX    (UINT64_C(64) << 20) /* decoded chunks held at once */
#define SELECTION_BYTES_MAX 4096
#define ELEMENT_NS          2 /* of extremes */
#define MOMENTS_NS          4 /* of mean and spread, besides */

static const char *const field_names[] = {
    [ZD_STATS_MIN] = "min",
    [ZD_STATS_MAX] = "max",
    [ZD_STATS_MEAN] = "mean",
    [ZD_STATS_STD] = "std",
    [ZD_STATS_N_NAN] = "n_nan",
    [ZD_STATS_N_FILL] = "n_fill",
    [ZD_STATS_FIELDS] = "count",
    NULL,
};

void zd_stats_release(struct zd_task *task)
{
    struct zd_stats *stats = ZD_CONTAINER(task, struct zd_stats, read.task);
    zd_fetch_done(&stats->read.fetch);
    zd_slice_read_done(&stats->read);
    zd_buf_unref(stats->room);
    zd_free(stats);
}

/* The elements of the chunks that have arrived. */
void zd_stats_work(struct zd_task *task)
{
    struct zd_stats *stats = ZD_CONTAINER(task, struct zd_stats, read.task);
    for (uint32_t i = 0; i < stats->read.fetch.n_asked; i++) {
        uint64_t n_elements;
        const uint8_t *elements =
            zd_fetch_elements(&stats->read.fetch, i, stats->room->data, &n_elements);
        if (elements == NULL) {
            zd_summary_add_fill(&stats->summary, n_elements);
        } else {
            zd_summary_add(&stats->summary, elements, n_elements);
        }
    }
}

struct zd_stats *zd_stats_new(struct zd_request *req, const struct zd_slice_read_kind *kind)
{
    struct zd_stats *stats = zd_alloc_zero(1, sizeof *stats);
    if (stats != NULL) {
        zd_slice_read_init(&stats->read, req, kind);
    }
    return stats;
}

static enum zd_status read_fields(struct zd_stats *stats, struct zd_error *err)
{
    struct zd_fields fields = {0};
    if (stats->read.ask.fields.len == 0) {
        stats->wants[ZD_STATS_MIN] = true;
        stats->wants[ZD_STATS_MAX] = true;
        return ZD_OK;
    }
    ZD_TRY(zd_fields_parse(stats->read.ask.fields, field_names, &fields, err));
    for (uint32_t i = 0; i < ZD_STATS_FIELDS; i++) {
        stats->wants[i] = zd_fields_match(&fields, field_names[i]) != ZD_FIELD_OUT;
    }
    stats->wants_count = zd_fields_match(&fields, field_names[ZD_STATS_FIELDS]) != ZD_FIELD_OUT;
    zd_fields_done(&fields);
    return ZD_OK;
}

static enum zd_status read_ask(struct zd_stats *stats, const char **ret_code, struct zd_error *err)
{
    ZD_TRY(zd_slice_params_query(&stats->read.ask, &stats->read.task.req->params, ret_code, err));
    ZD_TRY(read_fields(stats, err));
    return zd_slice_read_select(&stats->read, ret_code, err);
}

/* Whether every element that clients can see is selected, in whatever order; and there is one. */
static bool is_whole(const struct zd_stats *stats)
{
    const struct zd_meta *meta = stats->read.node->meta;
    uint64_t seen[ZD_RANK_MAX];
    zd_meta_shape(meta, seen);
    const uint64_t *shape = stats->read.ask.is_of_stored ? meta->grid.shape : seen;
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        if (stats->read.asked.axis[d].count == 0 || stats->read.asked.axis[d].count < shape[d]) {
            return false;
        }
    }
    return true;
}

/* The declared bounds of an array cover neither the fill value nor the number of elements. */
static bool is_declared(const struct zd_stats *stats)
{
    const struct zd_view *view = &stats->read.node->meta->view;
    const bool *wants = stats->wants;
    const bool wants_more = wants[ZD_STATS_MEAN] || wants[ZD_STATS_STD] || wants[ZD_STATS_N_NAN] ||
                            wants[ZD_STATS_N_FILL] || stats->wants_count;
    return view->min != NULL && view->max != NULL && !wants_more && !stats->read.ask.keeps_fill &&
           is_whole(stats);
}

static enum zd_status check_limit(const struct zd_stats *stats, struct zd_error *err)
{
    const uint64_t most = stats->read.node->dataset->server->config->settings.limits_stats_bytes;
    const struct zd_slice_view view = zd_slice_read_view(&stats->read);
    const uint64_t n = zd_slice_view_bytes(&view);
    if (n <= most) {
        return ZD_OK;
    }
    const enum zd_status status =
        zd_fail(err, ZD_TOO_LARGE, "the selection has %llu bytes; limits.stats_bytes is %llu",
            (unsigned long long)n, (unsigned long long)most);
    zd_fact_limit(err, most, n);
    return status;
}

enum zd_status zd_stats_plan(struct zd_stats *stats, const char **ret_code, struct zd_error *err)
{
    const struct zd_meta *meta = stats->read.node->meta;
    *ret_code = "unsupported_data_type";
    if (!zd_dtype_is_ordered(&meta->dtype)) {
        return zd_fail(
            err, ZD_UNSUPPORTED, "statistics are not available for %s", meta->dtype.name);
    }
    ZD_TRY(read_ask(stats, ret_code, err));
    *ret_code = NULL;
    stats->is_declared = is_declared(stats);
    return stats->is_declared ? ZD_OK : check_limit(stats, err);
}

static uint64_t n_parts_max(const struct zd_stats *stats)
{
    const struct zd_slice_view view = zd_slice_read_view(&stats->read);
    return zd_slice_view_chunks(&view);
}

/* What the tag needs of each stored object. */
static uint64_t touched_bytes(const struct zd_stats *stats)
{
    uint64_t n;
    if (zd_plan_overflows(&stats->read.node->layout->level[0].grid, &stats->read.selection, &n) ||
        ckd_mul(&n, n, (uint64_t)sizeof(struct zd_seen_object))) {
        return UINT64_MAX;
    }
    return n;
}

uint64_t zd_stats_held_bytes(const struct zd_stats *stats)
{
    const uint64_t chunk_bytes = zd_layout_leaf(stats->read.node->layout)->chunk_bytes;
    const uint64_t chunks =
        zd_fetch_held_bytes(stats->read.node, n_parts_max(stats), FLIGHT_BYTES_MAX) + chunk_bytes;
    uint64_t bytes;
    return ckd_add(&bytes, chunks, touched_bytes(stats)) ? UINT64_MAX : bytes;
}

enum zd_status zd_stats_take(struct zd_stats *stats, struct zd_error *err)
{
    struct zd_layout *layout = stats->read.node->layout;
    ZD_TRY(zd_seen_objects_init(&stats->read.seen, layout, &stats->read.selection, err));
    stats->room = zd_buf_new(zd_layout_leaf(layout)->chunk_bytes);
    return stats->room == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for a chunk's elements")
                               : ZD_OK;
}

static struct zd_summary_config summary_config(const struct zd_stats *stats)
{
    const struct zd_meta *meta = stats->read.node->meta;
    return (struct zd_summary_config){
        .dtype = meta->dtype,
        .fill = meta->fill,
        .keeps_fill = stats->read.ask.keeps_fill,
        .wants_moments = stats->wants[ZD_STATS_MEAN] || stats->wants[ZD_STATS_STD],
    };
}

enum zd_status zd_stats_begin(struct zd_stats *stats, struct zd_error *err)
{
    const struct zd_summary_config config = summary_config(stats);
    const uint64_t n_ns = ELEMENT_NS + (config.wants_moments ? MOMENTS_NS : 0);
    zd_summary_init(&stats->summary, &config);
    if (stats->read.fetch.n_part == 0) {
        ZD_TRY(zd_fetch_init(&stats->read.fetch, zd_task_gather(stats->read.task.req),
            stats->read.node, n_parts_max(stats), FLIGHT_BYTES_MAX, err));
    }
    stats->read.fetch.element_ns = n_ns;
    stats->read.fetch.seen = stats->read.is_tagless ? NULL : &stats->read.seen;
    zd_fetch_begin(&stats->read.fetch, &stats->read.selection);
    return ZD_OK;
}

void zd_stats_tag(const struct zd_stats *stats, char to[ZD_TAG_BYTES])
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, stats->read.node->tag);
    if (!stats->is_declared) {
        zd_seen_objects_hash(&stats->read.seen, &hash);
    }
    zd_selection_hash(&stats->read.selection, &stats->read.asked, &hash);
    uint64_t bits = zd_request_is_pretty(stats->read.task.req) ? 1 : 0;
    bits = bits << 1 | (stats->read.ask.keeps_fill ? 1 : 0);
    for (uint32_t i = 0; i < ZD_STATS_FIELDS; i++) {
        bits = bits << 1 | (stats->wants[i] ? 1 : 0);
    }
    zd_hash_add_u64(&hash, bits);
    zd_tag_format(to, hash.value, "stats");
}

/* An element as a number. A float has all its digits, so that it compares with the mean. */
static void emit_element(
    const struct zd_stats *stats, const void *element, uint64_t count, struct zd_emit *emit)
{
    const struct zd_dtype *dtype = &stats->read.node->meta->dtype;
    if (count == 0) {
        zd_emit_null(emit);
    } else if (dtype->kind == ZD_DTYPE_FLOAT) {
        zd_emit_f64(emit, zd_element_f64(dtype, element));
    } else if (dtype->kind == ZD_DTYPE_INT) {
        zd_emit_i64(emit, zd_element_i64(dtype, element));
    } else {
        zd_emit_u64(emit, zd_element_u64(dtype, element));
    }
}

static void emit_field(
    const struct zd_stats *stats, enum zd_stats_field field, struct zd_emit *emit)
{
    const struct zd_summary *summary = &stats->summary;
    const struct zd_view *view = &stats->read.node->meta->view;
    const uint64_t count = stats->is_declared ? 1 : summary->count;
    switch (field) {
    case ZD_STATS_MIN:
        emit_element(stats, stats->is_declared ? view->min : summary->min, count, emit);
        break;
    case ZD_STATS_MAX:
        emit_element(stats, stats->is_declared ? view->max : summary->max, count, emit);
        break;
    case ZD_STATS_MEAN:
    case ZD_STATS_STD:
        if (count == 0) {
            zd_emit_null(emit);
        } else {
            zd_emit_f64(
                emit, field == ZD_STATS_MEAN ? zd_summary_mean(summary) : zd_summary_std(summary));
        }
        break;
    case ZD_STATS_N_NAN:
        zd_emit_u64(emit, summary->n_nan);
        break;
    case ZD_STATS_N_FILL:
        zd_emit_u64(emit, summary->n_fill);
        break;
    case ZD_STATS_FIELDS:
        break;
    }
}

void zd_stats_emit(const struct zd_stats *stats, struct zd_emit *emit)
{
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(&stats->read.asked, shape);
    ZD_SCOPED_TEXT(selection, SELECTION_BYTES_MAX);
    zd_selection_add(&stats->read.asked, &selection);
    zd_emit_object(emit);
    zd_emit_key(emit, "shape");
    zd_node_json_emit_lengths(emit, shape, rank);
    zd_emit_member_text(emit, "selection", &selection);
    zd_emit_key(emit, "count");
    if (stats->is_declared) {
        zd_emit_null(emit);
    } else {
        zd_emit_u64(emit, stats->summary.count);
    }
    zd_emit_member_string(emit, "source", stats->is_declared ? "metadata" : "computed");
    for (uint32_t i = 0; i < ZD_STATS_FIELDS; i++) {
        if (stats->wants[i]) {
            zd_emit_key(emit, field_names[i]);
            emit_field(stats, (enum zd_stats_field)i, emit);
        }
    }
    zd_emit_object_end(emit);
}
