/* Changing the documents of a hierarchy: from the call to the answer, the locks, and the states:
 *
 *     all        PATH [-> COLLECT -> READ_BELOW*] -> METADATA -> FIND -> ROOM -> READ -> BOUNDS
 *                -> JUDGE -> LEVELS -> LOOK -> RELIST -> STAGE
 *     memory     ROOM -> METADATA: when it had to wait
 *     an array   JUDGE -> LOCK_TREE -> METADATA
 *     store      STAGE -> COMMIT* -> ERASE_REST -> SETTLE* -> FINISH
 *     erase      STAGE -> ERASE_OWN -> ERASE_BELOW* -> KEEP -> COMMIT
 *     replace    STAGE or COMMIT -> ERASE_OWN -> ERASE_ORPHANS -> RELOCK -> COMMIT
 *     no change  BOUNDS or RELIST -> FINISH
 *     conflict   any -> AGAIN -> FIND or COLLECT
 *     refresh    READ -> FIND_AGAIN -> RELIST: the document is stored, listings above it are not
 *     failure    any -> FAIL -> UNDO, DROP, ERASE_REST or FINISH; DROP -> FIND: without listings
 *     restore    ERASE_OWN or ERASE_BELOW -> RESTORE* -> RESTORED -> DROP or FINISH
 *                COMMIT or RELOCK -> GIVE_BACK -> FAIL, DROP or FINISH
 *     undo       UNDO -> UNDO_LAST -> UNDO, UNDO -> UNDO: the next one
 *                UNDO -> UNDO_ERASURE* -> UNDO, UNDO -> UNDO_END -> DROP or FINISH
 *                ERASE_REST -> UNDO_LOCK -> UNDO
 *
 * A star: once more until nothing is left. */
#include "server/write/change.h"

#include <assert.h>
#include <string.h>

#include "core/base/json.h"
#include "core/dialect/node_name.h"
#include "server/data/dataset.h"
#include "server/runtime/server.h"

enum state {
    ANY, /* for outcomes that a state does not name */
    PATH,
    COLLECT,
    READ_BELOW,
    METADATA,
    FIND,
    ROOM,
    READ,
    FIND_AGAIN,
    BOUNDS,
    JUDGE,
    LOCK_TREE,
    LEVELS,
    LOOK,
    RELIST,
    STAGE,
    COMMIT,
    ERASE_OWN,
    ERASE_BELOW,
    KEEP,
    ERASE_ORPHANS,
    RELOCK,
    GIVE_BACK,
    RESTORE,
    RESTORED,
    ERASE_REST,
    UNDO_LOCK,
    SETTLE,
    AGAIN,
    FAIL,
    DROP,
    UNDO,
    UNDO_LAST,
    UNDO_ERASURE,
    UNDO_END,
    FINISH,
};

/* ---- work, purges and writes ---- */

enum zd_change_outcome zd_change_run_work(
    struct zd_change *change, void (*work)(struct zd_job *job), uint64_t cost_ns)
{
    struct zd_workers *workers = &change->dataset->server->workers;
    change->job = (struct zd_job){.work = work, .wait = zd_gather_wait(&change->gather)};
    zd_gather_add(&change->gather, zd_workers_run(workers, &change->job, cost_ns));
    return ZD_CHANGE_NEXT;
}

void zd_change_run_write(
    struct zd_change *change, const char *key, struct zd_store_write_want *want)
{
    want->wait = zd_gather_wait(&change->gather);
    zd_gather_add(&change->gather, zd_store_write_want(change->dataset, key, want));
}

enum zd_change_outcome zd_change_run_purge(
    struct zd_change *change, const struct zd_purge_want *purge)
{
    change->purge = *purge;
    change->purge.wait = zd_gather_wait(&change->gather);
    change->purge.dataset = change->dataset;
    change->purge.context = change;
    zd_gather_add(&change->gather, zd_purge_want(&change->purge));
    return ZD_CHANGE_NEXT;
}

/* ---- locks ---- */

/* Zarr v3, node names: where a node is made, its path must consist of them. */
static bool has_good_names(const char *path)
{
    for (const char *at = path; at[0] != '\0';) {
        const size_t len = strcspn(at, "/");
        if (!zd_node_name_is_valid((struct zd_span){(const uint8_t *)at, len})) {
            return false;
        }
        at += len + (at[len] == '/' ? 1 : 0);
    }
    return true;
}

/* An erasure concerns everything below. */
static enum zd_lock_mode first_mode(const struct zd_change *change)
{
    const bool is_large = change->input.kind == ZD_METADATA_ERASE || change->input.erases_chunks;
    return is_large ? ZD_LOCK_TREE : ZD_LOCK_NODE;
}

static enum zd_change_outcome want_path(struct zd_change *change, enum zd_lock_mode mode)
{
    change->path_lock = (struct zd_lock_want){
        .client = change->input.client, .wait = zd_gather_wait(&change->gather)};
    zd_gather_add(
        &change->gather, zd_lock_want(change->dataset, mode, change->path, &change->path_lock));
    return ZD_CHANGE_NEXT;
}

static enum zd_change_outcome lock_path(struct zd_change *change)
{
    if (zd_change_is_put(change) && !has_good_names(change->path)) {
        change->code = "bad_path";
        return ZD_CHANGE_FAIL(
            change, ZD_INVALID, "\"%.200s\" is not a path of node names", change->path);
    }
    return change->input.has_lock ? ZD_CHANGE_NEXT : want_path(change, first_mode(change));
}

static enum zd_change_outcome lock_tree(struct zd_change *change)
{
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    zd_change_forget(change);
    zd_allowance_release(&change->room);
    return want_path(change, ZD_LOCK_TREE);
}

/* The tree below an erased node is read before the metadata is locked, so that other writers of the
 * dataset do not wait for the walk. */
static enum zd_change_outcome path_is_locked(struct zd_change *change)
{
    const enum zd_change_outcome outcome =
        zd_change_outcome_of_wait(change, &change->path_lock.wait);
    const bool reads_below = change->input.kind == ZD_METADATA_ERASE;
    return outcome == ZD_CHANGE_NEXT && reads_below ? ZD_CHANGE_TREE : outcome;
}

static enum zd_change_outcome lock_metadata(struct zd_change *change)
{
    change->metadata_lock = (struct zd_lock_want){
        .client = change->input.client, .wait = zd_gather_wait(&change->gather)};
    zd_gather_add(&change->gather,
        zd_lock_want(change->dataset, ZD_LOCK_METADATA, "", &change->metadata_lock));
    return ZD_CHANGE_NEXT;
}

static enum zd_change_outcome metadata_is_locked(struct zd_change *change)
{
    return zd_change_outcome_of_wait(change, &change->metadata_lock.wait);
}

/* ---- failures ---- */

static bool has_changed_nothing(const struct zd_change *change)
{
    return change->phase == ZD_CHANGE_DOCUMENTS && zd_list_is_empty(&change->undo.old);
}

/* Another process has made the node that was erased here: what was below it is none of its. */
static void forget_erased(struct zd_change *change)
{
    if (change->clearing.is_cleared && change->phase == ZD_CHANGE_DOCUMENTS) {
        zd_change_undo_unmark_erased(change);
        zd_kept_drop(&change->kept);
    }
}

static enum zd_change_outcome begin_again(struct zd_change *change)
{
    forget_erased(change);
    change->n_tries++;
    if (change->n_tries > ZD_TRIES_MAX) {
        return ZD_CHANGE_FAIL(change, ZD_PRECONDITION,
            "\"%.200s\": gave up after %d conflicts with other writers", change->path,
            ZD_TRIES_MAX);
    }
    zd_change_forget(change);
    change->err.status = ZD_OK;
    change->is_storing = change->is_storing && !has_changed_nothing(change);
    if (change->subtree != NULL && change->phase == ZD_CHANGE_DOCUMENTS) {
        zd_lock_release(&change->metadata_lock);
        return ZD_CHANGE_TREE;
    }
    return ZD_CHANGE_NEXT;
}

/* A node that its listings lack is not found: the change is undone. When that is impossible it
 * stays, and the error says both. */
static enum zd_change_outcome give_up_listings(struct zd_change *change)
{
    const bool is_held = change->subtree == NULL || zd_change_subtree_is_held(change->subtree);
    const struct zd_error err = change->err;
    change->err.status = err.status == ZD_PRECONDITION ? ZD_STORE : err.status;
    if (!change->undo.is_final && change->verdict < ZD_VERDICT_FAILED && is_held) {
        return ZD_CHANGE_UNDO;
    }
    change->err.status = zd_fail(&change->err, change->err.status,
        "\"%.100s\" was changed, but consolidated metadata above it is out of date: %.200s",
        change->path, err.text);
    zd_log(&change->dataset->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        change->dataset->config.name, change->err.text);
    if (change->verdict < ZD_VERDICT_FAILED) {
        change->verdict = ZD_VERDICT_STALE;
        change->verdict_err = change->err;
    }
    change->err.status = ZD_OK;
    return ZD_CHANGE_NEXT;
}

static enum zd_change_outcome judge_failure(struct zd_change *change)
{
    if (change->phase == ZD_CHANGE_DOCUMENTS) {
        return zd_list_is_empty(&change->undo.old) ? ZD_CHANGE_DONE : ZD_CHANGE_UNDO;
    }
    if (!change->metadata_lock.claim.is_held) {
        return ZD_CHANGE_DONE;
    }
    change->code = NULL; /* the problem of a listing is none of the client's */
    return change->phase == ZD_CHANGE_DROP ? give_up_listings(change) : ZD_CHANGE_LISTINGS;
}

static enum zd_change_outcome drop_listings(struct zd_change *change)
{
    change->phase = ZD_CHANGE_DROP;
    change->n_tries = 0;
    zd_change_forget(change);
    change->err.status = ZD_OK;
    return ZD_CHANGE_NEXT;
}

static enum zd_change_outcome finish(struct zd_change *change)
{
    if (change->err.status == ZD_OK && change->verdict != ZD_VERDICT_NONE) {
        change->err = change->verdict_err;
    }
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    return ZD_CHANGE_DONE;
}

/* ---- the table ---- */

#define TO(outcome, state) [ZD_CHANGE_##outcome] = (state)

/* The picture above. Names without a prefix are states and outcomes. */
static const struct zd_change_row table[] = {
    [ANY] = {NULL, NULL, {TO(AGAIN, AGAIN), TO(FAILED, FAIL)}},
    [PATH] = {lock_path, path_is_locked, {TO(NEXT, METADATA), TO(TREE, COLLECT)}},
    [COLLECT] = {zd_change_subtree_collect, zd_change_subtree_collect_end, {TO(NEXT, READ_BELOW)}},
    [READ_BELOW] = {zd_change_subtree_read, zd_change_subtree_read_end,
        {TO(MORE, READ_BELOW), TO(NEXT, METADATA)}},
    [METADATA] = {lock_metadata, metadata_is_locked, {TO(NEXT, FIND)}},
    [FIND] = {zd_change_find_nodes, zd_change_find_nodes_end, {TO(NEXT, ROOM)}},
    [ROOM] = {zd_change_room, zd_change_room_end, {TO(NEXT, READ), TO(MORE, METADATA)}},
    [READ] = {zd_change_find_documents, zd_change_find_documents_end,
        {TO(NEXT, BOUNDS), TO(LISTINGS, FIND_AGAIN)}},
    [FIND_AGAIN] = {zd_change_find_again, zd_change_find_again_end,
        {TO(NEXT, RELIST), TO(DONE, RELIST)}},
    [BOUNDS] = {zd_change_judge_bounds, NULL, {TO(NEXT, JUDGE), TO(DONE, FINISH)}},
    [JUDGE] = {zd_change_judge, zd_change_judge_end, {TO(NEXT, LEVELS), TO(TREE, LOCK_TREE)}},
    [LOCK_TREE] = {lock_tree, path_is_locked, {TO(NEXT, METADATA)}},
    [LEVELS] = {zd_change_judge_levels, zd_change_judge_levels_end, {TO(NEXT, LOOK)}},
    [LOOK] = {zd_change_look, zd_change_look_end, {TO(NEXT, RELIST)}},
    [RELIST] = {zd_change_relist, zd_change_relist_end, {TO(NEXT, STAGE), TO(DONE, FINISH)}},
    [STAGE] = {zd_change_store, zd_change_store_end, {TO(NEXT, COMMIT), TO(ERASE, ERASE_OWN)}},
    [COMMIT] = {zd_change_store_commit, zd_change_store_commit_end,
        {TO(NEXT, COMMIT), TO(DONE, ERASE_REST), TO(ERASE, ERASE_OWN), TO(GIVE_BACK, GIVE_BACK),
            TO(UNDO, UNDO)}},
    [ERASE_OWN] = {zd_change_erase_own, zd_change_erase_own_end,
        {TO(NEXT, ERASE_BELOW), TO(ORPHANS, ERASE_ORPHANS), TO(FAILED, RESTORE)}},
    [ERASE_BELOW] = {zd_change_subtree_erase, zd_change_subtree_erase_end,
        {TO(MORE, ERASE_BELOW), TO(NEXT, KEEP), TO(DONE, KEEP), TO(FAILED, RESTORE)}},
    [KEEP] = {zd_change_erase_keep, NULL, {TO(NEXT, COMMIT)}},
    [ERASE_ORPHANS] = {zd_change_erase_orphans, zd_change_erase_orphans_end, {TO(NEXT, RELOCK)}},
    [RELOCK] = {lock_metadata, zd_change_erase_relock_end,
        {TO(NEXT, COMMIT), TO(GIVE_BACK, GIVE_BACK)}},
    [GIVE_BACK] = {zd_change_erase_give_back, NULL, {TO(LISTINGS, DROP), TO(DONE, FINISH)}},
    [RESTORE] = {zd_change_erase_restore, zd_change_erase_restore_end,
        {TO(MORE, RESTORE), TO(NEXT, RESTORED)}},
    [RESTORED] = {zd_change_erase_restored, NULL, {TO(LISTINGS, DROP), TO(DONE, FINISH)}},
    [ERASE_REST] = {zd_change_erase_rest, zd_change_erase_rest_end,
        {TO(NEXT, SETTLE), TO(DONE, SETTLE), TO(GIVE_BACK, UNDO_LOCK)}},
    [UNDO_LOCK] = {lock_metadata, NULL, {TO(NEXT, UNDO)}}, /* it helps, but is not needed */
    [SETTLE] = {zd_change_erase_settle, zd_change_erase_settle_end,
        {TO(MORE, SETTLE), TO(NEXT, FINISH)}},
    [AGAIN] = {begin_again, NULL, {TO(NEXT, FIND), TO(TREE, COLLECT)}},
    [FAIL] = {judge_failure, NULL,
        {TO(LISTINGS, DROP), TO(UNDO, UNDO), TO(NEXT, ERASE_REST), TO(DONE, FINISH)}},
    [DROP] = {drop_listings, NULL, {TO(NEXT, FIND)}},
    [UNDO] = {zd_change_undo_look, zd_change_undo_look_end,
        {TO(MORE, UNDO), TO(NEXT, UNDO_LAST), TO(GIVE_BACK, UNDO_ERASURE), TO(DONE, UNDO_END)}},
    [UNDO_LAST] = {zd_change_undo_last, zd_change_undo_last_end, {TO(NEXT, UNDO)}},
    [UNDO_ERASURE] = {zd_change_erase_restore, zd_change_erase_restore_end,
        {TO(MORE, UNDO_ERASURE), TO(NEXT, UNDO)}},
    [UNDO_END] = {zd_change_undo_end, NULL, {TO(LISTINGS, DROP), TO(DONE, FINISH)}},
    [FINISH] = {finish, NULL, {0}},
};

/* It was withdrawn, and nothing of it is stored: it ends. */
static bool is_given_up(struct zd_change *change)
{
    const enum state state = change->state.state;
    const bool is_ending = state == FAIL || state == FINISH;
    const bool stores = state == COMMIT || state == ERASE_OWN;
    if (!change->is_withdrawn || change->is_storing || is_ending) {
        change->is_storing = change->is_storing || stores;
        return false;
    }
    change->err.status = zd_fail(&change->err, ZD_CANCELLED,
        "the change was cancelled: the client disconnected, or the time limit passed");
    return true;
}

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_change *change = ZD_CONTAINER(machine, struct zd_change, machine);
    const struct zd_change_row *row = &table[change->state.state];
    enum zd_change_outcome outcome = ZD_CHANGE_NEXT;
    if (!change->state.has_begun && is_given_up(change)) {
        outcome = ZD_CHANGE_FAILED;
    } else if (!change->state.has_begun) {
        zd_gather_begin(&change->gather);
        outcome = row->begin(change);
        zd_machine_want(&change->state, zd_gather_end(&change->gather));
        assert(outcome == ZD_CHANGE_NEXT || !change->state.waits);
    } else if (row->end != NULL) {
        outcome = row->end(change);
    }
    return zd_machine_follow(&change->state, row->follows, table[ANY].follows, outcome);
}

/* ---- the answer ---- */

static void give(struct zd_change *change)
{
    struct zd_metadata_want *want = change->want;
    const enum zd_status status = change->err.status;
    if (want == NULL) {
        return;
    }
    want->load = NULL;
    want->code = change->code;
    want->meta = ZD_TAKE(change->meta);
    want->node = status == ZD_OK ? ZD_TAKE(change->made) : NULL;
    want->stat = change->stat;
    want->n_children = change->n_children;
    want->blames_input = change->blames_input;
    want->parent_is_denied = change->parent_is_denied;
    want->parent_len = change->parent_len;
    want->has_made = change->has_made;
    want->is_stored = change->phase != ZD_CHANGE_DOCUMENTS && change->verdict < ZD_VERDICT_FAILED;
    zd_wait_answer(&want->wait, status, status == ZD_OK ? NULL : &change->err);
}

static void end(struct zd_machine *machine)
{
    struct zd_change *change = ZD_CONTAINER(machine, struct zd_change, machine);
    struct zd_metadata_want *want = change->want;
    give(change);
    zd_change_free(change);
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

/* ---- the calls ---- */

static enum zd_status refuse_long_path(
    const struct zd_metadata_input *input, struct zd_metadata_want *want)
{
    const bool is_put = input->kind == ZD_METADATA_PUT;
    want->code = is_put ? "bad_path" : NULL;
    return zd_fail(&want->wait.err, is_put ? ZD_INVALID : ZD_NOT_FOUND,
        "the path is longer than any key of a store: \"%.200s\"...", input->place);
}

enum zd_next zd_metadata_want(struct zd_dataset *dataset, const struct zd_metadata_input *input,
    struct zd_metadata_want *want)
{
    if (strlen(input->place) > ZD_KEY_BYTES_MAX) {
        want->wait.status = refuse_long_path(input, want);
        return ZD_NEXT;
    }
    struct zd_change *change = zd_change_new(dataset, input);
    if (change == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to change a node");
        return ZD_NEXT;
    }
    change->want = want;
    want->load = change;
    change->machine = (struct zd_machine){.step = step, .end = end};
    change->gather.machine = &change->machine;
    change->state.state = PATH;
    if (zd_machine_begin(&change->machine) == ZD_WAIT) {
        return ZD_WAIT;
    }
    give(change);
    zd_change_free(change);
    return ZD_NEXT;
}

bool zd_metadata_is_storing(const struct zd_metadata_want *want)
{
    const struct zd_change *change = want->load;
    return change != NULL ? change->is_storing : want->is_stored;
}

static bool waits_for(const struct zd_lock_want *lock)
{
    return lock->claim.place != NULL && !lock->claim.is_held;
}

static bool waits_for_room(const struct zd_change *change)
{
    return change->room.allowance != NULL && zd_list_is_linked(&change->room.wait.link);
}

bool zd_metadata_withdraw(struct zd_metadata_want *want)
{
    struct zd_change *change = want->load;
    if (change == NULL) {
        return true;
    }
    change->is_withdrawn = true;
    if (change->is_storing || !(waits_for(&change->path_lock) ||
                                  waits_for(&change->metadata_lock) || waits_for_room(change))) {
        return false;
    }
    want->load = NULL;
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    zd_change_free(change);
    return true;
}

void zd_metadata_release(struct zd_metadata_want *want)
{
    if (!zd_metadata_withdraw(want)) {
        struct zd_change *change = want->load;
        change->want = NULL;
        want->load = NULL;
    }
    zd_meta_unref(ZD_TAKE(want->meta));
    zd_node_unref(ZD_TAKE(want->node));
}

static enum zd_status add_shape(struct zd_json *document, const uint64_t *shape, uint32_t rank)
{
    struct zd_json *list = zd_json_new_array();
    enum zd_status status = list == NULL ? ZD_NO_MEMORY : ZD_OK;
    for (uint32_t d = 0; status == ZD_OK && d < rank; d++) {
        status = zd_json_append(list, zd_json_new_u64(shape[d]));
    }
    if (status != ZD_OK) {
        zd_json_unref(list);
        return status;
    }
    return zd_json_set(document, "shape", list);
}

enum zd_next zd_metadata_want_shape(const struct zd_node *node, const uint64_t *shape,
    struct zd_node *expected, struct zd_metadata_want *want)
{
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL || add_shape(document, shape, node->meta->grid.rank) != ZD_OK) {
        want->wait.status =
            zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for the array's new shape");
        return ZD_NEXT;
    }
    const struct zd_metadata_input input = {
        .kind = ZD_METADATA_PATCH,
        .place = node->path,
        .json = document,
        .expected = expected,
        .is_dry = expected == NULL,
        .has_lock = true,
    };
    return zd_metadata_want(node->dataset, &input, want);
}
