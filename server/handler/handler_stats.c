/* Statistics of a selection (api.md 3.8). */
#include "core/base/num.h"
#include "server/http/accept.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/request/node_check.h"
#include "server/runtime/server.h"
#include "server/slice/stats.h"
#include "server/request/connection.h"

#define DOCUMENT_BYTES_MAX (64U << 10)
#define RESTARTS_MAX       3
#define MEDIA_TYPE         "application/json"

static zd_step step_survey;
static zd_step step_read;
static zd_step step_arrived;

static struct zd_stats *stats_of(const struct zd_request *req)
{
    return req->state;
}

static void leave(struct zd_request *req)
{
    zd_task_leave(&stats_of(req)->task);
}

static enum zd_next fail(struct zd_request *req, const struct zd_error *err)
{
    return zd_respond_error(req, err->status == ZD_CORRUPT ? "corrupt_chunk" : NULL, err);
}

/* The headers are borrowed until the answer is given. */
static enum zd_status describe(
    struct zd_stats *stats, struct zd_representation *ret_answer, struct zd_error *err)
{
    const struct zd_listing listing = zd_request_listing(stats->task.req);
    *ret_answer = (struct zd_representation){.media_type = MEDIA_TYPE};
    if (!stats->is_tagless) {
        zd_stats_tag(stats, ret_answer->etag);
    }
    zd_headers_done(&stats->headers);
    zd_headers_init(&stats->headers);
    zd_headers_add_warnings(&stats->headers, &stats->node->meta->faults, &listing);
    if (zd_headers_give(&stats->headers, ret_answer) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the headers of the answer");
    }
    return ZD_OK;
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (describe(stats, &answer, &err) != ZD_OK) {
        return fail(req, &err);
    }
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_stats_emit(stats, &emit);
    return zd_respond_text(req, &text, &answer);
}

/* What was read does not belong to one state of the array: again, from the start. */
static enum zd_next restart(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    stats->n_restarts++;
    zd_fetch_release(&stats->fetch);
    zd_seen_objects_forget(&stats->touched);
    stats->is_tagless = stats->n_restarts > RESTARTS_MAX; /* it never stands still */
    req->step = stats->is_surveyed && !stats->is_tagless ? step_survey : step_read;
    return ZD_NEXT;
}

static enum zd_next ask_chunks(struct zd_request *req)
{
    req->step = step_arrived;
    return zd_fetch_ask(&stats_of(req)->fetch);
}

static enum zd_next step_counted(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    zd_fetch_release(&stats->fetch);
    if (stats->task.was_dropped) {
        const struct zd_error err = {.status = ZD_CANCELLED, .text = "the work was cancelled"};
        return zd_respond_error(req, NULL, &err);
    }
    if (!stats->fetch.is_last) {
        return ask_chunks(req);
    }
    req->step = step_respond;
    return ZD_NEXT;
}

static enum zd_next step_arrived(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    struct zd_error err = {0};
    bool is_stale;
    if (zd_fetch_collect(&stats->fetch, &is_stale, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (is_stale) {
        return restart(req);
    }
    req->step = step_counted;
    return zd_task_run(&stats->task, zd_fetch_cost_ns(&stats->fetch));
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_stats_begin(stats_of(req), &err) != ZD_OK) {
        return fail(req, &err);
    }
    return ask_chunks(req);
}

/* Every object is known: what a client has already, or only wants to know of, is not computed. */
static enum zd_next step_condition(struct zd_request *req)
{
    struct zd_representation answer;
    struct zd_error err = {0};
    if (describe(stats_of(req), &answer, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (req->is_head || zd_respond_condition(req, &answer) != ZD_OK) {
        return zd_respond(req, &answer);
    }
    req->step = step_read;
    return ZD_NEXT;
}

static void see_object(struct zd_survey *survey, uint64_t number, struct zd_generation generation)
{
    struct zd_stats *stats = ZD_CONTAINER(survey, struct zd_stats, survey);
    const bool is_first = zd_seen_objects_see(&stats->touched, number, generation);
    assert(is_first);
    (void)is_first;
}

static enum zd_next step_survey_round(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&stats->survey, &next, &err) != ZD_OK) {
        return fail(req, &err);
    }
    if (stats->survey.is_done) {
        req->step = step_condition;
        return ZD_NEXT;
    }
    return next;
}

static enum zd_next step_survey(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    struct zd_error err = {0};
    stats->is_surveyed = true;
    zd_survey_done(&stats->survey);
    if (zd_survey_init(&stats->survey, &req->machine, stats->node,
            &stats->node->layout->level[0].grid, &stats->selection, &err) != ZD_OK) {
        return fail(req, &err);
    }
    stats->survey.see = see_object;
    req->step = step_survey_round;
    return ZD_NEXT;
}

static bool asks_validators(const struct zd_request *req)
{
    return req->is_head || zd_connection_header(req, "If-Match") != NULL ||
           zd_connection_header(req, "If-None-Match") != NULL;
}

static enum zd_next step_take(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_stats_take(stats_of(req), &err) != ZD_OK) {
        return fail(req, &err);
    }
    req->step = asks_validators(req) ? step_survey : step_read;
    return ZD_NEXT;
}

static enum zd_next step_admit(struct zd_request *req)
{
    return zd_admit_want(req, zd_stats_held_bytes(stats_of(req)), step_take);
}

static bool make_state(struct zd_request *req)
{
    struct zd_stats *stats = zd_stats_new(req);
    if (stats == NULL) {
        const struct zd_error err = {.status = ZD_NO_MEMORY, .text = "no memory for the request"};
        zd_respond_error(req, NULL, &err);
        return false;
    }
    req->state = stats;
    req->state_free = leave;
    return true;
}

static enum zd_next step_plan(struct zd_request *req)
{
    if (zd_node_check(req) || !make_state(req)) {
        return ZD_DONE;
    }
    struct zd_stats *stats = stats_of(req);
    struct zd_error err = {0};
    const char *code;
    if (zd_stats_plan(stats, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    return zd_request_want_above(req, stats->is_declared ? step_respond : step_admit);
}

static enum zd_next step_get(struct zd_request *req)
{
    static const char *const allowed[] = {MEDIA_TYPE, NULL};
    if (zd_accept_quality(req->accept, MEDIA_TYPE) == 0) {
        const struct zd_problem problem = {.code = "not_acceptable",
            .detail = "statistics are available as JSON only",
            .allowed = allowed};
        return zd_respond_problem(req, &problem);
    }
    return zd_request_want_node(req, step_plan);
}

static const struct zd_route routes[] = {
    {
        .method = "GET",
        .path = "/v1/datasets/{d}/stats/{path}",
        .first = step_get,
        .params = zd_slice_params_of_stats,
    },
};

const struct zd_handler zd_handler_stats = {
    .name = "stats",
    .route = routes,
    .n_routes = ZD_COUNT_OF(routes),
};
