/* Changing the documents of a hierarchy: from the ask to the answer. */
#include "server/write/metadata.h"

#include <assert.h>
#include <string.h>

#include "server/data/datasets.h"
#include "server/write/change.h"
#include "server/runtime/server.h"

static enum zd_next step_path_locked(struct zd_change *change);
static enum zd_next step_locked(struct zd_change *change);

/* ---- running ---- */

static void finish(struct zd_change *change);

/* ZD_DONE: the change is over. */
static enum zd_next run(struct zd_change *change)
{
    enum zd_next next = ZD_NEXT;
    change->is_running = true;
    while (next == ZD_NEXT) {
        next = change->step(change);
    }
    change->is_running = false;
    return next;
}

void zd_change_go_on(struct zd_change *change)
{
    if (run(change) == ZD_DONE) {
        finish(change);
    }
}

void zd_change_arrived(struct zd_change *change)
{
    assert(change->n_pending > 0);
    change->n_pending--;
    if (change->n_pending == 0 && !change->is_running) {
        zd_change_go_on(change);
    }
}

enum zd_next zd_change_wait(struct zd_change *change)
{
    return change->n_pending == 0 ? ZD_NEXT : ZD_WAIT;
}

/* Nobody finds a node that its listings do not have: it is as it was before. Where that cannot be
 * it stays, and what could not be done is told with it. */
static enum zd_next give_up_listings(
    struct zd_change *change, enum zd_status status, const struct zd_error *err)
{
    struct zd_error told = *err;
    const bool is_held = change->subtree == NULL || zd_subtree_is_held(change->subtree);
    if (!change->is_final && !change->is_failed && is_held) {
        return zd_change_undo(change, status == ZD_PRECONDITION ? ZD_STORE : status, NULL, err);
    }
    told.status = zd_fail(&told, status == ZD_PRECONDITION ? ZD_STORE : status,
        "\"%.100s\" is changed, but consolidated metadata above it is out of date: %.200s",
        change->path, err->text);
    zd_log(&change->dataset->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        change->dataset->config.name, told.text);
    if (!change->is_failed) {
        change->is_stale = true;
        change->stale_err = told;
    }
    change->status = ZD_OK;
    change->step = zd_change_erase;
    return ZD_NEXT;
}

enum zd_next zd_change_drop_listings(struct zd_change *change)
{
    change->drops_listings = true;
    change->n_tries = 0;
    zd_change_forget(change);
    change->status = ZD_OK;
    change->step = zd_change_find;
    return ZD_NEXT;
}

enum zd_next zd_change_fail(
    struct zd_change *change, enum zd_status status, const char *code, const struct zd_error *err)
{
    if (change->has_stored && change->metadata_lock.is_held) {
        return change->drops_listings ? give_up_listings(change, status, err)
                                      : zd_change_drop_listings(change);
    }
    if (change->metadata_lock.is_held && change->n_kept > 0) {
        return zd_change_undo(change, status, code, err);
    }
    change->status = status;
    change->code = code;
    if (err != &change->err) {
        change->err = *err;
    }
    change->step = zd_change_end;
    return ZD_NEXT;
}

enum zd_next zd_change_again(struct zd_change *change)
{
    change->n_tries++;
    if (change->n_tries > ZD_CHANGE_TRIES_MAX) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_PRECONDITION,
            "\"%.200s\": others change it all the time, %d times in a row", change->path,
            ZD_CHANGE_TRIES_MAX);
        return zd_change_fail(change, ZD_PRECONDITION, NULL, &err);
    }
    zd_change_forget(change);
    change->status = ZD_OK;
    change->step = zd_change_find;
    if (change->subtree != NULL && !change->has_stored) {
        zd_lock_release(&change->metadata_lock);
        change->step = zd_change_collect;
    }
    return ZD_NEXT;
}

static void work_is_done(struct zd_job *job, bool cancelled)
{
    struct zd_change *change = ZD_CONTAINER(job, struct zd_change, job);
    if (cancelled) {
        change->status = zd_fail(&change->err, ZD_CANCELLED, "the server stops");
    }
    zd_change_arrived(change);
}

enum zd_next zd_change_work(
    struct zd_change *change, void (*work)(struct zd_job *job), uint64_t cost_ns)
{
    struct zd_server *server = change->dataset->server;
    change->job = (struct zd_job){.work = work, .done = work_is_done};
    if (zd_workers_is_cheap(server, cost_ns)) {
        work(&change->job);
        return ZD_NEXT;
    }
    change->n_pending++;
    zd_workers_submit(server, &change->job, cost_ns);
    return ZD_WAIT;
}

/* ---- memory ---- */

static void forget_place(struct zd_place *place)
{
    zd_node_unref(ZD_TAKE(place->node));
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_place_document *document = &place->document[i];
        zd_store_write_release(&document->write);
        zd_store_write_release(&document->old);
        zd_buf_unref(ZD_TAKE(document->stored));
        zd_buf_unref(ZD_TAKE(document->made));
        document->is_stored = false;
        document->goes = false;
    }
}

void zd_change_forget(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        forget_place(&change->place[i]);
        /* Parents that are stored by now are new to the listings all the same. */
        change->place[i].is_new =
            change->place[i].is_new && (change->has_stored || change->place[i].is_made);
    }
    zd_free(ZD_TAKE(change->item));
    change->n_items = 0;
    zd_multiscale_release(&change->scales);
    if (!change->has_stored) {
        zd_node_unref(ZD_TAKE(change->made));
    }
    change->is_cleared = false;
    change->has_purged = false;
    change->is_overtaken = false;
    if (!change->has_stored) {
        zd_meta_unref(ZD_TAKE(change->meta));
        zd_meta_unref(ZD_TAKE(change->before));
    }
}

static void free_change(struct zd_change *change)
{
    change->has_stored = false;
    zd_change_forget(change);
    zd_change_forget_kept(change);
    for (size_t i = 0; i < change->n_places; i++) {
        zd_free(change->place[i].path);
    }
    zd_free(change->place);
    zd_json_unref(change->new_group);
    zd_meta_unref(change->now);
    zd_free(change->erased_index);
    zd_subtree_free(change->subtree);
    zd_buf_unref(change->ask.bytes);
    zd_json_unref((struct zd_json *)(uintptr_t)change->ask.json);
    zd_node_unref(change->ask.expected);
    zd_free(change->written);
    zd_free(change->key);
    zd_free(change->path);
    zd_dataset_unref(change->dataset);
    zd_free(change);
}

/* The root, and every path down to the node. */
static enum zd_status make_places(struct zd_change *change)
{
    size_t n = change->path[0] == '\0' ? 1 : 2;
    for (const char *at = change->path; *at != '\0'; at++) {
        n += *at == '/' ? 1 : 0;
    }
    change->place = zd_alloc_zero(n, sizeof *change->place);
    if (change->place == NULL) {
        return ZD_NO_MEMORY;
    }
    size_t len = 0;
    for (change->n_places = 0; change->n_places < n; change->n_places++) {
        struct zd_place *place = &change->place[change->n_places];
        if (change->n_places > 0) {
            len += len == 0 ? 0 : 1;
            len += strcspn(change->path + len, "/");
        }
        place->change = change;
        place->path = zd_strndup(change->path, len);
        if (place->path == NULL) {
            return ZD_NO_MEMORY;
        }
        for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
            place->document[i].place = place;
            place->document[i].number = i;
        }
    }
    return ZD_OK;
}

/* The path that was asked, or that of the node of the key that was asked. */
static enum zd_status take_place(struct zd_change *change, const char *place)
{
    const enum zd_metadata_kind kind = change->ask.kind;
    if (kind != ZD_METADATA_PUT_KEY && kind != ZD_METADATA_ERASE_KEY) {
        change->path = zd_strdup(place);
        return change->path == NULL ? ZD_NO_MEMORY : make_places(change);
    }
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const enum zd_status status = zd_dialect_node_path(place, &path);
    assert(status != ZD_NOT_FOUND);
    ZD_TRY(status);
    change->key = zd_strdup(place);
    change->path = zd_strdup(path.at);
    return change->key == NULL || change->path == NULL ? ZD_NO_MEMORY : make_places(change);
}

static enum zd_status take_written(struct zd_change *change, const struct zd_written *written)
{
    if (written == NULL) {
        return ZD_OK;
    }
    change->written = zd_alloc(sizeof *written);
    change->ask.written = change->written;
    if (change->written == NULL) {
        return ZD_NO_MEMORY;
    }
    *change->written = *written;
    return ZD_OK;
}

static struct zd_change *new_change(struct zd_dataset *dataset, const struct zd_metadata_ask *ask)
{
    struct zd_change *change = zd_alloc_zero(1, sizeof *change);
    if (change == NULL) {
        return NULL;
    }
    change->dataset = zd_dataset_ref(dataset);
    change->ask = *ask;
    change->ask.place = NULL;
    change->ask.bytes = ask->bytes == NULL ? NULL : zd_buf_ref(ask->bytes);
    change->ask.json = ask->json == NULL ? NULL : zd_json_ref(ask->json);
    change->ask.expected = ask->expected == NULL ? NULL : zd_node_ref(ask->expected);
    if (take_place(change, ask->place) != ZD_OK || take_written(change, ask->written) != ZD_OK) {
        free_change(change);
        return NULL;
    }
    return change;
}

/* ---- locks ---- */

static void path_locked(struct zd_wait *wait)
{
    zd_change_go_on(ZD_CONTAINER(wait, struct zd_change, path_lock.wait));
}

static void locked(struct zd_wait *wait)
{
    zd_change_go_on(ZD_CONTAINER(wait, struct zd_change, metadata_lock.wait));
}

/* Zarr v3, node names (reference 1.2): a path must be one of names before anything is made there.
 */
static bool has_good_names(const char *path)
{
    for (const char *at = path; at[0] != '\0';) {
        const size_t len = strcspn(at, "/");
        if (!zd_dialect_node_name_is_valid((struct zd_span){(const uint8_t *)at, len})) {
            return false;
        }
        at += len + (at[len] == '/' ? 1 : 0);
    }
    return true;
}

static enum zd_next step_begin(struct zd_change *change)
{
    const bool makes =
        change->ask.kind == ZD_METADATA_PUT || change->ask.kind == ZD_METADATA_PUT_KEY;
    if (makes && !has_good_names(change->path)) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_INVALID, "\"%.200s\" is no path of node names", change->path);
        return zd_change_fail(change, ZD_INVALID, "bad_path", &err);
    }
    const bool is_large = change->ask.kind == ZD_METADATA_ERASE || change->ask.erases_chunks;
    change->step = step_path_locked;
    change->path_lock.wait.done = path_locked;
    if (change->ask.has_lock) {
        return ZD_NEXT;
    }
    return zd_lock_want(
        change->dataset, is_large ? ZD_LOCK_TREE : ZD_LOCK_NODE, change->path, &change->path_lock);
}

static enum zd_next step_path_locked(struct zd_change *change)
{
    const struct zd_wait *wait = &change->path_lock.wait;
    if (wait->status != ZD_OK) {
        return zd_change_fail(change, wait->status, NULL, &wait->err);
    }
    /* What is below is locked by now, so that nobody has to wait for the walk but who is there. */
    change->step = change->ask.kind == ZD_METADATA_ERASE && !change->ask.is_dry ? zd_change_collect
                                                                                : zd_change_lock;
    return ZD_NEXT;
}

enum zd_next zd_change_lock_tree(struct zd_change *change)
{
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    zd_change_forget(change);
    change->path_lock = (struct zd_lock_want){.wait.done = path_locked};
    change->step = step_path_locked;
    return zd_lock_want(change->dataset, ZD_LOCK_TREE, change->path, &change->path_lock);
}

enum zd_next zd_change_relock(struct zd_change *change)
{
    change->metadata_lock.wait.done = locked;
    return zd_lock_want(change->dataset, ZD_LOCK_METADATA, "", &change->metadata_lock);
}

enum zd_next zd_change_lock(struct zd_change *change)
{
    change->step = step_locked;
    return zd_change_relock(change);
}

static enum zd_next step_locked(struct zd_change *change)
{
    const struct zd_wait *wait = &change->metadata_lock.wait;
    if (wait->status != ZD_OK) {
        return zd_change_fail(change, wait->status, NULL, &wait->err);
    }
    change->step = zd_change_find;
    return ZD_NEXT;
}

/* ---- the end ---- */

enum zd_next zd_change_end(struct zd_change *change)
{
    if (change->status == ZD_OK && (change->is_failed || change->is_stale)) {
        change->status = change->stale_err.status;
        change->err = change->stale_err;
    }
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    return ZD_DONE;
}

/* What came of it, for the one who waits. */
static void give(struct zd_change *change, struct zd_metadata_want *want)
{
    want->load = NULL;
    want->code = change->code;
    want->meta = ZD_TAKE(change->meta);
    want->node = change->status == ZD_OK ? ZD_TAKE(change->made) : NULL;
    want->stat = change->stat;
    want->has_made = change->has_made;
    want->is_stored = change->has_stored && !change->is_failed;
    zd_wait_answer(&want->wait, change->status, change->status == ZD_OK ? NULL : &change->err);
}

static void finish(struct zd_change *change)
{
    struct zd_metadata_want *want = change->want;
    if (want != NULL) {
        give(change, want);
    }
    free_change(change);
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

enum zd_next zd_metadata_want(
    struct zd_dataset *dataset, const struct zd_metadata_ask *ask, struct zd_metadata_want *want)
{
    struct zd_change *change = new_change(dataset, ask);
    if (change == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to change a node");
        return ZD_NEXT;
    }
    change->want = want;
    want->load = change;
    change->step = step_begin;
    if (run(change) == ZD_WAIT) {
        return ZD_WAIT;
    }
    give(change, want);
    free_change(change);
    return ZD_NEXT;
}

void zd_metadata_release(struct zd_metadata_want *want)
{
    struct zd_change *change = want->load;
    if (change != NULL) {
        change->want = NULL;
        want->load = NULL;
    }
    zd_meta_unref(ZD_TAKE(want->meta));
    zd_node_unref(ZD_TAKE(want->node));
}
