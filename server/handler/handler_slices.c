/* Slices: decoded hyperslabs, read and written; a body that is written is stored while it arrives.
 */
#include <string.h>

#include "server/describe/node_json.h"
#include "server/request/admit.h"
#include "server/request/access/audit.h"
#include "server/request/body.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/slice/read_ahead.h"
#include "server/slice/slice_estimate.h"
#include "server/slice/slice_set.h"
#include "server/slice/slice_write.h"

#define SELECTION_BYTES_MAX 4096
#define ANSWER_BYTES_MAX    (16U << 10)

/* ---- reading ---- */

static zd_step step_read;
static zd_step step_band;
static zd_step step_given;
static zd_step step_plan_again;
static zd_step step_part;
static zd_step step_prepare;
static const struct zd_slice_read_kind kind_of_sets;

static void add_chunks(struct zd_slice *slice, uint64_t n, uint64_t n_absent)
{
    zd_text_addf(zd_headers_add(&slice->read.headers, "Zarr-Chunks"), "%llu/%llu",
        (unsigned long long)n, (unsigned long long)n_absent);
}

/* Which chunks are absent may be known without reading them. */
static void add_seen_chunks(struct zd_slice *slice)
{
    uint64_t n;
    uint64_t n_absent;
    if (!slice->is_range && zd_slice_estimate_count(&slice->read, &n, &n_absent)) {
        add_chunks(slice, n, n_absent);
    }
}

static enum zd_status describe(
    struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err)
{
    const struct zd_request *req = read->task.req;
    struct zd_slice *slice = req->state;
    *ret_answer = (struct zd_representation){
        .media_type = slice->format->media_type,
        .length_is_known = slice->length_is_known,
        .length = slice->length,
    };
    if (strcmp(req->method, "POST") != 0 && !slice->read.is_tagless) {
        zd_slice_tag(slice, ret_answer->etag);
        /* Encoding starts at the beginning, so a range would save nothing. Only all times together
         * tell whether they are numbers. */
        ret_answer->accepts_ranges =
            !zd_slice_is_encoded(slice) && !zd_slice_result_may_leave_times(&slice->result);
    }
    if (req->is_head && zd_respond_condition(req, ret_answer) == ZD_OK) {
        add_seen_chunks(slice);
    }
    return zd_headers_give(&slice->read.headers, ret_answer, err);
}

static enum zd_next open_stream(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_representation answer;
    struct zd_error err = {0};
    if (slice->shared == NULL) {
        add_seen_chunks(slice);
    }
    if (slice->read.kind->describe(&slice->read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    answer.body_is_range = slice->is_range;
    answer.range_first = slice->range_first;
    answer.range_len = slice->range_len;
    return zd_respond_stream(req, &answer);
}

/* The tag is sent before the body, so it is made before anything is read. */
static bool is_streamed_with_tag(const struct zd_slice *slice)
{
    return zd_slice_is_large(slice) && strcmp(slice->read.task.req->method, "POST") != 0;
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_representation answer;
    struct zd_error err = {0};
    zd_read_ahead_note(req, slice->read.node, &slice->read.selection);
    if (slice->is_streamed) {
        return zd_request_end_stream(req);
    }
    if (zd_slice_has_grown(slice)) {
        zd_fetch_release(&slice->read.fetch);
        zd_seen_objects_forget(&slice->read.seen);
        req->step = is_streamed_with_tag(slice) ? zd_slice_read_survey : step_read;
        return ZD_NEXT;
    }
    if (!slice->is_range) {
        add_chunks(slice, slice->read.fetch.n_parts, slice->read.fetch.n_absent);
    }
    if (zd_slice_finish(slice, &err) != ZD_OK || describe(&slice->read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    answer.body = slice->body;
    answer.body_is_range = slice->is_range;
    answer.range_first = slice->range_first;
    return zd_respond(req, &answer);
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    if (slice->read.is_tagless) { /* no range of a body without a tag */
        zd_slice_uncut(slice);
    }
    if (zd_slice_begin(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    req->step = step_band;
    return ZD_NEXT;
}

/* Memory is admitted before it is allocated. */
static enum zd_next step_admit(struct zd_request *req)
{
    const struct zd_slice *slice = req->state;
    const uint64_t bytes = zd_slice_held_bytes(slice);
    return zd_slice_is_large(slice)
               ? zd_admit_want(req, zd_admit_stream_bytes(req, bytes), step_read)
               : zd_admit_want(req, bytes, step_read);
}

static enum zd_next step_band(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    bool is_over;
    if (slice->is_streamed && zd_request_want_room(req, zd_slice_room_bytes(slice)) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (zd_slice_next_band(slice, &is_over, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    req->step = !is_over ? zd_slice_read_chunks : slice->shared == NULL ? step_respond : step_part;
    return ZD_NEXT;
}

/* A band of a stream is complete: it is encoded piece by piece, or sent as it is. */
static enum zd_next step_give(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    if (!zd_slice_is_encoded(slice)) {
        return step_given(req);
    }
    if (zd_request_want_room(req, zd_slice_room_bytes(slice)) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (!zd_slice_next_piece(slice)) {
        req->step = step_band;
        return ZD_NEXT;
    }
    req->step = step_given;
    return zd_task_run(&slice->read.task, zd_slice_cost_ns(&slice->read));
}

/* The head goes out with the first bytes, so that earlier failures still have a status. */
static enum zd_next step_given(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    if (zd_slice_check_encoded(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (!zd_stream_is_open(&req->stream) && open_stream(req) == ZD_DONE) {
        return ZD_DONE;
    }
    if (zd_slice_give(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    req->step = zd_slice_is_encoded(slice) ? step_give : step_band;
    return ZD_NEXT;
}

/* ---- several arrays in one body ---- */

/* All slices of the body are made. */
static enum zd_next respond_set(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_representation answer;
    struct zd_error err = {0};
    if (slice->is_streamed) {
        return zd_request_end_stream(req);
    }
    if (zd_slice_set_describe(&slice->read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    answer.body = slice->body;
    return zd_respond(req, &answer);
}

/* To the next slice of the body. */
static enum zd_next step_next_part(struct zd_request *req)
{
    if (!zd_slice_set_next(req)) {
        return respond_set(req);
    }
    req->step = step_read;
    return ZD_NEXT;
}

/* A slice without elements still has its head and tail. */
static enum zd_next step_part(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    const bool is_given = slice->is_streamed && slice->answer.n_elements == 0;
    if (is_given && zd_request_want_room(req, zd_slice_room_bytes(slice)) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (zd_slice_finish(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (is_given && !zd_stream_is_open(&req->stream) && open_stream(req) == ZD_DONE) {
        return ZD_DONE;
    }
    if (is_given && zd_slice_give(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return step_next_part(req);
}

static enum zd_next step_read_set(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_slice_set_open(req, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    req->step = step_read;
    return ZD_NEXT;
}

static enum zd_next accept_set(struct zd_request *req, const struct zd_representation *answer)
{
    const struct zd_slice *slice = req->state;
    const uint64_t bytes = zd_slice_set_held_bytes(req);
    (void)answer; /* no range of a body that is encoded */
    return zd_admit_want(
        req, zd_slice_is_large(slice) ? zd_admit_stream_bytes(req, bytes) : bytes, step_read_set);
}

/* A response that has begun cannot begin again. */
static enum zd_status judge_restart(const struct zd_slice_read *read, struct zd_error *err)
{
    const struct zd_request *req = read->task.req;
    const struct zd_slice *slice = req->state;
    const bool is_sent = zd_stream_is_open(&req->stream);
    return is_sent || (slice->is_streamed && read->is_tagless)
               ? zd_fail(err, ZD_STORE, "a stored object was replaced while it was read")
               : ZD_OK;
}

/* An element cannot be expressed in the requested type. */
static enum zd_next refuse_element(struct zd_request *req)
{
    const struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    ZD_AUTO(zd_json) extra = zd_slice_result_failure(&slice->result, &err);
    const struct zd_problem problem = {.code = "not_representable", .err = &err, .extra = extra};
    return zd_respond_problem(req, &problem);
}

static enum zd_next step_made(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    if (slice->result.has_failed && slice->shared != NULL && zd_slice_set_leave_times(req)) {
        return zd_slice_set_again(req);
    }
    if (slice->result.has_failed && slice->shared == NULL && zd_slice_leave_times(slice)) {
        req->step = step_plan_again;
        return ZD_NEXT;
    }
    if (slice->result.has_failed) {
        return refuse_element(req);
    }
    req->step = slice->is_streamed ? step_give : step_band;
    return ZD_NEXT;
}

static enum zd_next apply_range(struct zd_request *req, const struct zd_representation *answer)
{
    struct zd_slice *slice = req->state;
    uint64_t first;
    uint64_t len;
    zd_slice_uncut(slice);
    if (answer->accepts_ranges) {
        switch (zd_request_range(req, slice->length, answer->etag, &first, &len)) {
        case ZD_RANGE_OUTSIDE:
            return zd_respond_range_outside(req, slice->length);
        case ZD_RANGE_PART:
            zd_slice_cut(slice, first, len);
            break;
        case ZD_RANGE_NONE:
            break;
        }
    }
    req->step = step_admit;
    return ZD_NEXT;
}

static bool asks_validators(const struct zd_request *req)
{
    const struct zd_conditions *sent = &req->conditions;
    return strcmp(req->method, "POST") != 0 && (req->is_head || zd_conditions_exist(sent) ||
                                                   sent->if_range != NULL || sent->range != NULL);
}

static enum zd_next want_price(struct zd_slice *slice)
{
    const struct zd_slice_estimate_terms terms = {
        .resource = "slices",
        .format = slice->format->name,
        .shape = slice->answer.shape,
        .rank = slice->answer.rank,
        .memory_bytes = zd_slice_held_bytes(slice),
        .answer_bytes = slice->length_is_known ? slice->length : ZD_SLICE_ESTIMATE_UNKNOWN,
        .encode_ns = zd_slice_expect_ns(slice),
    };
    return zd_slice_estimate_want(&slice->read, &terms);
}

static enum zd_next step_prepare(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    if (zd_slice_prepare(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (slice->read.ask.wants_plan) {
        return want_price(slice);
    }
    const bool needs_survey = asks_validators(req) || is_streamed_with_tag(slice);
    req->step = needs_survey ? zd_slice_read_survey : step_admit;
    return ZD_NEXT;
}

/* The memory that it was admitted for is still its own. */
static enum zd_next step_plan_again(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_read_select(&slice->read, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    req->step = step_prepare;
    return zd_slice_plan(slice);
}

static enum zd_next step_named(struct zd_request *req)
{
    const struct zd_slice *slice = req->state;
    const struct zd_wait *wait = &slice->columns->wait;
    if (wait->status != ZD_OK) {
        return zd_respond_error(req, NULL, &wait->err);
    }
    return zd_request_want_parent_groups(req, step_prepare);
}

/* Coordinates belong to elements that are counted from the array's origin. */
static enum zd_next step_alone(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    const struct zd_slice_params *ask = &slice->read.ask;
    return zd_slice_names_positions(slice) && !ask->is_of_stored && !ask->wants_plan
               ? zd_slice_want_columns(slice, step_named)
               : zd_request_want_parent_groups(req, step_prepare);
}

/* netcdf has the coordinates of an array unless they are not wanted, other formats if they are. */
static bool wants_coordinates(const struct zd_slice *slice)
{
    const struct zd_slice_params *ask = &slice->read.ask;
    return slice->format->takes_several && !ask->wants_plan &&
           (ask->has_coords ? ask->coords : slice->format->has_dimensions);
}

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    const char *code;
    if (!slice->is_selected && zd_slice_read_select(&slice->read, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    if (zd_slice_plan(slice) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (slice->shared != NULL) {
        return zd_slice_set_planned(req);
    }
    return wants_coordinates(slice) ? zd_slice_set_adopt(slice, &kind_of_sets, step_alone)
                                    : step_alone(req);
}

static const struct zd_slice_read_kind kind = {
    .work = zd_slice_work,
    .release = zd_slice_release,
    .cost_ns = zd_slice_cost_ns,
    .plan = step_plan,
    .begin = step_read,
    .worked = step_made,
    .describe = describe,
    .accept = apply_range,
    .restart = judge_restart,
};

static const struct zd_slice_read_kind kind_of_sets = {
    .work = zd_slice_work,
    .release = zd_slice_release,
    .cost_ns = zd_slice_cost_ns,
    .plan = step_plan,
    .begin = step_read,
    .worked = step_made,
    .describe = zd_slice_set_describe,
    .accept = accept_set,
    .restart = judge_restart,
    .again = zd_slice_set_again,
};

static bool names_arrays(const struct zd_request *req)
{
    struct zd_span value;
    return req->json != NULL ? zd_json_member(req->json, "arrays") != NULL
                             : zd_params_find(&req->params, "arrays", &value);
}

/* A node that cannot be sliced has no state. */
static enum zd_next make_state(struct zd_request *req)
{
    static const char detail[] = "arrays= selects arrays of a group, but this node is an array";
    const struct zd_meta *meta = req->node->meta;
    enum zd_next next = ZD_NEXT;
    if (names_arrays(req)) {
        next = zd_request_check_group(req, meta, detail);
    } else if (!zd_multiscale_has(meta)) {
        next = zd_request_check_array(req);
    }
    if (next == ZD_NEXT && zd_slice_new(req, &kind) == NULL) {
        next = zd_respond_no_memory(req, "the request");
    }
    return next;
}

/* A parameter that has a list of values is refused with it. */
static enum zd_next refuse_query(
    struct zd_request *req, const char *code, const struct zd_error *err)
{
    const char *const *allowed = zd_slice_params_allowed(err->facts.name);
    if (allowed == NULL || err->status != ZD_INVALID) {
        return zd_respond_error(req, code, err);
    }
    const struct zd_problem problem = {.code = code, .err = err, .allowed = allowed};
    return zd_respond_problem(req, &problem);
}

/* The parameters are read. */
static enum zd_next begin(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    if (slice->read.ask.has_arrays) {
        return zd_slice_set_begin(slice, &kind_of_sets);
    }
    zd_json_unref(ZD_TAKE(req->json)); /* not to be held while the request waits for memory */
    return zd_slice_read_want_level(&slice->read);
}

static enum zd_next step_plan_query(struct zd_request *req)
{
    if (make_state(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_params_query(&zd_slice_read_of(req)->ask, &req->params, &code, &err) != ZD_OK) {
        return refuse_query(req, code, &err);
    }
    return begin(req);
}

static enum zd_next step_read_body(struct zd_request *req)
{
    if (make_state(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_params_body(&zd_slice_read_of(req)->ask, req->json, &code, &err) != ZD_OK) {
        return zd_body_refuse(req, ZD_BODY_JSON, code, &err);
    }
    return begin(req);
}

static enum zd_next step_plan_body(struct zd_request *req)
{
    return zd_body_want_json(req, ZD_BODY_JSON, step_read_body);
}

/* ---- writing ---- */

/* Tells the range that the elements went to, and the new shape of the array. */
static void emit_append(const struct zd_slice_write *write, struct zd_emit *emit)
{
    uint64_t shape[ZD_RANK_MAX];
    ZD_SCOPED_TEXT(selection, SELECTION_BYTES_MAX);
    zd_meta_shape(write->node->meta, shape);
    zd_emit_key(emit, "shape");
    zd_node_json_emit_lengths(emit, shape, write->node->meta->grid.rank);
    if (zd_selection_add(&write->asked, &selection) == ZD_OK) {
        zd_emit_member_string(emit, "selection", selection.at);
    }
}

static enum zd_next step_respond_write(struct zd_request *req)
{
    const struct zd_slice_write *write = req->state;
    struct zd_representation answer = {0};
    zd_slice_write_tag(write, answer.etag);
    zd_audit_after(req, answer.etag);
    if (zd_permission_is_blind(req)) {
        return zd_respond_blind(req, 200);
    }
    ZD_SCOPED_TEXT(text, ANSWER_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_node_json_emit_counts(&write->counts, &emit);
    if (write->ask.has_append) {
        emit_append(write, &emit);
    }
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &answer);
}

static enum zd_status read_query(const struct zd_params *params, struct zd_slice_params *ask,
    const char **ret_code, struct zd_error *err)
{
    ZD_TRY(zd_slice_params_query(ask, params, ret_code, err));
    const char *rival = ask->is_broadcast ? "broadcast" : ask->has_slice ? "slice" : NULL;
    if (ask->has_append && rival != NULL) {
        return zd_fail_name(err, rival, "append and %s cannot be combined", rival);
    }
    return ZD_OK;
}

/* All checks that do not depend on the array. */
static enum zd_next step_put(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code = NULL;
    const struct zd_format *format = zd_slice_body_format(req);
    if (format == NULL || zd_body_check_plain(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_slice_write *write = zd_slice_write_new(req, format, step_respond_write);
    if (write == NULL) {
        return ZD_DONE;
    }
    if (read_query(&req->params, &write->ask, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    if (write->ask.has_shape && zd_permission_is_blind(req)) {
        return zd_permission_refuse_blind(req); /* it would tell whether the shape is guessed */
    }
    req->has_seen_store = true;
    req->step = zd_slice_write_step;
    return ZD_NEXT;
}

static const struct zd_route routes[] = {
    {.method = "PUT",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_put,
        .params = zd_slice_params_of_writes,
        .scope = ZD_SCOPE_WRITE,
        .shows_times = true,
        .streams_body = true},
    {.method = "GET",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_plan_query,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .shows_times = true,
        .params = zd_slice_params_of_slices,
        .repeats = zd_slice_params_repeated},
    {.method = "POST",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_plan_body,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .shows_times = true,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_slices = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
