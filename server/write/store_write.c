/* Writes to a dataset's store; they go on when their want is released.
 *
 *     PUT, ERASE             start -> done: caches invalidated, answered, freed
 *     STAGE, then COMMIT     start -> done: answered, kept with the want -> COMMIT: as a PUT
 *                                (EXTEND, any number of times: the same again)
 *     STAGE, then release    start -> done -> DISCARD -> freed
 *     ... that keeps_old     start -> done: answered, kept with the want
 *                                -> UNDO: as a PUT or an ERASE
 *                                -> SETTLE: answered, freed
 */
#include "server/write/store_write.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "server/data/dataset.h"
#include "server/data/object_cache.h"
#include "server/runtime/server.h"
#include "server/write/idle_writer.h"

/* A write, until the store has done it; a staged or kept object, until it is discarded. */
struct write_load {
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_write write;
    struct zd_buf *bytes;             /* a reference, or NULL */
    struct zd_store_write_want *want; /* NULL once released */
    bool is_running;                  /* in the store */
    bool has_erased;                  /* it was an ERASE */
};

static void free_load(struct write_load *load)
{
    zd_buf_unref(load->bytes);
    zd_dataset_unref(load->dataset);
    zd_free(load);
}

static void write_done(struct zd_store_op *op);

static void start(struct write_load *load, enum zd_phase phase)
{
    struct zd_store *store = load->dataset->store;
    load->is_running = true;
    load->write.op.done = write_done;
    load->write.phase = phase;
    if (phase == ZD_PHASE_WHOLE && load->bytes == NULL) {
        zd_store_erase(store, &load->write);
    } else {
        zd_store_write(store, &load->write);
    }
}

/* Discard the staged or kept object; no want refers to it any more. */
static void drop(struct write_load *load)
{
    load->want = NULL;
    if (load->write.staged != NULL) {
        start(load, ZD_PHASE_DISCARD);
    } else {
        free_load(load);
    }
}

/* ---- caches ---- */

static void invalidate(struct zd_dataset *dataset, const char *key)
{
    dataset->n_changes++;
    zd_objects_forget_change(dataset, key);
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (zd_dialect_node_path(key, &path) == ZD_OK) {
        zd_catalog_forget(dataset, zd_text_span(&path));
    }
}

/* A key was written or erased, or may have been. Other datasets may have the object, too: one that
 * was opened by a reload, or one of the same bucket. */
static void invalidate_everywhere(struct zd_dataset *dataset, const char *key)
{
    const struct zd_server *server = dataset->server;
    char key_there[ZD_KEY_BYTES_MAX + 1];
    invalidate(dataset, key);
    for (size_t i = 0; i < server->n_datasets; i++) {
        struct zd_dataset *other = server->dataset[i];
        if (other != dataset && other->store != NULL &&
            zd_store_key_in(other->store, dataset->store, key, key_there)) {
            zd_store_overtake(other->store, key_there);
            invalidate(other, key_there);
        }
    }
}

/* ---- what the store has done ---- */

/* No reader sees a staged object: caches stay valid. */
static void stage_done(struct write_load *load, enum zd_status status)
{
    struct zd_store_write_want *want = load->want;
    if (want == NULL) {
        drop(load);
        return;
    }
    want->staged = load->write.staged;
    zd_wait_answer(&want->wait, status, status == ZD_OK ? NULL : &load->write.op.err);
    zd_buf_unref(ZD_TAKE(load->bytes));
    if (status != ZD_OK) {
        want->load = NULL;
        free_load(load);
    }
    want->wait.done(&want->wait);
}

/* Caches are invalidated whatever the status: a failure may follow the change, and a failed
 * condition means that another process has written. */
static void change_done(struct write_load *load, enum zd_status status)
{
    struct zd_store_write_want *want = load->want;
    const bool is_kept = status == ZD_OK && load->write.keeps_old && want != NULL;
    invalidate_everywhere(load->dataset, load->write.key);
    if (want != NULL) {
        want->load = is_kept ? load : NULL;
        want->stat = load->write.stat;
        want->is_unsynced = load->write.is_unsynced;
        zd_wait_answer(&want->wait, status, status == ZD_OK ? NULL : &load->write.op.err);
    }
    if (!is_kept) {
        drop(load);
    }
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

static void discard_done(struct write_load *load)
{
    struct zd_store_write_want *want = load->want; /* of a SETTLE; else NULL */
    free_load(load);
    if (want != NULL) {
        want->load = NULL;
        zd_wait_end(&want->wait, ZD_OK, NULL);
    }
}

static void write_done(struct zd_store_op *op)
{
    struct write_load *load = ZD_CONTAINER(op, struct write_load, write.op);
    load->is_running = false;
    zd_idle_writer_after_write(load->dataset);
    switch (load->write.phase) {
    case ZD_PHASE_STAGE:
    case ZD_PHASE_EXTEND:
        stage_done(load, op->status);
        break;
    case ZD_PHASE_WHOLE:
    case ZD_PHASE_COMMIT:
        change_done(load, op->status);
        break;
    case ZD_PHASE_DISCARD:
        discard_done(load);
        break;
    }
}

static struct write_load *new_load(
    struct zd_dataset *dataset, const char *key, struct zd_store_write_want *want)
{
    struct write_load *load = zd_alloc_zero(1, sizeof *load);
    const bool has_bytes = want->kind == ZD_WRITE_PUT || want->kind == ZD_WRITE_STAGE;
    if (load != NULL) {
        load->dataset = zd_dataset_ref(dataset);
        load->want = want;
        load->has_erased = want->kind == ZD_WRITE_ERASE;
        load->bytes = has_bytes ? zd_buf_ref(want->bytes) : NULL;
        load->write.bytes = load->bytes;
        (void)snprintf(load->write.key, sizeof load->write.key, "%s", key);
    }
    return load;
}

static enum zd_next extend(struct zd_store_write_want *want)
{
    struct write_load *load = want->load;
    assert(load != NULL && want->staged != NULL);
    load->bytes = zd_buf_ref(want->bytes);
    load->write.bytes = load->bytes;
    load->write.staged = ZD_TAKE(want->staged);
    start(load, ZD_PHASE_EXTEND);
    return ZD_WAIT;
}

/* In the memory of the STAGE: a COMMIT cannot run out of it. */
static enum zd_next commit(struct zd_store_write_want *want)
{
    struct write_load *load = want->load;
    assert(load != NULL && want->staged != NULL);
    want->stat = (struct zd_stat){0};
    load->write.bytes = NULL;
    load->write.condition = want->condition;
    load->write.generation = want->generation;
    load->write.keeps_old = want->keeps_old;
    load->write.staged = ZD_TAKE(want->staged);
    start(load, ZD_PHASE_COMMIT);
    return ZD_WAIT;
}

/* In the same memory, with what the store has kept: an UNDO fails only where a write would. */
static enum zd_next undo(struct zd_store_write_want *want)
{
    struct write_load *load = want->load;
    if (load == NULL) {
        want->wait.status = ZD_OK;
        return ZD_NEXT;
    }
    load->want = want;
    load->write.condition = load->has_erased ? ZD_CONDITION_ABSENT : ZD_CONDITION_GENERATION;
    load->write.generation = want->stat.generation;
    load->write.keeps_old = false;
    load->write.is_undo = true;
    start(load, load->write.staged != NULL ? ZD_PHASE_COMMIT : ZD_PHASE_WHOLE);
    return ZD_WAIT;
}

static enum zd_next settle(struct zd_store_write_want *want)
{
    struct write_load *load = want->load;
    want->wait.status = ZD_OK;
    if (load != NULL && load->write.staged != NULL) {
        load->want = want;
        start(load, ZD_PHASE_DISCARD);
        return ZD_WAIT;
    }
    if (load != NULL) {
        want->load = NULL;
        free_load(load);
    }
    return ZD_NEXT;
}

static enum zd_next begin_load(
    struct zd_dataset *dataset, const char *key, struct zd_store_write_want *want)
{
    want->load = NULL;
    want->stat = (struct zd_stat){0};
    if (strnlen(key, ZD_KEY_BYTES_MAX + 1) > ZD_KEY_BYTES_MAX) {
        want->wait.status = zd_fail(
            &want->wait.err, ZD_INVALID, "the key exceeds the limit of %d bytes", ZD_KEY_BYTES_MAX);
        return ZD_NEXT;
    }
    struct write_load *load = new_load(dataset, key, want);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "%.200s: no memory", key);
        return ZD_NEXT;
    }
    load->write.condition = want->condition;
    load->write.generation = want->generation;
    load->write.keeps_old = want->kind == ZD_WRITE_ERASE && want->keeps_old;
    want->load = load;
    start(load, want->kind == ZD_WRITE_STAGE ? ZD_PHASE_STAGE : ZD_PHASE_WHOLE);
    return ZD_WAIT;
}

enum zd_next zd_store_write_want(
    struct zd_dataset *dataset, const char *key, struct zd_store_write_want *want)
{
    switch (want->kind) {
    case ZD_WRITE_PUT:
    case ZD_WRITE_ERASE:
    case ZD_WRITE_STAGE:
        break;
    case ZD_WRITE_EXTEND:
        return extend(want);
    case ZD_WRITE_COMMIT:
        return commit(want);
    case ZD_WRITE_UNDO:
        return undo(want);
    case ZD_WRITE_SETTLE:
        return settle(want);
    }
    return begin_load(dataset, key, want);
}

void zd_store_write_release(struct zd_store_write_want *want)
{
    struct write_load *load = want->load;
    want->load = NULL;
    want->staged = NULL;
    if (load == NULL) {
        return;
    }
    load->want = NULL;
    if (!load->is_running) {
        drop(load);
    }
}

struct zd_staged *zd_store_write_take_old(struct zd_store_write_want *want)
{
    struct write_load *load = ZD_TAKE(want->load);
    struct zd_staged *old = load->write.staged;
    assert(!load->is_running && old != NULL);
    free_load(load);
    return old;
}

enum zd_status zd_store_write_give_old(struct zd_dataset *dataset, const char *key,
    struct zd_staged *old, struct zd_store_write_want *want)
{
    struct write_load *load = new_load(dataset, key, want);
    if (load == NULL) {
        return zd_fail(&want->wait.err, ZD_NO_MEMORY, "%.200s: no memory", key);
    }
    load->has_erased = true;
    load->write.staged = old;
    want->load = load;
    return ZD_OK;
}
