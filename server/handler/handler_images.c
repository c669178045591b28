/* Images: a selection as a PNG file. */
#include "server/format/format.h"
#include "server/http/accept.h"
#include "server/picture/picture_plan.h"
#include "server/picture/picture_range.h"
#include "server/request/admit.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/slice/slice_estimate.h"

#define MEDIA_TYPE "image/png"

static struct zd_picture *picture_of(const struct zd_request *req)
{
    return req->state;
}

static enum zd_status describe(
    struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err)
{
    *ret_answer = (struct zd_representation){.media_type = MEDIA_TYPE};
    if (!read->is_tagless) {
        zd_picture_tag(picture_of(read->task.req), ret_answer->etag);
    }
    return zd_headers_give(&read->headers, ret_answer, err);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (picture->err.status != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &picture->err);
    }
    zd_picture_add_range(picture);
    if (describe(&picture->read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    answer.body = picture->body;
    return zd_respond(req, &answer);
}

static enum zd_next step_paint(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    req->step = step_respond;
    return zd_task_run(&picture->read.task, zd_picture_begin_paint(picture));
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_error err = {0};
    return zd_picture_begin(picture_of(req), &err) == ZD_OK ? zd_slice_read_chunks(req)
                                                            : zd_respond_error(req, NULL, &err);
}

/* Goes on where the client has no copy and wants the image: else the answer needs none. */
static enum zd_next accept_conditions(
    struct zd_request *req, const struct zd_representation *answer)
{
    (void)answer;
    req->step = step_read;
    return ZD_NEXT;
}

static enum zd_next step_take(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_picture_take(picture_of(req), &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_slice_read_tag(req, step_read);
}

static enum zd_next step_admit(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    const struct zd_listing listing = zd_request_listing(req);
    struct zd_answer shown;
    zd_format_answer_init(&shown, picture->read.node->meta, &picture->read.asked);
    shown.is_decoded = picture->read.ask.decodes;
    shown.units = picture->read.ask.decodes ? picture->numbers.decode.units : NULL;
    zd_headers_add_slice(&picture->read.headers, &shown, &listing);
    zd_picture_add_range(picture);
    return zd_admit_want(req, zd_picture_held_bytes(picture), step_take);
}

static enum zd_next step_range(struct zd_request *req)
{
    return zd_picture_range_want(picture_of(req), step_admit);
}

/* Bounds the bytes that the image needs, once its selection is known. */
static enum zd_next want_price(struct zd_picture *picture)
{
    const struct zd_slice_estimate_terms terms = {
        .resource = "images",
        .format = "png",
        .memory_bytes = zd_picture_held_bytes(picture),
        .answer_bytes = ZD_SLICE_ESTIMATE_UNKNOWN,
        .encode_ns = zd_picture_expect_ns(picture),
        .is_cut = picture->ask.has_tile,
    };
    return zd_slice_estimate_want(&picture->read, &terms);
}

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code;
    if (zd_picture_plan_shown(picture_of(req), &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    if (picture_of(req)->read.ask.wants_plan) {
        return want_price(picture_of(req));
    }
    return zd_request_want_parent_groups(req, step_range);
}

static const struct zd_slice_read_kind kind = {
    .work = zd_picture_work,
    .release = zd_picture_release,
    .cost_ns = zd_picture_cost_ns,
    .plan = step_plan,
    .begin = step_read,
    .worked = step_paint,
    .describe = describe,
    .accept = accept_conditions,
    .shrinks = true,
};

static enum zd_next step_get(struct zd_request *req)
{
    static const char *const allowed[] = {MEDIA_TYPE, NULL};
    struct zd_error err = {0};
    const char *code;
    struct zd_span plan; /* which is JSON */
    if (!zd_params_find(&req->params, "plan", &plan) &&
        zd_accept_quality(zd_dependence_accept(req), MEDIA_TYPE) == 0) {
        const struct zd_problem problem = {.code = "not_acceptable",
            .detail = "images are available as PNG only",
            .allowed = allowed};
        return zd_respond_problem(req, &problem);
    }
    if (!zd_multiscale_has(req->node->meta) && zd_request_check_array(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_picture *picture = zd_picture_new(req, &kind);
    if (picture == NULL) {
        return zd_respond_no_memory(req, "the request");
    }
    if (zd_picture_plan_query(picture, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    return zd_slice_read_want_level(&picture->read);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/images/{path}",
        .first = step_get,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .shows_times = true,
        .params = zd_picture_params_names,
        .repeats = zd_slice_params_repeated},
};

const struct zd_handler zd_handler_images = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
