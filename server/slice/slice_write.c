/* Writing a slice. */
#include "server/slice/slice_write.h"

#include <string.h>

#include "core/base/num.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/permission.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SUM_BYTES_PER_NS 1
#define FLYING_BYTES_MAX (UINT64_C(64) << 20) /* of rewrites that are under way at once */

enum state {
    ANY,
    LOCK,
    APPEND,
    MEASURE,
    FORESEE,
    ADMIT,
    WHOLE,
    SURVEY,
    LOOK,
    BEGIN,
    RECEIVE,
    HEAD,
    BAND,
    FILL,
    SUM,
    CUT,
    STAGE,
    END,
    RELOCK,
    COMMIT,
    RESPOND,
};

enum outcome {
    NEXT,
    MORE,     /* the same once more: bytes or objects are missing */
    SKIP,     /* the next state has nothing to do */
    LONGER,   /* the slice is appended */
    WAITED,   /* for memory or the body, without a lock: what was found is out of date */
    DONE,     /* there are no more bands */
    FAILED,   /* zd_slice_write.err and code say why */
    ANSWERED, /* the request is refused already */
};

struct slice_write_row {
    enum outcome (*begin)(struct zd_slice_write *write);
    enum outcome (*end)(struct zd_slice_write *write);
    uint8_t follows[FAILED];
};

static enum outcome wait_for(struct zd_slice_write *write, enum zd_next next)
{
    zd_machine_want(&write->place, next);
    return NEXT;
}

static enum outcome outcome_of(enum zd_status status)
{
    return status == ZD_OK ? NEXT : FAILED;
}

/* The outcome of a call that reads the body. Others change the array while the client sends: the
 * commit reads it again. */
static enum outcome read_outcome(struct zd_slice_write *write, enum zd_status status)
{
    if (status != ZD_OK) {
        write->code = status == ZD_INVALID ? "bad_body" : NULL;
        return FAILED;
    }
    write->commit.may_be_stale |= write->body.waits;
    if (write->body.waits) {
        zd_lock_release_node(&write->lock);
    }
    write->place.waits = write->body.waits;
    return write->body.is_done ? NEXT : MORE;
}

static const struct zd_settings *settings_of(const struct zd_slice_write *write)
{
    return &write->task.req->server->config->settings;
}

/* Release the locks and discard staged objects, so that other writers continue. */
static void give_back(struct zd_slice_write *write)
{
    zd_commit_release(&write->commit);
    zd_lock_release_node(&write->lock);
}

/* ---- the array and its checks ---- */

static enum zd_lock_mode mode_of(const struct zd_slice_write *write)
{
    return write->ask.has_append ? ZD_LOCK_APPEND : ZD_LOCK_CHUNKS;
}

static enum outcome lock_array(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    write->lock.wait = zd_machine_wait(&req->machine);
    write->lock.client = zd_request_client(req);
    return wait_for(
        write, zd_lock_want_node(req->dataset, mode_of(write), req->path, &write->lock));
}

static enum zd_status has_changed(struct zd_slice_write *write)
{
    write->code = "shape_mismatch";
    return zd_fail(&write->err, ZD_PRECONDITION, "the array changed while the slice arrived");
}

/* The parsed body holds for any array with the same chunks. */
static enum zd_status take_node(struct zd_slice_write *write)
{
    ZD_AUTO(zd_node) before = write->node;
    write->node = zd_node_ref(write->lock.node);
    const struct zd_meta *meta = write->node->meta;
    write->code = "unsupported_media_type";
    ZD_TRY(zd_slice_body_check_dtype(write->format, &meta->dtype, &write->err));
    write->code = NULL;
    ZD_TRY(zd_chain_check_encodes(meta->chain, &write->err));
    if (!write->task.req->upload.is_asked) {
        zd_slice_body_init(&write->body, write->task.req, write->format, &meta->dtype);
        write->body.is_append = write->ask.has_append;
        return ZD_OK;
    }
    write->body.dtype = &meta->dtype;
    return zd_meta_takes_chunks(meta, before->meta) ? ZD_OK : has_changed(write);
}

static struct zd_slice_view view_of(const struct zd_slice_write *write)
{
    return (struct zd_slice_view){
        .node = write->node,
        .asked = &write->asked,
        .selection = &write->selection,
        .seen = &write->seen,
    };
}

/* Compute what writing the selected elements takes. */
static enum zd_status plan_elements(struct zd_slice_write *write)
{
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(&write->asked, shape);
    const uint64_t bytes_max = settings_of(write)->limits_upload_bytes;
    const struct zd_slice_view view = view_of(write);
    struct zd_error *err = &write->err;
    write->code = "too_large";
    ZD_TRY(zd_slice_view_check(&view, bytes_max, "limits.upload_bytes", err));
    write->code = "bad_body";
    zd_slice_body_expect(&write->body, rank, shape, write->ask.is_broadcast);
    zd_format_answer_init(&write->body.answer, write->node->meta, &write->asked);
    ZD_TRY(zd_slice_body_check_length(&write->body, err));
    write->code = "too_large";
    zd_written_init(&write->written, write->node->meta);
    ZD_TRY(zd_seen_objects_init(&write->seen, write->node->layout, &write->selection, err));
    write->bands = (struct zd_slice_bands){
        .node = write->node,
        .selection = &write->selection,
        .is_broadcast = write->ask.is_broadcast,
        .is_conditional = write->is_conditional,
        .keeps_empty = zd_permission_is_blind(write->task.req),
        .flight_bytes = zd_admit_flight_bytes(write->task.req, FLYING_BYTES_MAX),
    };
    write->bands.variable_bytes = zd_slice_body_variable_bytes(&write->body);
    ZD_TRY(zd_slice_bands_plan(&write->bands, err));
    write->code = NULL;
    return ZD_OK;
}

static enum zd_status plan_slice(struct zd_slice_write *write)
{
    uint64_t shape[ZD_RANK_MAX];
    write->is_conditional = zd_conditions_bind_writes(&write->task.req->conditions);
    const enum zd_status status = zd_slice_params_select(
        &write->ask, write->node->meta, &write->asked, &write->selection, &write->err);
    write->code = zd_slice_params_code(status);
    ZD_TRY(status);
    const uint32_t rank = zd_selection_shape(&write->asked, shape);
    write->code = "shape_mismatch";
    ZD_TRY(zd_slice_params_check_shape(&write->ask, "slice", shape, rank, &write->err));
    return plan_elements(write);
}

static enum outcome plan(struct zd_slice_write *write)
{
    if (zd_request_check_locked(write->task.req, &write->lock) != ZD_NEXT) {
        return ANSWERED;
    }
    if (take_node(write) != ZD_OK) {
        return FAILED;
    }
    return write->ask.has_append ? LONGER : outcome_of(plan_slice(write));
}

/* ---- append ---- */

/* A body that is measured already has come while nothing was locked. */
static enum zd_status expect_append(struct zd_slice_write *write)
{
    const uint32_t rank = write->node->meta->grid.rank;
    struct zd_slice_append *append = &write->append;
    uint64_t shape[ZD_RANK_MAX];
    ZD_TRY(
        zd_slice_append_begin(append, &write->ask, write->node, shape, &write->code, &write->err));
    if (!write->body.is_measured) {
        zd_slice_body_expect(&write->body, rank, shape, false);
        return ZD_OK;
    }
    shape[append->dim] = write->body.shape[append->dim];
    return memcmp(shape, write->body.shape, rank * sizeof *shape) == 0 ? ZD_OK : has_changed(write);
}

static enum outcome begin_append(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    if (expect_append(write) != ZD_OK) {
        return FAILED;
    }
    /* Appended elements do not exist yet, so they have no tag. */
    if (zd_tag_judge_write(&req->conditions, NULL, 0) != ZD_OK) {
        zd_respond_precondition(req, "");
        return ANSWERED;
    }
    if (write->body.is_measured) {
        return SKIP;
    }
    return zd_slice_body_is_measured_late(&write->body)
               ? outcome_of(zd_slice_body_ask(
                     &write->body, settings_of(write)->limits_body_bytes, &write->err))
               : NEXT;
}

/* Findings under the lock are out of date when it is taken again. */
static void start_over(struct zd_slice_write *write)
{
    give_back(write);
    zd_seen_objects_done(&write->seen);
    zd_slice_append_release(&write->append);
}

static enum outcome measure(struct zd_slice_write *write)
{
    const enum outcome outcome =
        read_outcome(write, zd_slice_body_measure(&write->body, write->append.dim, &write->err));
    if (outcome != NEXT || write->lock.lock.claim.is_held) {
        return outcome;
    }
    start_over(write);
    return WAITED;
}

static enum outcome foresee(struct zd_slice_write *write)
{
    struct zd_slice_append *append = &write->append;
    const uint64_t count = write->body.shape[append->dim];
    return wait_for(write, zd_slice_append_foresee(append, count, &write->task.req->machine));
}

static enum outcome take_foreseen(struct zd_slice_write *write)
{
    struct zd_node *grown = NULL;
    if (zd_slice_append_take(&write->append, &grown, &write->code, &write->err) != ZD_OK) {
        return FAILED;
    }
    zd_node_unref(write->node);
    write->node = grown;
    write->body.dtype = &grown->meta->dtype;
    zd_slice_append_select(&write->append, grown->meta, &write->asked, &write->selection);
    return outcome_of(plan_elements(write));
}

/* ---- memory ---- */

/* A request that waits releases its locks, and begins again. */
static enum outcome wait_unlocked(struct zd_slice_write *write, enum zd_next next)
{
    if (next == ZD_NEXT) {
        return NEXT;
    }
    start_over(write);
    zd_machine_want(&write->place, next);
    return next == ZD_WAIT ? WAITED : ANSWERED;
}

static enum outcome admit(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    const uint64_t other_bytes =
        zd_slice_body_window_bytes(&write->body) + zd_metadata_bytes(write->node->path);
    const uint64_t bytes = zd_admit_stream_bytes(
        req, zd_slice_bands_held_bytes(&write->bands, &write->seen, other_bytes));
    return wait_unlocked(
        write, zd_admit_want_locked(req, bytes, zd_slice_write_step, zd_slice_write_step));
}

/* An append has its place once the array is locked, so that all of its body comes before. One that
 * is too long to be held comes band by band, and fails when others append meanwhile. */
static enum outcome want_whole(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    const uint64_t bytes = zd_slice_body_whole_bytes(&write->body);
    if (bytes == 0 || req->upload.state == ZD_UPLOAD_ENDED) {
        return NEXT;
    }
    if (zd_slice_body_ask(&write->body, UINT64_MAX, &write->err) != ZD_OK) {
        return FAILED;
    }
    return wait_unlocked(write, zd_body_stream_want(req, bytes));
}

/* ---- conditions: If-Match names a tag that GET has given the slice ---- */

static enum outcome begin_survey(struct zd_slice_write *write)
{
    if (!write->is_conditional) {
        return SKIP;
    }
    const enum zd_status status = zd_survey_init(&write->survey, &write->task.req->machine,
        write->node, &write->node->layout->level[0].grid, &write->selection, &write->err);
    write->survey.is_fresh = true;
    write->survey.seen = &write->seen;
    return outcome_of(status);
}

static enum outcome look_at_objects(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    char tag[ZD_TAG_BYTES];
    enum zd_next next;
    if (zd_survey_round(&write->survey, &next, &write->err) != ZD_OK) {
        return FAILED;
    }
    if (!write->survey.is_done) {
        zd_machine_want(&write->place, next);
        return MORE;
    }
    const struct zd_slice_view view = view_of(write);
    if (zd_slice_view_judge(&view, req) == ZD_OK) {
        return NEXT;
    }
    zd_slice_write_tag(write, tag);
    zd_respond_precondition(req, tag);
    return ANSWERED;
}

/* ---- locks, and the body ---- */

static enum outcome begin_objects(struct zd_slice_write *write)
{
    write->commit = (struct zd_commit){
        .wait = zd_machine_wait(&write->task.req->machine),
        .set = {.node = write->node, .seen = &write->seen, .is_dry = write->ask.is_dry},
        .before = write->append.count > 0 ? write->append.before : NULL,
        .selection = &write->selection,
        .written = &write->written,
        .is_conditional = write->is_conditional,
    };
    if (zd_commit_init(&write->commit, write->bands.n_at_once, &write->err) != ZD_OK) {
        return FAILED;
    }
    zd_slice_bands_begin(&write->bands, &write->commit.set, zd_task_owner(write->task.req));
    return NEXT;
}

/* Stage the objects that have their elements. */
static enum outcome stage_objects(struct zd_slice_write *write)
{
    return wait_for(write, zd_commit_stage(&write->commit, write->bands.n_cut));
}

/* The outcome of locking, staging or committing objects. */
static enum outcome judge_objects(struct zd_slice_write *write)
{
    const struct zd_commit *commit = &write->commit;
    if (commit->wait.status == ZD_OK) {
        return NEXT;
    }
    const char *known = commit->wait.status == ZD_UNSUPPORTED ? "unsupported_codec" : NULL;
    write->err = commit->wait.err;
    write->code = commit->code != NULL ? commit->code : known;
    return FAILED;
}

static enum outcome receive(struct zd_slice_write *write)
{
    return outcome_of(zd_slice_body_ask(&write->body, UINT64_MAX, &write->err));
}

static enum outcome read_head(struct zd_slice_write *write)
{
    return read_outcome(write, zd_slice_body_begin(&write->body, &write->err));
}

static enum outcome next_band(struct zd_slice_write *write)
{
    bool is_over;
    if (zd_slice_bands_next(&write->bands, &is_over, &write->err) != ZD_OK) {
        return FAILED;
    }
    if (is_over) {
        return DONE;
    }
    const struct zd_buf *elements = write->bands.elements;
    zd_slice_body_aim(&write->body, elements->data, elements->len / write->body.dtype->bytes);
    return NEXT;
}

static enum outcome fill_band(struct zd_slice_write *write)
{
    return read_outcome(write, zd_slice_body_fill(&write->body, &write->err));
}

static void sum(struct zd_task *task)
{
    struct zd_slice_write *write = ZD_CONTAINER(task, struct zd_slice_write, task);
    const struct zd_buf *elements = write->bands.elements;
    zd_written_add(&write->written, elements->data, elements->len / write->body.dtype->bytes);
}

static enum outcome sum_band(struct zd_slice_write *write)
{
    const uint64_t cost_ns = write->bands.elements->len / SUM_BYTES_PER_NS;
    return write->written.is_wanted ? wait_for(write, zd_task_run(&write->task, cost_ns)) : NEXT;
}

static enum outcome cut_band(struct zd_slice_write *write)
{
    struct zd_edit_set *set = &write->commit.set;
    if (zd_slice_body_settle(&write->body, &write->bands.elements, &write->err) != ZD_OK ||
        zd_slice_bands_cut(&write->bands, set, &write->err) != ZD_OK) {
        return FAILED;
    }
    return set->is_staged ? NEXT : SKIP;
}

static enum outcome end_body(struct zd_slice_write *write)
{
    return read_outcome(write, zd_slice_body_end(&write->body, &write->err));
}

/* ---- the end ---- */

static enum outcome lock_again(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    struct zd_lock_want *lock = &write->lock.lock;
    if (lock->claim.is_held) {
        return SKIP;
    }
    *lock = (struct zd_lock_want){
        .client = zd_request_client(req), .wait = zd_machine_wait(&req->machine)};
    return wait_for(write, zd_lock_want(req->dataset, mode_of(write), req->path, lock));
}

static enum outcome judge_lock(struct zd_slice_write *write)
{
    const struct zd_wait *wait = &write->lock.lock.wait;
    write->err = wait->err;
    return outcome_of(wait->status);
}

static enum outcome commit_objects(struct zd_slice_write *write)
{
    return wait_for(write, zd_commit_want(&write->commit));
}

static enum outcome take_stored(struct zd_slice_write *write)
{
    struct zd_commit *commit = &write->commit;
    const enum outcome outcome = judge_objects(write);
    write->counts = commit->counts;
    if (commit->now != NULL) {
        zd_node_unref(write->node);
        write->node = ZD_TAKE(commit->now);
    }
    give_back(write);
    return outcome;
}

/* Refuse the slice; suggest smaller pieces where those fit. */
static enum zd_next refuse(struct zd_slice_write *write)
{
    struct zd_request *req = write->task.req;
    const struct zd_settings *settings = settings_of(write);
    const char *code = write->code;
    if (code != NULL && strcmp(code, "too_large") == 0 && write->err.status == ZD_TOO_LARGE) {
        const struct zd_slice_view view = view_of(write);
        const uint64_t bytes_max =
            zd_min_u64(settings->limits_write_bytes, settings->limits_upload_bytes);
        return zd_slice_view_refuse(&view, bytes_max, &write->err, req);
    }
    return zd_respond_error(req, code, &write->err);
}

#define TO(outcome, state) [outcome] = (state)

/* The picture of slice_write.h. */
static const struct slice_write_row table[] = {
    [LOCK] = {lock_array, plan, {TO(NEXT, ADMIT), TO(LONGER, APPEND)}},
    [APPEND] = {begin_append, NULL, {TO(NEXT, MEASURE), TO(SKIP, FORESEE)}},
    [MEASURE] = {measure, NULL, {TO(NEXT, FORESEE), TO(MORE, MEASURE), TO(WAITED, LOCK)}},
    [FORESEE] = {foresee, take_foreseen, {TO(NEXT, ADMIT)}},
    [ADMIT] = {admit, NULL, {TO(NEXT, WHOLE), TO(WAITED, LOCK)}},
    [WHOLE] = {want_whole, NULL, {TO(NEXT, SURVEY), TO(WAITED, LOCK)}},
    [SURVEY] = {begin_survey, NULL, {TO(NEXT, LOOK), TO(SKIP, BEGIN)}},
    [LOOK] = {look_at_objects, NULL, {TO(NEXT, BEGIN), TO(MORE, LOOK)}},
    [BEGIN] = {begin_objects, NULL, {TO(NEXT, RECEIVE)}},
    [RECEIVE] = {receive, NULL, {TO(NEXT, HEAD)}},
    [HEAD] = {read_head, NULL, {TO(NEXT, BAND), TO(MORE, HEAD)}},
    [BAND] = {next_band, NULL, {TO(NEXT, FILL), TO(DONE, END)}},
    [FILL] = {fill_band, NULL, {TO(NEXT, SUM), TO(MORE, FILL)}},
    [SUM] = {sum_band, NULL, {TO(NEXT, CUT)}},
    [CUT] = {cut_band, NULL, {TO(NEXT, STAGE), TO(SKIP, BAND)}},
    [STAGE] = {stage_objects, judge_objects, {TO(NEXT, BAND)}},
    [END] = {end_body, NULL, {TO(NEXT, RELOCK), TO(MORE, END)}},
    [RELOCK] = {lock_again, judge_lock, {TO(NEXT, COMMIT), TO(SKIP, COMMIT)}},
    [COMMIT] = {commit_objects, take_stored, {TO(NEXT, RESPOND)}},
};

enum zd_next zd_slice_write_step(struct zd_request *req)
{
    struct zd_slice_write *write = req->state;
    struct zd_machine_place *place = &write->place;
    if (place->state == RESPOND) {
        return write->respond(req);
    }
    const struct slice_write_row *row = &table[place->state];
    const enum outcome outcome = !place->has_begun  ? row->begin(write)
                                 : row->end != NULL ? row->end(write)
                                                    : NEXT;
    if (outcome == FAILED || outcome == ANSWERED) {
        give_back(write); /* at once, though the client may still be sending */
        return outcome == FAILED ? refuse(write) : ZD_DONE;
    }
    return zd_machine_follow(place, row->follows, table[ANY].follows, outcome);
}

/* ---- the state of the request ---- */

void zd_slice_write_tag(const struct zd_slice_write *write, char to[ZD_TAG_BYTES])
{
    const struct zd_slice_view view = view_of(write);
    const struct zd_slice_form form = {.format = write->format};
    zd_slice_view_tag(&view, &form, to);
}

static void release(struct zd_task *task)
{
    struct zd_slice_write *write = ZD_CONTAINER(task, struct zd_slice_write, task);
    zd_survey_done(&write->survey);
    zd_seen_objects_done(&write->seen);
    zd_slice_bands_done(&write->bands);
    zd_slice_body_done(&write->body);
    zd_slice_params_done(&write->ask);
    zd_slice_append_release(&write->append);
    zd_node_unref(write->node);
    zd_free(write);
}

static void end(struct zd_slice_write *write)
{
    give_back(write);
    zd_task_leave(&write->task);
}

static void commit_ended(struct zd_wait *wait)
{
    end(ZD_CONTAINER(wait, struct zd_slice_write, commit.wait));
}

static void leave(struct zd_request *req)
{
    struct zd_slice_write *write = req->state;
    if (zd_commit_is_under_way(&write->commit)) {
        write->commit.wait.done = commit_ended;
        zd_commit_withdraw(&write->commit);
        return;
    }
    end(write);
}

static bool is_storing(const struct zd_request *req)
{
    const struct zd_slice_write *write = req->state;
    return write->place.state == RESPOND || zd_commit_is_storing(&write->commit);
}

struct zd_slice_write *zd_slice_write_new(
    struct zd_request *req, const struct zd_format *format, zd_step *respond)
{
    struct zd_slice_write *write = zd_request_new_state(req, sizeof *write, leave);
    if (write != NULL) {
        req->is_storing = is_storing;
        zd_task_init(&write->task, req, sum, release);
        zd_slice_params_init(&write->ask, req->server);
        write->format = format;
        write->respond = respond;
        write->place.state = LOCK;
    }
    return write;
}
