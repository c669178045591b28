/* Reading elements of one state of an array: what slices and statistics have in common. */
#include "server/slice/slice_read.h"

#include "server/request/permission.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"
#include "server/slice/slice_blocks.h"

static zd_step step_arrived;

static void drop_select(struct zd_slice_read *read)
{
    if (read->select != NULL) {
        zd_slice_select_release(read->select);
        zd_free(ZD_TAKE(read->select));
    }
}

void zd_slice_read_end(struct zd_slice_read *read)
{
    zd_multiscale_release(&read->multiscale);
    drop_select(read);
    zd_free(ZD_TAKE(read->levels));
    zd_task_leave(&read->task);
}

void zd_slice_read_leave(struct zd_request *req)
{
    zd_slice_read_end(zd_slice_read_of(req));
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
    req->state_free = zd_slice_read_leave;
}

void zd_slice_read_done(struct zd_slice_read *read)
{
    zd_survey_done(&read->survey);
    if (read->price != NULL) {
        read->price_free(read->price);
    }
    zd_seen_objects_done(&read->seen);
    zd_headers_done(&read->headers);
    zd_slice_params_done(&read->ask);
    zd_node_unref(read->node);
}

enum zd_status zd_slice_read_select(
    struct zd_slice_read *read, const char **ret_code, struct zd_error *err)
{
    *ret_code = NULL;
    if (read->ask.has_picks) {
        return ZD_OK;
    }
    const enum zd_status status =
        zd_slice_params_select(&read->ask, read->node->meta, &read->asked, &read->selection, err);
    *ret_code = zd_slice_params_code(status);
    return status;
}

/* ---- by isel and sel ---- */

static enum zd_next step_selected(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_slice_select *select = read->select;
    if (select->wait.status != ZD_OK) {
        return zd_slice_select_refuse(select);
    }
    read->asked = select->asked;
    read->selection = select->stored;
    drop_select(read);
    req->step = read->kind->plan;
    return ZD_NEXT;
}

/* The selection of a node's elements, before `then`. */
static enum zd_next want_select(struct zd_slice_read *read, struct zd_node *node, zd_step *then)
{
    struct zd_request *req = read->task.req;
    drop_select(read);
    read->select = zd_alloc_zero(1, sizeof *read->select);
    if (read->select == NULL) {
        return zd_respond_no_memory(req, "the selection");
    }
    read->select->wait = zd_machine_wait(&req->machine);
    read->select->req = req;
    read->select->ask = &read->ask;
    read->select->node = node;
    req->step = then;
    return zd_slice_select_want(read->select);
}

/* The node is known. */
static enum zd_next go_to_plan(struct zd_slice_read *read)
{
    if (read->ask.has_picks) {
        return want_select(read, read->node, step_selected);
    }
    read->task.req->step = read->kind->plan;
    return ZD_NEXT;
}

/* ---- the level of a multiscale group ---- */

static enum zd_next respond_missing(struct zd_request *req, uint32_t level)
{
    struct zd_error err = {0};
    err.status =
        zd_fail(&err, ZD_NOT_FOUND, "the group '%.200s' lists level '%.200s', which does not exist",
            req->node->path, req->node->meta->view.level[level]);
    return zd_respond_error(req, "node_not_found", &err);
}

/* Whether it is there is not for everybody to know. */
static enum zd_next refuse_level(struct zd_slice_read *read, uint32_t level)
{
    struct zd_request *req = read->task.req;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (!zd_multiscale_hides(&read->multiscale, level)) {
        return respond_missing(req, level);
    }
    const enum zd_status status =
        zd_multiscale_add_path(read->node->path, req->node->meta->view.level[level], &path);
    assert(status == ZD_OK); /* else it is not hidden */
    (void)status;
    return zd_permission_refuse_reading(req, path.at);
}

/* No level that may be read is there. */
static enum zd_next refuse_levels(struct zd_slice_read *read)
{
    uint32_t level = 0;
    while (level < read->multiscale.n && zd_multiscale_hides(&read->multiscale, level)) {
        level++;
    }
    return refuse_level(read, level == read->multiscale.n ? 0 : level);
}

static enum zd_next take_level(struct zd_slice_read *read, uint32_t level)
{
    struct zd_request *req = read->task.req;
    struct zd_node *node = read->multiscale.node[level];
    if (node == NULL) {
        return refuse_level(read, level);
    }
    zd_text_addf(zd_headers_add(&read->headers, "Zarr-Level"), "%u", (unsigned)level);
    read->ask.is_of_level = read->ask.has_max_size;
    read->ask.has_max_size = false;
    zd_request_set_node(req, node);
    zd_node_unref(read->node);
    read->node = zd_node_ref(node);
    return zd_request_check_array(req) == ZD_NEXT ? go_to_plan(read) : ZD_DONE;
}

/* The level with the fewest elements, of several levels of which one is counted. */
static uint32_t coarsest(const struct zd_choice *choice)
{
    uint32_t level = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = choice->n_levels; i-- > 0;) {
        const struct zd_choice_level *other = &choice->level[i];
        if (other->is_array && other->is_counted && other->n_elements <= least) {
            level = i;
            least = other->n_elements;
        }
    }
    return level;
}

/* How many elements the answer has of each level. */
struct zd_slice_levels {
    uint32_t n_counted;
    bool is_any_counted;
    const char *code;    /* of err */
    struct zd_error err; /* of the first level that has no such slice */
    struct zd_choice_level level[];
};

static enum zd_next choose_level(struct zd_slice_read *read, const struct zd_slice_levels *levels)
{
    struct zd_request *req = read->task.req;
    struct zd_error err = {0};
    uint32_t level = 0;
    const struct zd_choice choice = {
        .has_number = read->ask.has_level,
        .number = read->ask.level,
        .n_elements_max = read->ask.max_size,
        .level = levels->level,
        .n_levels = read->multiscale.n,
    };
    if (!choice.has_number && !levels->is_any_counted) {
        return levels->err.status == ZD_OK ? refuse_levels(read)
                                           : zd_respond_error(req, levels->code, &levels->err);
    }
    const enum zd_status status =
        zd_applied_select(&req->node->meta->applied, &choice, &level, &err);
    if (status == ZD_TOO_LARGE && read->kind->shrinks) {
        return take_level(read, coarsest(&choice));
    }
    return status == ZD_OK ? take_level(read, level) : zd_respond_error(req, NULL, &err);
}

/* @param meta of the level @param stored of it; not looked at unless the status is ZD_OK */
static void take_count(struct zd_slice_read *read, const struct zd_meta *meta,
    const struct zd_selection *stored, enum zd_status status)
{
    struct zd_slice_levels *levels = read->levels;
    struct zd_choice_level *level = &levels->level[levels->n_counted++];
    level->is_counted = status == ZD_OK;
    levels->is_any_counted = levels->is_any_counted || level->is_counted;
    if (level->is_counted) {
        level->n_elements = zd_slice_blocks_count(meta, &read->ask, stored);
    }
}

static void take_fault(struct zd_slice_levels *levels, const char *code, const struct zd_error *err)
{
    if (levels->err.status == ZD_OK) {
        levels->err = *err;
        levels->code = code;
    }
}

static zd_step step_count;

/* The selection of a level is found, or not. */
static enum zd_next step_counted(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    const struct zd_slice_select *select = read->select;
    if (zd_slice_select_is_hidden(select)) {
        return zd_slice_select_refuse(select);
    }
    if (select->wait.status != ZD_OK) {
        take_fault(read->levels, select->code, &select->wait.err);
    }
    take_count(read, select->node->meta, &select->stored, select->wait.status);
    req->step = step_count;
    return ZD_NEXT;
}

static void count_by_index(struct zd_slice_read *read, const struct zd_node *node)
{
    struct zd_selection asked;
    struct zd_selection stored;
    struct zd_error err = {0};
    const enum zd_status status =
        zd_slice_params_select(&read->ask, node->meta, &asked, &stored, &err);
    if (status != ZD_OK) {
        take_fault(read->levels, zd_slice_params_code(status), &err);
    }
    take_count(read, node->meta, &stored, status);
}

/* Level by level: coordinates may have to be read. */
static enum zd_next step_count(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_slice_levels *levels = read->levels;
    const bool by_value = !read->ask.has_level && zd_selectors_have_values(&read->ask.picks);
    while (levels->n_counted < read->multiscale.n) {
        struct zd_node *node = read->multiscale.node[levels->n_counted];
        const bool is_array = node != NULL && node->layout != NULL;
        levels->level[levels->n_counted].is_array = is_array;
        if (!is_array) {
            levels->n_counted++;
        } else if (by_value) {
            return want_select(read, node, step_counted);
        } else {
            count_by_index(read, node);
        }
    }
    const enum zd_next next = choose_level(read, levels);
    zd_free(levels);
    read->levels = NULL;
    return next;
}

static enum zd_next step_choose_level(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    const struct zd_multiscale *multiscale = &read->multiscale;
    if (multiscale->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &multiscale->wait.err);
    }
    read->levels =
        zd_alloc_zero(1, sizeof *read->levels + multiscale->n * sizeof read->levels->level[0]);
    if (read->levels == NULL) {
        return zd_respond_no_memory(req, "the levels");
    }
    req->step = step_count;
    return ZD_NEXT;
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
        read->multiscale.reader = zd_permission_reader(req);
        req->step = step_choose_level;
        return zd_multiscale_want(&read->multiscale, read->node);
    }
    if (ask->has_level) {
        return refuse_parameter(
            req, "level", "level applies to multiscale groups; this node is an array");
    }
    return go_to_plan(read);
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

enum zd_next zd_slice_read_tag(struct zd_request *req, zd_step *read)
{
    const bool wants_tag =
        req->is_head || req->conditions.if_match != NULL || req->conditions.if_none_match != NULL;
    req->step = wants_tag ? zd_slice_read_survey : read;
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
    if (read->kind->again != NULL) {
        req->step = read->kind->again;
        return ZD_NEXT;
    }
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

/* Trace the work on the chunks that have arrived, for this request or for others too. */
static void trace_chunks(struct zd_request *req, const struct zd_fetch *fetch)
{
    for (uint32_t i = 0; req->trace != NULL && i < fetch->n_asked; i++) {
        const struct zd_chunk_times *times = &fetch->want[i].times;
        if (times->read_ns > 0) {
            zd_trace_add(
                req->trace, "store", times->read_began_ns, times->read_began_ns + times->read_ns);
        }
        if (times->decode_ns > 0) {
            zd_trace_add(req->trace, "decode", times->decode_began_ns,
                times->decode_began_ns + times->decode_ns);
        }
    }
}

/* Note the times of the chunks that were not in the cache. */
static void note_speed(const struct zd_fetch *fetch, uint64_t whole_ns)
{
    const struct zd_level *leaf = zd_layout_leaf(fetch->node->layout);
    uint64_t n_chunks = 0;
    uint64_t n_decoded = 0;
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        const struct zd_chunk_times *times = &fetch->want[i].times;
        n_chunks += times->read_ns > 0 || times->decode_ns > 0;
        n_decoded += times->decode_ns > 0;
    }
    zd_speed_add(&fetch->node->dataset->speed, n_chunks, whole_ns, fetch->read_ns, fetch->decode_ns,
        n_decoded * leaf->decode_ns);
}

static enum zd_next step_arrived(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    bool is_stale;
    if (zd_fetch_collect(&read->fetch, &is_stale, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    const uint64_t whole_ns = uv_hrtime() - read->fetch.asked_ns;
    trace_chunks(req, &read->fetch);
    zd_times_add_chunks(&req->times, whole_ns, read->fetch.read_ns, read->fetch.decode_ns);
    note_speed(&read->fetch, whole_ns);
    if (is_stale) {
        return restart(req);
    }
    req->step = step_worked;
    return zd_task_run(&read->task, read->kind->cost_ns(read));
}

enum zd_next zd_slice_read_chunks(struct zd_request *req)
{
    req->step = step_arrived;
    req->times.waits_for = ZD_TIME_NONE; /* step_arrived shares the time out */
    return zd_fetch_ask(&zd_slice_read_of(req)->fetch);
}
