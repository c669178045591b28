/* Edits of many stored objects of one array, made all or not at all. */
#include "server/write/commit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/data/catalog.h"
#include "server/data/events.h"
#include "server/runtime/server.h"
#include "server/write/idle_writer.h"

#define APPEND_NAME    ZD_TEMP_PREFIX "append/" /* and the array's path: held like a key */
#define KEYS_BYTES_MAX 160                      /* of those that an error names */
#define TURN_OBJECTS   256                      /* checked in one turn of the loop */

enum state {
    IDLE,
    STAGE,
    LOCK,
    HOLD,
    LOOK,
    CHECK,
    WIDEN,
    OBJECTS,
    SHAPE,
    GROW,
    REFRESH,
    REPORT,
    SETTLE,
    UNDO,
    RELEASE,
};

enum outcome {
    NEXT,
    MORE,   /* of many objects: the next ones */
    SKIP,   /* there is nothing to do here */
    AGAIN,  /* another writer has changed the document */
    FAILED, /* zd_commit.wait says why */
    N_OUTCOMES,
};

struct commit_row {
    enum outcome (*begin)(struct zd_commit *commit);
    enum outcome (*end)(struct zd_commit *commit);
    uint8_t follows[N_OUTCOMES];
};

static struct zd_dataset *dataset_of(const struct zd_commit *commit)
{
    return commit->set.node->dataset;
}

static enum outcome fail(
    struct zd_commit *commit, enum zd_status status, const char *code, const struct zd_error *err)
{
    if (commit->wait.status == ZD_OK) {
        zd_wait_answer(&commit->wait, status, err);
        commit->code = code;
    }
    return FAILED;
}

/* The outcome of a wait that has ended. */
static enum outcome outcome_of(struct zd_commit *commit, const struct zd_wait *wait)
{
    return wait->status == ZD_OK ? NEXT : fail(commit, wait->status, NULL, &wait->err);
}

static enum outcome wait_for(struct zd_commit *commit, enum zd_next next)
{
    zd_machine_want(&commit->place, next);
    return NEXT;
}

static enum outcome go_through(struct zd_commit *commit, enum zd_edit_phase phase)
{
    struct zd_edit_set *set = &commit->set;
    const enum zd_next next = zd_edit_set_go_on(set, phase);
    if (next == ZD_WAIT) {
        zd_machine_want(&commit->place, next);
        return MORE;
    }
    return set->status == ZD_OK ? NEXT : fail(commit, set->status, NULL, &set->err);
}

static enum outcome lock_objects(struct zd_commit *commit)
{
    const enum outcome outcome = go_through(commit, ZD_EDIT_LOCK);
    commit->may_be_stale = commit->may_be_stale || outcome == MORE;
    return outcome;
}

static enum outcome stage_objects(struct zd_commit *commit)
{
    return go_through(commit, ZD_EDIT_STAGE);
}

/* ---- commits that must be checked as a whole ---- */

/* The store's own precondition is enough for an object whose edit can be repeated. */
static bool is_judged_as_a_whole(const struct zd_commit *commit)
{
    bool is_whole = commit->before != NULL;
    for (uint64_t i = 0; i < commit->set.n; i++) {
        is_whole = is_whole || commit->set.object[i].want.drops_elements;
    }
    return is_whole || (commit->is_conditional && commit->set.is_staged);
}

static const char *key_of(const struct zd_commit *commit, uint64_t object)
{
    return zd_edit_key(&commit->set.object[object].want);
}

static enum zd_status collect_keys(struct zd_commit *commit, struct zd_error *err)
{
    struct zd_store_hold *hold = &commit->hold;
    hold->hash = zd_alloc((commit->set.n + 1) * sizeof *hold->hash);
    if (hold->hash == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the keys of the slice");
    }
    for (uint64_t i = 0; i < commit->set.n; i++) {
        hold->hash[hold->n_keys++] = zd_key_hash(key_of(commit, i));
    }
    if (commit->before != NULL) {
        ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX + sizeof APPEND_NAME);
        zd_text_addf(&key, APPEND_NAME "%s", commit->set.node->path);
        hold->hash[hold->n_keys++] = zd_key_hash(key.at);
    }
    return ZD_OK;
}

/* There is one holder at a time, and all objects are locked before: if the holder waited for an
 * object's lock, the writer that has the lock might wait to hold. */
static enum outcome hold_keys(struct zd_commit *commit)
{
    if (commit->set.is_dry || !is_judged_as_a_whole(commit)) {
        return SKIP;
    }
    assert(commit->set.is_staged);
    commit->wait.status = collect_keys(commit, &commit->wait.err);
    if (commit->wait.status != ZD_OK) {
        return FAILED;
    }
    zd_machine_await(&commit->machine, &commit->hold.op);
    zd_store_hold(dataset_of(commit)->store, &commit->hold);
    return wait_for(commit, ZD_WAIT);
}

static enum outcome take_hold(struct zd_commit *commit)
{
    const struct zd_store_op *op = &commit->hold.op;
    commit->holds_keys = op->status == ZD_OK;
    return commit->holds_keys ? NEXT : fail(commit, op->status, NULL, &op->err);
}

static enum outcome release_keys(struct zd_commit *commit)
{
    if (!commit->holds_keys) {
        return NEXT;
    }
    zd_idle_writer_after_write(dataset_of(commit));
    zd_store_release(&commit->hold);
    return wait_for(commit, ZD_WAIT);
}

/* ---- reread the array ---- */

static enum outcome read_node(struct zd_commit *commit)
{
    zd_node_unref(ZD_TAKE(commit->found.node));
    commit->found = (struct zd_node_want){.wait = zd_machine_wait(&commit->machine)};
    return wait_for(
        commit, zd_catalog_want_fresh(dataset_of(commit), commit->set.node->path, &commit->found));
}

static enum outcome look_again(struct zd_commit *commit)
{
    const bool must_look = commit->holds_keys || commit->may_be_stale;
    return must_look && !commit->set.is_dry ? read_node(commit) : SKIP;
}

static enum outcome conflict(struct zd_commit *commit)
{
    struct zd_error *err = &commit->wait.err;
    commit->code = "shape_mismatch";
    if (commit->before == NULL) {
        commit->wait.status =
            zd_fail(err, ZD_PRECONDITION, "the array changed while the slice arrived");
        return FAILED;
    }
    const uint64_t *shape = commit->before->meta->grid.shape;
    uint32_t dim = 0; /* the one that the append makes longer */
    while (shape[dim] == commit->set.node->meta->grid.shape[dim]) {
        dim++;
    }
    commit->wait.status = zd_fail(err, ZD_PRECONDITION,
        "the array changed while elements were appended to it: dimension %u had length %llu", dim,
        (unsigned long long)shape[dim]);
    zd_fact_dim(err, dim);
    return FAILED;
}

static bool is_inside(const struct zd_selection *selection, const uint64_t *shape)
{
    bool is_inside = true;
    for (uint32_t d = 0; d < selection->rank; d++) {
        const struct zd_axis *axis = &selection->axis[d];
        if (axis->count == 0) {
            return true; /* there are no elements */
        }
        const uint64_t last = zd_axis_at(axis, axis->count - 1);
        is_inside = is_inside && axis->start < shape[d] && last < shape[d];
    }
    return is_inside;
}

/* Whether an extension that was added meanwhile needs to know elements that have gone by. */
static bool has_unseen_elements(const struct zd_commit *commit, const struct zd_meta *meta)
{
    struct zd_written now;
    zd_written_init(&now, meta);
    return now.is_wanted && !commit->written->is_wanted;
}

/* Whether the array is still what the edits were made for. It may have grown. */
static bool is_as_planned(const struct zd_commit *commit)
{
    const struct zd_node *now = commit->found.node;
    if (now == NULL || !zd_meta_takes_chunks(now->meta, commit->set.node->meta) ||
        has_unseen_elements(commit, now->meta)) {
        return false;
    }
    return commit->before != NULL ? zd_meta_has_same_chunks(now->meta, commit->before->meta)
                                  : is_inside(commit->selection, now->meta->grid.shape);
}

static enum outcome judge_node(struct zd_commit *commit)
{
    const struct zd_wait *wait = &commit->found.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return outcome_of(commit, wait);
    }
    return is_as_planned(commit) ? NEXT : conflict(commit);
}

/* ---- reread the objects ---- */

/* Ask past the caches: other processes may have written. */
static enum outcome check_object(struct zd_commit *commit)
{
    struct zd_store *store = dataset_of(commit)->store;
    if (!commit->holds_keys || commit->n_checked == commit->set.n) {
        return SKIP;
    }
    commit->check = (struct zd_store_status){0};
    zd_machine_await(&commit->machine, &commit->check.op);
    (void)snprintf(
        commit->check.key, sizeof commit->check.key, "%s", key_of(commit, commit->n_checked));
    if (zd_store_status_now(store, &commit->check) != ZD_AGAIN) {
        return NEXT;
    }
    zd_store_status(store, &commit->check);
    return wait_for(commit, ZD_WAIT);
}

/* Whether the object is as the client has seen it, or as it was read to be staged. */
static bool is_as_seen(const struct zd_commit *commit)
{
    const struct zd_edit_want *want = &commit->set.object[commit->n_checked].want;
    const struct zd_generation absent = {0};
    const struct zd_generation now =
        commit->check.op.status == ZD_OK ? commit->check.stat.generation : absent;
    if (commit->is_conditional) {
        return zd_generation_equal(now, want->generation);
    }
    return !want->drops_elements || zd_generation_equal(now, want->stat.generation);
}

/* The check of one object seldom waits: that of many is done in several turns of the loop. */
static enum outcome wait_a_turn(struct zd_commit *commit)
{
    if (commit->n_checked % TURN_OBJECTS == 0) {
        commit->turn = zd_machine_wait(&commit->machine);
        zd_deferred_want(&dataset_of(commit)->server->later, &commit->turn);
        zd_machine_want(&commit->place, ZD_WAIT);
    }
    return MORE;
}

static enum outcome judge_object(struct zd_commit *commit)
{
    const struct zd_store_op *op = &commit->check.op;
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        return fail(commit, op->status, NULL, &op->err);
    }
    if (is_as_seen(commit)) {
        commit->n_checked++;
        return wait_a_turn(commit);
    }
    if (commit->before != NULL) {
        return conflict(commit);
    }
    commit->wait.status = zd_fail(&commit->wait.err, ZD_PRECONDITION,
        "chunk %s was replaced by another writer", commit->check.key);
    return FAILED;
}

/* ---- the document: widened before, grown after ---- */

static enum outcome widen_bounds(struct zd_commit *commit)
{
    struct zd_node *node = commit->found.node != NULL ? commit->found.node
                           : commit->before != NULL   ? commit->before
                                                      : commit->set.node;
    if (commit->set.is_dry) {
        return SKIP;
    }
    commit->widen = (struct zd_bounds_want){
        .wait = zd_machine_wait(&commit->machine),
        .node = zd_node_ref(node),
        .written = commit->written,
    };
    return wait_for(commit, zd_bounds_want(&commit->widen));
}

static enum outcome take_bounds(struct zd_commit *commit)
{
    const struct zd_bounds_want *widen = &commit->widen;
    commit->document_has_changed = widen->node->tag != commit->set.node->tag;
    return outcome_of(commit, &widen->wait);
}

static enum outcome read_shape(struct zd_commit *commit)
{
    return commit->before != NULL && !commit->set.is_dry ? read_node(commit) : SKIP;
}

static enum outcome judge_shape(struct zd_commit *commit)
{
    if (outcome_of(commit, &commit->found.wait) == FAILED) {
        return FAILED;
    }
    return zd_meta_has_same_chunks(commit->found.node->meta, commit->before->meta)
               ? NEXT
               : conflict(commit);
}

static enum outcome grow(struct zd_commit *commit)
{
    const struct zd_node *grown = commit->set.node;
    zd_metadata_release(&commit->change);
    commit->change = (struct zd_metadata_want){.wait = zd_machine_wait(&commit->machine)};
    return wait_for(commit, zd_metadata_want_shape(grown, grown->meta->grid.shape,
                                commit->found.node, &commit->change));
}

static enum outcome judge_growth(struct zd_commit *commit)
{
    const struct zd_metadata_want *change = &commit->change;
    const enum zd_status status = change->wait.status;
    if (status == ZD_OK) {
        commit->document_has_changed = true;
        return NEXT;
    }
    if (status == ZD_PRECONDITION && ++commit->n_tries < ZD_TRIES_MAX) {
        return AGAIN;
    }
    if (status == ZD_PRECONDITION && !change->is_stored) {
        return conflict(commit);
    }
    (void)fail(commit, status, change->code, &change->wait.err);
    return change->is_stored ? NEXT : FAILED; /* the elements are inside: they stay as well */
}

static enum outcome refresh(struct zd_commit *commit)
{
    return commit->document_has_changed ? read_node(commit) : SKIP;
}

static enum outcome take_node(struct zd_commit *commit)
{
    commit->now = ZD_TAKE(commit->found.node);
    return NEXT;
}

/* ---- the objects ---- */

static enum outcome commit_objects(struct zd_commit *commit)
{
    if (commit->is_withdrawn && commit->set.pass[ZD_EDIT_COMMIT].n_begun == 0) {
        struct zd_error err = {0};
        const enum zd_status status = zd_fail(&err, ZD_CANCELLED,
            "the change was cancelled: the client disconnected, or the time limit passed");
        return fail(commit, status, NULL, &err);
    }
    const enum outcome outcome = go_through(commit, ZD_EDIT_COMMIT);
    if (outcome == NEXT) {
        commit->counts = zd_edit_set_count(&commit->set);
    }
    return outcome;
}

static enum outcome report_events(struct zd_commit *commit)
{
    zd_edit_set_report(&commit->set);
    return NEXT;
}

static enum outcome settle_objects(struct zd_commit *commit)
{
    return go_through(commit, ZD_EDIT_SETTLE);
}

/* Statuses that say that nothing was changed are not true of a commit that could not be undone. */
static void report_remains(
    struct zd_commit *commit, uint64_t n, const struct zd_error *why, const char *keys)
{
    const struct zd_error first = commit->wait.err;
    struct zd_wait *wait = &commit->wait;
    if (wait->status == ZD_PRECONDITION || wait->status == ZD_READ_ONLY) {
        wait->status = ZD_STORE;
    }
    commit->code = NULL;
    wait->err.status = zd_fail(&wait->err, wait->status,
        "%.150s; rollback incomplete: %llu of %llu stored objects keep the new data (%.100s): %s",
        first.text, (unsigned long long)n, (unsigned long long)commit->set.n, why->text, keys);
    zd_log(&dataset_of(commit)->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        dataset_of(commit)->config.name, wait->err.text);
}

static enum outcome undo_objects(struct zd_commit *commit)
{
    const enum outcome outcome = go_through(commit, ZD_EDIT_UNDO);
    const struct zd_error *why = NULL;
    ZD_SCOPED_TEXT(keys, KEYS_BYTES_MAX);
    if (outcome == MORE) {
        return MORE;
    }
    const uint64_t n = zd_edit_set_remains(&commit->set, &keys, &why);
    if (n > 0) {
        report_remains(commit, n, why, keys.at);
    }
    return NEXT;
}

/* ---- the machine ---- */

#define TO(outcome, state) [outcome] = (state)

/* The picture of commit.h. */
static const struct commit_row table[] = {
    [IDLE] = {.follows = {TO(FAILED, RELEASE)}},
    [STAGE] = {stage_objects, NULL, {TO(NEXT, IDLE), TO(MORE, STAGE)}},
    [LOCK] = {lock_objects, NULL, {TO(NEXT, HOLD), TO(MORE, LOCK)}},
    [HOLD] = {hold_keys, take_hold, {TO(NEXT, LOOK), TO(SKIP, LOOK)}},
    [LOOK] = {look_again, judge_node, {TO(NEXT, CHECK), TO(SKIP, WIDEN)}},
    [CHECK] = {check_object, judge_object, {TO(MORE, CHECK), TO(SKIP, WIDEN)}},
    [WIDEN] = {widen_bounds, take_bounds, {TO(NEXT, OBJECTS), TO(SKIP, OBJECTS)}},
    [OBJECTS] = {commit_objects, NULL, {TO(NEXT, SHAPE), TO(MORE, OBJECTS), TO(FAILED, UNDO)}},
    [SHAPE] = {read_shape, judge_shape, {TO(NEXT, GROW), TO(SKIP, REFRESH), TO(FAILED, UNDO)}},
    [GROW] = {grow, judge_growth, {TO(NEXT, REFRESH), TO(AGAIN, SHAPE), TO(FAILED, UNDO)}},
    [REFRESH] = {refresh, take_node, {TO(NEXT, REPORT), TO(SKIP, REPORT)}},
    [REPORT] = {report_events, NULL, {TO(NEXT, SETTLE)}},
    [SETTLE] = {settle_objects, NULL, {TO(NEXT, RELEASE), TO(MORE, SETTLE)}},
    [UNDO] = {undo_objects, NULL, {TO(NEXT, RELEASE), TO(MORE, UNDO)}},
    [RELEASE] = {release_keys, NULL, {TO(NEXT, IDLE)}},
};

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_commit *commit = ZD_CONTAINER(machine, struct zd_commit, machine);
    const struct commit_row *row = &table[commit->place.state];
    const enum outcome outcome = !commit->place.has_begun ? row->begin(commit)
                                 : row->end != NULL       ? row->end(commit)
                                                          : NEXT;
    return zd_machine_follow(&commit->place, row->follows, table[IDLE].follows, outcome);
}

static enum zd_next run(struct zd_commit *commit, enum state state)
{
    assert(commit->place.state == IDLE);
    zd_wait_answer(&commit->wait, ZD_OK, NULL);
    commit->place.state = (uint8_t)state;
    return zd_machine_call(&commit->machine);
}

/* ---- the calls ---- */

enum zd_status zd_commit_init(struct zd_commit *commit, uint32_t n_at_once, struct zd_error *err)
{
    commit->machine = (struct zd_machine){.step = step, .wait = &commit->wait};
    commit->set.is_staged = commit->set.seen->n > 1 || commit->before != NULL;
    return zd_edit_set_init(&commit->set, &commit->machine, n_at_once, err);
}

void zd_commit_release(struct zd_commit *commit)
{
    assert(!zd_commit_is_under_way(commit));
    zd_edit_set_release(&commit->set);
    zd_free(commit->hold.hash);
    zd_metadata_release(&commit->change);
    zd_node_unref(ZD_TAKE(commit->widen.node));
    zd_node_unref(commit->found.node);
    zd_node_unref(commit->now);
    *commit = (struct zd_commit){0};
}

bool zd_commit_is_under_way(const struct zd_commit *commit)
{
    return commit->place.state >= HOLD;
}

bool zd_commit_is_storing(const struct zd_commit *commit)
{
    const struct zd_edit_set *set = &commit->set;
    if (commit->place.state != OBJECTS) {
        return commit->place.state > OBJECTS;
    }
    return set->is_staged ? set->pass[ZD_EDIT_COMMIT].n_begun > 0
                          : set->n > 0 && zd_edit_is_storing(&set->object[0].want);
}

/* Withdraw a single object whose edit waits for others. */
void zd_commit_withdraw(struct zd_commit *commit)
{
    const struct zd_edit_set *set = &commit->set;
    struct zd_edit_want *want = set->n > 0 ? &set->object[0].want : NULL;
    commit->is_withdrawn = true;
    if (commit->place.state == OBJECTS && !set->is_staged && want != NULL && want->load != NULL &&
        zd_edit_give_up(want)) {
        struct zd_error err = {0};
        const enum zd_status status = zd_fail(&err, ZD_CANCELLED,
            "the change was cancelled: the client disconnected, or the time limit passed");
        zd_wait_end(&want->wait, status, &err);
    }
}

enum zd_next zd_commit_stage(struct zd_commit *commit, uint64_t n_objects)
{
    commit->set.n_ready = n_objects;
    return run(commit, STAGE);
}

enum zd_next zd_commit_want(struct zd_commit *commit)
{
    return run(commit, LOCK);
}
