/* Slices: decoded hyperslabs (api.md 3.5). */
#include <string.h>

#include "core/base/num.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"
#include "server/slice/slice.h"
#include "server/slice/slice_format.h"
#include "server/slice/slice_level.h"
#include "server/request/connection.h"
#include "server/slice/slice_suggest.h"

#define RESTARTS_MAX 3

static zd_step step_survey;
static zd_step step_condition;
static zd_step step_read;
static zd_step step_band;
static zd_step step_arrived;
static zd_step step_made;
static zd_step step_give;
static zd_step step_given;

static struct zd_slice *slice_of(const struct zd_request *req)
{
    return req->state;
}

static void leave(struct zd_request *req)
{
    zd_task_leave(&slice_of(req)->task);
}

static enum zd_next fail(struct zd_request *req, const struct zd_error *err)
{
    return zd_respond_error(req, err->status == ZD_CORRUPT ? "corrupt_chunk" : NULL, err);
}

static enum zd_status describe(
    const struct zd_slice *slice, struct zd_representation *ret_answer, struct zd_error *err)
{
    const struct zd_request *req = slice->task.req;
    *ret_answer = (struct zd_representation){
        .media_type = slice->format->media_type,
        .length_is_known = slice->length_is_known,
        .length = slice->length,
    };
    if (strcmp(req->method, "POST") != 0 && !slice->is_tagless) {
        zd_slice_tag(slice, ret_answer->etag);
        /* What is encoded is made from its beginning, so ranges would save nothing. */
        ret_answer->accepts_ranges = !zd_format_encodes(slice->format);
    }
    if (zd_headers_give(&slice->headers, ret_answer) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the headers of the answer");
    }
    return ZD_OK;
}

/* How many chunks are absent is not known while others are still to be read: no Zarr-Chunks. */
static enum zd_next open_stream(struct zd_request *req)
{
    const struct zd_slice *slice = slice_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (describe(slice, &answer, &err) != ZD_OK) {
        return fail(req, &err);
    }
    answer.body_is_range = slice->is_range;
    answer.range_first = slice->range_first;
    answer.range_len = slice->range_len;
    return zd_respond_stream(req, &answer);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (slice->is_streamed) {
        return zd_stream_end(req);
    }
    if (!slice->is_range) {
        zd_text_addf(zd_headers_add(&slice->headers, "Zarr-Chunks"), "%llu/%llu",
            (unsigned long long)slice->fetch.n_parts, (unsigned long long)slice->fetch.n_absent);
    }
    if (zd_slice_finish(slice, &err) != ZD_OK || describe(slice, &answer, &err) != ZD_OK) {
        return fail(req, &err);
    }
    answer.body = slice->body;
    answer.body_is_range = slice->is_range;
    answer.range_first = slice->range_first;
    return zd_respond(req, &answer);
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_slice_begin(slice_of(req), &err) != ZD_OK) {
        return fail(req, &err);
    }
    req->step = step_band;
    return ZD_NEXT;
}

/* Memory and work are budgeted before they are taken. */
static enum zd_next step_admit(struct zd_request *req)
{
    const struct zd_slice *slice = slice_of(req);
    const uint64_t bytes = zd_slice_held_bytes(slice);
    return zd_slice_is_large(slice) ? zd_admit_want_stream(req, bytes, step_read)
                                    : zd_admit_want(req, bytes, step_read);
}

static enum zd_next ask_chunks(struct zd_request *req)
{
    req->step = step_arrived;
    return zd_fetch_ask(&slice_of(req)->fetch);
}

static enum zd_next step_band(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    bool is_over;
    if (slice->is_streamed && zd_stream_want_room(req, zd_slice_room_bytes(slice)) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (zd_slice_next_band(slice, &is_over, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (!is_over) {
        return ask_chunks(req);
    }
    req->step = step_respond;
    return ZD_NEXT;
}

/* A band of a stream is there: text is made of it piece by piece, anything else goes out. */
static enum zd_next step_give(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    if (!zd_format_encodes(slice->format)) {
        return step_given(req);
    }
    if (zd_stream_want_room(req, zd_slice_room_bytes(slice)) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (!zd_slice_next_text(slice)) {
        req->step = step_band;
        return ZD_NEXT;
    }
    req->step = step_given;
    return zd_task_run(&slice->task, zd_slice_cost_ns(slice));
}

static enum zd_next respond_dropped(struct zd_request *req)
{
    const struct zd_error err = {.status = ZD_CANCELLED, .text = "the work was cancelled"};
    return zd_respond_error(req, NULL, &err);
}

/* The first bytes are there: only now the head goes out, so that what fails before is told. */
static enum zd_next step_given(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    if (slice->task.was_dropped) {
        return respond_dropped(req);
    }
    if (!zd_stream_is_open(&req->stream) && open_stream(req) == ZD_DONE) {
        return ZD_DONE;
    }
    if (zd_slice_give(slice, &err) != ZD_OK) {
        return fail(req, &err);
    }
    req->step = zd_format_encodes(slice->format) ? step_give : step_band;
    return ZD_NEXT;
}

/* What was read does not belong to one state of the array: again, from the start, unless some of it
 * is sent already. */
static enum zd_next restart(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    if (zd_stream_is_open(&req->stream) || (slice->is_streamed && slice->is_tagless)) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_STORE, "a stored object was replaced while it was read");
        return fail(req, &err);
    }
    slice->n_restarts++;
    zd_fetch_release(&slice->fetch);
    zd_seen_objects_forget(&slice->touched);
    if (slice->n_restarts > RESTARTS_MAX) {
        slice->is_tagless = true; /* it never stands still: all of it, under no tag */
        slice->is_range = false;
        slice->begin = 0;
        slice->end = slice->answer.n_elements;
    }
    req->step = slice->is_surveyed && !slice->is_tagless ? step_survey : step_read;
    return ZD_NEXT;
}

static enum zd_next step_arrived(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    bool is_stale;
    if (zd_fetch_collect(&slice->fetch, &is_stale, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (is_stale) {
        return restart(req);
    }
    req->step = step_made;
    return zd_task_run(&slice->task, zd_slice_cost_ns(slice));
}

static enum zd_next step_made(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    zd_fetch_release(&slice->fetch);
    if (slice->task.was_dropped) {
        return respond_dropped(req);
    }
    if (!slice->fetch.is_last) {
        return ask_chunks(req);
    }
    req->step = slice->is_streamed ? step_give : step_band;
    return ZD_NEXT;
}

static void see_object(struct zd_survey *survey, uint64_t number, struct zd_generation generation)
{
    struct zd_slice *slice = ZD_CONTAINER(survey, struct zd_slice, survey);
    const bool is_first = zd_seen_objects_see(&slice->touched, number, generation);
    assert(is_first);
    (void)is_first;
}

static enum zd_next step_survey_round(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&slice->survey, &next, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (slice->survey.is_done) {
        req->step = step_condition;
        return ZD_NEXT;
    }
    return next;
}

static enum zd_next step_survey(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    slice->is_surveyed = true;
    zd_survey_done(&slice->survey);
    if (zd_survey_init(&slice->survey, &req->machine, slice->node,
            &slice->node->layout->level[0].grid, &slice->selection, &err) != ZD_OK) {
        return fail(req, &err);
    }
    slice->survey.see = see_object;
    req->step = step_survey_round;
    return ZD_NEXT;
}

static enum zd_next apply_range(struct zd_request *req, const struct zd_representation *answer)
{
    struct zd_slice *slice = slice_of(req);
    uint64_t first;
    uint64_t len;
    slice->is_range = false;
    slice->begin = 0;
    slice->end = slice->answer.n_elements;
    if (answer->accepts_ranges) {
        switch (zd_request_range(req, slice->length, answer->etag, 0, &first, &len)) {
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

static enum zd_next step_condition(struct zd_request *req)
{
    struct zd_representation answer;
    struct zd_error err = {0};
    if (describe(slice_of(req), &answer, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (req->is_head || zd_respond_condition(req, &answer) != ZD_OK) {
        return zd_respond(req, &answer); /* without its body: 200, 304 or 412 */
    }
    return apply_range(req, &answer);
}

static bool asks_validators(const struct zd_request *req)
{
    static const char *const names[] = {"If-Match", "If-None-Match", "If-Modified-Since",
        "If-Unmodified-Since", "If-Range", "Range"};
    if (strcmp(req->method, "POST") == 0) {
        return false;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        if (zd_connection_header(req, names[i]) != NULL) {
            return true;
        }
    }
    return req->is_head;
}

/* The tag stands in the head, so it is made before anything is read. */
static bool is_streamed_with_tag(const struct zd_slice *slice)
{
    return zd_slice_is_large(slice) && strcmp(slice->task.req->method, "POST") != 0;
}

static enum zd_next step_prepare(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    if (zd_slice_prepare(slice, &err) != ZD_OK) {
        return fail(req, &err);
    }
    const bool needs_survey = asks_validators(req) || is_streamed_with_tag(slice);
    req->step = needs_survey ? step_survey : step_admit;
    return ZD_NEXT;
}

/* Everything that can be refused is refused here, before any chunk is touched. */
static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_slice *slice = slice_of(req);
    struct zd_error err = {0};
    const char *code;
    uint64_t shape[ZD_RANK_MAX];
    if (zd_slice_select(slice, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    const uint32_t rank = zd_selection_shape(&slice->selection, shape);
    const struct zd_slice_format_ask asked = {
        .params = &slice->ask, .dtype = &slice->node->meta->dtype, .rank = rank};
    slice->format = zd_slice_format_choose(&asked, req->accept);
    if (slice->format == NULL) {
        return zd_slice_format_refuse(&asked, req);
    }
    if (zd_slice_params_check_shape(&slice->ask, "slice", shape, rank, &err) != ZD_OK) {
        return zd_respond_error(req, "shape_mismatch", &err);
    }
    const struct zd_slice_limits_whole whole = zd_slice_whole(slice);
    if (zd_slice_limits_check(&whole, &err) != ZD_OK) {
        return zd_slice_suggest_respond(&whole, &err, req);
    }
    return zd_request_want_above(req, step_prepare);
}

static bool make_state(struct zd_request *req)
{
    struct zd_slice *slice = zd_slice_new(req);
    if (slice == NULL) {
        const struct zd_error err = {.status = ZD_NO_MEMORY, .text = "no memory for the request"};
        zd_respond_error(req, NULL, &err);
        return false;
    }
    req->state = slice;
    req->state_free = leave;
    return true;
}

static enum zd_next step_plan_query(struct zd_request *req)
{
    if (zd_slice_level_refuse(req) || !make_state(req)) {
        return ZD_DONE;
    }
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_params_query(&slice_of(req)->ask, &req->params, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    return zd_slice_level_want(slice_of(req), step_plan);
}

static enum zd_next step_read_body(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code;
    if (zd_slice_params_body(&slice_of(req)->ask, req->json, &code, &err) != ZD_OK) {
        return zd_body_refuse(req, code, &err);
    }
    zd_json_unref(ZD_TAKE(req->json)); /* not while memory is awaited */
    return zd_slice_level_want(slice_of(req), step_plan);
}

static enum zd_next step_plan_body(struct zd_request *req)
{
    if (zd_slice_level_refuse(req) || !make_state(req)) {
        return ZD_DONE;
    }
    return zd_body_want_json(req, ZD_BODY_JSON, step_read_body);
}

static enum zd_next step_get(struct zd_request *req)
{
    return zd_request_want_node(req, step_plan_query);
}

static enum zd_next step_post(struct zd_request *req)
{
    return zd_request_want_node(req, step_plan_body);
}

static const char *const no_params[] = {NULL};

static const struct zd_route routes[] = {
    {
        .method = "GET",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_get,
        .params = zd_slice_params_of_slices,
    },
    {
        .method = "POST",
        .path = "/v1/datasets/{d}/slices/{path}",
        .first = step_post,
        .params = no_params,
    },
};

const struct zd_handler zd_handler_slices = {
    .name = "slices",
    .route = routes,
    .n_routes = ZD_COUNT_OF(routes),
};
