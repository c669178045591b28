/* Writes to a dataset's store, which go on when nobody waits for them any more.
 *
 *     PUT, ERASE             start -> done: forgotten by the caches, told, freed
 *     STAGE, then COMMIT     start -> done: told, kept with the want -> COMMIT: as a PUT
 *     STAGE, then release    start -> done -> DISCARD -> freed
 */
#include "server/write.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "server/changes.h"
#include "server/datasets.h"

/* One write, for as long as the store needs; of what is staged, until it is committed or dropped.
 */
struct write_load {
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_write write;
    struct zd_buf *bytes;       /* a reference, or NULL */
    struct zd_write_want *want; /* NULL once nobody waits */
    bool is_running;            /* in the store */
};

static void free_load(struct write_load *load)
{
    zd_buf_unref(load->bytes);
    zd_dataset_unref(load->dataset);
    zd_free(load);
}

static void discarded(struct zd_store_op *op)
{
    free_load(ZD_CONTAINER(op, struct write_load, write.op));
}

static void discard(struct write_load *load)
{
    load->write.op.done = discarded;
    load->write.phase = ZD_PHASE_DISCARD;
    load->is_running = true;
    zd_store_write(load->dataset->store, &load->write);
}

/* The bytes are in the store, or could not be brought there: nobody sees a difference. */
static void stage_done(struct write_load *load, enum zd_status status)
{
    struct zd_write_want *want = load->want;
    if (want == NULL && status == ZD_OK) {
        discard(load);
        return;
    }
    if (want == NULL) {
        free_load(load);
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

/* Forgotten whatever the end: a failure may have come after the change, and a condition that did
 * not hold says that others have written. */
static void change_done(struct write_load *load, enum zd_status status)
{
    struct zd_write_want *want = load->want;
    zd_changes_note(load->dataset, load->write.key);
    if (want != NULL) {
        want->load = NULL;
        want->stat = load->write.stat;
        zd_wait_answer(&want->wait, status, status == ZD_OK ? NULL : &load->write.op.err);
    }
    free_load(load);
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

static void write_done(struct zd_store_op *op)
{
    struct write_load *load = ZD_CONTAINER(op, struct write_load, write.op);
    load->is_running = false;
    if (load->write.phase == ZD_PHASE_STAGE) {
        stage_done(load, op->status);
    } else {
        change_done(load, op->status);
    }
}

static enum zd_phase phase_of(enum zd_write_kind kind)
{
    switch (kind) {
    case ZD_WRITE_PUT:
    case ZD_WRITE_ERASE:
        return ZD_PHASE_WHOLE;
    case ZD_WRITE_STAGE:
        return ZD_PHASE_STAGE;
    case ZD_WRITE_COMMIT:
        break;
    }
    return ZD_PHASE_COMMIT;
}

static void start(struct write_load *load, enum zd_write_kind kind)
{
    struct zd_store *store = load->dataset->store;
    load->is_running = true;
    load->write.op.done = write_done;
    load->write.phase = phase_of(kind);
    if (kind == ZD_WRITE_ERASE) {
        zd_store_erase(store, &load->write);
    } else {
        zd_store_write(store, &load->write);
    }
}

static struct write_load *new_load(
    struct zd_dataset *dataset, const char *key, struct zd_write_want *want)
{
    struct write_load *load = zd_alloc_zero(1, sizeof *load);
    const bool has_bytes = want->kind == ZD_WRITE_PUT || want->kind == ZD_WRITE_STAGE;
    if (load != NULL) {
        load->dataset = zd_dataset_ref(dataset);
        load->want = want;
        load->bytes = has_bytes ? zd_buf_ref(want->bytes) : NULL;
        load->write.bytes = load->bytes;
        (void)snprintf(load->write.key, sizeof load->write.key, "%s", key);
    }
    return load;
}

/* What has staged commits as well: nothing is left to fail for want of memory. */
static enum zd_next commit(struct zd_write_want *want)
{
    struct write_load *load = want->load;
    assert(load != NULL && want->staged != NULL);
    load->write.bytes = NULL;
    load->write.condition = want->condition;
    load->write.generation = want->generation;
    load->write.staged = ZD_TAKE(want->staged);
    start(load, ZD_WRITE_COMMIT);
    return ZD_WAIT;
}

enum zd_next zd_write_want(struct zd_dataset *dataset, const char *key, struct zd_write_want *want)
{
    want->stat = (struct zd_stat){0};
    if (want->kind == ZD_WRITE_COMMIT) {
        return commit(want);
    }
    want->load = NULL;
    if (strnlen(key, ZD_KEY_BYTES_MAX + 1) > ZD_KEY_BYTES_MAX) {
        want->wait.status = zd_fail(&want->wait.err, ZD_INVALID,
            "no store has a key of more than %d bytes", ZD_KEY_BYTES_MAX);
        return ZD_NEXT;
    }
    struct write_load *load = new_load(dataset, key, want);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "%.200s: no memory", key);
        return ZD_NEXT;
    }
    load->write.condition = want->condition;
    load->write.generation = want->generation;
    want->load = load;
    start(load, want->kind);
    return ZD_WAIT;
}

void zd_write_release(struct zd_write_want *want)
{
    struct write_load *load = want->load;
    want->load = NULL;
    want->staged = NULL;
    if (load == NULL) {
        return;
    }
    load->want = NULL;
    if (!load->is_running) {
        discard(load);
    }
}
