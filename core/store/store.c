/* Stores: keys -> bytes. Opens by scheme, checks keys, counts, and hands on. */
#include "core/store/store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/base/scan.h"

const char *zd_store_location_in(const char *scheme, const char *location)
{
    const size_t len = strlen(scheme);
    const bool is_scheme = strncmp(location, scheme, len) == 0 && location[len] == ':';
    return is_scheme ? location + len + 1 : NULL;
}

enum zd_status zd_store_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    for (const struct zd_store_ops *const *ops = zd_stores; *ops != NULL; ops++) {
        if ((*ops)->accepts(config->location)) {
            ZD_TRY((*ops)->open(config, ret_store, err));
            (*ret_store)->ops = *ops;
            return ZD_OK;
        }
    }
    return zd_fail(
        err, ZD_INVALID, "%s: this build has no store for such a location", config->location);
}

enum zd_status zd_store_init(struct zd_store *store, const struct zd_store_config *config)
{
    char *location = zd_strdup(config->location);
    if (location == NULL) {
        return ZD_NO_MEMORY;
    }
    *store = (struct zd_store){
        .loop = config->loop,
        .location = location,
        .writable = config->writable,
    };
    return ZD_OK;
}

bool zd_store_is_shared(const struct zd_store *store, const struct zd_store *other)
{
    return store == other || (store->place != 0 && store->place == other->place);
}

void zd_store_give_up(struct zd_store *store)
{
    if (store->ops->give_up != NULL) {
        store->ops->give_up(store);
    }
}

bool zd_store_is_current(const struct zd_store *store)
{
    return store->ops->is_current == NULL || store->ops->is_current(store);
}

void zd_store_close(struct zd_store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}

static void no_work(uv_work_t *work)
{
    (void)work;
}

static void after_no_work(uv_work_t *work, int uv_status)
{
    (void)uv_status; /* cancelled or not, the operation was over before */
    struct zd_store_op *op = ZD_CONTAINER(work, struct zd_store_op, work);
    op->done(op);
}

void zd_store_finish_later(struct zd_store_op *op)
{
    const int uv_status = uv_queue_work(op->store->loop, &op->work, no_work, after_no_work);
    assert(uv_status == 0);
    (void)uv_status;
}

/* An error is large: only what says that it is empty is reset. */
static void begin(struct zd_store_op *op, struct zd_store *store)
{
    op->store = store;
    op->status = ZD_OK;
    op->cancelled = false;
    op->private_state = NULL;
    op->link = (struct zd_list){0};
    op->err.status = ZD_OK;
    op->err.facts.set = 0;
    op->err.text[0] = '\0';
}

static bool key_passes(struct zd_store_op *op, const char *key)
{
    if (!zd_key_is_valid(key)) {
        op->status = zd_fail(
            &op->err, ZD_INVALID, "the store key \"%.*s\" is malformed", ZD_FACT_TEXT_BYTES, key);
    }
    return op->status == ZD_OK;
}

static bool begin_read(struct zd_store *store, struct zd_store_read *read)
{
    begin(&read->op, store);
    read->bytes = NULL;
    read->stat = (struct zd_stat){0};
    return key_passes(&read->op, read->key);
}

static bool begin_status(struct zd_store *store, struct zd_store_status *status)
{
    begin(&status->op, store);
    status->stat = (struct zd_stat){0};
    return key_passes(&status->op, status->key);
}

void zd_store_read(struct zd_store *store, struct zd_store_read *read)
{
    store->n_reads++;
    if (begin_read(store, read)) {
        store->ops->read(store, read);
    } else {
        zd_store_finish_later(&read->op);
    }
}

void zd_store_status(struct zd_store *store, struct zd_store_status *status)
{
    store->n_statuses++;
    if (begin_status(store, status)) {
        store->ops->status(store, status);
    } else {
        zd_store_finish_later(&status->op);
    }
}

enum zd_status zd_store_read_now(struct zd_store *store, struct zd_store_read *read)
{
    if (store->ops->read_now == NULL) {
        return ZD_AGAIN;
    }
    if (begin_read(store, read)) {
        read->op.status = store->ops->read_now(store, read);
    }
    store->n_reads += read->op.status != ZD_AGAIN;
    return read->op.status;
}

enum zd_status zd_store_status_now(struct zd_store *store, struct zd_store_status *status)
{
    if (store->ops->status_now == NULL) {
        return ZD_AGAIN;
    }
    if (begin_status(store, status)) {
        status->op.status = store->ops->status_now(store, status);
    }
    store->n_statuses += status->op.status != ZD_AGAIN;
    return status->op.status;
}

void zd_store_list(struct zd_store *store, struct zd_store_list *list)
{
    assert(list->n_max >= 1);
    store->n_lists++;
    begin(&list->op, store);
    list->entry = NULL;
    list->n_entries = 0;
    list->has_more = false;
    if (zd_key_prefix_is_valid(list->prefix)) {
        store->ops->list(store, list);
        return;
    }
    list->op.status = zd_fail(&list->op.err, ZD_INVALID, "the store prefix \"%.*s\" is malformed",
        ZD_FACT_TEXT_BYTES, list->prefix);
    zd_store_finish_later(&list->op);
}

void zd_store_stop_writes(struct zd_store *store, const char *failure)
{
    if (store->failure[0] == '\0') {
        snprintf(store->failure, sizeof store->failure, "%s", failure);
    }
}

static bool begin_write(struct zd_store *store, struct zd_store_write *write)
{
    struct zd_store_op *op = &write->op;
    store->n_writes++;
    begin(op, store);
    write->stat = (struct zd_stat){0};
    if (!store->writable) {
        op->status = zd_fail(&op->err, ZD_READ_ONLY, "the store is read-only");
        return false;
    }
    if (store->failure[0] != '\0') {
        op->status = zd_fail(&op->err, ZD_READ_ONLY,
            "the store takes no writes since a sync failed: %s", store->failure);
        return false;
    }
    return key_passes(op, write->key);
}

/* What was staged and may not be committed goes away, and the answer stays. */
static void begin_commit(struct zd_store *store, struct zd_store_write *write)
{
    assert(write->bytes == NULL && write->staged->store == store);
    if (begin_write(store, write)) {
        store->ops->write(store, write);
    } else {
        store->ops->discard(store, write);
    }
}

static void begin_new_bytes(struct zd_store *store, struct zd_store_write *write)
{
    assert(write->bytes != NULL);
    write->staged = NULL;
    if (begin_write(store, write)) {
        store->ops->write(store, write);
    } else {
        zd_store_finish_later(&write->op);
    }
}

void zd_store_write(struct zd_store *store, struct zd_store_write *write)
{
    switch (write->phase) {
    case ZD_PHASE_WHOLE:
    case ZD_PHASE_STAGE:
        begin_new_bytes(store, write);
        return;
    case ZD_PHASE_COMMIT:
        begin_commit(store, write);
        return;
    case ZD_PHASE_DISCARD:
        assert(write->staged->store == store);
        begin(&write->op, store);
        store->ops->discard(store, write);
        return;
    }
}

void zd_store_erase(struct zd_store *store, struct zd_store_write *erase)
{
    assert(erase->bytes == NULL && erase->phase == ZD_PHASE_WHOLE);
    erase->staged = NULL;
    if (begin_write(store, erase)) {
        store->ops->erase(store, erase);
    } else {
        zd_store_finish_later(&erase->op);
    }
}

void zd_store_hold(struct zd_store *store, struct zd_store_hold *hold)
{
    begin(&hold->op, store);
    hold->is_held = false;
    if (!store->writable) {
        hold->op.status = zd_fail(&hold->op.err, ZD_READ_ONLY, "the store is read-only");
    } else if (store->ops->hold != NULL) {
        store->ops->hold(store, hold);
        return;
    }
    zd_store_finish_later(&hold->op);
}

void zd_store_release(struct zd_store_hold *hold)
{
    struct zd_store *store = hold->op.store;
    begin(&hold->op, store);
    if (hold->is_held) {
        store->ops->release(store, hold);
    } else {
        zd_store_finish_later(&hold->op);
    }
}

void zd_store_cancel(struct zd_store_op *op)
{
    if (!op->cancelled) {
        op->cancelled = true;
        op->store->ops->cancel(op->store, op);
    }
}

void zd_store_list_done(struct zd_store_list *list)
{
    for (size_t i = 0; i < list->n_entries; i++) {
        zd_free(list->entry[i].name);
    }
    zd_free(list->entry);
    list->entry = NULL;
    list->n_entries = 0;
}

/* Which bytes of an object of that size a range names; never beyond its end. */
static struct zd_range range_within(const struct zd_range *range, uint64_t size)
{
    struct zd_range within = {.kind = ZD_RANGE_FROM_TO, .first = 0, .len = size};
    switch (range->kind) {
    case ZD_RANGE_WHOLE:
        break;
    case ZD_RANGE_FROM_TO:
        within.first = zd_min_u64(range->first, size);
        within.len = zd_min_u64(range->len, size - within.first);
        break;
    case ZD_RANGE_SUFFIX:
        within.len = zd_min_u64(range->len, size);
        within.first = size - within.len;
        break;
    }
    return within;
}

enum zd_status zd_store_judge_read(const struct zd_store_read *read, const struct zd_stat *stat,
    struct zd_range *ret_range, struct zd_error *err)
{
    if (zd_generation_is_set(read->unless_generation) &&
        zd_generation_equal(read->unless_generation, stat->generation)) {
        return ZD_NOT_MODIFIED;
    }
    if (zd_generation_is_set(read->only_generation) &&
        !zd_generation_equal(read->only_generation, stat->generation)) {
        return zd_fail(err, ZD_PRECONDITION, "%s: the object was replaced", read->key);
    }
    const struct zd_range range = range_within(&read->range, stat->size);
    if (range.len > read->bytes_max) {
        const enum zd_status status =
            zd_fail(err, ZD_TOO_LARGE, "%s: %llu bytes to read, at most %zu allowed", read->key,
                (unsigned long long)range.len, read->bytes_max);
        zd_fact_limit(err, read->bytes_max, range.len);
        return status;
    }
    *ret_range = range;
    return ZD_OK;
}

enum zd_status zd_store_judge_write(
    const struct zd_store_write *write, const struct zd_stat *found, struct zd_error *err)
{
    switch (write->condition) {
    case ZD_CONDITION_NONE:
        return ZD_OK;
    case ZD_CONDITION_ABSENT:
        return found == NULL
                   ? ZD_OK
                   : zd_fail(err, ZD_PRECONDITION, "%s: the object exists already", write->key);
    case ZD_CONDITION_GENERATION:
        if (found == NULL) {
            return zd_fail(err, ZD_PRECONDITION, "%s: the object does not exist", write->key);
        }
        return zd_generation_equal(write->generation, found->generation)
                   ? ZD_OK
                   : zd_fail(err, ZD_PRECONDITION, "%s: the object was replaced", write->key);
    }
    return ZD_INTERNAL;
}
