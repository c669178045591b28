/* Reading elements of one state of an array: what slices and statistics have in common. */
#include "server/slice/slice_read.h"

#include "core/base/num.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

static zd_step step_arrived;

static void leave(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    zd_multiscale_release(&read->multiscale);
    zd_task_leave(&read->task);
}

void zd_slice_read_init(
    struct zd_slice_read *read, struct zd_request *req, const struct zd_slice_read_kind *kind)
{
    read->kind = kind;
    read->node = zd_node_ref(req->node);
    zd_task_init(&read->task, req, kind->work, kind->release);
    zd_slice_params_init(&read->ask, req->server);
    zd_headers_init(&read->headers);
    req->state = read;
    req->state_free = leave;
}

void zd_slice_read_done(struct zd_slice_read *read)
{
    zd_survey_done(&read->survey);
    zd_seen_objects_done(&read->seen);
    zd_headers_done(&read->headers);
    zd_slice_params_done(&read->ask);
    zd_node_unref(read->node);
}

enum zd_status zd_slice_read_select(
    struct zd_slice_read *read, const char **ret_code, struct zd_error *err)
{
    const enum zd_status status =
        zd_slice_params_select(&read->ask, read->node->meta, &read->asked, &read->selection, err);
    *ret_code = zd_slice_params_code(status);
    return status;
}

/* ---- the level of a multiscale group ---- */

/* Count the elements of the slice in each level. @param err of the first level that has no such
 * slice @return whether any level has it */
static bool count_levels(
    const struct zd_slice_read *read, struct zd_choice_level *level, struct zd_error *err)
{
    const struct zd_multiscale *multiscale = &read->multiscale;
    bool is_any_counted = false;
    for (uint32_t i = 0; i < multiscale->n; i++) {
        const struct zd_node *node = multiscale->node[i];
        struct zd_selection asked;
        struct zd_selection stored;
        struct zd_error why = {0};
        level[i].is_array = node != NULL && node->layout != NULL;
        if (!level[i].is_array) {
            continue;
        }
        level[i].is_counted =
            zd_slice_params_select(&read->ask, node->meta, &asked, &stored, &why) == ZD_OK;
        is_any_counted |= level[i].is_counted;
        if (!level[i].is_counted && err->status == ZD_OK) {
            *err = why;
        }
        if (level[i].is_counted && zd_selection_overflows(&asked, &level[i].n_elements)) {
            level[i].n_elements = UINT64_MAX;
        }
    }
    return is_any_counted;
}

static enum zd_next respond_missing(struct zd_request *req, uint32_t level)
{
    struct zd_error err = {0};
    err.status =
        zd_fail(&err, ZD_NOT_FOUND, "the group '%.200s' lists level '%.200s', which does not exist",
            req->node->path, req->node->meta->view.level[level]);
    return zd_respond_error(req, "node_not_found", &err);
}

static enum zd_next take_level(struct zd_slice_read *read, uint32_t level)
{
    struct zd_request *req = read->task.req;
    struct zd_node *node = read->multiscale.node[level];
    if (node == NULL) {
        return respond_missing(req, level);
    }
    zd_text_addf(zd_headers_add(&read->headers, "Zarr-Level"), "%u", (unsigned)level);
    zd_request_set_node(req, node);
    zd_node_unref(read->node);
    read->node = zd_node_ref(node);
    if (zd_request_check_array(req)) {
        return ZD_DONE;
    }
    req->step = read->kind->plan;
    return ZD_NEXT;
}

static enum zd_next choose_level(struct zd_slice_read *read, struct zd_choice_level *levels)
{
    struct zd_request *req = read->task.req;
    struct zd_error err = {0};
    uint32_t level = 0;
    const bool is_any_counted = count_levels(read, levels, &err);
    const struct zd_choice choice = {
        .has_number = read->ask.has_level,
        .number = read->ask.level,
        .n_elements_max = read->ask.max_size,
        .level = levels,
        .n_levels = read->multiscale.n,
    };
    if (!choice.has_number && !is_any_counted) {
        return err.status == ZD_OK ? respond_missing(req, 0)
                                   : zd_respond_error(req, zd_slice_params_code(err.status), &err);
    }
    if (zd_applied_select(&req->node->meta->applied, &choice, &level, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return take_level(read, level);
}

static enum zd_next step_choose_level(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    const struct zd_multiscale *multiscale = &read->multiscale;
    if (multiscale->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &multiscale->wait.err);
    }
    struct zd_choice_level *levels = zd_alloc_zero(multiscale->n, sizeof *levels);
    if (levels == NULL) {
        return zd_respond_no_memory(req, "the levels");
    }
    const enum zd_next next = choose_level(read, levels);
    zd_free(levels);
    return next;
}

static enum zd_next refuse_parameter(struct zd_request *req, const char *name, const char *text)
{
    struct zd_error err = {0};
    err.status = zd_fail_name(&err, name, "%s", text);
    return zd_respond_error(req, "bad_parameter", &err);
}

enum zd_next zd_slice_read_want_level(struct zd_slice_read *read)
{
    struct zd_request *req = read->task.req;
    const struct zd_slice_params *ask = &read->ask;
    if (ask->has_level && ask->has_max_size) {
        return refuse_parameter(req, "max_size", "level and max_size cannot be combined");
    }
    if (zd_multiscale_has(read->node->meta)) {
        read->multiscale.wait = zd_machine_wait(&req->machine);
        req->step = step_choose_level;
        return zd_multiscale_want(&read->multiscale, read->node);
    }
    if (ask->has_level || ask->has_max_size) {
        return refuse_parameter(req, ask->has_level ? "level" : "max_size",
            "level and max_size apply to multiscale groups; this node is an array");
    }
    req->step = read->kind->plan;
    return ZD_NEXT;
}

/* ---- generations and conditions, before anything is read ---- */

static enum zd_next step_conditions(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_representation answer;
    struct zd_error err = {0};
    if (read->kind->describe(read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (req->is_head || zd_respond_condition(req, &answer) != ZD_OK) {
        return zd_respond(req, &answer); /* without its body: 200, 304 or 412 */
    }
    return read->kind->accept(req, &answer);
}

static enum zd_next step_round(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&read->survey, &next, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (read->survey.is_done) {
        req->step = step_conditions;
        return ZD_NEXT;
    }
    return next;
}

enum zd_next zd_slice_read_survey(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    read->is_surveyed = true;
    zd_survey_done(&read->survey);
    if (zd_survey_init(&read->survey, &req->machine, read->node, &read->node->layout->level[0].grid,
            &read->selection, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    read->survey.seen = &read->seen;
    req->step = step_round;
    return ZD_NEXT;
}

/* ---- the chunks ---- */

/* The objects read so far belong to two states of the array: begin again. */
static enum zd_next restart(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    if (read->kind->restart != NULL && read->kind->restart(read, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    zd_fetch_release(&read->fetch);
    zd_seen_objects_forget(&read->seen);
    read->n_restarts++;
    /* Then the array is read without regard to changes. */
    read->is_tagless = read->n_restarts > ZD_ANSWER_RESTARTS_MAX;
    req->step = read->is_surveyed && !read->is_tagless ? zd_slice_read_survey : read->kind->begin;
    return ZD_NEXT;
}

static enum zd_next step_worked(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    zd_fetch_release(&read->fetch);
    req->step = read->fetch.is_last ? read->kind->worked : zd_slice_read_chunks;
    return ZD_NEXT;
}

static enum zd_next step_arrived(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    bool is_stale;
    if (zd_fetch_collect(&read->fetch, &is_stale, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (is_stale) {
        return restart(req);
    }
    req->step = step_worked;
    return zd_task_run(&read->task, read->kind->cost_ns(read));
}

enum zd_next zd_slice_read_chunks(struct zd_request *req)
{
    req->step = step_arrived;
    return zd_fetch_ask(&zd_slice_read_of(req)->fetch);
}
