/* Statistics of a selection. */
#include "server/http/accept.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/request/node_check.h"
#include "server/runtime/server.h"
#include "server/slice/stats.h"

#define DOCUMENT_BYTES_MAX (64U << 10)
#define MEDIA_TYPE         "application/json"

static struct zd_stats *stats_of(const struct zd_request *req)
{
    return req->state;
}

/* The headers are borrowed until the answer is given. */
static enum zd_status describe(
    struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err)
{
    const struct zd_listing listing = zd_request_listing(read->task.req);
    *ret_answer = (struct zd_representation){.media_type = MEDIA_TYPE};
    if (!read->is_tagless) {
        zd_stats_tag(stats_of(read->task.req), ret_answer->etag);
    }
    zd_headers_done(&read->headers);
    zd_headers_init(&read->headers);
    zd_headers_add_warnings(&read->headers, &read->node->meta->faults, &listing);
    if (zd_headers_give(&read->headers, ret_answer) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the headers of the answer");
    }
    return ZD_OK;
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct zd_stats *stats = stats_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (describe(&stats->read, &answer, &err) != ZD_OK) {
        return zd_slice_read_fail(req, &err);
    }
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_stats_emit(stats, &emit);
    return zd_respond_text(req, &text, &answer);
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_stats_begin(stats_of(req), &err) != ZD_OK) {
        return zd_slice_read_fail(req, &err);
    }
    return zd_slice_read_chunks(req);
}

/* What a client has already, or only wants to know of, is not computed. */
static enum zd_next accept_conditions(
    struct zd_request *req, const struct zd_representation *answer)
{
    (void)answer;
    req->step = step_read;
    return ZD_NEXT;
}

static uint64_t cost_ns(const struct zd_slice_read *read)
{
    return zd_fetch_cost_ns(&read->fetch);
}

static enum zd_next step_take(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_stats_take(stats_of(req), &err) != ZD_OK) {
        return zd_slice_read_fail(req, &err);
    }
    req->step = zd_slice_read_wants_tag(req) ? zd_slice_read_survey : step_read;
    return ZD_NEXT;
}

static enum zd_next step_admit(struct zd_request *req)
{
    return zd_admit_want(req, zd_stats_held_bytes(stats_of(req)), step_take);
}

static const struct zd_slice_read_kind kind = {
    .work = zd_stats_work,
    .release = zd_stats_release,
    .cost_ns = cost_ns,
    .begin = step_read,
    .worked = step_respond,
    .describe = describe,
    .accept = accept_conditions,
};

static bool make_state(struct zd_request *req)
{
    struct zd_stats *stats = zd_stats_new(req, &kind);
    return zd_slice_read_attach(stats == NULL ? NULL : &stats->read, req);
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
    return zd_request_want_parent_groups(req, stats->is_declared ? step_respond : step_admit);
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
    {.method = "GET",
        .path = "/v1/datasets/{d}/stats/{path}",
        .first = step_get,
        .params = zd_slice_params_of_stats},
};

const struct zd_handler zd_handler_stats = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
