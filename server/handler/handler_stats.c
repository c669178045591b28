/* Statistics of a selection: read from the document, or computed chunk by chunk. */
#include "core/base/num.h"
#include "server/describe/node_json.h"
#include "server/http/accept.h"
#include "server/http/fields.h"
#include "server/request/admit.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"
#include "server/slice/slice_estimate.h"

#define DOCUMENT_BYTES_MAX  (64U << 10)
#define MEDIA_TYPE          "application/json"
#define FLIGHT_BYTES_MAX    (UINT64_C(64) << 20) /* decoded chunks held at once */
#define SELECTION_BYTES_MAX 4096
#define ELEMENT_BYTES_MAX   64 /* of one as JSON */
#define ELEMENT_NS          2  /* of extremes */
#define MOMENTS_NS          4  /* of mean and spread, besides */

/* The fields, in the order of the answer; COUNT is always answered. */
enum field {
    MIN,
    MAX,
    MEAN,
    STD,
    N_NAN,
    N_FILL,
    COUNT,
};

static const char *const field_names[] = {
    [MIN] = "min",
    [MAX] = "max",
    [MEAN] = "mean",
    [STD] = "std",
    [N_NAN] = "n_nan",
    [N_FILL] = "n_fill",
    [COUNT] = "count",
    NULL,
};

struct stats {
    struct zd_slice_read read; /* first; the task counts the elements of one lot of chunks */
    bool wants[COUNT + 1];
    bool is_declared;    /* the array's own bounds answer: no chunk is read */
    struct zd_buf *room; /* for the elements of one part */
    struct zd_summary summary;
};

static struct stats *stats_of(const struct zd_request *req)
{
    return req->state;
}

static void release(struct zd_task *task)
{
    struct stats *stats = ZD_CONTAINER(task, struct stats, read.task);
    zd_fetch_done(&stats->read.fetch);
    zd_slice_read_done(&stats->read);
    zd_buf_unref(stats->room);
    zd_free(stats);
}

/* ---- the answer ---- */

/* The entity tag; every touched object is known, unless the statistics are declared. */
static void make_tag(const struct stats *stats, char to[ZD_TAG_BYTES])
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, stats->read.node->tag);
    if (!stats->is_declared) {
        zd_seen_objects_hash(&stats->read.seen, &hash);
    }
    zd_selection_hash(&stats->read.selection, &stats->read.asked, &hash);
    uint64_t bits = zd_request_is_pretty(stats->read.task.req) ? 1 : 0;
    bits = bits << 1 | (stats->read.ask.drops_fill ? 1 : 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        bits = bits << 1 | (stats->wants[i] ? 1 : 0);
    }
    zd_hash_add_u64(&hash, bits);
    zd_tag_format(to, hash.value, "stats");
}

/* The headers are borrowed until the answer is given. */
static enum zd_status describe(
    struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err)
{
    const struct zd_listing listing = zd_request_listing(read->task.req);
    *ret_answer = (struct zd_representation){.media_type = MEDIA_TYPE};
    if (!read->is_tagless) {
        make_tag(stats_of(read->task.req), ret_answer->etag);
    }
    zd_headers_done(&read->headers);
    zd_headers_init(&read->headers);
    zd_headers_add_warnings(&read->headers, &read->node->meta->faults, &listing);
    return zd_headers_give(&read->headers, ret_answer, err);
}

/* An element as a number, or a time. A float has all its digits, so that it compares with the mean.
 */
static void emit_element(const struct stats *stats, const void *element, struct zd_emit *emit)
{
    const struct zd_dtype *dtype = &stats->read.node->meta->dtype;
    if (zd_dtype_is_float(dtype)) {
        zd_emit_f64(emit, zd_element_f64(dtype, element));
    } else if (zd_dtype_is_ticks(dtype)) {
        ZD_SCOPED_TEXT(date, ELEMENT_BYTES_MAX);
        zd_scalar_add(dtype, element, &(struct zd_scalar_style){0}, &date);
        zd_emit_raw(emit, zd_text_span(&date));
    } else if (dtype->kind == ZD_DTYPE_INT) {
        zd_emit_i64(emit, zd_element_i64(dtype, element));
    } else {
        zd_emit_u64(emit, zd_element_u64(dtype, element));
    }
}

static void emit_field(const struct stats *stats, enum field field, struct zd_emit *emit)
{
    const struct zd_summary *summary = &stats->summary;
    const struct zd_view *view = &stats->read.node->meta->view;
    if (field == N_NAN) {
        zd_emit_u64(emit, summary->n_nan);
    } else if (field == N_FILL) {
        zd_emit_u64(emit, summary->n_fill);
    } else if (!stats->is_declared && summary->count == 0) {
        zd_emit_null(emit);
    } else if (field == MIN) {
        emit_element(stats, stats->is_declared ? view->min : summary->min, emit);
    } else if (field == MAX) {
        emit_element(stats, stats->is_declared ? view->max : summary->max, emit);
    } else {
        zd_emit_f64(emit, field == MEAN ? zd_summary_mean(summary) : zd_summary_std(summary));
    }
}

static void emit_stats(const struct stats *stats, struct zd_emit *emit)
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
    for (uint32_t i = 0; i < COUNT; i++) {
        if (stats->wants[i]) {
            zd_emit_key(emit, field_names[i]);
            emit_field(stats, (enum field)i, emit);
        }
    }
    zd_emit_object_end(emit);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct stats *stats = stats_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (describe(&stats->read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    emit_stats(stats, &emit);
    return zd_respond_text(req, &text, &answer);
}

/* ---- counting ---- */

/* The elements of the chunks that have arrived, a piece of work at a time. */
static void work(struct zd_task *task)
{
    struct stats *stats = ZD_CONTAINER(task, struct stats, read.task);
    uint32_t first;
    uint32_t end;
    task->job.has_more = zd_fetch_take_piece(&stats->read.fetch, &first, &end);
    for (uint32_t i = first; i < end; i++) {
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

static uint64_t cost_ns(const struct zd_slice_read *read)
{
    return read->fetch.copy_ns;
}

static uint64_t count_chunks(const struct stats *stats)
{
    const struct zd_slice_view view = zd_slice_read_view(&stats->read);
    return zd_slice_view_chunks(&view);
}

static uint64_t flight_bytes(const struct stats *stats)
{
    return zd_admit_flight_bytes(stats->read.task.req, FLIGHT_BYTES_MAX);
}

static enum zd_status begin(struct stats *stats, struct zd_error *err)
{
    struct zd_fetch *fetch = &stats->read.fetch;
    const struct zd_meta *meta = stats->read.node->meta;
    const struct zd_summary_config config = {
        .dtype = meta->dtype,
        .fill = meta->fill,
        .drops_fill = stats->read.ask.drops_fill,
        .wants_moments = stats->wants[MEAN] || stats->wants[STD],
    };
    zd_summary_init(&stats->summary, &config);
    if (fetch->n_part == 0) {
        ZD_TRY(zd_fetch_init(fetch, zd_task_gather(stats->read.task.req), stats->read.node,
            count_chunks(stats), flight_bytes(stats), err));
    }
    fetch->element_ns = ELEMENT_NS + (config.wants_moments ? MOMENTS_NS : 0);
    fetch->seen = stats->read.is_tagless ? NULL : &stats->read.seen;
    zd_fetch_begin(fetch, &stats->read.selection);
    return ZD_OK;
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_error err = {0};
    if (begin(stats_of(req), &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_slice_read_chunks(req);
}

/* Goes on where the client has no copy and wants the figures: else the answer needs none. */
static enum zd_next accept_conditions(
    struct zd_request *req, const struct zd_representation *answer)
{
    (void)answer;
    req->step = step_read;
    return ZD_NEXT;
}

/* ---- memory ---- */

/* Bounds the bytes that computing holds at the same time, and that the tag does. */
static uint64_t held_bytes(const struct stats *stats)
{
    const struct zd_layout *layout = stats->read.node->layout;
    const uint64_t chunk_bytes = zd_layout_leaf(layout)->chunk_bytes;
    uint64_t bytes =
        zd_fetch_held_bytes(stats->read.node, count_chunks(stats), flight_bytes(stats)) +
        chunk_bytes;
    uint64_t n;
    if (zd_plan_overflows(&layout->level[0].grid, &stats->read.selection, &n) ||
        ckd_mul(&n, n, (uint64_t)sizeof(struct zd_seen_object)) || ckd_add(&bytes, bytes, n)) {
        return UINT64_MAX;
    }
    return bytes;
}

static enum zd_status take_memory(struct stats *stats, struct zd_error *err)
{
    struct zd_layout *layout = stats->read.node->layout;
    ZD_TRY(zd_seen_objects_init(&stats->read.seen, layout, &stats->read.selection, err));
    stats->room = zd_buf_new(zd_layout_leaf(layout)->chunk_bytes);
    return stats->room == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for a chunk's elements")
                               : ZD_OK;
}

static enum zd_next step_take(struct zd_request *req)
{
    struct zd_error err = {0};
    if (take_memory(stats_of(req), &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_slice_read_tag(req, step_read);
}

static enum zd_next step_admit(struct zd_request *req)
{
    return zd_admit_want(req, held_bytes(stats_of(req)), step_take);
}

/* ---- the question ---- */

static enum zd_status read_fields(struct stats *stats, struct zd_error *err)
{
    struct zd_fields fields = {0};
    if (stats->read.ask.fields.len == 0) {
        stats->wants[MIN] = true;
        stats->wants[MAX] = true;
        return ZD_OK;
    }
    ZD_TRY(zd_fields_parse(stats->read.ask.fields, field_names, &fields, err));
    for (uint32_t i = 0; i <= COUNT; i++) {
        stats->wants[i] = zd_fields_match(&fields, field_names[i]) != ZD_FIELD_OUT;
    }
    zd_fields_done(&fields);
    return ZD_OK;
}

/* Whether every element that clients can see is selected, in whatever order; and there is one. */
static bool is_whole(const struct stats *stats)
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

/* The declared bounds of an array say nothing of the fill value: they hold for it, too, where it is
 * NaN or lies within. */
static bool bounds_hold(const struct stats *stats)
{
    const struct zd_meta *meta = stats->read.node->meta;
    const struct zd_view *view = &meta->view;
    if (view->min == NULL || view->max == NULL) {
        return false;
    }
    return stats->read.ask.drops_fill || zd_element_is_nan(&meta->dtype, meta->fill) ||
           (zd_element_compare(&meta->dtype, view->min, meta->fill) <= 0 &&
               zd_element_compare(&meta->dtype, meta->fill, view->max) <= 0);
}

/* Whether the bounds are all that is asked. */
static bool is_declared(const struct stats *stats)
{
    bool wants_more = false;
    for (uint32_t i = MEAN; i <= COUNT; i++) {
        wants_more |= stats->wants[i];
    }
    return bounds_hold(stats) && !wants_more && is_whole(stats);
}

static enum zd_status check_limit(const struct stats *stats, struct zd_error *err)
{
    const uint64_t most = stats->read.node->dataset->server->config->settings.limits_stats_bytes;
    const struct zd_slice_view view = zd_slice_read_view(&stats->read);
    const uint64_t n = zd_slice_view_bytes(&view);
    return n <= most ? ZD_OK
                     : zd_fail_limit(err, most, n,
                           "the selection has %llu bytes; limits.stats_bytes is %llu",
                           (unsigned long long)n, (unsigned long long)most);
}

/* Parse the query, and judge it against the array and the limits. */
static enum zd_status plan(struct stats *stats, const char **ret_code, struct zd_error *err)
{
    const struct zd_dtype *dtype = &stats->read.node->meta->dtype;
    *ret_code = "unsupported_data_type";
    if (!zd_dtype_is_ordered(dtype)) {
        return zd_fail(err, ZD_UNSUPPORTED, "statistics are not available for %s", dtype->name);
    }
    ZD_TRY(zd_slice_params_query(&stats->read.ask, &stats->read.task.req->params, ret_code, err));
    ZD_TRY(read_fields(stats, err));
    if (zd_dtype_is_ticks(dtype) && (stats->wants[MEAN] || stats->wants[STD])) {
        *ret_code = "unsupported_data_type";
        return zd_fail(err, ZD_UNSUPPORTED,
            "mean and std are not available for %s; min and max are", dtype->name);
    }
    ZD_TRY(zd_slice_read_select(&stats->read, ret_code, err));
    *ret_code = NULL;
    stats->is_declared = is_declared(stats);
    return stats->is_declared ? ZD_OK : check_limit(stats, err);
}

static enum zd_next want_price(struct stats *stats)
{
    const struct zd_slice_view view = zd_slice_read_view(&stats->read);
    const uint64_t n = zd_slice_view_bytes(&view) / stats->read.node->meta->dtype.bytes;
    const bool wants_moments = stats->wants[MEAN] || stats->wants[STD];
    const struct zd_slice_estimate_terms terms = {
        .resource = "stats",
        .memory_bytes = stats->is_declared ? 0 : held_bytes(stats),
        .answer_bytes = ZD_SLICE_ESTIMATE_UNKNOWN,
        .encode_ns = stats->is_declared ? 0 : n * (ELEMENT_NS + (wants_moments ? MOMENTS_NS : 0)),
        .reads_nothing = stats->is_declared,
    };
    return zd_slice_estimate_want(&stats->read, &terms);
}

static const struct zd_slice_read_kind kind = {
    .work = work,
    .release = release,
    .cost_ns = cost_ns,
    .begin = step_read,
    .worked = step_respond,
    .describe = describe,
    .accept = accept_conditions,
};

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code;
    if (zd_request_check_array(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct stats *stats = zd_alloc_zero(1, sizeof *stats);
    if (stats == NULL) {
        return zd_respond_no_memory(req, "the request");
    }
    zd_slice_read_init(&stats->read, req, &kind);
    if (plan(stats, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    if (stats->read.ask.wants_plan) {
        return want_price(stats);
    }
    return zd_request_want_parent_groups(req, stats->is_declared ? step_respond : step_admit);
}

static enum zd_next step_get(struct zd_request *req)
{
    static const char *const allowed[] = {MEDIA_TYPE, NULL};
    if (zd_accept_quality(zd_dependence_accept(req), MEDIA_TYPE) == 0) {
        const struct zd_problem problem = {.code = "not_acceptable",
            .detail = "statistics are available as JSON only",
            .allowed = allowed};
        return zd_respond_problem(req, &problem);
    }
    return zd_request_want_node(req, step_plan);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/stats/{path}",
        .first = step_get,
        .scope = ZD_SCOPE_READ,
        .params = zd_slice_params_of_stats},
};

const struct zd_handler zd_handler_stats = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
