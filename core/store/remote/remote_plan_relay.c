/* Operations of a plan other than reads: each is handed on, and tried again where that does no
 * harm. */
#include <assert.h>
#include <stdio.h>

#include "core/store/contract/store_impl.h"
#include "core/store/remote/remote_plan.h"
#include "core/store/remote/retry.h"

enum relay_kind {
    RELAY_STATUS,
    RELAY_LIST,
    RELAY_WRITE,
    RELAY_ERASE,
};

/* An operation of the inner store in place of one of the plan. */
struct relay {
    struct zd_remote_plan_work work; /* first member */
    struct zd_retry trial;
    struct zd_remote_plan *plan;
    struct zd_store_op *asked;
    enum relay_kind kind;
    uint64_t n_changes;      /* of the key of a status, when it was asked */
    bool has_place;          /* the trial has begun it */
    bool was_begun;          /* of a write: an earlier attempt may have done it */
    struct zd_error unknown; /* if so: how that attempt ended */
    union {
        struct zd_store_op op; /* the first member of all */
        struct zd_store_status status;
        struct zd_store_list list;
        struct zd_store_write write;
    } inner;
};

static bool is_write(const struct relay *relay)
{
    return relay->kind == RELAY_WRITE || relay->kind == RELAY_ERASE;
}

/* Whether readers can see what it does. */
static bool is_seen(const struct relay *relay)
{
    return is_write(relay) && relay->inner.write.phase != ZD_PHASE_STAGE &&
           relay->inner.write.phase != ZD_PHASE_EXTEND;
}

/* An unconditional write is the same twice. Of a conditional one the second attempt may find what
 * the first has done: then it says so (take_write). What was staged is gone after a commit, and so
 * is the old object that an erasure may have taken away. */
static bool may_repeat(const struct relay *relay)
{
    const struct zd_store_write *write = &relay->inner.write;
    if (!is_write(relay)) {
        return true;
    }
    return !(write->keeps_old && write->op.fault.was_begun) &&
           (write->phase == ZD_PHASE_WHOLE || write->phase == ZD_PHASE_STAGE);
}

static void take_status(struct relay *relay)
{
    struct zd_store_status *asked = ZD_CONTAINER(relay->asked, struct zd_store_status, op);
    asked->stat = relay->inner.status.stat;
    if (asked->op.status == ZD_NOT_FOUND) {
        zd_remote_plan_learn_absent(
            relay->plan, asked->key, relay->trial.began_ms, relay->n_changes);
    }
}

static void take_list(struct relay *relay)
{
    struct zd_store_list *asked = ZD_CONTAINER(relay->asked, struct zd_store_list, op);
    asked->entry = relay->inner.list.entry;
    asked->n_entries = relay->inner.list.n_entries;
    asked->has_more = relay->inner.list.has_more;
    asked->is_incomplete = relay->inner.list.is_incomplete;
    asked->n_visited = relay->inner.list.n_visited;
    asked->cursor = relay->inner.list.cursor;
}

static void take_write(struct relay *relay)
{
    struct zd_store_write *asked = ZD_CONTAINER(relay->asked, struct zd_store_write, op);
    asked->staged = relay->inner.write.staged;
    asked->stat = relay->inner.write.stat;
    asked->is_unsynced = relay->inner.write.is_unsynced;
    if (relay->was_begun &&
        (asked->op.status == ZD_PRECONDITION || asked->op.status == ZD_CANCELLED)) {
        asked->op.status = relay->unknown.status;
        asked->op.err = relay->unknown;
    }
    if (is_seen(relay)) {
        zd_remote_plan_overtake(relay->plan, asked->key);
    }
}

/* Its outcome is that of the operation that was asked. */
static void deliver(struct relay *relay)
{
    struct zd_store_op *asked = relay->asked;
    asked->private_state = NULL;
    asked->status = relay->inner.op.status;
    asked->fault = relay->inner.op.fault;
    if (asked->status != ZD_OK && asked->status != ZD_NOT_FOUND) {
        asked->err = relay->inner.op.err;
    }
    switch (relay->kind) {
    case RELAY_STATUS:
        take_status(relay);
        break;
    case RELAY_LIST:
        take_list(relay);
        break;
    case RELAY_WRITE:
    case RELAY_ERASE:
        take_write(relay);
        break;
    }
    zd_free(relay);
}

static void refuse(struct zd_retry *trial)
{
    struct relay *relay = ZD_CONTAINER(trial, struct relay, trial);
    struct zd_store_op *asked = relay->asked;
    if (trial->n_attempts == 0) {
        relay->inner.op.status = zd_endpoint_refuse(trial->endpoint, &relay->inner.op.err);
        zd_store_count_event(&relay->plan->store, ZD_STORE_PAUSED);
    }
    deliver(relay);
    asked->done(asked);
}

static void inner_done(struct zd_store_op *op)
{
    struct relay *relay = ZD_CONTAINER(op, struct relay, inner.op);
    struct zd_store_op *asked = relay->asked;
    if (is_write(relay) && op->fault.was_begun && !zd_retry_is_final(op)) {
        relay->was_begun = true;
        relay->unknown = op->err;
    }
    if (!relay->has_place) {
        zd_retry_report(relay->plan->endpoint, op, relay->trial.began_ms);
    } else if (zd_retry_again(&relay->trial, op, may_repeat(relay))) {
        zd_store_count_event(&relay->plan->store, ZD_STORE_RETRIED);
        return;
    }
    deliver(relay);
    asked->done(asked);
}

static void start(struct zd_retry *trial)
{
    struct relay *relay = ZD_CONTAINER(trial, struct relay, trial);
    struct zd_store *inner = relay->plan->store.inner;
    switch (relay->kind) {
    case RELAY_STATUS:
        relay->n_changes = zd_remote_plan_changes(relay->plan, relay->inner.status.key);
        zd_store_status(inner, &relay->inner.status);
        break;
    case RELAY_LIST:
        zd_store_list_page(inner, &relay->inner.list);
        break;
    case RELAY_WRITE:
        zd_store_write(inner, &relay->inner.write);
        break;
    case RELAY_ERASE:
        zd_store_erase(inner, &relay->inner.write);
        break;
    }
}

static void cancel(struct zd_remote_plan_work *work, struct zd_store_op *op)
{
    struct relay *relay = ZD_CONTAINER(work, struct relay, work);
    if (!relay->has_place || !zd_retry_stop(&relay->trial)) {
        zd_store_cancel(&relay->inner.op);
        return;
    }
    relay->inner.op.status =
        zd_fail(&relay->inner.op.err, ZD_CANCELLED, "the operation is no longer wanted");
    deliver(relay);
    zd_store_finish_later(op);
}

/* NULL: there is no memory, and the operation ends so. */
static struct relay *new_relay(
    struct zd_remote_plan *plan, struct zd_store_op *asked, enum relay_kind kind)
{
    struct relay *relay = zd_alloc_zero(1, sizeof *relay);
    if (relay == NULL) {
        return NULL;
    }
    relay->work.cancel = cancel;
    relay->plan = plan;
    relay->asked = asked;
    relay->kind = kind;
    relay->trial = (struct zd_retry){
        .endpoint = plan->endpoint,
        .start = start,
        .refuse = refuse,
        .seat = {.line = &plan->line, .owner = asked->owner},
    };
    return relay;
}

/* The inner operation's outcome is set from here on. */
static void begin(struct relay *relay)
{
    struct zd_store_op *asked = relay->asked;
    asked->private_state = &relay->work;
    relay->inner.op.done = inner_done;
    relay->has_place = true;
    if (zd_retry_begin(&relay->trial) != ZD_OK) {
        relay->inner.op.status = zd_endpoint_refuse(relay->plan->endpoint, &relay->inner.op.err);
        zd_store_count_event(&relay->plan->store, ZD_STORE_PAUSED);
        deliver(relay);
        zd_store_finish_later(asked);
    }
}

static void end_without_memory(struct zd_store_op *op)
{
    op->status = zd_fail(&op->err, ZD_NO_MEMORY, "no memory for an operation of a remote store");
    zd_store_finish_later(op);
}

void zd_remote_plan_status(struct zd_store *store, struct zd_store_status *status)
{
    struct zd_remote_plan *plan = zd_remote_plan_of(store);
    if (zd_remote_plan_knows_absent(plan, status->key, &status->op)) {
        zd_store_finish_later(&status->op);
        return;
    }
    struct relay *relay = new_relay(plan, &status->op, RELAY_STATUS);
    if (relay == NULL) {
        end_without_memory(&status->op);
        return;
    }
    (void)snprintf(relay->inner.status.key, sizeof relay->inner.status.key, "%s", status->key);
    begin(relay);
}

void zd_remote_plan_list(struct zd_store *store, struct zd_store_list *list)
{
    struct relay *relay = new_relay(zd_remote_plan_of(store), &list->op, RELAY_LIST);
    if (relay == NULL) {
        end_without_memory(&list->op);
        return;
    }
    struct zd_store_list *inner = &relay->inner.list;
    (void)snprintf(inner->prefix, sizeof inner->prefix, "%s", list->prefix);
    inner->deep = list->deep;
    inner->stops_at_links = list->stops_at_links;
    inner->after = list->after;
    inner->n_max = list->n_max;
    inner->visits_max = list->visits_max;
    inner->cursor = ZD_TAKE(list->cursor);
    begin(relay);
}

static void copy_write(struct relay *relay, const struct zd_store_write *write)
{
    struct zd_store_write *inner = &relay->inner.write;
    (void)snprintf(inner->key, sizeof inner->key, "%s", write->key);
    inner->phase = write->phase;
    inner->bytes = write->bytes;
    inner->condition = write->condition;
    inner->generation = write->generation;
    inner->keeps_old = write->keeps_old;
    inner->is_undo = write->is_undo;
    inner->staged = write->staged;
}

/* A write that has something staged is handed on at once: it is never refused here, since what is
 * staged would be lost. */
static void begin_write(struct relay *relay, struct zd_store_write *write)
{
    copy_write(relay, write);
    if (is_seen(relay)) {
        zd_remote_plan_overtake(relay->plan, write->key);
    }
    if (write->staged == NULL) {
        begin(relay);
        return;
    }
    write->op.private_state = &relay->work;
    write->staged = NULL;
    relay->inner.op.done = inner_done;
    relay->trial.began_ms = uv_now(relay->plan->store.loop);
    zd_store_write(relay->plan->store.inner, &relay->inner.write);
}

/* Without memory what is staged goes away, as with every commit that fails. */
static void end_write_without_memory(struct zd_store_write *write)
{
    if (write->staged == NULL) {
        end_without_memory(&write->op);
        return;
    }
    struct zd_store *keeper = write->staged->store;
    write->op.status = zd_fail(&write->op.err, ZD_NO_MEMORY, "%s: no memory", write->key);
    write->op.store = keeper;
    keeper->ops->discard(keeper, write);
}

void zd_remote_plan_write(struct zd_store *store, struct zd_store_write *write)
{
    struct relay *relay = new_relay(zd_remote_plan_of(store), &write->op, RELAY_WRITE);
    if (relay == NULL) {
        end_write_without_memory(write);
        return;
    }
    begin_write(relay, write);
}

void zd_remote_plan_erase(struct zd_store *store, struct zd_store_write *erase)
{
    struct relay *relay = new_relay(zd_remote_plan_of(store), &erase->op, RELAY_ERASE);
    if (relay == NULL) {
        end_without_memory(&erase->op);
        return;
    }
    begin_write(relay, erase);
}
