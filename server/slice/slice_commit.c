/* The end of writing a slice. */
#include "server/slice/slice_commit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/dialect.h"
#include "server/data/events.h"
#include "server/runtime/server.h"
#include "server/write/bounds.h"

#define APPEND_NAME ZD_TEMP_PREFIX "append/" /* and the array's path: no key, but held like one */
#define TRIES_MAX   16

#define KEYS_BYTES_MAX 160 /* of those that an error names */

struct zd_slice_commit {
    struct zd_slice_write *write;
    enum zd_next (*step)(struct zd_slice_commit *commit);
    bool is_calling; /* inside zd_slice_commit */
    struct zd_store_hold hold;
    bool holds;
    struct zd_store_status check; /* of one object after the other */
    uint64_t n_checked;
    bool is_checking;
    struct zd_node_want node;
    struct zd_bounds_want widen;
    struct zd_metadata_want change;
    uint32_t n_tries;  /* to grow the shape */
    bool has_changed;  /* the document */
    bool is_committed; /* staged objects are, or some of them: what fails now undoes that */
};

static enum zd_next step_hold(struct zd_slice_commit *commit);
static enum zd_next step_check(struct zd_slice_commit *commit);
static enum zd_next step_widen(struct zd_slice_commit *commit);
static enum zd_next step_objects(struct zd_slice_commit *commit);
static enum zd_next step_grow(struct zd_slice_commit *commit);
static enum zd_next step_shape(struct zd_slice_commit *commit);
static enum zd_next step_look_again(struct zd_slice_commit *commit);
static enum zd_next step_undo(struct zd_slice_commit *commit);
static enum zd_next step_done(struct zd_slice_commit *commit);
static enum zd_next step_give_back(struct zd_slice_commit *commit);

static struct zd_dataset *dataset_of(const struct zd_slice_commit *commit)
{
    return commit->write->node->dataset;
}

static enum zd_next go_to(
    struct zd_slice_commit *commit, enum zd_next (*step)(struct zd_slice_commit *commit))
{
    commit->step = step;
    return ZD_NEXT;
}

/* All objects once more. */
static enum zd_next go_through(
    struct zd_slice_commit *commit, enum zd_next (*step)(struct zd_slice_commit *commit))
{
    commit->write->n_asked = 0;
    commit->write->n_told = 0;
    return go_to(commit, step);
}

static enum zd_next fail(struct zd_slice_commit *commit, enum zd_status status, const char *code,
    const struct zd_error *err)
{
    struct zd_slice_write *write = commit->write;
    zd_slice_write_fail(write, status, code, err);
    if (!commit->is_committed) {
        return go_to(commit, step_give_back);
    }
    write->n_begun = write->n_asked;
    return go_through(commit, step_undo);
}

/* ---- the end ---- */

static void finish(struct zd_slice_commit *commit)
{
    struct zd_slice_write *write = commit->write;
    const bool is_calling = commit->is_calling;
    zd_metadata_release(&commit->change);
    zd_bounds_release(&commit->widen);
    zd_node_unref(commit->node.node);
    zd_free(commit->hold.hash);
    zd_free(commit);
    write->commit = NULL;
    zd_slice_write_abort(write); /* nothing but locks, and what a failure has left */
    if (write->req == NULL) {
        zd_slice_write_free(write);
    } else if (!is_calling) {
        zd_request_go_on(write->req);
    }
}

void zd_slice_commit_go_on(struct zd_slice_commit *commit)
{
    enum zd_next next = ZD_NEXT;
    while (next == ZD_NEXT) {
        next = commit->step(commit);
    }
    if (next == ZD_DONE) {
        finish(commit);
    }
}

static void released(struct zd_store_op *op)
{
    finish(ZD_CONTAINER(op, struct zd_slice_commit, hold.op));
}

static enum zd_next step_give_back(struct zd_slice_commit *commit)
{
    if (!commit->holds) {
        return ZD_DONE;
    }
    commit->holds = false;
    commit->hold.op.done = released;
    zd_store_release(&commit->hold);
    return ZD_WAIT;
}

/* ---- when it fails in the middle ---- */

/* Adds the key of an object that is not as it was, as long as there is room for it. */
static void add_remain(struct zd_text *keys, const struct zd_edit_want *want)
{
    const char *key = zd_edit_key(want);
    if (keys->len + strlen(key) + strlen(", ...") < KEYS_BYTES_MAX) {
        zd_text_addf(keys, "%s%s", keys->len == 0 ? "" : ", ", key);
    } else if (keys->len < 3 || strcmp(keys->at + keys->len - 3, "...") != 0) {
        zd_text_add(keys, keys->len == 0 ? "..." : ", ...");
    }
}

/* A store that takes no writes any more takes none that undo anything. What another process has
 * written since is not what remains. */
static void tell_remains(struct zd_slice_commit *commit)
{
    struct zd_slice_write *write = commit->write;
    const struct zd_error *why = NULL;
    unsigned long long n = 0;
    ZD_SCOPED_TEXT(keys, KEYS_BYTES_MAX);
    for (uint64_t i = 0; i < write->n_begun; i++) {
        const struct zd_edit_want *want = &write->object[i].want;
        if (want->wait.status != ZD_OK && want->wait.status != ZD_PRECONDITION) {
            why = why == NULL ? &want->wait.err : why;
            n++;
            add_remain(&keys, want);
        }
    }
    if (n == 0) {
        return;
    }
    const struct zd_error first = write->err;
    const bool says_unchanged = write->status == ZD_PRECONDITION || write->status == ZD_READ_ONLY;
    write->status =
        says_unchanged ? ZD_STORE : write->status; /* neither is true when some remain */
    write->code = NULL;
    write->err.status = zd_fail(&write->err, write->status,
        "%.150s; %llu of %llu stored objects hold what was written and could not be put back "
        "(%.100s): %s",
        first.text, n, (unsigned long long)write->n_objects, why->text, keys.at);
    zd_log(&dataset_of(commit)->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        dataset_of(commit)->config.name, write->err.text);
}

static enum zd_next step_undo(struct zd_slice_commit *commit)
{
    if (!zd_slice_write_undo_some(commit->write)) {
        return ZD_WAIT;
    }
    tell_remains(commit);
    return go_to(commit, step_give_back);
}

/* ---- beside other processes: what is judged as a whole ---- */

/* Many objects under conditions, or without the elements to make one again, and appends: else the
 * store's own precondition is enough. */
static bool is_judged_as_a_whole(const struct zd_slice_write *write)
{
    return (write->is_conditional && zd_slice_write_is_staged(write)) || write->is_once ||
           write->append.is_asked;
}

/* There is one holder at a time: one who waited for an object would wait for somebody who has
 * locked it, and waits to hold. */
static bool has_all_locks(const struct zd_slice_write *write)
{
    bool has_all = zd_slice_write_is_staged(write);
    for (uint64_t i = 0; i < write->n_objects; i++) {
        has_all = has_all && zd_edit_is_locked(&write->object[i].want);
    }
    return has_all;
}

static enum zd_next (*first_step(const struct zd_slice_write *write))(struct zd_slice_commit *)
{
    if (write->is_dry) {
        return step_widen;
    }
    if (is_judged_as_a_whole(write)) {
        return step_hold;
    }
    return write->has_waited ? step_look_again : step_widen;
}

static enum zd_status key_of(const struct zd_slice_commit *commit, uint64_t number,
    struct zd_text *key, struct zd_error *err)
{
    const struct zd_slice_write *write = commit->write;
    const struct zd_meta *meta = write->node->meta;
    zd_text_clear(key);
    const enum zd_status status = meta->dialect->chunk_key(
        meta, write->node->path, write->object[number].want.edit->part.chunk, key);
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, "the key of a chunk cannot be made");
}

static void held(struct zd_store_op *op)
{
    zd_slice_commit_go_on(ZD_CONTAINER(op, struct zd_slice_commit, hold.op));
}

static enum zd_next step_held(struct zd_slice_commit *commit)
{
    const struct zd_store_op *op = &commit->hold.op;
    if (op->status != ZD_OK) {
        commit->holds = false;
        return fail(commit, op->status, NULL, &op->err);
    }
    return go_to(commit, step_look_again);
}

static enum zd_next step_hold(struct zd_slice_commit *commit)
{
    const struct zd_slice_write *write = commit->write;
    const bool has_all = has_all_locks(write);
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX + sizeof APPEND_NAME);
    assert(has_all);
    (void)has_all;
    commit->hold.hash = zd_alloc(zd_max_u64(write->n_objects + 1, 1) * sizeof *commit->hold.hash);
    if (commit->hold.hash == NULL) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory for the keys of the slice");
        return fail(commit, err.status, NULL, &err);
    }
    for (uint64_t i = 0; i < write->n_objects; i++) {
        if (key_of(commit, i, &key, &err) != ZD_OK) {
            return fail(commit, err.status, NULL, &err);
        }
        commit->hold.hash[commit->hold.n_keys++] = zd_key_hash(key.at);
    }
    if (write->append.is_asked) {
        zd_text_clear(&key);
        zd_text_addf(&key, APPEND_NAME "%s", write->node->path);
        commit->hold.hash[commit->hold.n_keys++] = zd_key_hash(key.at);
    }
    commit->hold.op.done = held;
    commit->holds = true;
    commit->step = step_held;
    zd_store_hold(dataset_of(commit)->store, &commit->hold);
    return ZD_WAIT;
}

/* ---- the array, as it is by now ---- */

static void node_arrived(struct zd_wait *wait)
{
    zd_slice_commit_go_on(ZD_CONTAINER(wait, struct zd_slice_commit, node.wait));
}

static enum zd_next want_node(
    struct zd_slice_commit *commit, enum zd_next (*step)(struct zd_slice_commit *commit))
{
    zd_node_unref(commit->node.node);
    commit->node = (struct zd_node_want){.wait.done = node_arrived};
    commit->step = step;
    return zd_catalog_want_fresh(dataset_of(commit), commit->write->node->path, &commit->node);
}

static enum zd_next conflict(struct zd_slice_commit *commit)
{
    const struct zd_slice_append *append = &commit->write->append;
    struct zd_error err = {0};
    if (append->is_asked) {
        err.status = zd_fail(&err, ZD_PRECONDITION,
            "the array has changed while elements were appended to it: dimension %u had length "
            "%llu",
            append->dim, (unsigned long long)append->from);
        zd_fact_dim(&err, append->dim);
    } else {
        err.status = zd_fail(&err, ZD_PRECONDITION,
            "the array is another one than it was when the slice began to come");
    }
    return fail(commit, err.status, "shape_mismatch", &err);
}

static bool is_inside(const struct zd_selection *selection, const uint64_t *shape)
{
    bool is_inside = true;
    for (uint32_t d = 0; d < selection->rank; d++) {
        const struct zd_axis *axis = &selection->axis[d];
        if (axis->count == 0) {
            return true; /* there are no elements */
        }
        is_inside =
            is_inside && axis->start < shape[d] && zd_axis_at(axis, axis->count - 1) < shape[d];
    }
    return is_inside;
}

/* Elements that nobody has summed: an extension that wants to know of them came after them. */
static bool is_unsummed(const struct zd_slice_write *write, const struct zd_meta *meta)
{
    struct zd_written now;
    zd_written_init(&now, meta);
    return now.is_wanted && !write->written.is_wanted;
}

/* Whether the array, as it is by now, is what the slice was made for. One that has grown is. */
static bool is_as_planned(const struct zd_slice_commit *commit)
{
    const struct zd_slice_write *write = commit->write;
    const struct zd_node *now = commit->node.node;
    if (commit->node.wait.status != ZD_OK) {
        return false;
    }
    if (!zd_meta_takes_chunks(now->meta, write->node->meta) || is_unsummed(write, now->meta)) {
        return false;
    }
    return write->append.is_asked ? zd_meta_has_same_chunks(now->meta, write->append.node->meta)
                                  : is_inside(&write->selection, now->meta->grid.shape);
}

static enum zd_next step_seen(struct zd_slice_commit *commit)
{
    const struct zd_wait *wait = &commit->node.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return fail(commit, wait->status, NULL, &wait->err);
    }
    if (!is_as_planned(commit)) {
        return conflict(commit);
    }
    return go_to(commit, commit->holds ? step_check : step_widen);
}

static enum zd_next step_look_again(struct zd_slice_commit *commit)
{
    return want_node(commit, step_seen);
}

/* ---- the objects, as they are by now ---- */

static void checked(struct zd_store_op *op)
{
    zd_slice_commit_go_on(ZD_CONTAINER(op, struct zd_slice_commit, check.op));
}

/* What was surveyed, or read to be staged. */
static bool is_as_seen(const struct zd_slice_commit *commit)
{
    const struct zd_slice_write *write = commit->write;
    const struct zd_edit_want *want = &write->object[commit->n_checked].want;
    const struct zd_generation absent = {0};
    const struct zd_generation now =
        commit->check.op.status == ZD_OK ? commit->check.stat.generation : absent;
    if (!write->is_conditional) {
        return !want->is_once || zd_generation_equal(now, want->stat.generation);
    }
    return zd_generation_equal(now, write->touched.object[commit->n_checked].generation);
}

static enum zd_next judge_object(struct zd_slice_commit *commit)
{
    const struct zd_store_op *op = &commit->check.op;
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        return fail(commit, op->status, NULL, &op->err);
    }
    if (!is_as_seen(commit) && commit->write->append.is_asked) {
        return conflict(commit);
    }
    if (!is_as_seen(commit)) {
        struct zd_error err = {0};
        err.status = zd_fail(
            &err, ZD_PRECONDITION, "chunk %s: another one is stored by now", commit->check.key);
        return fail(commit, err.status, NULL, &err);
    }
    commit->n_checked++;
    return ZD_NEXT;
}

/* Past the caches: what other processes wrote is to be seen. */
static enum zd_next step_check(struct zd_slice_commit *commit)
{
    const struct zd_slice_write *write = commit->write;
    if (commit->is_checking) {
        commit->is_checking = false;
        return judge_object(commit);
    }
    if (commit->n_checked == write->n_objects) {
        return go_to(commit, step_widen);
    }
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    if (key_of(commit, commit->n_checked, &key, &err) != ZD_OK) {
        return fail(commit, err.status, NULL, &err);
    }
    struct zd_store *store = dataset_of(commit)->store;
    commit->check = (struct zd_store_status){.op.done = checked};
    (void)snprintf(commit->check.key, sizeof commit->check.key, "%s", key.at);
    const enum zd_status now = zd_store_status_now(store, &commit->check);
    if (now != ZD_AGAIN) {
        commit->check.op.status = now;
        return judge_object(commit);
    }
    commit->is_checking = true;
    zd_store_status(store, &commit->check);
    return ZD_WAIT;
}

/* ---- the document: widened before, grown after ---- */

static void changed(struct zd_wait *wait)
{
    zd_slice_commit_go_on(ZD_CONTAINER(wait, struct zd_slice_commit, change.wait));
}

/* Takes over the value, which is a member of the document. */
static enum zd_next patch(struct zd_slice_commit *commit, const char *name, struct zd_json *value,
    struct zd_node *expected, enum zd_next (*step)(struct zd_slice_commit *commit))
{
    struct zd_error err = {0};
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL) {
        zd_json_unref(value);
    }
    if (document == NULL || zd_json_set(document, name, value) != ZD_OK) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to change the array's document");
        return fail(commit, err.status, NULL, &err);
    }
    const struct zd_metadata_ask ask = {
        .kind = ZD_METADATA_PATCH,
        .place = commit->write->node->path,
        .json = document,
        .expected = expected,
        .has_lock = true,
    };
    commit->change = (struct zd_metadata_want){.wait.done = changed};
    commit->step = step;
    return zd_metadata_want(dataset_of(commit), &ask, &commit->change);
}

static void widened(struct zd_wait *wait)
{
    zd_slice_commit_go_on(ZD_CONTAINER(wait, struct zd_slice_commit, widen.wait));
}

static enum zd_next step_widened(struct zd_slice_commit *commit)
{
    const struct zd_bounds_want *widen = &commit->widen;
    if (widen->wait.status != ZD_OK) {
        return fail(commit, widen->wait.status, NULL, &widen->wait.err);
    }
    commit->has_changed = widen->node->tag != commit->write->node->tag;
    return go_to(commit, step_objects);
}

static enum zd_next step_widen(struct zd_slice_commit *commit)
{
    struct zd_slice_write *write = commit->write;
    struct zd_node *node = commit->node.node != NULL ? commit->node.node
                           : write->append.is_asked  ? write->append.node
                                                     : write->node;
    if (write->is_dry) {
        return go_to(commit, step_objects);
    }
    commit->widen = (struct zd_bounds_want){
        .wait.done = widened,
        .node = zd_node_ref(node),
        .written = &write->written,
    };
    commit->step = step_widened;
    return zd_bounds_want(&commit->widen);
}

static enum zd_next step_final(struct zd_slice_commit *commit)
{
    if (commit->node.wait.status == ZD_OK) {
        zd_node_unref(commit->write->node);
        commit->write->node = ZD_TAKE(commit->node.node);
    }
    return go_to(commit, step_done);
}

static enum zd_next step_grown(struct zd_slice_commit *commit)
{
    const struct zd_wait *wait = &commit->change.wait;
    const enum zd_status status = wait->status;
    if (status == ZD_PRECONDITION && ++commit->n_tries < TRIES_MAX) {
        zd_metadata_release(&commit->change);
        return want_node(commit, step_shape); /* others have changed the rest of the document */
    }
    if (status != ZD_OK && commit->change.is_stored) {
        zd_slice_write_fail(commit->write, status, commit->change.code, &wait->err);
        return go_to(commit, step_done); /* the elements are inside: they stay as well */
    }
    if (status != ZD_OK) {
        return status == ZD_PRECONDITION ? conflict(commit)
                                         : fail(commit, status, commit->change.code, &wait->err);
    }
    zd_metadata_release(&commit->change);
    commit->has_changed = true;
    return want_node(commit, step_final);
}

static enum zd_next step_shape(struct zd_slice_commit *commit)
{
    const struct zd_slice_write *write = commit->write;
    const struct zd_wait *wait = &commit->node.wait;
    if (wait->status != ZD_OK) {
        return fail(commit, wait->status, NULL, &wait->err);
    }
    struct zd_node *node = commit->node.node;
    if (!zd_meta_has_same_chunks(node->meta, write->append.node->meta)) {
        return conflict(commit);
    }
    struct zd_json *shape = zd_json_new_array();
    enum zd_status status = shape == NULL ? ZD_NO_MEMORY : ZD_OK;
    for (uint32_t d = 0; status == ZD_OK && d < write->node->meta->grid.rank; d++) {
        status = zd_json_append(shape, zd_json_new_u64(write->node->meta->grid.shape[d]));
    }
    return patch(commit, "shape", shape, node, step_grown);
}

static enum zd_next step_grow(struct zd_slice_commit *commit)
{
    if (commit->write->is_dry || !(commit->write->append.is_asked || commit->has_changed)) {
        return go_to(commit, step_done);
    }
    return want_node(commit, commit->write->append.is_asked ? step_shape : step_final);
}

/* ---- the objects ---- */

static void add_counts(struct zd_slice_write *write)
{
    for (uint64_t i = 0; i < write->n_objects; i++) {
        const struct zd_edit_want *want = &write->object[i].want;
        write->counts.n_written += want->edit->counts.n_written;
        write->counts.n_erased += want->edit->counts.n_erased;
        write->counts.n_unchanged += want->edit->counts.n_unchanged;
        (void)zd_seen_objects_see(&write->touched, i, want->stat.generation);
    }
}

/* An edit that stands alone tells its own. */
static void tell_events(const struct zd_slice_commit *commit, enum zd_chunks_change change)
{
    const struct zd_slice_write *write = commit->write;
    const uint32_t rank = write->selection.rank;
    const struct zd_generation absent = {0};
    uint64_t *index = zd_alloc(zd_max_u64(write->n_objects * rank, 1) * sizeof *index);
    uint64_t n = 0;
    for (uint64_t i = 0; index != NULL && i < write->n_objects; i++) {
        const struct zd_edit_want *want = &write->object[i].want;
        const bool is_erased = zd_generation_equal(want->stat.generation, absent);
        const struct zd_edit_counts *counts = &want->edit->counts;
        if (counts->n_written + counts->n_erased > 0 && is_erased == (change == ZD_CHUNKS_ERASED)) {
            memcpy(index + n * rank, want->edit->part.chunk, rank * sizeof *index);
            n++;
        }
    }
    if (n > 0) {
        zd_events_chunks(dataset_of(commit), write->node->path, rank, index, n, change);
    }
    zd_free(index);
}

static enum zd_next step_objects(struct zd_slice_commit *commit)
{
    struct zd_slice_write *write = commit->write;
    const bool is_staged = zd_slice_write_is_staged(write);
    assert(is_staged || !commit->holds);
    if (!(write->is_dry && is_staged) && !zd_slice_write_commit_some(write)) {
        return ZD_WAIT;
    }
    commit->is_committed = is_staged && !write->is_dry;
    if (write->status != ZD_OK) {
        return fail(commit, write->status, write->code, &write->err);
    }
    zd_seen_objects_forget(&write->touched);
    add_counts(write);
    return go_to(commit, step_grow);
}

static enum zd_next step_settle(struct zd_slice_commit *commit)
{
    return zd_slice_write_settle_some(commit->write) ? go_to(commit, step_give_back) : ZD_WAIT;
}

/* Nothing is undone any more. */
static enum zd_next step_done(struct zd_slice_commit *commit)
{
    if (!commit->is_committed) {
        return go_to(commit, step_give_back);
    }
    tell_events(commit, ZD_CHUNKS_WRITTEN);
    tell_events(commit, ZD_CHUNKS_ERASED);
    return go_through(commit, step_settle);
}

enum zd_next zd_slice_commit(struct zd_slice_write *write)
{
    struct zd_slice_commit *commit = zd_alloc_zero(1, sizeof *commit);
    if (commit == NULL) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to commit the slice");
        zd_slice_write_fail(write, err.status, NULL, &err);
        return ZD_NEXT;
    }
    commit->write = write;
    commit->is_calling = true;
    commit->step = first_step(write);
    write->commit = commit;
    write->n_asked = 0;
    write->n_told = 0;
    zd_slice_commit_go_on(commit);
    if (write->commit == NULL) {
        return ZD_NEXT;
    }
    commit->is_calling = false;
    return ZD_WAIT;
}
