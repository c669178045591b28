/* Plan a slice: the result, the format, and the limits. */
#include <string.h>

#include "core/base/num.h"
#include "server/request/dependence.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"
#include "server/slice/slice.h"

#define FORMATS_MAX     32
#define COLUMN_BYTES    sizeof(uint64_t) /* of each coordinate of a row, for limits */
#define SHAPE_BYTES_MAX 1024             /* 32 numbers of 20 digits */

static uint64_t bytes_max_of(const struct zd_slice *slice)
{
    return slice->read.node->dataset->server->config->settings.limits_slice_bytes;
}

static enum zd_format_layout layout_of(const struct zd_slice_params *ask)
{
    return ask->is_table ? ZD_LAYOUT_TABLE : ZD_LAYOUT_ARRAY;
}

/* The allowed formats are listed by name to clients that used a name, else by media type. */
static enum zd_next refuse_format(struct zd_request *req, const struct zd_slice_params *ask,
    const struct zd_dtype *dtype, uint32_t rank, const uint64_t *shape)
{
    const bool by_name = ask->has_format;
    const char *as_what = ask->is_table ? " as a table" : "";
    const char *allowed[FORMATS_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; zd_formats[i] != NULL && n < FORMATS_MAX; i++) {
        const struct zd_format *format = zd_format_in(zd_formats[i], layout_of(ask));
        if (format != NULL && zd_format_accepts(format, dtype, rank, shape)) {
            allowed[n++] = by_name ? format->name : format->media_type;
        }
    }
    allowed[n] = NULL;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(lengths, SHAPE_BYTES_MAX);
    zd_format_add_lengths(&lengths, shape, rank);
    err.status = by_name ? zd_fail(&err, ZD_UNSUPPORTED,
                               "format \"%s\" is not available for %s of shape (%s)%s",
                               ask->format.at, dtype->name, lengths.at, as_what)
                         : zd_fail(&err, ZD_UNSUPPORTED,
                               "no format in Accept is available for %s of shape (%s)%s",
                               dtype->name, lengths.at, as_what);
    const struct zd_problem problem = {.code = "not_acceptable", .err = &err, .allowed = allowed};
    return zd_respond_problem(req, &problem);
}

/* A row has more than its element. */
static enum zd_next check_table(struct zd_slice *slice, uint32_t rank)
{
    const struct zd_slice_view view = zd_slice_read_view(&slice->read);
    const uint64_t bytes_max = bytes_max_of(slice);
    const uint64_t element = slice->result.dtype.bytes;
    const uint64_t row = element + rank * COLUMN_BYTES;
    const uint64_t n_rows = zd_slice_result_bytes(&slice->result) / element;
    struct zd_error err = {0};
    if (!slice->format->is_table || n_rows <= bytes_max / row) {
        return ZD_NEXT;
    }
    err.status = zd_fail_limit(&err, bytes_max, n_rows * row,
        "the table has %llu rows of %llu bytes each; limits.slice_bytes is %llu",
        (unsigned long long)n_rows, (unsigned long long)row, (unsigned long long)bytes_max);
    return zd_slice_view_refuse(
        &view, bytes_max / row * slice->read.node->meta->dtype.bytes, &err, slice->read.task.req);
}

static enum zd_next check_header(struct zd_slice *slice, uint32_t rank, const uint64_t *shape)
{
    struct zd_error err = {0};
    if (!slice->read.ask.header || slice->format->is_table || rank < 2 ||
        shape[1] <= ZD_HEADER_COLUMNS_MAX) {
        return ZD_NEXT;
    }
    err.status = zd_fail_limit(&err, ZD_HEADER_COLUMNS_MAX, shape[1],
        "the header line would have %llu names; at most %u are allowed",
        (unsigned long long)shape[1], ZD_HEADER_COLUMNS_MAX);
    zd_fact_name(&err, "header");
    return zd_respond_error(slice->read.task.req, "bad_parameter", &err);
}

/* A parameter that has a list of values is refused with it. */
static enum zd_next refuse_result(
    struct zd_slice *slice, const char *code, const struct zd_error *err)
{
    const char *dimension[ZD_RANK_MAX + 1];
    const bool is_list =
        strcmp(err->facts.name, "over") == 0 || strcmp(err->facts.name, "coarsen") == 0;
    zd_slice_blocks_dimensions(slice->read.node->meta, &slice->read.selection, dimension);
    const struct zd_problem problem = {
        .code = code,
        .err = err,
        .allowed = is_list ? dimension : zd_slice_params_allowed(err->facts.name),
    };
    return zd_respond_problem(slice->read.task.req, &problem);
}

/* Check the read and the answered elements where several become one. */
static enum zd_next check_joined(struct zd_slice *slice)
{
    const struct zd_slice_view view = zd_slice_read_view(&slice->read);
    const struct zd_settings *settings = &slice->read.node->dataset->server->config->settings;
    const uint64_t n_read = zd_slice_view_bytes(&view);
    const uint64_t n = zd_slice_result_bytes(&slice->result);
    const bool reads_much = n_read > settings->limits_stats_bytes;
    const uint64_t most = reads_much ? settings->limits_stats_bytes : settings->limits_slice_bytes;
    struct zd_error err = {0};
    if (zd_slice_view_check(&view, UINT64_MAX, "limits.stats_bytes", &err) != ZD_OK) {
        return zd_respond_error(slice->read.task.req, "too_large", &err);
    }
    if (reads_much || n > most) {
        err.status = zd_fail_limit(&err, most, reads_much ? n_read : n,
            "the %s %llu bytes; limits.%s is %llu",
            reads_much ? "selected elements have" : "answer has",
            (unsigned long long)(reads_much ? n_read : n),
            reads_much ? "stats_bytes" : "slice_bytes", (unsigned long long)most);
        return zd_respond_error(slice->read.task.req, "too_large", &err);
    }
    return ZD_NEXT;
}

/* Check the limits of reading and of answering. */
static enum zd_next check_limits(struct zd_slice *slice)
{
    struct zd_request *req = slice->read.task.req;
    const struct zd_slice_view view = zd_slice_read_view(&slice->read);
    const uint64_t bytes_max = bytes_max_of(slice);
    const uint64_t n_read = zd_slice_view_bytes(&view);
    const uint64_t n = zd_slice_result_bytes(&slice->result);
    struct zd_error err = {0};
    if (zd_slice_view_check(&view, bytes_max, "limits.slice_bytes", &err) != ZD_OK) {
        return zd_slice_view_refuse(&view, bytes_max, &err, req);
    }
    if (n > bytes_max) {
        err.status = zd_fail_limit(&err, bytes_max, n,
            "the answer has %llu bytes; limits.slice_bytes is %llu", (unsigned long long)n,
            (unsigned long long)bytes_max);
        /* Elements of the answer are longer than those that are read. */
        return zd_slice_view_refuse(&view, (uint64_t)((zd_u128)bytes_max * n_read / n), &err, req);
    }
    return ZD_NEXT;
}

enum zd_next zd_slice_plan(struct zd_slice *slice)
{
    struct zd_request *req = slice->read.task.req;
    const struct zd_slice_params *ask = &slice->read.ask;
    const struct zd_dtype *dtype = &slice->result.dtype;
    uint64_t shape[ZD_RANK_MAX];
    struct zd_error err = {0};
    const char *code;
    const struct zd_slice_result_terms terms = {
        .node = slice->read.node,
        .ask = ask,
        .asked = &slice->read.asked,
        .stored = &slice->read.selection,
    };
    if (zd_slice_result_plan(&slice->result, &terms, &code, &err) != ZD_OK) {
        return refuse_result(slice, code, &err);
    }
    slice->selected = slice->read.selection;
    slice->read.selection = slice->result.blocks.stored;
    if (slice->shared != NULL) { /* one format, and one limit of all */
        return ZD_NEXT;
    }
    const uint32_t rank = zd_slice_result_shape(&slice->result, shape);
    slice->format = zd_format_choose(ask->has_format ? &ask->format : NULL,
        ask->has_format ? NULL : zd_dependence_accept(req), layout_of(ask), dtype, rank, shape);
    if (slice->format == NULL) {
        return refuse_format(req, ask, dtype, rank, shape);
    }
    if (zd_slice_params_check_shape(ask, "slice", shape, rank, &err) != ZD_OK) {
        return zd_respond_error(req, "shape_mismatch", &err);
    }
    const bool is_joined = zd_slice_result_joins(&slice->result);
    if ((is_joined ? check_joined(slice) : check_limits(slice)) != ZD_NEXT ||
        check_table(slice, rank) != ZD_NEXT) {
        return ZD_DONE;
    }
    return check_header(slice, rank, shape);
}

bool zd_slice_names_positions(const struct zd_slice *slice)
{
    const struct zd_slice_params *ask = &slice->read.ask;
    return slice->format->is_table || (ask->has_header && ask->header);
}

enum zd_next zd_slice_want_columns(struct zd_slice *slice, zd_step *next)
{
    struct zd_request *req = slice->read.task.req;
    slice->columns = zd_alloc_zero(1, sizeof *slice->columns);
    if (slice->columns == NULL) {
        return zd_respond_no_memory(req, "the columns of a table");
    }
    zd_slice_prepare_answer(slice, zd_node_name(slice->read.node));
    slice->columns->wait = zd_machine_wait(&req->machine);
    slice->columns->req = req;
    slice->columns->node = slice->read.node;
    req->step = next;
    return zd_slice_columns_want(slice->columns, &slice->answer);
}

/* Name the positions of each dimension, for formats that show them. */
static enum zd_status make_columns(struct zd_slice *slice, struct zd_error *err)
{
    const struct zd_slice_params *ask = &slice->read.ask;
    struct zd_answer *answer = &slice->answer;
    answer->has_header = ask->has_header ? ask->header : slice->format->is_table;
    if (!zd_slice_names_positions(slice)) {
        return ZD_OK;
    }
    slice->column = zd_alloc_zero(zd_max_u64(answer->rank, 1), sizeof *slice->column);
    if (slice->column == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the columns of a table");
    }
    zd_slice_columns_make(slice->columns, answer, slice->column);
    answer->column = slice->column;
    return ZD_OK;
}

bool zd_slice_leave_times(struct zd_slice *slice)
{
    struct zd_slice_read *read = &slice->read;
    if (!slice->result.is_beyond || zd_stream_is_open(&read->task.req->stream)) {
        return false;
    }
    read->ask.leaves_times = true;
    read->selection = slice->selected;
    zd_fetch_release(&read->fetch);
    zd_seen_objects_done(&read->seen);
    zd_headers_cut(&read->headers, slice->n_headers);
    zd_format_close(slice->format, &slice->answer);
    zd_buf_unref(ZD_TAKE(slice->elements));
    zd_buf_unref(ZD_TAKE(slice->body));
    zd_free(ZD_TAKE(slice->column));
    slice->is_encoding = false;
    return true;
}

void zd_slice_prepare_answer(struct zd_slice *slice, const char *name)
{
    zd_slice_result_answer(&slice->result, &slice->answer);
    slice->answer.style = slice->read.ask.style;
    slice->answer.pretty = zd_request_is_pretty(slice->read.task.req);
    slice->answer.name = name;
    slice->end = slice->answer.n_elements;
}

void zd_slice_add_headers(struct zd_slice *slice)
{
    struct zd_headers *headers = &slice->read.headers;
    const struct zd_listing listing = zd_request_listing(slice->read.task.req);
    zd_headers_add_elements(headers, &slice->answer.dtype, slice->answer.rank, slice->answer.shape);
    zd_headers_add_file(headers, slice->answer.name, slice->format->extension);
    zd_headers_add_slice(headers, &slice->answer, &listing);
}

enum zd_status zd_slice_prepare(struct zd_slice *slice, struct zd_error *err)
{
    slice->n_headers = slice->read.headers.n;
    zd_slice_prepare_answer(slice, zd_node_name(slice->read.node));
    ZD_TRY(make_columns(slice, err));
    slice->length_is_known =
        slice->format->size != NULL && slice->format->size(&slice->answer, &slice->length);
    if (!zd_slice_is_encoded(slice)) {
        assert(slice->length_is_known); /* the limits were checked */
        slice->head_bytes = slice->length - slice->answer.n_elements * slice->answer.dtype.bytes;
    }
    zd_slice_add_headers(slice);
    return zd_seen_objects_init(
        &slice->read.seen, slice->read.node->layout, &slice->read.selection, err);
}

void zd_slice_tag(const struct zd_slice *slice, char to[ZD_TAG_BYTES])
{
    struct zd_slice_view view = zd_slice_read_view(&slice->read);
    view.result = slice->result.hash;
    if (slice->columns != NULL) {
        struct zd_hash hash = {.value = view.result};
        zd_hash_add_u64(&hash, slice->columns->tag);
        view.result = hash.value;
    }
    const struct zd_slice_form form = {
        .format = slice->format,
        .style = slice->answer.style,
        .pretty = slice->answer.pretty,
        .has_header = slice->answer.has_header,
        .is_table = slice->format->is_table,
    };
    zd_slice_view_tag(&view, &form, to);
}
