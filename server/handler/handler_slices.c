/* Slices: decoded hyperslabs, read and written; a body that is written is stored while it arrives.
 */
#include <string.h>

#include "server/describe/node_json.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"
#include "server/slice/slice.h"
#include "server/slice/slice_write.h"

#define SELECTION_BYTES_MAX 4096
#define ANSWER_BYTES_MAX    (16U << 10)

/* ---- reading ---- */

static zd_step step_read;
static zd_step step_band;
static zd_step step_given;

static void add_chunks(struct zd_slice *slice, uint64_t n, uint64_t n_absent)
{
    zd_text_addf(zd_headers_add(&slice->read.headers, "Zarr-Chunks"), "%llu/%llu",
        (unsigned long long)n, (unsigned long long)n_absent);
}

/* Nothing is read. Of chunks that are stored one by one it is known all the same which are absent.
 */
static void add_seen_chunks(struct zd_slice *slice)
{
    const struct zd_seen_objects *seen = &slice->read.seen;
    if (slice->read.node->layout->n_levels == 1 && !slice->is_range && seen->n_known == seen->n) {
        add_chunks(slice, seen->n, zd_seen_objects_absent(seen));
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
        /* Encoding starts at the beginning, so a range would save nothing. */
        ret_answer->accepts_ranges = !zd_slice_is_encoded(slice);
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
    add_seen_chunks(slice);
    if (describe(&slice->read, &answer, &err) != ZD_OK) {
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
    req->step = is_over ? step_respond : zd_slice_read_chunks;
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

static enum zd_next step_made(struct zd_request *req)
{
    const struct zd_slice *slice = req->state;
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

static enum zd_next step_prepare(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    if (zd_slice_prepare(slice, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    const bool needs_survey = asks_validators(req) || is_streamed_with_tag(slice);
    req->step = needs_survey ? zd_slice_read_survey : step_admit;
    return ZD_NEXT;
}

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_read_select(&slice->read, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    return zd_slice_plan(slice) ? zd_request_want_parent_groups(req, step_prepare) : ZD_DONE;
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

/* A node that cannot be sliced has no state. @return false: the request is answered */
static bool make_state(struct zd_request *req)
{
    if (!zd_multiscale_has(req->node->meta) && zd_request_check_array(req)) {
        return false;
    }
    if (zd_slice_new(req, &kind) == NULL) {
        zd_respond_no_memory(req, "the request");
        return false;
    }
    return true;
}

static enum zd_next step_plan_query(struct zd_request *req)
{
    if (!make_state(req)) {
        return ZD_DONE;
    }
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_params_query(&zd_slice_read_of(req)->ask, &req->params, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    return zd_slice_read_want_level(zd_slice_read_of(req));
}

static enum zd_next step_read_body(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_params_body(&zd_slice_read_of(req)->ask, req->json, &code, &err) != ZD_OK) {
        return zd_body_refuse(req, ZD_BODY_JSON, code, &err);
    }
    zd_json_unref(ZD_TAKE(req->json)); /* not to be held while the request waits for memory */
    return zd_slice_read_want_level(zd_slice_read_of(req));
}

static enum zd_next step_plan_body(struct zd_request *req)
{
    if (!make_state(req)) {
        return ZD_DONE;
    }
    return zd_body_want_json(req, ZD_BODY_JSON, step_read_body);
}

/* ---- writing ---- */

/* Where the elements went, and what the array is now. */
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
    ZD_SCOPED_TEXT(text, ANSWER_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_node_json_emit_counts(&write->counts, &emit);
    if (write->ask.has_append) {
        emit_append(write, &emit);
    }
    zd_emit_object_end(&emit);
    zd_slice_write_tag(write, answer.etag);
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
    if (format == NULL || !zd_body_is_plain(req)) {
        return ZD_DONE;
    }
    struct zd_slice_write *write = zd_slice_write_new(req, format, step_respond_write);
    if (write == NULL) {
        return ZD_DONE;
    }
    if (read_query(&req->params, &write->ask, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    req->step = zd_slice_write_step;
    return ZD_NEXT;
}

static const struct zd_route routes[] = {
    {.method = "PUT",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_put,
        .params = zd_slice_params_of_writes,
        .scope = ZD_SCOPE_WRITE,
        .streams_body = true},
    {.method = "GET",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_plan_query,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .params = zd_slice_params_of_slices},
    {.method = "POST",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_plan_body,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_slices = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
