/* Some bytes of one stored object, in no cache. */
#include "server/data/range_read.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/num.h"
#include "server/runtime/server.h"

struct zd_range_load {
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_read read;
    struct zd_range_want *want; /* NULL once it was released */
};

static void free_range_load(struct zd_range_load *load)
{
    zd_dataset_unref(load->dataset);
    zd_free(load);
}

/* The waiter takes the bytes. */
static void take_range(
    struct zd_range_want *want, struct zd_store_read *read, enum zd_status status)
{
    want->stat = read->stat;
    want->age_ms = read->age_ms;
    want->bytes = status == ZD_OK ? ZD_TAKE(read->bytes) : NULL;
    want->has_file = status == ZD_OK && read->wants_file;
    want->fd = want->has_file ? read->fd : -1;
    want->fd_first = read->fd_first;
}

static void range_answered(struct zd_store_op *op)
{
    struct zd_range_load *load = ZD_CONTAINER(op, struct zd_range_load, read.op);
    struct zd_range_want *want = load->want;
    if (want == NULL) {
        struct zd_range_want nobody = {.load = NULL};
        take_range(&nobody, &load->read, op->status);
        zd_range_read_release(&nobody);
        free_range_load(load);
        return;
    }
    want->load = NULL;
    take_range(want, &load->read, op->status);
    zd_wait_answer(&want->wait, op->status, op->status == ZD_OK ? NULL : &op->err);
    free_range_load(load);
    want->wait.done(&want->wait);
}

static uint64_t range_bytes_max(const struct zd_dataset *dataset, const struct zd_range_want *want)
{
    const uint64_t most = dataset->server->config->settings.limits_object_bytes;
    if (want->wants_file) {
        return SIZE_MAX;
    }
    return want->bytes_max == 0 ? most : zd_min_u64(most, want->bytes_max);
}

enum zd_next zd_range_read_want(
    struct zd_dataset *dataset, const char *key, struct zd_range_want *want)
{
    want->bytes = NULL;
    want->has_file = false;
    want->load = NULL;
    struct zd_range_load *load = zd_alloc_zero(1, sizeof *load);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "%s: no memory", key);
        return ZD_NEXT;
    }
    load->dataset = zd_dataset_ref(dataset);
    (void)snprintf(load->read.key, sizeof load->read.key, "%s", key);
    load->read.op.done = range_answered;
    load->read.op.owner = want->owner;
    if (want->traceparent != NULL) {
        (void)snprintf(
            load->read.op.traceparent, sizeof load->read.op.traceparent, "%s", want->traceparent);
    }
    load->read.range = want->range;
    load->read.only_generation = want->only_generation;
    load->read.wants_file = want->wants_file;
    load->read.age_max_ms = want->age_max_ms;
    load->read.bytes_max = range_bytes_max(dataset, want);
    const enum zd_status status = zd_store_read_now(dataset->store, &load->read);
    if (status == ZD_AGAIN) {
        load->want = want;
        want->load = load;
        zd_store_read(dataset->store, &load->read);
        return ZD_WAIT;
    }
    take_range(want, &load->read, status);
    zd_wait_answer(&want->wait, status, status == ZD_OK ? NULL : &load->read.op.err);
    free_range_load(load);
    return ZD_NEXT;
}

void zd_range_read_release(struct zd_range_want *want)
{
    struct zd_range_load *load = want->load;
    if (load != NULL) {
        load->want = NULL;
        want->load = NULL;
        zd_store_cancel(&load->read.op);
    }
    zd_buf_unref(ZD_TAKE(want->bytes));
    if (want->has_file) {
        close(want->fd);
        want->has_file = false;
    }
}
