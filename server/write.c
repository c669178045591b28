/* Writes to a dataset's store, which go on when nobody waits for them any more. */
#include "server/write.h"

#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "server/changes.h"
#include "server/datasets.h"

/* One write, for as long as the store needs. */
struct write_load {
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_write write;
    struct zd_buf *bytes;       /* a reference, or NULL */
    struct zd_write_want *want; /* NULL once nobody waits */
};

static void free_load(struct write_load *load)
{
    zd_buf_unref(load->bytes);
    zd_dataset_unref(load->dataset);
    zd_free(load);
}

/* Forgotten whatever the end: a failure may have come after the change, and a condition that did
 * not hold says that others have written. */
static void write_done(struct zd_store_op *op)
{
    struct write_load *load = ZD_CONTAINER(op, struct write_load, write.op);
    struct zd_write_want *want = load->want;
    zd_changes_note(load->dataset, load->write.key);
    if (want != NULL) {
        want->load = NULL;
        want->stat = load->write.stat;
        zd_wait_answer(&want->wait, op->status, op->status == ZD_OK ? NULL : &op->err);
    }
    free_load(load);
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

static void start(struct write_load *load, enum zd_write_kind kind)
{
    struct zd_store *store = load->dataset->store;
    load->write.op.done = write_done;
    switch (kind) {
    case ZD_WRITE_PUT:
    case ZD_WRITE_STAGE:
    case ZD_WRITE_COMMIT:
        zd_store_write(store, &load->write);
        break;
    case ZD_WRITE_ERASE:
        zd_store_erase(store, &load->write);
        break;
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
        load->write.condition = want->condition;
        load->write.generation = want->generation;
        (void)snprintf(load->write.key, sizeof load->write.key, "%s", key);
    }
    return load;
}

enum zd_next zd_write_want(struct zd_dataset *dataset, const char *key, struct zd_write_want *want)
{
    want->load = NULL;
    want->dataset = dataset;
    want->stat = (struct zd_stat){0};
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
    want->load = load;
    start(load, want->kind);
    return ZD_WAIT;
}

void zd_write_release(struct zd_write_want *want)
{
    struct write_load *load = want->load;
    if (load != NULL) {
        load->want = NULL;
        want->load = NULL;
    }
}
