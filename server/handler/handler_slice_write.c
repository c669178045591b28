/* Writing slices (api.md 3.5): the body comes while it is stored. */
#include <string.h>

#include "core/base/num.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/describe/edit_json.h"
#include "server/request/handler.h"
#include "server/request/node_check.h"
#include "server/runtime/server.h"
#include "server/slice/slice_append.h"
#include "server/slice/slice_commit.h"
#include "server/request/connection.h"
#include "server/slice/slice_suggest.h"

#define SELECTION_BYTES_MAX 4096
#define ANSWER_BYTES_MAX    (16U << 10)

static zd_step step_lock_array;
static zd_step step_plan;
static zd_step step_append;
static zd_step step_measure;
static zd_step step_grown;
static zd_step step_survey;
static zd_step step_admit;
static zd_step step_begin;
static zd_step step_lock;
static zd_step step_ask;
static zd_step step_head;
static zd_step step_band;
static zd_step step_fill;
static zd_step step_cut;
static zd_step step_stage;
static zd_step step_end;
static zd_step step_commit;
static zd_step step_respond;

static struct zd_slice_write *write_of(const struct zd_request *req)
{
    return req->state;
}

static void leave(struct zd_request *req)
{
    zd_slice_write_leave(write_of(req));
}

/* Others go on at once, though the client may still be sending. */
static enum zd_next fail(struct zd_request *req, const char *code, const struct zd_error *err)
{
    zd_slice_write_abort(write_of(req));
    const bool is_corrupt = code == NULL && err->status == ZD_CORRUPT;
    return zd_respond_error(req, is_corrupt ? "corrupt_chunk" : code, err);
}

static enum zd_next fail_body(struct zd_request *req, const struct zd_error *err)
{
    return fail(req, err->status == ZD_INVALID ? "bad_body" : NULL, err);
}

/* ---- what is asked ---- */

static enum zd_next respond_type(struct zd_request *req, const char *content_type)
{
    const char *allowed[ZD_SLICE_BODY_TYPES_MAX];
    struct zd_error err = {0};
    zd_slice_body_types(allowed);
    err.status = zd_fail(
        &err, ZD_UNSUPPORTED, "elements cannot be read from a body of the type %s", content_type);
    zd_fact_found(&err, "%s", content_type);
    const struct zd_problem problem = {
        .code = "unsupported_media_type", .err = &err, .allowed = allowed};
    return zd_respond_problem(req, &problem);
}

static enum zd_status read_query(
    struct zd_slice_write *write, const char **ret_code, struct zd_error *err)
{
    const struct zd_slice_params *ask = &write->ask;
    ZD_TRY(zd_slice_params_query(&write->ask, &write->req->params, ret_code, err));
    write->is_broadcast = ask->is_broadcast;
    write->is_dry = ask->is_dry;
    write->append.is_asked = ask->has_append;
    const char *rival = ask->is_broadcast ? "broadcast" : ask->has_slice ? "slice" : NULL;
    if (ask->has_append && rival != NULL) {
        const enum zd_status told =
            zd_fail(err, ZD_INVALID, "append and %s cannot be combined", rival);
        zd_fact_name(err, rival);
        return told;
    }
    return ZD_OK;
}

static void lock_arrived(struct zd_wait *wait)
{
    struct zd_slice_write *write = ZD_CONTAINER(wait, struct zd_slice_write, lock.wait);
    zd_request_go_on(write->req);
}

/* What does not depend on the array. */
static enum zd_next step_put(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code = NULL;
    const char *content_type = zd_connection_header(req, "Content-Type");
    if (zd_slice_body_format(content_type) == NULL) {
        return respond_type(req, content_type);
    }
    if (!zd_body_is_plain(req)) {
        return ZD_DONE;
    }
    struct zd_slice_write *write = zd_slice_write_new(req);
    if (write == NULL) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory for the request");
        return zd_respond_error(req, NULL, &err);
    }
    req->state = write;
    req->state_free = leave;
    if (read_query(write, &code, &err) != ZD_OK) {
        return fail(req, code, &err);
    }
    return step_lock_array(req);
}

/* From then on nobody else may change what it is. */
static enum zd_next step_lock_array(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    write->lock.wait.done = lock_arrived;
    req->step = step_plan;
    return zd_node_lock_want(req->dataset, write->append.is_asked ? ZD_LOCK_APPEND : ZD_LOCK_CHUNKS,
        req->path, &write->lock);
}

/* ---- what that means for the array: everything that can be refused is refused here ---- */

static struct zd_slice_limits_whole whole_of(const struct zd_slice_write *write)
{
    const struct zd_settings *settings = &write->req->server->config->settings;
    return (struct zd_slice_limits_whole){
        .node = write->node,
        .selection = &write->selection,
        .is_of_stored = write->ask.is_of_stored,
        .bytes_max = write->is_broadcast ? UINT64_MAX : settings->limits_upload_bytes,
        .setting = "limits.upload_bytes",
    };
}

/* Pieces that can be held as a whole can be written. */
static enum zd_next respond_too_large(struct zd_request *req, const struct zd_error *err)
{
    const struct zd_settings *settings = &req->server->config->settings;
    struct zd_slice_limits_whole whole = whole_of(write_of(req));
    whole.bytes_max = zd_min_u64(settings->limits_write_bytes, settings->limits_upload_bytes);
    const enum zd_next next = zd_slice_suggest_respond(&whole, err, req);
    zd_slice_write_abort(write_of(req));
    return next;
}

/* The elements are selected: what writing them takes. */
static enum zd_status judge(
    struct zd_slice_write *write, const char **ret_code, struct zd_error *err)
{
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(&write->asked, shape);
    const struct zd_slice_limits_whole whole = whole_of(write);
    *ret_code = "too_large";
    ZD_TRY(zd_slice_limits_check(&whole, err));
    *ret_code = "bad_body";
    zd_slice_body_expect(&write->body, rank, shape, write->is_broadcast);
    ZD_TRY(zd_slice_body_check_length(&write->body, err));
    *ret_code = "too_large";
    zd_written_init(&write->written, write->node->meta);
    return zd_slice_write_plan(write, err);
}

static enum zd_status select_elements(
    struct zd_slice_write *write, const char **ret_code, struct zd_error *err)
{
    uint64_t shape[ZD_RANK_MAX];
    ZD_TRY(zd_slice_params_select(
        &write->ask, write->node->meta, &write->asked, &write->selection, ret_code, err));
    const uint32_t rank = zd_selection_shape(&write->asked, shape);
    *ret_code = "shape_mismatch";
    ZD_TRY(zd_slice_params_check_shape(&write->ask, "slice", shape, rank, err));
    return judge(write, ret_code, err);
}

static enum zd_next refuse(struct zd_request *req, const char *code, const struct zd_error *err)
{
    return strcmp(code, "too_large") == 0 && err->status == ZD_TOO_LARGE
               ? respond_too_large(req, err)
               : fail(req, code, err);
}

/* What was measured of a body, before memory was awaited, is true of arrays that take it. */
static enum zd_status take_node(struct zd_request *req, struct zd_error *err)
{
    struct zd_slice_write *write = write_of(req);
    ZD_AUTO(zd_node) before = write->node;
    write->node = zd_node_ref(zd_request_node(req));
    const struct zd_meta *meta = write->node->meta;
    if (!write->body.has_head) {
        zd_slice_body_init(&write->body, req,
            zd_slice_body_format(zd_connection_header(req, "Content-Type")), &meta->dtype);
        return ZD_OK;
    }
    write->body.dtype = &meta->dtype;
    return zd_meta_takes_chunks(meta, before->meta)
               ? ZD_OK
               : zd_fail(err, ZD_PRECONDITION,
                     "the array is another one than it was when the slice began to come");
}

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_error err = {0};
    const char *code = NULL;
    if (zd_node_check_locked(req, &write->lock)) {
        zd_slice_write_abort(write);
        return ZD_DONE;
    }
    if (take_node(req, &err) != ZD_OK) {
        return fail(req, "shape_mismatch", &err);
    }
    if (write->append.is_asked) {
        req->step = step_append;
        return ZD_NEXT;
    }
    if (select_elements(write, &code, &err) != ZD_OK) {
        return refuse(req, code, &err);
    }
    write->is_conditional = zd_request_is_conditional(req);
    req->step = step_admit;
    return ZD_NEXT;
}

/* ---- append: the elements follow those that are there ---- */

static enum zd_next step_append(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_error err = {0};
    const char *code = NULL;
    if (zd_slice_append_begin(write, write->ask.append, &code, &err) != ZD_OK) {
        return fail(req, code, &err);
    }
    /* What is appended is not there yet, so that it has no tag. */
    if (zd_tag_judge_write(&req->conditions, NULL, 0) != ZD_OK) {
        zd_slice_write_abort(write);
        return zd_respond_precondition(req, "");
    }
    const uint64_t most = req->server->config->settings.limits_body_bytes;
    if (zd_slice_body_is_measured_late(&write->body) && !req->upload.is_asked &&
        zd_upload_ask(req, zd_min_u64(zd_slice_write_window_bytes(write), most), &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    req->step = step_measure;
    return ZD_NEXT;
}

static void change_told(struct zd_wait *wait)
{
    struct zd_slice_write *write = ZD_CONTAINER(wait, struct zd_slice_write, append.change.wait);
    zd_request_go_on(write->req);
}

static enum zd_next step_measure(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_metadata_want *change = &write->append.change;
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_slice_body_measure(&write->body, write->append.dim, &next, &err) != ZD_OK) {
        return fail_body(req, &err);
    }
    if (next == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (zd_slice_body_is_measured_late(&write->body) && !write->body.has_head) {
        return ZD_NEXT;
    }
    *change = (struct zd_metadata_want){.wait.done = change_told};
    req->step = step_grown;
    next = zd_slice_append_ask(write, change, &err);
    return next == ZD_DONE ? fail(req, NULL, &err) : next;
}

static enum zd_next step_grown(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_metadata_want *change = &write->append.change;
    struct zd_error err = change->wait.err;
    const char *code = NULL;
    if (change->wait.status != ZD_OK) {
        const char *known =
            change->wait.status == ZD_PRECONDITION ? "shape_mismatch" : change->code;
        err.status = change->wait.status;
        return fail(req, known, &err);
    }
    if (zd_slice_append_select(write, change->meta, &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    zd_metadata_release(change);
    write->append.is_asked = write->append.count > 0; /* of nothing, nothing grows */
    if (judge(write, &code, &err) != ZD_OK) {
        return refuse(req, code, &err);
    }
    req->step = step_admit;
    return ZD_NEXT;
}

/* ---- memory ---- */

static enum zd_next step_admit(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    const uint64_t bytes = zd_admit_stream_bytes(req, zd_slice_write_held_bytes(write));
    const enum zd_next next = zd_admit_want_locked(
        req, bytes, write->is_conditional ? step_survey : step_begin, step_lock_array);
    if (next != ZD_NEXT) { /* who is refused may have to send the rest of its body first */
        zd_slice_write_give_way(write);
    }
    return next;
}

/* ---- conditions: If-Match on what GET has told of the slice ---- */

static void see_object(struct zd_survey *survey, uint64_t number, struct zd_generation generation)
{
    struct zd_slice_write *write = ZD_CONTAINER(survey, struct zd_slice_write, survey);
    (void)zd_seen_objects_see(&write->touched, number, generation);
}

static struct zd_slice_view view_of(const struct zd_slice_write *write)
{
    return (struct zd_slice_view){
        .node = write->node,
        .touched = &write->touched,
        .asked = &write->asked,
        .selection = &write->selection,
    };
}

static void tag_of(const struct zd_slice_write *write, char to[ZD_TAG_BYTES])
{
    const struct zd_slice_view view = view_of(write);
    const struct zd_slice_form form = {.format = write->body.format};
    zd_slice_tag_of(&view, &form, to);
}

static enum zd_next respond_precondition(struct zd_request *req)
{
    char tag[ZD_TAG_BYTES];
    tag_of(write_of(req), tag);
    zd_slice_write_abort(write_of(req));
    return zd_respond_precondition(req, tag);
}

static enum zd_next step_survey_round(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&write->survey, &next, &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    if (!write->survey.is_done) {
        return next;
    }
    const struct zd_slice_view view = view_of(write);
    if (zd_slice_tag_judge(&view, req) != ZD_OK) {
        return respond_precondition(req);
    }
    req->step = step_begin;
    return ZD_NEXT;
}

static enum zd_next step_survey(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_error err = {0};
    if (zd_slice_write_forget(write, &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    if (zd_survey_init(&write->survey, &req->machine, write->node,
            &write->node->layout->level[0].grid, &write->selection, &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    write->survey.see = see_object;
    req->step = step_survey_round;
    return ZD_NEXT;
}

/* ---- locks, and the body ---- */

static enum zd_next step_begin(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_slice_write_begin(write_of(req), &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    /* A body that is one band is awaited before others have to wait for its objects. */
    req->step = write_of(req)->has_bands ? step_lock : step_ask;
    return ZD_NEXT;
}

/* What became of an object that was locked, staged or committed. */
static enum zd_next fail_object(struct zd_request *req)
{
    const struct zd_slice_write *write = write_of(req);
    const struct zd_error err = write->err;
    const char *known = write->status == ZD_UNSUPPORTED ? "unsupported_codec" : NULL;
    return fail(req, write->code != NULL ? write->code : known, &err);
}

static enum zd_next step_lock(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    if (zd_slice_write_lock(write) == ZD_WAIT) {
        write->has_waited = true;
        return ZD_WAIT;
    }
    if (write->status != ZD_OK) {
        return fail_object(req);
    }
    req->step = write->has_bands ? step_ask : step_stage;
    return ZD_NEXT;
}

static enum zd_next step_ask(struct zd_request *req)
{
    struct zd_error err = {0};
    if (!req->upload.is_asked &&
        zd_upload_ask(req, zd_slice_write_window_bytes(write_of(req)), &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    req->step = step_head;
    return ZD_NEXT;
}

static enum zd_next step_head(struct zd_request *req)
{
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_slice_body_begin(&write_of(req)->body, &next, &err) != ZD_OK) {
        return fail_body(req, &err);
    }
    if (next == ZD_WAIT) {
        write_of(req)->has_waited = true;
        return ZD_WAIT;
    }
    req->step = step_band;
    return ZD_NEXT;
}

static enum zd_next step_band(struct zd_request *req)
{
    struct zd_error err = {0};
    bool is_over;
    if (zd_slice_write_next_band(write_of(req), &is_over, &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    req->step = is_over ? step_end : step_fill;
    return ZD_NEXT;
}

static enum zd_next step_fill(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    bool is_full;
    if (zd_slice_body_fill(&write->body, &next, &is_full, &err) != ZD_OK) {
        return fail_body(req, &err);
    }
    if (!is_full) {
        write->has_waited = write->has_waited || next == ZD_WAIT;
        return next;
    }
    req->step = step_cut;
    return zd_slice_write_sum(write);
}

static enum zd_next step_cut(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    struct zd_error err = {0};
    if (write->status != ZD_OK) {
        return fail_object(req);
    }
    if (zd_slice_write_cut(write, &err) != ZD_OK) {
        return fail(req, NULL, &err);
    }
    req->step = !zd_slice_write_is_staged(write) ? step_band
                : write->has_bands               ? step_stage
                                                 : step_lock;
    return ZD_NEXT;
}

static enum zd_next step_stage(struct zd_request *req)
{
    struct zd_slice_write *write = write_of(req);
    if (zd_slice_write_stage(write) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (write->status != ZD_OK) {
        return fail_object(req);
    }
    req->step = step_band;
    return ZD_NEXT;
}

static enum zd_next step_end(struct zd_request *req)
{
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_slice_body_end(&write_of(req)->body, &next, &err) != ZD_OK) {
        return fail_body(req, &err);
    }
    if (next == ZD_WAIT) {
        write_of(req)->has_waited = true;
        return ZD_WAIT;
    }
    req->step = step_commit;
    return ZD_NEXT;
}

/* ---- the answer ---- */

static enum zd_next step_commit(struct zd_request *req)
{
    req->step = step_respond;
    return zd_slice_commit(write_of(req));
}

/* Where the elements went, and what the array is now. */
static void emit_append(const struct zd_slice_write *write, struct zd_emit *emit)
{
    uint64_t shape[ZD_RANK_MAX];
    ZD_SCOPED_TEXT(selection, SELECTION_BYTES_MAX);
    zd_meta_shape(write->node->meta, shape);
    zd_emit_key(emit, "shape");
    zd_emit_array(emit);
    for (uint32_t d = 0; d < write->node->meta->grid.rank; d++) {
        zd_emit_u64(emit, shape[d]);
    }
    zd_emit_array_end(emit);
    if (zd_selection_add(&write->asked, &selection) == ZD_OK) {
        zd_emit_member_string(emit, "selection", selection.at);
    }
}

static enum zd_next step_respond(struct zd_request *req)
{
    const struct zd_slice_write *write = write_of(req);
    if (write->status != ZD_OK) {
        return fail_object(req);
    }
    struct zd_representation answer = {0};
    ZD_SCOPED_TEXT(text, ANSWER_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_edit_counts_emit(&write->counts, &emit);
    if (write->append.node != NULL) {
        emit_append(write, &emit);
    }
    zd_emit_object_end(&emit);
    tag_of(write, answer.etag);
    return zd_respond_text(req, &text, &answer);
}

static const struct zd_route routes[] = {
    {
        .method = "PUT",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_put,
        .params = zd_slice_params_of_writes,
        .needs_writable = true,
        .streams_body = true,
    },
};

const struct zd_handler zd_handler_slice_write = {
    .name = "slice_write",
    .route = routes,
    .n_routes = ZD_COUNT_OF(routes),
};
